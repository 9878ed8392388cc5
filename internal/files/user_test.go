package files

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestCluster follows the XDG specification, and has an earlier version's folder moved.
func TestCluster(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("this system has folders of its own")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	want := filepath.Join(home, ".local", "share", "pippin", "cluster")
	for xdg, want := range map[string]string{"": want, "not/absolute": want, "/var/data": "/var/data/pippin/cluster"} {
		if dir, err := ClusterFolder(xdg); err != nil || dir != want {
			t.Errorf("%q: %s, %v", xdg, dir, err)
		}
	}
	old := filepath.Join(home, ".config", "pippin", "cluster")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := ClusterFolder(""); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), old) ||
		!strings.Contains(err.Error(), want) {
		t.Error("an earlier version's folder:", err)
	}
	if err := os.MkdirAll(filepath.Dir(want), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old, want); err != nil {
		t.Fatal(err)
	}
	if dir, err := ClusterFolder(""); err != nil || dir != want {
		t.Errorf("after the move: %s, %v", dir, err)
	}
}
