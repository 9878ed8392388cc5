// Package samples is circuits for the tests of provers, with assignments.
package samples

import (
	"errors"
	"flag"
	"math/big"
	"math/rand/v2"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/gkrapi/gkr"
	_ "github.com/consensys/gnark/std/hash/mimc" // GKR asks for it by name
	"github.com/consensys/gnark/std/lookup/logderivlookup"
	"github.com/consensys/gnark/std/rangecheck"
)

// Sample is a circuit with a way to make assignments: for another seed,
// another assignment. A negative seed is one that does not satisfy it.
type Sample struct {
	Name    string
	Circuit func() frontend.Circuit
	Assign  func(field *big.Int, seed int64) frontend.Circuit
}

// wrong returns what to add to a value to spoil an assignment.
func wrong(seed int64) int64 {
	if seed < 0 {
		return 1
	}
	return 0
}

// tiny has one constraint and nothing secret.
type tiny struct {
	X frontend.Variable `gnark:",public"`
	Y frontend.Variable `gnark:",public"`
}

func (c *tiny) Define(api frontend.API) error {
	api.AssertIsEqual(c.Y, api.Mul(c.X, c.X))
	return nil
}

// equal has no private wires at all, so that K is empty.
type equal struct {
	X frontend.Variable `gnark:",public"`
	Y frontend.Variable `gnark:",public"`
}

func (c *equal) Define(api frontend.API) error {
	api.AssertIsEqual(c.X, c.Y)
	return nil
}

// unconstrained has no constraints at all, and two rows: the smallest domain.
type unconstrained struct {
	X, Y frontend.Variable `gnark:",public"`
	Z    frontend.Variable
}

func (c *unconstrained) Define(frontend.API) error { return nil }

// idle has more variables than its rows could.
type idle struct {
	X [50]frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *idle) Define(api frontend.API) error {
	api.AssertIsEqual(c.Y, api.Mul(c.X[0], c.X[49]))
	return nil
}

// Cubic is the usual first circuit.
type Cubic struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *Cubic) Define(api frontend.API) error {
	api.AssertIsEqual(c.Y, api.Add(api.Mul(c.X, c.X, c.X), c.X, 5))
	return nil
}

func assignCubic(q *big.Int, seed int64) frontend.Circuit {
	x := big.NewInt(seed)
	x.Exp(x, big.NewInt(5), q)
	y := new(big.Int).Exp(x, big.NewInt(3), q)
	y.Add(y, x).Add(y, big.NewInt(5+wrong(seed))).Mod(y, q)
	return &Cubic{x, y}
}

// random is a circuit of additions and products chosen by a seed, with values
// used often and rarely, constants and repetitions, over public and secret
// inputs.
type random struct {
	seed, steps uint64
	Public      [3]frontend.Variable `gnark:",public"`
	Secret      [4]frontend.Variable
	Out         frontend.Variable `gnark:",public"`
}

// arithmetic is what the circuit and the assignment both do it with.
type arithmetic[T any] struct {
	add, mul func(a, b T) T
	number   func(int64) T
}

func walk[T any](seed, steps uint64, in []T, a arithmetic[T]) T {
	rng := rand.New(rand.NewPCG(seed, 0))
	v := append([]T{a.number(3)}, in...)
	any := func() T {
		if rng.IntN(3) == 0 {
			return v[rng.IntN(min(8, len(v)))]
		}
		return v[rng.IntN(len(v))]
	}
	for range steps {
		switch rng.IntN(4) {
		case 0:
			v = append(v, a.add(any(), any()))
		case 1:
			v = append(v, a.add(any(), a.mul(a.number(rng.Int64N(1000)), any())))
		default:
			v = append(v, a.mul(any(), any()))
		}
	}
	return v[len(v)-1]
}

func (c *random) Define(api frontend.API) error {
	out := walk(c.seed, c.steps, append(c.Public[:], c.Secret[:]...), arithmetic[frontend.Variable]{
		add:    func(a, b frontend.Variable) frontend.Variable { return api.Add(a, b) },
		mul:    func(a, b frontend.Variable) frontend.Variable { return api.Mul(a, b) },
		number: func(i int64) frontend.Variable { return i },
	})
	api.AssertIsEqual(c.Out, out)
	return nil
}

