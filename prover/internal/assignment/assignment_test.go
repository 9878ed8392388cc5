package assignment_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	cs377 "github.com/consensys/gnark/constraint/bls12-377"
	cs381 "github.com/consensys/gnark/constraint/bls12-381"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	cs761 "github.com/consensys/gnark/constraint/bw6-761"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"
	"github.com/consensys/gnark/std/lookup/logderivlookup"
	gbits "github.com/consensys/gnark/std/math/bits"
	"github.com/consensys/gnark/std/math/bitslice"
	"github.com/consensys/gnark/std/math/emulated"
	"github.com/consensys/gnark/std/math/uints"
	"github.com/consensys/gnark/std/rangecheck"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// result is a solution of one curve's type.
type result interface {
	// differs says in what gnark's solution differs, nil when it does not.
	differs(gnark result) error
}

// typed is the wires, which gnark does not tell of a sparse system, and the columns of that.
type typed[S comparable] [4][]S

func (r typed[S]) differs(gnark result) error {
	want := gnark.(typed[S])
	for i, name := range []string{"wires", "L", "R", "O"} {
		if i == 0 && want[0] == nil {
			continue
		}
		if !slices.Equal(r[i], want[i]) {
			return fmt.Errorf("%s differ: %d values, gnark has %d", name, len(r[i]), len(want[i]))
		}
	}
	return nil
}

// solvers is gnark's solver and ours of one curve, on any constraint system of it.
type solvers struct {
	id    ecc.ID
	gnark func(constraint.ConstraintSystem, witness.Witness, ...solver.Option) (result, error)
	ours  func(context.Context, constraint.ConstraintSystem, witness.Witness, ...solver.Option) (result, error)
}

// over binds solvers to a curve's types. Memory is given back after each solution, and lent for each second one.
func over[S comparable, V ~[]S](id ecc.ID, own *assignment.Solver[S], fixed S,
	tables func(constraint.ConstraintSystem) assignment.System[S], sides func(any) (w V, s [3]V)) solvers {
	return solvers{
		id: id,
		gnark: func(c constraint.ConstraintSystem, w witness.Witness, opts ...solver.Option) (result, error) {
			sol, err := c.Solve(w, opts...)
			if err != nil {
				return nil, err
			}
			wires, s := sides(sol)
			return typed[S]{wires, s[0], s[1], s[2]}, nil
		},
		ours: func(ctx context.Context, c constraint.ConstraintSystem, w witness.Witness, opts ...solver.Option) (result, error) {
			cfg, err := solver.NewConfig(opts...)
			if err != nil {
				return nil, err
			}
			commit := func([]S) (S, error) { return fixed, nil }
			sys, seen := tables(c), new(settled[S])
			sys.Settled = seen.see
			if solutions.Add(1)%2 == 0 {
				sys.Lend = func(wires int) []S { return make([]S, wires) }
			}
			sol, err := own.Solve(ctx, sys, []S(w.Vector().(V)), cfg, commit)
			if err != nil {
				if seen.calls != seen.retracted {
					return nil, fmt.Errorf("retracted %d times, settled %d times, after %v", seen.retracted, seen.calls, err)
				}
				return nil, err
			}
			if seen.calls != 1 || seen.retracted != 0 || !slices.Equal(seen.then, sol.Wires) {
				return nil, fmt.Errorf("settled %d times, retracted %d times, or not with the solution's wires", seen.calls, seen.retracted)
			}
			out := typed[S]{slices.Clone(sol.Wires)}
			for i, s := range samples.Columns(sys.System, sol.Wires, assignment.Columns) {
				out[1+i] = slices.Clone(s)
			}
			own.Free(sol)
			return out, nil
		},
	}
}

var solutions atomic.Int64

// settled is what a System.Settled sees.
type settled[S comparable] struct {
	calls, retracted int
	wires, then      []S // where they are, and what they were
	changed          bool
}

func (s *settled[S]) see(wires []S) (retract func()) {
	s.calls++
	s.wires, s.then = wires, slices.Clone(wires)
	return func() {
		s.retracted++
		s.changed = s.changed || !slices.Equal(s.wires, s.then)
	}
}

