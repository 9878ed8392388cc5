package assignment_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark/constraint"
	cs377 "github.com/consensys/gnark/constraint/bls12-377"
	cs381 "github.com/consensys/gnark/constraint/bls12-381"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	cs761 "github.com/consensys/gnark/constraint/bw6-761"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/lookup/logderivlookup"
	gbits "github.com/consensys/gnark/std/math/bits"
	"github.com/consensys/gnark/std/math/emulated"
	"github.com/consensys/gnark/std/rangecheck"

	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
)

var (
	randomFor    = flag.Duration("random-for", 0, "how long random circuits are solved, in place of a few")
	randomSeed   = flag.Uint64("random-seed", 0, "first seed of random circuits; 0 is the time when -random-for is given")
	randomRecord = flag.String("random-record", "", "file for a record of the random circuits")
	randomCommit = flag.String("random-commit", "", "pippin's commit, for the record")
)

// drawn is a circuit drawn at random: the same seed draws the same circuit. Its assertions
// hold for every witness, unless it may fail; then some hold for none or for some.
type drawn struct {
	seed    uint64
	steps   int
	mayFail bool
	Public  []frontend.Variable `gnark:",public"`
	Secret  []frontend.Variable
}

func drawCircuit(seed uint64) *drawn {
	r := rand.New(rand.NewPCG(seed, 1))
	return &drawn{
		seed: seed, steps: 20 + r.IntN(1<<(4+r.IntN(8))), mayFail: r.IntN(6) == 0,
		Public: make([]frontend.Variable, r.IntN(4)), Secret: make([]frontend.Variable, 1+r.IntN(12)),
	}
}

// number draws a number: small ones, powers of 2, ones next to the modulus, any.
func number(r *rand.Rand, q *big.Int) *big.Int {
	v := new(big.Int)
	switch r.IntN(8) {
	case 0, 1:
		return v.SetInt64(int64(r.IntN(4)))
	case 2:
		return v.SetInt64(int64(r.IntN(1 << 16)))
	case 3:
		return v.SetUint64(r.Uint64())
	case 4:
		return v.Mod(v.Lsh(big.NewInt(1), uint(r.IntN(q.BitLen()))), q)
	case 5:
		return v.Sub(q, big.NewInt(1+int64(r.IntN(300))))
	}
	for range 6 {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(r.Uint64()))
	}
	return v.Mod(v, q)
}

func (c *drawn) assign(r *rand.Rand, q *big.Int) *drawn {
	a := *c
	a.Public, a.Secret = make([]frontend.Variable, len(c.Public)), make([]frontend.Variable, len(c.Secret))
	for _, part := range [][]frontend.Variable{a.Public, a.Secret} {
		for i := range part {
			part[i] = number(r, q)
		}
	}
	return &a
}

