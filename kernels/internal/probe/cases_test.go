package probe

import (
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/pippin-zk/pippin/kernels/internal/oracle"
)

// operand is a number that an operation takes. It is drawn from [0, max], where
// max may depend on the operands before it; fix, when set, moves the number to
// one that the operation allows.
type operand struct {
	words int
	max   func(before []*big.Int) *big.Int
	fix   func(x *big.Int) *big.Int
}

// result is a number that an operation gives: exactly the wanted one, or with a
// modulus one that is congruent to it and below limit.
type result struct {
	words          int
	modulus, limit *big.Int
}

// op describes the operation of a name for the instances of its argument.
type op struct {
	name string
	in   func(a *arg) []operand
	out  func(a *arg) []result
	// want gives the results, from operands in the order of in.
	want func(a *arg, x []*big.Int) []*big.Int
	// items replaces the drawing of operands, check the comparison, where
	// operands depend on one another or results are compared as points.
	items func(a *arg, r *rand.Rand) [][]*big.Int
	check func(a *arg, x, y []*big.Int) error
	// slow operations get fewer items.
	slow bool
}

// arg is an argument of operations: a number, a field or a group.
type arg struct {
	name  string
	n     int // the number: limbs, double words of a row, or bits of a modulus
	field field
	group group
}

// one is the constant 1, shared and never written.
var one = big.NewInt(1)

func int64s(x int64) *big.Int { return big.NewInt(x) }

func truth(b bool) *big.Int {
	if b {
		return one
	}
	return new(big.Int)
}

func below(limit *big.Int) *big.Int { return new(big.Int).Sub(limit, one) }

// words returns an operand of any value in n words.
func words(n int) operand { return upTo(n, below(oracle.Pow2(32*n))) }

// upTo returns an operand of n words up to max.
func upTo(n int, max *big.Int) operand {
	return operand{words: n, max: func([]*big.Int) *big.Int { return max }}
}

// exact returns a result of n words.
func exact(n int) result { return result{words: n} }

// extremes are the limbs that carries and borrows like.
var extremes = []uint32{0, 0, 1, 0xffffffff, 0xffffffff, 0x80000000, 0x7fffffff, 0xfffffffe}

// draw returns a number in [0, max]: half of them at the ends of the range, with
// extreme limbs, or equal to an operand before it, the others uniform.
func draw(r *rand.Rand, o operand, before []*big.Int) *big.Int {
	max := o.max(before)
	x := drawRaw(r, o.words, max, before)
	if o.fix != nil {
		x = o.fix(x)
	}
	return x
}

func drawRaw(r *rand.Rand, words int, max *big.Int, before []*big.Int) *big.Int {
	limit := new(big.Int).Add(max, one)
	limbs := make([]uint32, words)
	switch r.IntN(12) {
	case 0: // from the bottom
		x := big.NewInt(int64(r.IntN(3)))
		return x.Mod(x, limit)
	case 1: // from the top
		x := new(big.Int).Sub(max, big.NewInt(int64(r.IntN(3))))
		return x.Mod(x, limit)
	case 2: // an operand once more
		if len(before) > 0 {
			x := before[r.IntN(len(before))]
			return new(big.Int).Mod(x, limit)
		}
	case 3: // halves and thirds, where doublings and folds turn over
		x := new(big.Int).Div(max, big.NewInt(int64(2+r.IntN(2))))
		x.Add(x, big.NewInt(int64(r.IntN(3))))
		return x.Mod(x, limit)
	case 4, 5: // extreme limbs
		for i := range limbs {
			limbs[i] = extremes[r.IntN(len(extremes))]
		}
		return new(big.Int).Mod(oracle.Int(limbs), limit)
	case 6: // all limbs the same extreme
		w := extremes[r.IntN(len(extremes))]
		for i := range limbs {
			limbs[i] = w
		}
		return new(big.Int).Mod(oracle.Int(limbs), limit)
	case 7: // one limb
		limbs[r.IntN(words)] = extremes[r.IntN(len(extremes))]
		return new(big.Int).Mod(oracle.Int(limbs), limit)
	}
	for i := range limbs {
		limbs[i] = r.Uint32()
	}
	return new(big.Int).Mod(oracle.Int(limbs), limit)
}

// sizes checks the words of op against the probe's table.
func (o *op) layout(a *arg) size {
	var s size
	for _, x := range o.in(a) {
		s.in += x.words
	}
	for _, y := range o.out(a) {
		s.out += y.words
	}
	return s
}

// run compares the operation on about so many items with its model.
func (o *op) run(c *client, a *arg, count int, seed uint64) error {
	name := o.name + "/" + a.name
	have, ok := c.table[name]
	if !ok {
		return fmt.Errorf("the probe has no %s", name)
	}
	if want := o.layout(a); want != have {
		return fmt.Errorf("the probe's %s takes %v words, the test %v", name, have, want)
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(name))))
	in := o.in(a)
	var items [][]*big.Int
	if o.items != nil {
		items = o.items(a, r)
	} else {
		items = make([][]*big.Int, count)
		for i := range items {
			for _, x := range in {
				items[i] = append(items[i], draw(r, x, items[i]))
			}
		}
	}
	var operands []uint32
	for _, item := range items {
		for j, x := range item {
			operands = append(operands, oracle.Words(x, in[j].words)...)
		}
	}
	got, err := c.call(name, have, len(items), operands)
	if err != nil {
		return err
	}
	out := o.out(a)
	for i, item := range items {
		y := make([]*big.Int, len(out))
		rest := got[i*have.out:]
		for j := range out {
			y[j], rest = oracle.Int(rest[:out[j].words]), rest[out[j].words:]
		}
		if err := o.compare(a, out, item, y); err != nil {
			return fmt.Errorf("%s, item %d of %d, operands %x: %w", name, i, len(items), item, err)
		}
	}
	return nil
}

func (o *op) compare(a *arg, out []result, x, y []*big.Int) error {
	for j, r := range out {
		if r.limit != nil && y[j].Cmp(r.limit) >= 0 {
			return fmt.Errorf("result %d is %x, not below %x", j, y[j], r.limit)
		}
	}
	if o.check != nil {
		return o.check(a, x, y)
	}
	for j, w := range o.want(a, x) {
		same := y[j].Cmp(w) == 0
		if m := out[j].modulus; m != nil {
			d := new(big.Int).Sub(y[j], w)
			same = d.Mod(d, m).Sign() == 0
		}
		if !same {
			return fmt.Errorf("result %d is %x, want %x", j, y[j], w)
		}
	}
	return nil
}
