// Package heaptest looks for secrets in the memory of a test.
package heaptest

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// Dump returns all memory of the heap, with garbage that nothing has overwritten yet.
// Make what you look for after the call: then the dump has it only where somebody left
// it.
func Dump(t testing.TB) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "heap"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	debug.WriteHeapDump(f.Fd())
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}
