package randprog

import (
	"math/rand/v2"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// The widest numbers are right too: a product's second operand was once a word wider than a number may be.
func TestWidestNumbersAreRight(t *testing.T) {
	for seed := range uint64(4000) {
		for _, op := range []backend.NumberOp{backend.NumMul, backend.NumDot} {
			p := Read(Bytes(rand.New(rand.NewPCG(seed, uint64(op))), 40)).Numbers()
			p.Step(op, backend.MaxNumber, 1)
			if err := backend.Check(p.Steps, p.memory()); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}