// Random returns a circuit of so many additions and products, chosen by a seed.
func Random(name string, seed, steps uint64) Sample {
	return Sample{name, func() frontend.Circuit { return &random{seed: seed, steps: steps} },
		func(q *big.Int, s int64) frontend.Circuit {
			c := &random{seed: seed, steps: steps}
			var in []*big.Int
			for i := range int64(7) {
				x := big.NewInt(abs(s) + i)
				if i%3 == 0 {
					x.Exp(x, big.NewInt(99), q)
				}
				in = append(in, x)
			}
			mod := func(x *big.Int) *big.Int { return x.Mod(x, q) }
			out := walk(seed, steps, in, arithmetic[*big.Int]{
				add:    func(a, b *big.Int) *big.Int { return mod(new(big.Int).Add(a, b)) },
				mul:    func(a, b *big.Int) *big.Int { return mod(new(big.Int).Mul(a, b)) },
				number: big.NewInt,
			})
			for i := range c.Public {
				c.Public[i] = in[i]
			}
			for i := range c.Secret {
				c.Secret[i] = in[3+i]
			}
			c.Out = mod(new(big.Int).Add(out, big.NewInt(wrong(s))))
			return c
		}}
}

func abs(s int64) int64 { return max(s, -s) }

// committing makes two commitments: one to secret values, and one to secret and
// public values and the first.
type committing struct {
	X [4]frontend.Variable
	Y frontend.Variable `gnark:",public"`
	Z frontend.Variable `gnark:",public"`
}

func (c *committing) Define(api frontend.API) error {
	com := api.(frontend.Committer)
	first, err := com.Commit(c.X[0], c.X[1], api.Mul(c.X[2], c.X[3]))
	if err != nil {
		return err
	}
	second, err := com.Commit(c.X[1], c.Y, first, api.Mul(c.X[0], c.X[0]))
	if err != nil {
		return err
	}
	api.AssertIsDifferent(api.Mul(first, second), c.Z)
	api.AssertIsEqual(c.Y, api.Add(api.Mul(c.X[0], c.X[1]), api.Mul(c.X[2], c.X[3])))
	return nil
}

// committingPublic commits to public values only.
type committingPublic struct {
	X, Y frontend.Variable `gnark:",public"`
}

func (c *committingPublic) Define(api frontend.API) error {
	com, err := api.(frontend.Committer).Commit(c.X)
	if err != nil {
		return err
	}
	api.AssertIsDifferent(com, c.X)
	api.AssertIsEqual(c.Y, api.Mul(c.X, c.X))
	return nil
}

// committingLast ends with a commitment, which nothing reads.
type committingLast struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *committingLast) Define(api frontend.API) error {
	api.AssertIsEqual(c.Y, api.Mul(c.X, c.X))
	_, err := api.(frontend.Committer).Commit(c.X, c.Y)
	return err
}

// hinting takes an inverse from a hint, has range checks (commitments and
// many equal values) and a lookup table with entries of the witness.
type hinting struct {
	X     frontend.Variable
	Table [6]frontend.Variable
	At    [5]frontend.Variable
	Sum   frontend.Variable `gnark:",public"`
}

// Call is a circuit that calls a hint and does nothing with its outputs.
type Call struct {
	hint    solver.Hint
	outputs int
	In      []frontend.Variable
}

// CallOf returns a call of a hint with so many outputs and inputs.
func CallOf(hint solver.Hint, outputs, inputs int) *Call {
	return &Call{hint, outputs, make([]frontend.Variable, inputs)}
}

// Define implements frontend.Circuit.
func (c *Call) Define(api frontend.API) error {
	_, err := api.Compiler().NewHint(c.hint, c.outputs, c.In...)
	return err
}

// waiting takes its value from a hint.
type waiting struct {
	hint solver.Hint
	X    frontend.Variable `gnark:",public"`
}

func (c *waiting) Define(api frontend.API) error {
	same, err := api.Compiler().NewHint(c.hint, 1, c.X)
	if err != nil {
		return err
	}
	api.AssertIsEqual(same[0], c.X)
	return nil
}

// Waiting returns a sample with a hint that calls wait, and the option by which solvers
// know the hint.
func Waiting(wait func() error) (Sample, solver.Option) {
	hint := func(_ *big.Int, in, out []*big.Int) error {
		out[0].Set(in[0])
		return wait()
	}
	return Sample{"waiting", func() frontend.Circuit { return &waiting{hint: hint} },
		func(_ *big.Int, seed int64) frontend.Circuit { return &waiting{X: abs(seed)} }}, solver.WithHints(hint)
}

// HalfHint halves its input modulo q. It is not registered, so a prover must pass on the
// solver's options.
func HalfHint(q *big.Int, in, out []*big.Int) error {
	if in[0].Sign() == 0 {
		return errors.New("no half of zero")
	}
	half := new(big.Int).ModInverse(big.NewInt(2), q)
	out[0].Mul(in[0], half).Mod(out[0], q)
	return nil
}

