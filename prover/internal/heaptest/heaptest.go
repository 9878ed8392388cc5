// Package heaptest looks for secrets in the memory of a test.
package heaptest

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// Dump is all memory of the heap, garbage included that nothing was written
// over yet. What is looked for is best made after it: then the dump has it only
// where somebody left it.
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
