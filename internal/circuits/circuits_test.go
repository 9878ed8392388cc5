package circuits

import (
	"testing"

	"github.com/consensys/gnark/frontend"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// TestSquares: the circuit has as many constraints as its name says, and its assignment
// satisfies it, with chains of one length and of two.
func TestSquares(t *testing.T) {
	for i, n := range []int{2, 3, fewChains, fewChains + 3, 2*manyChains - 1, 2 * manyChains, 3*manyChains - 5} {
		for _, curve := range backend.Curves()[i%4 : i%4+1] {
			s, err := New(Squares, curve, 0, n)
			if err != nil {
				t.Fatal(err)
			}
			scheme, err := proofsystem.Groth16.On(curve)
			if err != nil {
				t.Fatal(err)
			}
			ccs, err := scheme.Compile(s.Circuit)
			if err != nil {
				t.Fatal(err)
			}
			if got := ccs.GetNbConstraints(); got != n {
				t.Errorf("%v: %d constraints, want %d", curve, got, n)
			}
			w, err := frontend.NewWitness(s.Assignment, curve.ScalarField())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ccs.Solve(w); err != nil {
				t.Errorf("%v, %d: %v", curve, n, err)
			}
		}
	}
}
