package bench

import (
	"testing"

	"github.com/consensys/gnark/frontend"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// TestSquares: the circuit has as many constraints as its name says, and its assignment
// satisfies it, with chains of one length and of two.
func TestSquares(t *testing.T) {
	for i, n := range []int{2, 3, fewChains, fewChains + 3, 2*manyChains - 1, 2 * manyChains, 3*manyChains - 5} {
		for _, curve := range backend.Curves()[i%4 : i%4+1] {
			s, err := newStatement(circuitSquares, curve, 0, n)
			if err != nil {
				t.Fatal(err)
			}
			scheme, err := proofsystem.Groth16.On(curve)
			if err != nil {
				t.Fatal(err)
			}
			ccs, err := scheme.Compile(s.circuit)
			if err != nil {
				t.Fatal(err)
			}
			if got := ccs.GetNbConstraints(); got != n {
				t.Errorf("%v: %d constraints, want %d", curve, got, n)
			}
			w, err := frontend.NewWitness(s.assignment, layout.CurveID(curve).ScalarField())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ccs.Solve(w); err != nil {
				t.Errorf("%v, %d: %v", curve, n, err)
			}
		}
	}
}

// TestProveWithoutStock has keys of this module that are kept nowhere, and no proofs of
// gnark's.
func TestProveWithoutStock(t *testing.T) {
	cfg := proveConfig(t, &world{}, "a")
	cfg.Circuits, cfg.Squares, cfg.Count = []string{circuitSquares}, 100, 1
	cfg.OwnSetup, cfg.NoStock, cfg.NoKeep, cfg.CacheDir = true, true, true, ""
	runs, _, err := Prove(t.Context(), cfg)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	r := runs[0]
	if r.Circuit != "squares-100" || r.Constraints != 100 || !r.Verified || r.Count != 1 || r.Median <= 0 || r.OwnSolve <= 0 || r.AfterSolve <= 0 || r.Setup <= 0 {
		t.Errorf("%+v", r)
	}
	if r.Stock != 0 || r.StockSamples != nil || r.Solve != 0 || r.FFT != 0 || r.Speedup != 0 || r.SpeedupWithoutSolve != 0 {
		t.Errorf("what gnark took is in %+v", r)
	}
}