func everyCurve() []solvers {
	return []solvers{
		over(ecc.BN254, assignment.Over[fr254.Element](), *new(fr254.Element).SetBigInt(samples.Answer),
			func(c constraint.ConstraintSystem) assignment.System[fr254.Element] {
				s := c.(*cs254.R1CS)
				return assignment.System[fr254.Element]{System: &s.System, Coefficients: s.Coefficients}
			}, func(sol any) (fr254.Vector, [3]fr254.Vector) {
				if s, ok := sol.(*cs254.R1CSSolution); ok {
					return s.W, [3]fr254.Vector{}
				}
				s := sol.(*cs254.SparseR1CSSolution)
				return nil, [3]fr254.Vector{s.L, s.R, s.O}
			}),
		over(ecc.BLS12_377, assignment.Over[fr377.Element](), *new(fr377.Element).SetBigInt(samples.Answer),
			func(c constraint.ConstraintSystem) assignment.System[fr377.Element] {
				s := c.(*cs377.R1CS)
				return assignment.System[fr377.Element]{System: &s.System, Coefficients: s.Coefficients}
			}, func(sol any) (fr377.Vector, [3]fr377.Vector) {
				if s, ok := sol.(*cs377.R1CSSolution); ok {
					return s.W, [3]fr377.Vector{}
				}
				s := sol.(*cs377.SparseR1CSSolution)
				return nil, [3]fr377.Vector{s.L, s.R, s.O}
			}),
		over(ecc.BLS12_381, assignment.Over[fr381.Element](), *new(fr381.Element).SetBigInt(samples.Answer),
			func(c constraint.ConstraintSystem) assignment.System[fr381.Element] {
				s := c.(*cs381.R1CS)
				return assignment.System[fr381.Element]{System: &s.System, Coefficients: s.Coefficients}
			}, func(sol any) (fr381.Vector, [3]fr381.Vector) {
				if s, ok := sol.(*cs381.R1CSSolution); ok {
					return s.W, [3]fr381.Vector{}
				}
				s := sol.(*cs381.SparseR1CSSolution)
				return nil, [3]fr381.Vector{s.L, s.R, s.O}
			}),
		over(ecc.BW6_761, assignment.Over[fr761.Element](), *new(fr761.Element).SetBigInt(samples.Answer),
			func(c constraint.ConstraintSystem) assignment.System[fr761.Element] {
				s := c.(*cs761.R1CS)
				return assignment.System[fr761.Element]{System: &s.System, Coefficients: s.Coefficients}
			}, func(sol any) (fr761.Vector, [3]fr761.Vector) {
				if s, ok := sol.(*cs761.R1CSSolution); ok {
					return s.W, [3]fr761.Vector{}
				}
				s := sol.(*cs761.SparseR1CSSolution)
				return nil, [3]fr761.Vector{s.L, s.R, s.O}
			}),
	}
}

var builders = []struct {
	name   string
	make   frontend.NewBuilder
	sparse bool
}{{"rank 1", r1cs.NewBuilder[constraint.U64], false}, {"sparse", scs.NewBuilder[constraint.U64], true}}

// same has hints that draw at random answer the same to both solvers.
func same(c constraint.ConstraintSystem) []solver.Option {
	hints := reflect.ValueOf(c).Elem().FieldByName("MHintsDependencies").Interface().(map[solver.HintID]string)
	return append([]solver.Option{samples.Hints, solver.WithHints(partly)}, samples.Fixed(hints)...)
}

// everything uses what of gnark's library has hints that are called often, on numbers
// of all sizes, and lists long enough for all processors.
type everything struct {
	bytes bool // operations on bytes too, whose tables are large
	X, Y  frontend.Variable
	Wide  [3]frontend.Variable
	Many  []frontend.Variable
	Sum   frontend.Variable `gnark:",public"`
}