func (c *hinting) Define(api frontend.API) error {
	half, err := api.Compiler().NewHint(HalfHint, 1, c.X)
	if err != nil {
		return err
	}
	api.AssertIsEqual(api.Add(half[0], half[0]), c.X)
	table := logderivlookup.New(api)
	for _, v := range c.Table {
		table.Insert(v)
	}
	check := rangecheck.New(api)
	sum := c.X
	for _, v := range table.Lookup(c.At[:]...) {
		check.Check(v, 8)
		sum = api.Add(sum, v)
	}
	api.AssertIsEqual(sum, c.Sum)
	return nil
}

func assignHinting(_ *big.Int, seed int64) frontend.Circuit {
	c := &hinting{X: abs(seed)}
	sum := abs(seed) + wrong(seed)
	for i := range c.Table {
		c.Table[i] = (abs(seed)*7 + int64(i)*int64(i)) % (1 << 8)
	}
	for i := range c.At {
		at := (abs(seed) + int64(i)) % int64(len(c.Table))
		c.At[i] = at
		sum += c.Table[at].(int64)
	}
	c.Sum = sum
	return c
}

// layered proves products with GKR, whose blueprints keep values.
type layered struct {
	X, Y [2]frontend.Variable
	Sum  frontend.Variable `gnark:",public"`
}

func product(api gkr.GateAPI, in ...frontend.Variable) frontend.Variable {
	return api.Mul(in[0], in[1])
}

func (c *layered) Define(api frontend.API) error {
	products, err := c.products(api)
	if err != nil {
		return err
	}
	api.AssertIsEqual(api.Add(products[0], products[1]), c.Sum)
	return nil
}

func assignLayered(_ *big.Int, seed int64) frontend.Circuit {
	var c layered
	sum := wrong(seed)
	for i := range c.X {
		x, y := abs(seed)+int64(i), abs(seed)*3+7*int64(i)
		c.X[i], c.Y[i] = x, y
		sum += x * y * y
	}
	c.Sum = sum
	return &c
}

// All is the circuits, none of which changes.
var All = []Sample{
	{"tiny", func() frontend.Circuit { return &tiny{} }, func(_ *big.Int, s int64) frontend.Circuit {
		return &tiny{abs(s), s*s + wrong(s)}
	}},
	{"unconstrained", func() frontend.Circuit { return &unconstrained{} }, func(_ *big.Int, s int64) frontend.Circuit {
		return &unconstrained{s, 2 * s, s}
	}},
	{"idle variables", func() frontend.Circuit { return &idle{} }, func(_ *big.Int, s int64) frontend.Circuit {
		c := &idle{Y: s*s + wrong(s)}
		for i := range c.X {
			c.X[i] = abs(s)
		}
		return c
	}},
	{"nothing private", func() frontend.Circuit { return &equal{} }, func(_ *big.Int, s int64) frontend.Circuit {
		return &equal{abs(s), abs(s) + wrong(s)}
	}},
	{"cubic", func() frontend.Circuit { return &Cubic{} }, assignCubic},
	Random("random of 60", 1, 60),
	Random("random of 700", 2, 700),
	{"commitments", func() frontend.Circuit { return &committing{} }, func(_ *big.Int, s int64) frontend.Circuit {
		x := abs(s)
		return &committing{[4]frontend.Variable{x, x + 1, x, 0}, x*x + x + wrong(s), 0}
	}},
	{"public commitment", func() frontend.Circuit { return &committingPublic{} }, func(_ *big.Int, s int64) frontend.Circuit {
		return &committingPublic{abs(s), s*s + wrong(s)}
	}},
	{"last a commitment", func() frontend.Circuit { return &committingLast{} }, func(_ *big.Int, s int64) frontend.Circuit {
		return &committingLast{abs(s), s*s + wrong(s)}
	}},
	{"GKR", func() frontend.Circuit { return &layered{} }, assignLayered},
	{"hints and tables", func() frontend.Circuit { return &hinting{} }, assignHinting},
}

// Hints are the options that the samples need.
var Hints = solver.WithHints(HalfHint)

var everywhere = flag.Bool("gkr", false, "prove the circuit with GKR on all curves: it takes a minute to set up")

// On returns the samples to prove on a curve.
func On(curve ecc.ID) (on []Sample) {
	for _, s := range All {
		if s.Name != "GKR" || curve == ecc.BN254 || *everywhere {
			on = append(on, s)
		}
	}
	return on
}

// Ours reports whether pippin's solver solves the circuit. Of GKR with hints, as gnark has it before
// v0.15, gnark's does.
func (s *Sample) Ours() bool { return s.Name != "GKR" || HasGKR() }

// ByName returns the sample of All with a name. It panics if there is none.
func ByName(name string) Sample {
	for _, s := range All {
		if s.Name == name {
			return s
		}
	}
	panic(name)
}
