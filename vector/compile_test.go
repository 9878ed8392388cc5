package vector

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/extent"
)

// machine has vectors that are three elements long, without a backend: code is run
// here, and what it leaves is compared with the expression's own value.
type machine struct {
	s       *Session[fr.Element]
	vectors []Vector[fr.Element]
	values  [][]fr.Element
}

const length = 3

func random() (e fr.Element) { e.MustSetRandom(); return e }

// value computes element i of an expression by its definition.
func (m *machine) value(t *testing.T, n *node[fr.Element], i int, known map[*node[fr.Element]]fr.Element) (v fr.Element) {
	if v, ok := known[n]; ok {
		return v
	}
	var l, r fr.Element
	if n.left != nil {
		l = m.value(t, n.left, i, known)
	}
	if n.right != nil {
		r = m.value(t, n.right, i, known)
	}
	switch n.op {
	case backend.MapLoad:
		v = m.values[n.view.v.offset/length][((n.view.stride*i+n.view.rotate)%length+length)%length]
	case backend.MapConst:
		v = n.constant
	case backend.MapAdd:
		v.Add(&l, &r)
	case backend.MapSub:
		v.Sub(&l, &r)
	case backend.MapMul:
		v.Mul(&l, &r)
	case backend.MapSquare:
		v.Square(&l)
	case backend.MapDouble:
		v.Double(&l)
	case backend.MapNeg:
		v.Neg(&l)
	default:
		t.Fatalf("operation %d", n.op)
	}
	known[n] = v
	return v
}

// run computes element i of what code leaves, and returns how many products it took.
func (m *machine) run(t *testing.T, c *compiler[fr.Element], i int) (fr.Element, int) {
	var stack []fr.Element
	products := 0
	for _, op := range c.code {
		top := len(stack) - 1
		switch op.Op {
		case backend.MapLoad:
			a := c.args[op.Arg]
			stack = append(stack, m.values[a.Offset/length][((a.Stride*i+a.Rotate)%length+length)%length])
		case backend.MapConst:
			stack = append(stack, c.constants[op.Arg])
		case backend.MapCopy:
			stack = append(stack, stack[top-op.Arg])
		case backend.MapAdd, backend.MapSub, backend.MapMul:
			l, r := &stack[top-1], &stack[top]
			switch op.Op {
			case backend.MapAdd:
				l.Add(l, r)
			case backend.MapSub:
				l.Sub(l, r)
			default:
				l.Mul(l, r)
				products++
			}
			stack = stack[:top]
		case backend.MapSquare:
			stack[top].Square(&stack[top])
			products++
		case backend.MapDouble:
			stack[top].Double(&stack[top])
		case backend.MapNeg:
			stack[top].Neg(&stack[top])
		}
		if len(stack) > backend.MapStack {
			t.Fatalf("%d elements on the stack", len(stack))
		}
	}
	if len(stack) != 1 || len(c.code) > backend.MapCodes {
		t.Fatalf("%d elements are left by %d operations", len(stack), len(c.code))
	}
	return stack[0], products
}

func newMachine(vectors int) *machine {
	m := &machine{s: &Session[fr.Element]{f: BN254, room: extent.New(vectors * length)}}
	for range vectors {
		id, part, _ := m.s.room.Take(length)
		m.vectors = append(m.vectors, Vector[fr.Element]{s: m.s, id: id, offset: part.Offset, count: length})
		m.values = append(m.values, []fr.Element{random(), random(), random()})
	}
	return m
}

// check compiles x, compares and returns the products of the code.
func (m *machine) check(t *testing.T, x Expr[fr.Element]) int {
	t.Helper()
	c, err := compileHere(x)
	if err != nil {
		t.Fatal(err)
	}
	products := 0
	for i := range length {
		got, n := m.run(t, c, i)
		if want := m.value(t, x.node(), i, map[*node[fr.Element]]fr.Element{}); got != want {
			t.Fatalf("element %d is %v, want %v: %v", i, &got, &want, c.code)
		}
		products = n
	}
	return products
}

// compileHere compiles an expression of vectors in no backend.
func compileHere(x Expr[fr.Element]) (*compiler[fr.Element], error) {
	return compileWith(x, func(w View[fr.Element]) backend.Operand {
		return backend.Operand{Range: backend.Range{Offset: w.v.offset, Count: w.v.count}, Stride: w.stride, Rotate: w.rotate}
	})
}

