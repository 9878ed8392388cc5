package quickdir

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNew: each folder is its test's own, and goes with it.
func TestNew(t *testing.T) {
	var dirs []string
	t.Run("two", func(t *testing.T) {
		for range 2 {
			dir := New(t)
			if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			dirs = append(dirs, dir)
		}
	})
	if len(dirs) != 2 || dirs[0] == dirs[1] {
		t.Fatal(dirs)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Error("still there:", dir, err)
		}
	}
}
