// Package demo is what the examples share: the names of the backends they run
// on, where the CPU plugin comes from, and how a plugin is killed.
package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	// InProcess and Plugin are backends that need no GPU.
	InProcess = "cpu"
	Plugin    = "plugin:cpu"
)

// pluginPackage is the plugin that computes on the CPU.
const pluginPackage = "github.com/pippin-zk/pippin/cmd/msm-backend-cpu"

// NoPlugins returns the reason why plugins do not run on this system, or "".
func NoPlugins() string {
	if runtime.GOOS == "linux" {
		return ""
	}
	return "plugins need Linux (sealed shared memory), this is " + runtime.GOOS
}

// Backends returns the default of the flag -backend: all that can run here without
// a GPU, separated by commas.
func Backends() string {
	if NoPlugins() != "" {
		return InProcess
	}
	return InProcess + "," + Plugin
}

// PluginDirs returns the folders to look for plugins in: dir if it is set. If it is not,
// and one of the named backends is Plugin, PluginDirs builds that plugin into a new
// folder, which remove deletes. This needs the go command and a working directory
// inside the module.
func PluginDirs(ctx context.Context, dir string, backends []string) (dirs []string, remove func(), err error) {
	remove = func() {}
	if dir != "" {
		return []string{dir}, remove, nil
	}
	needed := false
	for _, b := range backends {
		needed = needed || b == Plugin
	}
	if !needed {
		return nil, remove, nil
	}
	dir, err = os.MkdirTemp("", "pippin-example-")
	if err != nil {
		return nil, remove, err
	}
	if err := Build(ctx, dir); err != nil {
		os.RemoveAll(dir)
		return nil, remove, err
	}
	return []string{dir}, func() { os.RemoveAll(dir) }, nil
}

// Build compiles the CPU plugin into dir with the go command.
func Build(ctx context.Context, dir string) error {
	out, err := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), pluginPackage).CombinedOutput()
	if err != nil {
		return fmt.Errorf("building %s (give a folder that has it instead): %w\n%s", pluginPackage, err, strings.TrimSpace(string(out)))
	}
	return nil
}
