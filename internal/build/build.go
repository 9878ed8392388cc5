// Package build says what a running program was built from.
package build

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Info is what the go command stamped into a program; "" is not known.
type Info struct {
	Module  string // path of the main module
	Version string // its version, "(devel)" without one
	Commit  string // of its repository, with "+dirty" when files were changed
}

// This is the running program's.
var This = sync.OnceValue(func() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Info{}
	}
	return of(info)
})

func of(info *debug.BuildInfo) Info {
	b := Info{Module: info.Main.Path, Version: info.Main.Version}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if b.Commit != "" {
		b.Commit += dirty
	}
	return b
}

// Mismatch returns a warning if a plugin and its host are of the same module but were
// built from different commits. It returns "" if they were not, or if that is not known.
func Mismatch(plugin, host Info) string {
	if plugin.Module != host.Module || plugin.Commit == host.Commit || plugin.Commit == "" || host.Commit == "" {
		return ""
	}
	return fmt.Sprintf("the plugin was built from commit %s of %s, this program from %s: build both from the same", plugin.Commit, plugin.Module, host.Commit)
}
