package proofs

import (
	"context"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
)

// TestMeterHidesNothing: a prover on a backend that the bench measures could not
// use its vectors.
func TestMeterHidesNothing(t *testing.T) {
	m := &meter{}
	b := m.Wrap(cpu.New(cpu.Options{}))
	defer b.Close()
	v, ok := backend.As[backend.Programs](b)
	if !ok {
		t.Fatal("no vectors")
	}
	id, err := v.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Run(t.Context(), []backend.Step{backend.Read{Src: backend.Range{Space: id, Count: 4}}}); err != nil || m.take() == 0 {
		t.Errorf("a program is not measured (%v)", err)
	}
	with := withMemory{b}
	if a, ok := backend.As[backend.Allocator](m.Wrap(with)); !ok || a != backend.Allocator(with) {
		t.Error("no shared memory")
	}
}

// withMemory is a backend that has memory for scalars.
type withMemory struct{ backend.Backend }

func (withMemory) Alloc(context.Context, int) (backend.Buffer, error) { return nil, nil }
