package pippin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
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
