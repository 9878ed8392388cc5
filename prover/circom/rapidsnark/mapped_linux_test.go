package rapidsnark

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestMappedKey takes bytes that are not in Go's memory.
func TestMappedKey(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "testdata", "cubic", "circuit.zkey"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	about, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(about.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(b)
	t.Cleanup(func() { Use(nil) })
	for range 2 {
		if _, err := Groth16Prover(b, fileOf(t, "cubic", "witness.wtns")); err != nil {
			t.Fatal(err)
		}
	}
}