func (c *drawn) Define(api frontend.API) error {
	r, q := rand.New(rand.NewPCG(c.seed, 2)), api.Compiler().Field()
	values := append(append([]frontend.Variable{}, c.Public...), c.Secret...)
	deep := r.IntN(3) == 0 // chains of instructions, so that there is slack
	pick := func() frontend.Variable {
		if deep && r.IntN(3) > 0 {
			return values[len(values)-1]
		}
		return values[r.IntN(len(values))]
	}
	keep := func(v ...frontend.Variable) { values = append(values, v...) }
	check := rangecheck.New(api)
	table := logderivlookup.New(api)
	for range 2 + r.IntN(30) {
		if r.IntN(2) == 0 {
			table.Insert(number(r, q))
		} else {
			table.Insert(api.Add(pick(), number(r, q)))
		}
	}
	for range c.steps {
		switch r.IntN(24) {
		case 0, 1:
			keep(api.Add(pick(), pick(), number(r, q)))
		case 2:
			keep(api.Sub(pick(), pick(), api.Mul(pick(), number(r, q))))
		case 3, 4, 5:
			keep(api.Mul(pick(), pick()))
		case 6:
			keep(api.MulAcc(api.Mul(pick(), 3), pick(), pick()))
		case 7, 8:
			sum := frontend.Variable(number(r, q))
			for range r.IntN(1 << r.IntN(8)) {
				switch k := r.IntN(4); k {
				case 0:
					sum = api.Add(sum, pick())
				case 1:
					sum = api.Sub(sum, pick())
				default:
					sum = api.Add(sum, api.Mul(pick(), number(r, q)))
				}
			}
			keep(api.Mul(sum, pick()))
		case 9:
			keep(api.Select(api.IsZero(pick()), pick(), pick()))
		case 10:
			x := pick()
			keep(api.DivUnchecked(api.Mul(x, pick()), api.Add(x, api.IsZero(x))))
		case 11:
			x := pick()
			keep(api.Inverse(api.Add(x, api.IsZero(x))))
		case 12:
			bits := gbits.ToBinary(api, pick())
			keep(gbits.FromBinary(api, bits[:1+r.IntN(64)]), bits[0], api.Xor(bits[0], bits[1]), api.Or(bits[2], bits[3]), api.And(bits[4], bits[5]))
		case 13:
			parts, err := api.Compiler().NewHint(partly, 2, pick(), api.Add(pick(), pick()))
			if err != nil {
				return err
			}
			keep(parts...)
		case 14:
			odd, err := api.Compiler().NewHint(oddly, 1+r.IntN(3), pick(), number(r, q), api.Mul(pick(), 5))
			if err != nil {
				return err
			}
			keep(odd...)
		case 15:
			bits := gbits.ToBinary(api, pick())
			n := 1 + r.IntN(40)
			x := gbits.FromBinary(api, bits[:n])
			check.Check(x, n)
			keep(x)
		case 16:
			// The index is below 2, which every table has.
			keep(table.Lookup(api.IsZero(pick()))...)
		case 17:
			if k, ok := api.Compiler().(frontend.Committer); ok && r.IntN(10) == 0 {
				challenge, err := k.Commit(pick(), pick(), api.Mul(pick(), pick()))
				if err != nil {
					return err
				}
				keep(challenge)
			}
		case 18:
			x, y := pick(), pick()
			api.AssertIsEqual(api.Mul(api.Add(x, y), api.Sub(x, y)), api.Sub(api.Mul(x, x), api.Mul(y, y)))
		case 19:
			b := api.IsZero(pick())
			api.AssertIsBoolean(b)
			keep(api.Lookup2(b, api.Sub(1, b), pick(), pick(), pick(), pick()))
		case 20:
			keep(api.Neg(api.Mul(pick(), number(r, q))))
		case 21:
			if r.IntN(40) == 0 {
				api.Println(pick(), "and", pick())
			}
		case 22:
			if r.IntN(30) > 0 {
				break
			}
			f, err := emulated.NewField[emulated.Secp256k1Fp](api)
			if err != nil {
				return err
			}
			e := f.FromBits(gbits.ToBinary(api, pick())[:64+r.IntN(128)]...)
			e = f.Mul(f.Add(e, e), f.Sub(f.NewElement(number(r, q)), e))
			keep(f.Eval([][]*emulated.Element[emulated.Secp256k1Fp]{{e, e}, {e}}, []int{3, 7}).Limbs[r.IntN(4)])
		default:
			keep(api.Add(api.Mul(pick(), r.IntN(1<<16)), api.Mul(pick(), -r.IntN(1<<10)), pick()))
		}
		if c.mayFail && r.IntN(c.steps) < 2 {
			switch r.IntN(5) {
			case 4:
				keep(api.DivUnchecked(api.Mul(pick(), r.IntN(2)), api.Sub(pick(), pick())))
			case 0:
				api.AssertIsEqual(pick(), pick())
			case 1:
				keep(api.Inverse(pick()))
			case 2:
				api.AssertIsBoolean(pick())
			default:
				keep(table.Lookup(pick())...)
			}
		}
	}
	keep(table.Lookup(0, 1)...)
	api.AssertIsDifferent(api.Add(1, api.Mul(pick(), 0)), 0)
	return nil
}

// oddly is a user's hint whose outputs are negative, above the modulus, and integers of its
// inputs, on which it writes.
func oddly(q *big.Int, in, out []*big.Int) error {
	for i := range out {
		switch i {
		case 0:
			out[i].Neg(in[0])
		case 1:
			out[i].Add(in[1], q)
		default:
			out[i].Mul(in[0], in[2])
		}
	}
	in[2].SetInt64(9)
	return nil
}

// readBack returns the system as it is when it was written and read.
func readBack(t testing.TB, c constraint.ConstraintSystem) constraint.ConstraintSystem {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	var to constraint.ConstraintSystem
	switch c.(type) {
	case *cs254.R1CS:
		to = &cs254.R1CS{}
	case *cs377.R1CS:
		to = &cs377.R1CS{}
	case *cs381.R1CS:
		to = &cs381.R1CS{}
	case *cs761.R1CS:
		to = &cs761.R1CS{}
	}
	if _, err := to.ReadFrom(&b); err != nil {
		t.Fatal(err)
	}
	return to
}