func (c *everything) Define(api frontend.API) error {
	low, high := bitslice.Partition(api, c.X, 11, bitslice.WithNbDigits(32))
	sum := api.Add(low, api.Mul(high, 3))
	if c.bytes {
		bytes, err := uints.New[uints.U32](api)
		if err != nil {
			return err
		}
		x, y := bytes.ValueOf(c.X), bytes.ValueOf(c.Y)
		sum = api.Add(sum, bytes.ToValue(bytes.Xor(bytes.And(x, y), bytes.Or(x, bytes.Not(y)), bytes.Lrot(x, 7))))
	}
	table := logderivlookup.New(api)
	for i := range 40 {
		table.Insert(api.Add(c.Wide[i%3], i))
	}
	bits := gbits.ToBinary(api, c.Wide[0])
	nibble := gbits.FromBinary(api, bits[:5])
	for _, v := range table.Lookup(nibble, api.Select(api.IsZero(c.Y), 1, 2)) {
		sum = api.Add(sum, v)
	}
	check := rangecheck.New(api)
	for i, m := range c.Many {
		check.Check(m, 20+i%30)
		sum = api.Add(sum, api.Mul(api.IsZero(api.Sub(m, 5)), i), api.DivUnchecked(api.Mul(m, c.X), api.Add(m, 1)))
		if i%16 == 0 {
			sum = api.Add(sum, api.Inverse(api.Add(m, 7)), api.Div(m, api.Add(c.Wide[i%3], 2)))
		}
	}
	f, err := emulated.NewField[emulated.Secp256k1Fp](api)
	if err != nil {
		return err
	}
	e := f.FromBits(bits[:128]...)
	e = f.Mul(f.Add(e, f.One()), f.Inverse(f.Reduce(f.Mul(e, e))))
	sum = api.Add(sum, f.Reduce(e).Limbs[0])
	if k, ok := api.Compiler().(frontend.Committer); ok {
		challenge, err := k.Commit(c.Many...)
		if err != nil {
			return err
		}
		sum = api.Add(sum, api.Mul(challenge, c.X))
	}
	for range 3 {
		parts, err := api.Compiler().NewHint(partly, 2, c.X, sum)
		if err != nil {
			return err
		}
		api.AssertIsEqual(api.Add(parts[0], parts[1]), sum)
		sum = api.Add(sum, api.Mul(parts[0], parts[1]))
	}
	api.AssertIsDifferent(sum, c.Sum)
	return nil
}

// partly is a user's hint: the sum of its outputs is its second input. It puts an
// integer of its own in the place of an output, and writes on an input, as gnark's
// solver allows.
func partly(q *big.Int, in, out []*big.Int) error {
	out[0] = new(big.Int).Rsh(in[1], 3)
	out[0].Add(out[0], in[0])
	out[1].Sub(in[1], out[0])
	in[0] = big.NewInt(77)
	return nil
}

func everythingOf(many int, bytes bool) *everything {
	return &everything{bytes: bytes, Many: make([]frontend.Variable, many)}
}

func (c *everything) assign(r *rand.Rand, q *big.Int) *everything {
	a := everythingOf(len(c.Many), c.bytes)
	a.X, a.Y, a.Sum = r.Uint32(), r.Uint32()>>r.IntN(32), r.Uint32()
	for i := range a.Wide {
		v := new(big.Int)
		for range 6 {
			v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(r.Uint64()))
		}
		a.Wide[i] = v.Mod(v, q)
	}
	for i := range a.Many {
		a.Many[i] = r.Uint64() >> (44 + r.IntN(20))
		if i%7 == 0 {
			a.Many[i] = i % 10
		}
	}
	return a
}