// TestRandomExpressions compiles graphs in which much is shared.
func TestRandomExpressions(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 500
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	m := newMachine(6)
	refused := 0
	for range rounds {
		pool := []Expr[fr.Element]{{}, Const(random())}
		for _, v := range m.vectors {
			pool = append(pool, v.Expr(), v.Rotate(r.IntN(9)-4).Expr())
		}
		pick := func() Expr[fr.Element] {
			if r.IntN(2) == 0 { // lately made
				return pool[len(pool)-1-r.IntN(min(4, len(pool)))]
			}
			return pool[r.IntN(len(pool))]
		}
		for range 1 + r.IntN(30) {
			x, y := pick(), pick()
			switch r.IntN(9) {
			case 0, 1:
				x = x.Add(y)
			case 2, 3:
				x = x.Sub(y)
			case 4, 5:
				x = x.Mul(y)
			case 6:
				x = x.Square()
			case 7:
				x = x.Double()
			default:
				x = x.Neg()
			}
			pool = append(pool, x)
		}
		x := pool[len(pool)-1]
		if _, err := compileHere(x); err != nil {
			if !errors.Is(err, backend.ErrInvalidInput) {
				t.Fatal(err)
			}
			refused++ // its tree is too large, and the stack is full
			continue
		}
		m.check(t, x)
	}
	if refused > rounds/10 {
		t.Errorf("%d of %d expressions were refused", refused, rounds)
	}
}

// TestSharing counts products: what is shared is computed once where it can be.
func TestSharing(t *testing.T) {
	m := newMachine(6)
	x := func(i int) Expr[fr.Element] { return m.vectors[i].Expr() }
	a, b, c, d, e, f := x(0), x(1), x(2), x(3), x(4), x(5)
	ab := a.Mul(b)
	cubic := ab.Add(c)
	for name, of := range map[string]struct {
		x        Expr[fr.Element]
		products int
	}{
		"itself":           {ab.Mul(ab), 2},
		"twice":            {ab.Add(c).Mul(ab.Add(d)), 2},
		"equal, not same":  {a.Mul(b).Add(c).Mul(a.Mul(b).Add(d)), 2},
		"as left operand":  {ab.Sub(ab.Mul(c)), 2},
		"as right operand": {c.Mul(ab).Sub(ab), 2},
		"both operands":    {ab.Mul(c).Add(ab).Mul(ab), 3},
		"nested":           {ab.Mul(c).Add(d).Mul(ab.Mul(c).Add(e)).Add(ab), 3},
		"in each other":    {cubic.Mul(cubic.Mul(cubic.Mul(d).Add(e)).Add(f)), 4},
		// Not shared: a copy and two additions cost more.
		"cheap": {a.Add(b).Mul(a.Add(b).Add(c)), 1},
		// The gate of PLONK with its permutation on one coset point.
		"a quotient": {func() Expr[fr.Element] {
			beta, gamma, alpha := Const(random()), Const(random()), Const(random())
			gate := a.Mul(d).Add(b.Mul(e)).Add(ab.Mul(f)).Add(c)
			wire := func(w, s Expr[fr.Element]) Expr[fr.Element] { return w.Add(beta.Mul(s)).Add(gamma) }
			z := m.vectors[5]
			left := wire(a, d).Mul(wire(b, e)).Mul(wire(c, f)).Mul(z.Expr())
			right := wire(a, e).Mul(wire(b, f)).Mul(wire(c, d)).Mul(z.Rotate(1).Expr())
			return gate.Add(left.Sub(right).Mul(alpha)).Add(z.Expr().Sub(Const(BN254.one)).Mul(alpha.Square()))
		}(), 16},
	} {
		if n := m.check(t, of.x); n != of.products {
			t.Errorf("%s: %d products, want %d", name, n, of.products)
		}
	}
}

// TestLargeExpressions: what is deep, wide, or a large tree of a small graph.
func TestLargeExpressions(t *testing.T) {
	m := newMachine(60)
	var left, right Expr[fr.Element]
	for _, v := range m.vectors {
		left = left.Add(v.Expr().Scale(random()))
		right = v.Expr().Scale(random()).Sub(right)
	}
	m.check(t, left)
	m.check(t, right)
	var tree func(lo, hi int) Expr[fr.Element]
	tree = func(lo, hi int) Expr[fr.Element] {
		if hi-lo == 1 {
			return m.vectors[lo%60].Rotate(lo / 60).Expr()
		}
		return tree(lo, (lo+hi)/2).Mul(tree((lo+hi)/2, hi))
	}
	m.check(t, tree(0, 60))
	x := m.vectors[0].Expr().Add(m.vectors[1].Expr())
	for range 100 { // as a tree it has 2^100 operations
		x = x.Mul(x.Add(m.vectors[2].Expr()))
	}
	m.check(t, x)
	for name, x := range map[string]Expr[fr.Element]{
		"too many operands": tree(0, 65).Add(tree(65, 70)),
		"too long": func() Expr[fr.Element] {
			x := m.vectors[0].Expr()
			for range 300 {
				x = x.Square().Neg()
			}
			return x
		}(),
		"too many constants": func() (x Expr[fr.Element]) {
			for range 300 {
				x = x.Add(Const(random()))
			}
			return x
		}(),
	} {
		if _, err := compileHere(x); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
