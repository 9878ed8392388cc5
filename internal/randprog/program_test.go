package randprog

import (
	"bytes"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
)

// TestSameScalars: a job with the scalars of another names that job, also after the steps
// that Run puts before the program's.
func TestSameScalars(t *testing.T) {
	b := cpu.New(cpu.Options{})
	defer b.Close()
	zero := make([]byte, 2*64) // infinity
	p := &Program{
		Element: backend.ScalarOf(backend.BN254), Spaces: [][]byte{make([]byte, 64)},
		Bases: []backend.Bases{{Curve: backend.BN254, Group: backend.G1, Count: 2, Bytes: zero}},
		Steps: []backend.Step{
			backend.Job{Bases: 1, Count: 2, Input: backend.Input{Bytes: make([]byte, 64)}},
			backend.Job{Bases: 1, Count: 2, SameAs: 1},
		},
	}
	o, err := p.Run(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(o.Answers[0], o.Answers[1]) || len(o.Answers[0]) != 64 {
		t.Errorf("%x", o.Answers)
	}
}
