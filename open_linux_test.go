package pippin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// TestNamesOfGPUs: what follows cuda: reaches the plugin, each list one of its own.
func TestNamesOfGPUs(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"the list is <$PIPPIN_GPU_DEVICES>\" >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "msm-backend-cuda"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PIPPIN_GPU_DEVICES", "7")
	open := Opener(Options{PluginDirs: []string{dir}})
	for name, list := range map[string]string{"cuda": "7", "plugin:cuda": "7", "cuda:0": "0",
		"cuda:0,2-3": "0,2-3", "cuda:GPU-12ab": "GPU-12ab"} {
		_, err := open(t.Context(), name)
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "the list is <"+list+">") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := open(t.Context(), "cuda:"); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "unknown backend") {
		t.Errorf("no list: %v", err)
	}
}

// TestEnvironment: PIPPIN_BACKEND is the backend of who names none, and PIPPIN_PLUGIN_DIR has
// folders that are searched after those of the program, as in woven programs.
func TestEnvironment(t *testing.T) {
	for _, c := range []struct{ variable, named, want string }{
		{"", "", "cpu"}, {"none", "", "cpu"}, {"reference", "", "reference"}, {"reference", "cpu", "cpu"},
	} {
		t.Setenv("PIPPIN_BACKEND", c.variable)
		e, err := New(t.Context(), engine.Config{Backend: c.named})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Backend(); got != c.want {
			t.Errorf("%+v: %s computes", c, got)
		}
		e.Close()
	}
	first, second := t.TempDir(), t.TempDir()
	for of, name := range map[string]string{first: "mine", second: "other"} {
		script := "#!/bin/sh\necho found " + name + " >&2\nexit 1\n"
		if err := os.WriteFile(filepath.Join(of, "msm-backend-x"+name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(of, "msm-backend-both"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PIPPIN_PLUGIN_DIR", second)
	open := Opener(Options{PluginDirs: []string{first}})
	for name, found := range map[string]string{"xmine": "mine", "xother": "other", "both": "mine"} {
		if _, err := open(t.Context(), "plugin:"+name); err == nil || !strings.Contains(err.Error(), "found "+found) {
			t.Errorf("plugin:%s: %v, want that of %s", name, err, found)
		}
	}
}
