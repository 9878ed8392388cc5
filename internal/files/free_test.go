package files

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestFree(t *testing.T) {
	dir := t.TempDir()
	n, known := Free(dir)
	if !known && (runtime.GOOS == "linux" || runtime.GOOS == "darwin" || runtime.GOOS == "windows") {
		t.Fatal("this system says it")
	}
	if known && n == 0 {
		t.Error("a folder for tests without room")
	}
	// What is not there yet is where its nearest folder is.
	below, ok := Free(filepath.Join(dir, "not", "there", "yet"))
	if ok != known || known && (below > 2*n+1<<30 || n > 2*below+1<<30) {
		t.Errorf("%d and %d bytes", n, below)
	}
	if _, ok := Free(filepath.Join(dir, "a\x00b")); ok != known {
		t.Error("a name that cannot be is looked for in its parent")
	}
}