func compile(t testing.TB, id ecc.ID, b frontend.NewBuilder, c frontend.Circuit) constraint.ConstraintSystem {
	t.Helper()
	sys, err := frontend.Compile(id.ScalarField(), b, c)
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

func witnessOf(t testing.TB, id ecc.ID, c frontend.Circuit) witness.Witness {
	t.Helper()
	w, err := frontend.NewWitness(c, id.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// both compares our solution with gnark's.
func both(t *testing.T, s solvers, c constraint.ConstraintSystem, w witness.Witness, opts ...solver.Option) {
	t.Helper()
	opts = append(same(c), opts...)
	want, err := s.gnark(c, w, opts...)
	if err != nil {
		t.Fatalf("gnark's solver: %v", err)
	}
	for _, by := range []string{"gnark's levels", "a schedule"} {
		got, err := s.ours(t.Context(), c, w, opts...)
		if err != nil {
			t.Fatalf("ours, by %s: %v", by, err)
		}
		if err := got.differs(want); err != nil {
			t.Errorf("by %s: %v", by, err)
		}
		assignment.AwaitSchedules()
	}
}

// TestMain has helpers even where there is one processor.
func TestMain(m *testing.M) {
	logger.Disable()
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	m.Run()
}

func TestSameAsGnark(t *testing.T) {
	for _, s := range everyCurve() {
		for _, b := range builders {
			t.Run(fmt.Sprint(s.id, " ", b.name), func(t *testing.T) {
				for _, sample := range samples.All {
					if !sample.Ours() {
						continue
					}
					c := compile(t, s.id, b.make, sample.Circuit())
					for seed := range int64(3) {
						both(t, s, c, witnessOf(t, s.id, sample.Assign(s.id.ScalarField(), seed+2)))
					}
				}
				r := rand.New(rand.NewPCG(1, uint64(s.id)))
				for _, many := range []int{1, 300, 5000} {
					if many > 300 && (testing.Short() || s.id != ecc.BN254 && s.id != ecc.BW6_761) {
						continue
					}
					circuit := everythingOf(many, many == 300 && s.id == ecc.BN254)
					c := compile(t, s.id, b.make, circuit)
					for _, tasks := range []int{1, 2, 3, 7} {
						both(t, s, c, witnessOf(t, s.id, circuit.assign(r, s.id.ScalarField())), solver.WithNbTasks(tasks))
					}
				}
			})
		}
	}
}

// TestHints calls each hint that we compute by ourselves with inputs as circuits have
// them and with others, for gnark's function to answer.
func TestHints(t *testing.T) {
	hints := map[string]solver.Hint{}
	for _, h := range solver.GetRegisteredHints() {
		name := solver.GetHintName(h)
		hints[name[strings.LastIndex(name, "/")+1:]] = h
	}
	large := new(big.Int).Lsh(big.NewInt(5), 100)
	words := []any{0, 1, 255, 256, uint64(1) << 32, ^uint64(0), large, -1}
	type call struct {
		outputs int
		in      []any
	}
	calls := map[string][]call{}
	for _, x := range words {
		for _, y := range words {
			for _, name := range []string{"uints.xorHint", "uints.andHint", "uints.orHint"} {
				calls[name] = append(calls[name], call{1, []any{x, y}})
			}
		}
		for _, n := range []int{0, 1, 5, 63, 64, 70, 300} {
			calls["bitslice.partitionHint"] = append(calls["bitslice.partitionHint"], call{2, []any{n, x}})
			if n > 0 {
				calls["uints.toBytes"] = append(calls["uints.toBytes"], call{n, []any{n, x}}, call{n, []any{n + 1, x}})
				calls["bits.nBits"] = append(calls["bits.nBits"], call{n, []any{x}})
			}
		}
		for _, shape := range [][3]int{{64, 8, 8}, {64, 7, 10}, {253, 63, 5}, {253, 64, 4}, {20, 20, 1}, {377, 11, 35}, {64, 8, 7}} {
			calls["rangecheck.DecomposeHint"] = append(calls["rangecheck.DecomposeHint"], call{shape[2], []any{shape[0], shape[1], x}})
		}
		calls["solver.InvZeroHint"] = append(calls["solver.InvZeroHint"], call{1, []any{x}})
		calls["logderivarg.batchDivBySubHint"] = append(calls["logderivarg.batchDivBySubHint"],
			call{2, []any{x, 3, 4, 5, 6}}, call{1, []any{x, 3, x}}, call{2, []any{x, 1, 2, 3}})
		calls["logderivarg.countHint"] = append(calls["logderivarg.countHint"],
			call{3, []any{3, 1, 0, 1, 2, 2, 2, x}},
			call{3, []any{3, 1, 7, x, 9, x, 9, x}},
			call{2, []any{2, 2, x, 1, 2, x, x, 1, x, 1, 2, x}},
			call{2, []any{2, 1, x, x, x}}, call{2, []any{2, 1, 3, 4}}, call{2, []any{3, 1, 3, 4, 3}},
			call{1, []any{1, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}})
	}
	onElements := map[string]bool{}
	for _, name := range assignment.HintsOnElements() {
		short := name[strings.LastIndex(name, "/")+1:]
		if onElements[short] = true; calls[short] == nil {
			t.Errorf("%s is computed on elements, and not called here", name)
		}
	}
	for _, s := range everyCurve() {
		if s.id != ecc.BN254 && s.id != ecc.BW6_761 {
			continue
		}
		for name, all := range calls {
			if !onElements[name] {
				continue // this version of gnark has no such hint
			}
			hint, ok := hints[name]
			if !ok {
				t.Fatalf("gnark has no hint %s", name)
			}
			if !assignment.Knows(hint, solver.GetHintName(hint)) {
				t.Errorf("%s of this version of gnark is not known: compare its hints with ours, and list it", name)
			}
			refused := 0
			for _, c := range all {
				circuit, a := samples.CallOf(hint, c.outputs, len(c.in)), &samples.Call{In: make([]frontend.Variable, len(c.in))}
				for i, v := range c.in {
					a.In[i] = v
				}
				sys := compile(t, s.id, r1cs.NewBuilder[constraint.U64], circuit)
				w := witnessOf(t, s.id, a)
				want, err := s.gnark(sys, w)
				got, ours := s.ours(t.Context(), sys, w)
				switch {
				case err != nil && ours == nil:
					t.Errorf("%s%v: gnark says %v, ours has an answer", name, c.in, err)
				case err != nil:
					refused++
				case ours != nil:
					t.Errorf("%s%v: %v", name, c.in, ours)
				case got.differs(want) != nil:
					t.Errorf("%s%v: %v, gnark has %v", name, c.in, got, want)
				}
			}
			if refused == len(all) {
				t.Errorf("%s: every call is refused", name)
			}
		}
	}
}

// foreign is a blueprint of a user. No instruction is of it.
type foreign struct {
	constraint.BlueprintGenericHint
}

// TestRefused: what gnark's solver has to decide is left to it.
func TestRefused(t *testing.T) {
	s := everyCurve()[0]
	for _, b := range builders {
		for _, sample := range samples.All {
			want := assignment.ErrUnsatisfied
			switch {
			case sample.Name == "unconstrained":
				continue
			case !sample.Ours():
				want = assignment.ErrUnsupported
			}
			c := compile(t, s.id, b.make, sample.Circuit())
			w := witnessOf(t, s.id, sample.Assign(s.id.ScalarField(), -3))
			if _, err := s.ours(t.Context(), c, w, same(c)...); !errors.Is(err, assignment.ErrUndecided) || !errors.Is(err, want) {
				t.Errorf("%s %s: %v for a witness that is wrong or a system that is not known", b.name, sample.Name, err)
			}
		}
		c := compile(t, s.id, b.make, samples.ByName("cubic").Circuit())
		other := witnessOf(t, s.id, samples.ByName("commitments").Assign(s.id.ScalarField(), 3))
		if _, err := s.ours(t.Context(), c, other, same(c)...); !errors.Is(err, assignment.ErrUndecided) {
			t.Errorf("%v for inputs of another circuit", err)
		}
		sample := samples.ByName("hints and tables")
		c = compile(t, s.id, b.make, sample.Circuit())
		w := witnessOf(t, s.id, sample.Assign(s.id.ScalarField(), 3))
		if _, err := s.ours(t.Context(), c, w); !errors.Is(err, assignment.ErrUndecided) {
			t.Errorf("%v without a hint", err)
		}
		system := c.(*cs254.R1CS)
		system.Blueprints = append(system.Blueprints, &foreign{})
		if _, err := s.ours(t.Context(), c, w, same(c)...); !errors.Is(err, assignment.ErrUnsupported) {
			t.Errorf("%v with a blueprint of a user", err)
		}
	}
}

// trouble has a hint in the middle of many others.
type trouble struct {
	X []frontend.Variable
}

func (c *trouble) Define(api frontend.API) error {
	for _, x := range c.X {
		y, err := api.Compiler().NewHint(samples.HalfHint, 1, api.Mul(x, 2))
		if err != nil {
			return err
		}
		api.AssertIsEqual(api.Mul(api.Mul(y[0], 3), api.Add(x, 5)), api.Mul(api.Mul(x, 3), api.Add(x, 5)))
	}
	return nil
}

// TestHintsThatFail: errors of hints are the solver's, panics do not end the process.
func TestHintsThatFail(t *testing.T) {
	s := everyCurve()[0]
	a := &trouble{}
	for i := range 500 {
		a.X = append(a.X, i+1)
	}
	c := compile(t, s.id, r1cs.NewBuilder[constraint.U64], &trouble{make([]frontend.Variable, len(a.X))})
	w := witnessOf(t, s.id, a)
	own := errors.New("no half today")
	for what, f := range map[string]func() error{
		"error": func() error { return own },
		"panic": func() error { panic("out of halves") },
	} {
		opt := solver.OverrideHint(solver.GetHintID(samples.HalfHint), func(q *big.Int, in, out []*big.Int) error {
			if in[0].Cmp(big.NewInt(600)) == 0 {
				return f()
			}
			return samples.HalfHint(q, in, out)
		})
		_, err := s.ours(t.Context(), c, w, opt)
		if err == nil || errors.Is(err, assignment.ErrUndecided) {
			t.Errorf("%s: %v", what, err)
		}
		if what == "error" && err != own || what == "panic" && !strings.Contains(err.Error(), "out of halves") {
			t.Errorf("%s is told as %v", what, err)
		}
	}
	// A hint that ends its goroutine: that of the caller's work, that of a helper.
	for _, at := range []int64{2, 600, 1000} {
		opt := solver.OverrideHint(solver.GetHintID(samples.HalfHint), func(q *big.Int, in, out []*big.Int) error {
			if in[0].Cmp(big.NewInt(at)) == 0 {
				runtime.Goexit()
			}
			return samples.HalfHint(q, in, out)
		})
		_, err := s.ours(t.Context(), c, w, opt)
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "HalfHint ended its goroutine") {
			t.Errorf("hint of %d ends its goroutine: %v", at, err)
		}
	}
	// A hint that blocks until the context ends.
	ctx, cancel := context.WithCancel(t.Context())
	opt := solver.OverrideHint(solver.GetHintID(samples.HalfHint), func(q *big.Int, in, out []*big.Int) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if _, err := s.ours(ctx, c, w, opt); !errors.Is(err, context.Canceled) {
		t.Errorf("%v when a hint ends with the context", err)
	}
	if _, err := s.ours(ctx, c, w, samples.Hints); !errors.Is(err, context.Canceled) {
		t.Errorf("%v when the context has ended", err)
	}
}

// neighbours has hints of a user in one level, fewer than gnark solves by more than one
// goroutine, and enough constraints for helpers.
type neighbours struct {
	X []frontend.Variable
}

func (c *neighbours) Define(api frontend.API) error {
	for _, x := range c.X {
		y, err := api.Compiler().NewHint(samples.HalfHint, 1, x)
		if err != nil {
			return err
		}
		for range 100 {
			y[0] = api.Mul(y[0], x)
		}
		api.AssertIsDifferent(y[0], 0)
	}
	return nil
}

// TestHintsOfUsersComeInTurn: hints of users may share variables without a lock as long
// as their level has no more than 50 instructions, as with gnark's solver.
func TestHintsOfUsersComeInTurn(t *testing.T) {
	s := everyCurve()[0]
	a := &neighbours{}
	for i := range 45 {
		a.X = append(a.X, 2*i+2)
	}
	for _, b := range builders {
		c := compile(t, s.id, b.make, &neighbours{make([]frontend.Variable, len(a.X))})
		w := witnessOf(t, s.id, a)
		var now, calls atomic.Int32
		opt := solver.OverrideHint(solver.GetHintID(samples.HalfHint), func(q *big.Int, in, out []*big.Int) error {
			if now.Add(1) > 1 {
				t.Errorf("%s: two hints at the same time", b.name)
			}
			defer now.Add(-1)
			calls.Add(1)
			time.Sleep(2 * time.Millisecond)
			return samples.HalfHint(q, in, out)
		})
		both(t, s, c, w, opt)
		if n := int(calls.Load()); n != 3*len(a.X) {
			t.Errorf("%s: %d calls for %d", b.name, n, 3*len(a.X))
		}
	}
}

// TestMemoryIsClean: what a run that failed leaves behind is not in the next solution.
func TestMemoryIsClean(t *testing.T) {
	s := everyCurve()[0]
	a := &trouble{}
	for i := range 5000 {
		a.X = append(a.X, i+1)
	}
	c := compile(t, s.id, r1cs.NewBuilder[constraint.U64], &trouble{make([]frontend.Variable, len(a.X))})
	w := witnessOf(t, s.id, a)
	wrong := solver.OverrideHint(solver.GetHintID(samples.HalfHint), func(q *big.Int, in, out []*big.Int) error {
		if in[0].Cmp(big.NewInt(6000)) == 0 {
			return nil
		}
		return samples.HalfHint(q, in, out)
	})
	for range 3 {
		if _, err := s.ours(t.Context(), c, w, wrong); !errors.Is(err, assignment.ErrUndecided) {
			t.Fatalf("%v with a wrong hint", err)
		}
		both(t, s, c, w)
	}
}

// TestManyAtOnce: systems that are solved at the same time share processors and the
// memory that was given back.
func TestManyAtOnce(t *testing.T) {
	s := everyCurve()[0]
	r := rand.New(rand.NewPCG(7, 7))
	small, large := everythingOf(20, false), everythingOf(400, false)
	var wg sync.WaitGroup
	for i, circuit := range []*everything{small, large, small, large, large, small} {
		c := compile(t, s.id, builders[i%2].make, circuit)
		w := witnessOf(t, s.id, circuit.assign(r, s.id.ScalarField()))
		want, err := s.gnark(c, w, same(c)...)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for round := range 8 {
				got, err := s.ours(t.Context(), c, w, append(same(c), solver.WithNbTasks(1+round))...)
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				} else if err := got.differs(want); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestHelpersLeave: no goroutine stays behind.
func TestHelpersLeave(t *testing.T) {
	s := everyCurve()[0]
	c := compile(t, s.id, r1cs.NewBuilder[constraint.U64], everythingOf(50, false))
	w := witnessOf(t, s.id, everythingOf(50, false).assign(rand.New(rand.NewPCG(3, 3)), s.id.ScalarField()))
	before := runtime.NumGoroutine()
	for range 20 {
		if _, err := s.ours(t.Context(), c, w, same(c)...); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, before %d", runtime.NumGoroutine(), before)
}

// lateEnd is a chain of squares, whose end is looked at last.
type lateEnd struct{ X, Y frontend.Variable }

func (c *lateEnd) Define(api frontend.API) error {
	x := c.X
	for range 5000 {
		x = api.Mul(x, x)
	}
	api.AssertIsEqual(x, c.Y)
	return nil
}

// TestSettled: when all wires have values that is told, before constraints that only check hold. If one does
// not, the wires stay as they are until what was started has been retracted.
func TestSettled(t *testing.T) {
	own, id := assignment.Over[fr254.Element](), ecc.BN254
	c := compile(t, id, r1cs.NewBuilder[constraint.U64], &lateEnd{})
	var x fr254.Element
	x.SetUint64(3)
	for range 5000 {
		x.Square(&x)
	}
	cfg, err := solver.NewConfig(solver.WithNbTasks(2))
	if err != nil {
		t.Fatal(err)
	}
	defer assignment.MostInPlace(0)()
	for _, copies := range []bool{false, true} {
		for _, y := range []fr254.Element{x, fr254.One()} {
			var lent []fr254.Element
			run := func() (*assignment.Solution[fr254.Element], *settled[fr254.Element], error) {
				s, seen := c.(*cs254.R1CS), new(settled[fr254.Element])
				sys := assignment.System[fr254.Element]{System: &s.System, Coefficients: s.Coefficients, Settled: seen.see}
				if copies {
					sys.Lend = func(wires int) []fr254.Element {
						lent = make([]fr254.Element, wires)
						return lent
					}
				}
				w := witnessOf(t, id, &lateEnd{3, y})
				sol, err := own.Solve(t.Context(), sys, w.Vector().(fr254.Vector), cfg, nil)
				return sol, seen, err
			}
			if _, _, err := run(); (err == nil) != (y == x) { // by gnark's levels
				t.Fatal(err)
			}
			assignment.AwaitSchedules()
			sol, seen, err := run()
			if seen.calls != 1 || copies != (len(lent) > 0 && &seen.wires[0] == &lent[0]) {
				t.Fatalf("settled %d times, or not where a copy was to be", seen.calls)
			}
			switch {
			case y == x && (err != nil || seen.retracted != 0 || !slices.Equal(seen.then, sol.Wires)):
				t.Errorf("%v, retracted %d times, or other wires were told", err, seen.retracted)
			case y != x && (!errors.Is(err, assignment.ErrUnsatisfied) || seen.retracted != 1 || seen.changed):
				t.Errorf("%v, retracted %d times, wires were wiped before: %v", err, seen.retracted, seen.changed)
			}
		}
	}
}
