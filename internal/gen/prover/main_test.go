package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestCommittedFilesAreCurrent(t *testing.T) {
	out, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range out {
		got, err := os.ReadFile(filepath.Join("..", "..", "..", "prover", "groth16", name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("prover/groth16/%s is not what `go run ./internal/gen/prover` writes", name)
		}
	}
}
