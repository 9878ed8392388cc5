package matrices

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/constraint"
	cs "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/vector"
)

// solved returns a sample's system with gnark's solution.
func solved(t *testing.T, s samples.Sample) (*cs.R1CS, *cs.R1CSSolution) {
	t.Helper()
	field := ecc.BN254.ScalarField()
	ccs, err := frontend.Compile(field, r1cs.NewBuilder, s.Circuit(), frontend.IgnoreUnconstrainedInputs())
	if err != nil {
		t.Fatal(err)
	}
	w, err := frontend.NewWitness(s.Assign(field, 3), field)
	if err != nil {
		t.Fatal(err)
	}
	system := ccs.(*cs.R1CS)
	sol, err := ccs.Solve(w, append(samples.Fixed(system.MHintsDependencies), samples.Hints)...)
	if err != nil {
		t.Fatal(err)
	}
	return system, sol.(*cs.R1CSSolution)
}

func systemOf(sys *constraint.System, coefficients []fr.Element) *assignment.System[fr.Element] {
	return &assignment.System[fr.Element]{System: sys, Coefficients: coefficients}
}

// TestProducts: the matrices of all samples make gnark's A, B and C from its wires, here and on a backend, and zeros
// behind them.
func TestProducts(t *testing.T) {
	e, err := resident.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, sample := range samples.On(ecc.BN254) {
		system, sol := solved(t, sample)
		p, err := Of(t.Context(), group.BN254Fr, backend.BN254, assignment.Over[fr.Element](), systemOf(&system.System, system.Coefficients))
		if err != nil {
			t.Fatal(err)
		}
		n := system.NbConstraints + 3
		var want, got [3][]fr.Element
		for i, v := range []fr.Vector{sol.A, sol.B, sol.C} {
			want[i] = append(slices.Clone(v), make([]fr.Element, 3)...)
			got[i] = make([]fr.Element, n)
			got[i][n-1].SetOne()
		}
		if err := p.Products(t.Context(), got[0], got[1], got[2], sol.W); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%s: side %d is not gnark's", sample.Name, i)
			}
		}
		on, err := onBackend(t.Context(), e, p, sol.W, n)
		if err != nil {
			t.Fatal(err)
		}
		for i := range on {
			if !slices.Equal(on[i], want[i]) {
				t.Errorf("%s: side %d on a backend is not gnark's", sample.Name, i)
			}
		}
		if sizes := Sizes(&system.System); Elements(vector.BN254, sizes, len(system.Coefficients)) != p.Elements(vector.BN254) {
			t.Errorf("%s: %d entries are counted, %d elements are taken", sample.Name, sizes, p.Elements(vector.BN254))
		}
	}
}

// onBackend returns A w and B w, of n elements each, computed on a backend.
func onBackend(ctx context.Context, e *engine.Engine, p *Pair[fr.Element], w []fr.Element, n int) (got [2][]fr.Element, err error) {
	_, err = vector.BN254.Repeat(ctx, e, len(w)+2*n, func(ctx context.Context, s *vector.Session[fr.Element]) error {
		tables, _, on, err := p.Load(ctx, vector.BN254, s, []uint32{0})
		if err != nil {
			return err
		}
		defer tables.Close()
		wires, program := s.New(len(w)), s.Program()
		program.Write(wires, w)
		var read [2]*vector.Answer[[]fr.Element]
		for i := range on {
			to := s.New(n)
			program.SparseProduct(to, on[i], wires)
			read[i] = program.Read(to)
		}
		if err := program.Run(ctx); err != nil {
			return err
		}
		got = [2][]fr.Element{read[0].Get(), read[1].Get()}
		return nil
	})
	return got, err
}

// TestWrongSystems: a wire, a coefficient or a number of constraints that a system has not is refused.
func TestWrongSystems(t *testing.T) {
	system, _ := solved(t, samples.ByName("cubic"))
	of := func(change func(*constraint.System, []uint32)) error {
		own := system.System
		own.CallData = slices.Clone(own.CallData)
		change(&own, own.CallData)
		_, err := Of(t.Context(), group.BN254Fr, backend.BN254, assignment.Over[fr.Element](), systemOf(&own, system.Coefficients))
		return err
	}
	if err := of(func(*constraint.System, []uint32) {}); err != nil {
		t.Fatal(err)
	}
	first := system.Instructions[0].StartCallData + 4 // behind the lengths: a coefficient, a wire
	for what, change := range map[string]func(*constraint.System, []uint32){
		"a wire":        func(_ *constraint.System, data []uint32) { data[first+1] = 1 << 20 },
		"a coefficient": func(_ *constraint.System, data []uint32) { data[first] = 1 << 20 },
		"constraints":   func(s *constraint.System, _ []uint32) { s.NbConstraints++ },
	} {
		if err := of(change); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s too many: %v", what, err)
		}
	}
}

// TestCancelled: when the context has ended there are no matrices.
func TestCancelled(t *testing.T) {
	system, _ := solved(t, samples.ByName("cubic"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Of(ctx, group.BN254Fr, backend.BN254, assignment.Over[fr.Element](), systemOf(&system.System, system.Coefficients))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestConstants: the constants are those that gnark's coefficients begin with.
func TestConstants(t *testing.T) {
	system, _ := solved(t, samples.ByName("cubic"))
	if all := Constants(group.BN254Fr); len(all) < 4 || !slices.Equal(all, system.Coefficients[:len(all)]) {
		t.Errorf("%v", all)
	}
}