// tally counts cases.
type tally struct {
	circuits, none, solutions, refused, instructions atomic.Int64
}

// solveDrawn solves one circuit with several witnesses by both solvers.
func solveDrawn(t testing.TB, s solvers, sparse int, seed uint64, n *tally) {
	circuit := drawCircuit(seed)
	say := func(format string, a ...any) {
		t.Errorf("%v, %s, -random-seed %d: %s", s.id, builders[sparse].name, seed, fmt.Sprintf(format, a...))
	}
	c, err := frontend.Compile(s.id.ScalarField(), builders[sparse].make, circuit)
	if err != nil {
		n.none.Add(1) // an assertion on constants, or nothing but constants to commit to
		return
	}
	n.circuits.Add(1)
	n.instructions.Add(int64(c.GetNbInstructions()))
	r := rand.New(rand.NewPCG(seed, 3))
	if r.IntN(3) == 0 {
		c = readBack(t, c)
	}
	opts := append(same(c), solver.WithHints(oddly))
	for round := range 3 {
		w := witnessOf(t, s.id, circuit.assign(r, s.id.ScalarField()))
		want, err := s.gnark(c, w, opts...)
		got, ours := s.ours(t.Context(), c, w, append(opts, solver.WithNbTasks(1+r.IntN(6)))...)
		switch {
		case err != nil && ours == nil:
			say("witness %d: gnark says %v, ours has a solution", round, err)
		case errors.Is(ours, assignment.ErrDefect):
			say("witness %d: %v, gnark says %v", round, ours, err)
		case err != nil:
			n.refused.Add(1)
			if !circuit.mayFail {
				say("witness %d: %v", round, err)
			}
		case ours != nil:
			say("witness %d: %v", round, ours)
		default:
			if err := got.differs(want); err != nil {
				say("witness %d: %v", round, err)
			}
			n.solutions.Add(1)
		}
		if round == 0 {
			assignment.AwaitSchedules()
		}
	}
}

// TestRandomCircuits solves random circuits over four curves, of both kinds, by our solver
// and gnark's: solutions are the same bit for bit, and what gnark's solver refuses ours does
// not solve. Several are solved at a time, some after they were written and read.
func TestRandomCircuits(t *testing.T) {
	start, first, count := time.Now(), *randomSeed, uint64(48)
	if testing.Short() {
		count = 16
	}
	more := func(i uint64) bool { return i < count && !t.Failed() }
	if *randomFor > 0 {
		if first == 0 {
			first = uint64(start.UnixNano())
		}
		more = func(uint64) bool { return time.Since(start) < *randomFor && !t.Failed() }
	}
	var n tally
	var next atomic.Uint64
	var all sync.WaitGroup
	on := everyCurve()
	for range 3 {
		all.Go(func() {
			for i := next.Add(1) - 1; more(i); i = next.Add(1) - 1 {
				solveDrawn(t, on[i%uint64(len(on))], int(i/uint64(len(on))%2), first+i, &n)
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	t.Logf("%d circuits from seed %d on, of %d instructions: %d solutions are the same, %d witnesses are refused by both, in %v",
		n.circuits.Load(), first, n.instructions.Load(), n.solutions.Load(), n.refused.Load(), took.Round(time.Second/10))
	if n.solutions.Load() < 2*n.refused.Load() || n.circuits.Load() < 4*n.none.Load() || n.solutions.Load() == 0 {
		t.Errorf("too few of the witnesses are right; %d circuits are none", n.none.Load())
	}
	if *randomRecord == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(map[string]any{"machine": record.ThisMachine(*randomCommit), "runs": []any{map[string]any{
		"op": "verify", "backend": "solver", "curve": "all", "cases": "random circuits",
		"tried": n.solutions.Load() + n.refused.Load(), "failed": 0,
		"first_seed": first, "circuits": n.circuits.Load(), "instructions": n.instructions.Load(),
		"same": n.solutions.Load(), "refused": n.refused.Load(),
		"seconds": int(took.Seconds()), "processors": runtime.GOMAXPROCS(0),
	}}}, "", "  ")
	if err == nil {
		err = os.WriteFile(*randomRecord, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
