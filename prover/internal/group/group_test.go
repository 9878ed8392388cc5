package group

import (
	"crypto/rand"
	"io"
	rand2 "math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"

	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// classesOf is a partition of n elements with one class of a third of them,
// small classes, single elements and some in none.
func classesOf(t *testing.T, n int) ([]uint64, *merge.Classes) {
	rng := rand2.New(rand2.NewPCG(7, uint64(n)))
	v := make([]uint64, n)
	for i := range v {
		switch rng.IntN(6) {
		case 0, 1:
			v[i] = 1
		case 2:
			v[i] = 2 + rng.Uint64N(uint64(n/8))
		case 3:
			v[i] = 0
		default:
			v[i] = 1 << 20 * uint64(i+1)
		}
	}
	e, err := merge.Hash(t.Context(), n, merge.Column{Bytes: layout.Bytes(v), Size: 8})
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Classes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v, c
}

// testSumClasses compares with the sum of each class, point by point. Some points
// are infinity, many are equal, and some are opposite, so that sums meet every
// case of the addition.
func testSumClasses[P, S any](t *testing.T, ops *Ops[P, S], generator P, negative P) {
	t.Run(ops.Group.String(), func(t *testing.T) {
		const n = 9000
		points := make([]P, n)
		for i := range points {
			switch i % 7 {
			case 0: // infinity
			case 1, 2:
				points[i] = negative
			default:
				points[i] = generator
			}
		}
		_, c := classesOf(t, n)
		got, err := ops.SumClasses(t.Context(), points, c)
		if err != nil {
			t.Fatal(err)
		}
		largest := 0
		for class := range got {
			members := c.Members(class)
			largest = max(largest, len(members))
			terms := make([]Term[P], len(members))
			for k, i := range members {
				terms[k].Point = points[i]
			}
			want := ops.Sum(terms...)
			if string(layout.Bytes(got[class:class+1])) != string(layout.Bytes([]P{want})) {
				t.Fatalf("class %d of %d points has another sum", class, len(members))
			}
		}
		if c.Len() < 100 || largest < 2100 {
			t.Errorf("%d classes of at most %d elements are not what the test is for", c.Len(), largest)
		}
	})
}

func TestSumClasses(t *testing.T) {
	_, _, a, b := bn254.Generators()
	testSumClasses(t, BN254G1, a, *new(bn254.G1Affine).Neg(&a))
	testSumClasses(t, BN254G2, b, *new(bn254.G2Affine).Neg(&b))
	_, _, c, d := bls12377.Generators()
	testSumClasses(t, BLS12377G1, c, *new(bls12377.G1Affine).Neg(&c))
	testSumClasses(t, BLS12377G2, d, *new(bls12377.G2Affine).Neg(&d))
	_, _, e, f := bls12381.Generators()
	testSumClasses(t, BLS12381G1, e, *new(bls12381.G1Affine).Neg(&e))
	testSumClasses(t, BLS12381G2, f, *new(bls12381.G2Affine).Neg(&f))
	_, _, g, h := bw6761.Generators()
	testSumClasses(t, BW6761G1, g, *new(bw6761.G1Affine).Neg(&g))
	testSumClasses(t, BW6761G2, h, *new(bw6761.G2Affine).Neg(&h))
}

func TestSelect(t *testing.T) {
	f := BN254Fr
	const n = 30000
	src := make(fr254.Vector, n+100)
	src.MustSetRandom()
	from := make([]uint32, n)
	for i := range from {
		from[i] = uint32(i + i/300)
	}
	_, classes := classesOf(t, n)
	for _, c := range []struct {
		name string
		sel  Selection
	}{{"some", Selection{From: from}}, {"classes", Selection{Classes: classes}}, {"classes of some", Selection{from, classes}}} {
		t.Run(c.name, func(t *testing.T) {
			got := make([]fr254.Element, c.sel.Len(n))
			if err := f.Select(t.Context(), got, src, &c.sel); err != nil {
				t.Fatal(err)
			}
			for i := range got {
				members := []uint32{uint32(i)}
				if c.sel.Classes != nil {
					members = c.sel.Classes.Members(i)
				}
				var want fr254.Element
				for _, m := range members {
					if c.sel.From != nil {
						m = c.sel.From[m]
					}
					want.Add(&want, &src[m])
				}
				if got[i] != want {
					t.Fatalf("scalar %d of %d values is wrong", i, len(members))
				}
			}
		})
	}
}

// TestPart: a selection is a part of the slice if it has no gap and adds nothing up.
func TestPart(t *testing.T) {
	_, classes := classesOf(t, 3)
	for _, c := range []struct {
		sel Selection
		lo  int
		ok  bool
	}{
		{Selection{}, 0, true},
		{Selection{From: []uint32{}}, 0, false},
		{Selection{From: []uint32{4}}, 4, true},
		{Selection{From: []uint32{2, 3, 4}}, 2, true},
		{Selection{From: []uint32{2, 3, 5}}, 2, false},
		{Selection{Classes: classes}, 0, false},
		{Selection{From: []uint32{2, 3, 4}, Classes: classes}, 0, false},
	} {
		if lo, ok := c.sel.Part(); ok != c.ok || ok && lo != c.lo {
			t.Errorf("%v: %d, %v", c.sel, lo, ok)
		}
	}
}

// TestEvaluationInParts has polynomials of one part and of several, of all
// lengths of the last, against the definition.
func TestEvaluationInParts(t *testing.T) {
	f := BN254Fr
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, n := range []int{0, 1, 2, 50, 2*leastPart - 1, 2 * leastPart, 3*leastPart + 1, 4*leastPart + 3, 9 * leastPart} {
		p := make(fr254.Vector, n)
		p.MustSetRandom()
		var z, want, power, term fr254.Element
		z.MustSetRandom()
		power.SetOne()
		for i := range p {
			want.Add(&want, term.Mul(&p[i], &power))
			power.Mul(&power, &z)
		}
		if got := f.Eval(p, z); got != want {
			t.Errorf("%d coefficients: another value", n)
		}
		q := slices.Clone(p)
		if got := f.Horner(q, z); got != want {
			t.Errorf("%d coefficients: another remainder", n)
		}
		// p = q (X-z) + p(z), coefficient by coefficient.
		for i := range p {
			got := want
			if i > 0 {
				got = q[i]
			}
			if i+1 < n {
				got.Sub(&got, term.Mul(&q[i+1], &z))
			}
			if got != p[i] {
				t.Fatalf("%d coefficients: number %d of the quotient times X-z is wrong", n, i)
			}
		}
	}
	if n := len(f.cut(make(fr254.Vector, 9*leastPart), new(fr254.Element), 0).carry) - 1; n != 4 {
		t.Errorf("%d parts on 4 processors", n)
	}
}

// TestRandomIsGnarkCryptos takes the same bytes as SetRandom and makes the same
// scalars of them.
func TestRandomIsGnarkCryptos(t *testing.T) {
	was := rand.Reader
	defer func() { rand.Reader = was }()
	for seed := range byte(50) {
		from := func() io.Reader { return rand2.NewChaCha8([32]byte{seed}) }
		rand.Reader = from()
		a, b := make([]fr254.Element, 2), make([]fr377.Element, 2)
		c, d := make([]fr381.Element, 2), make([]fr761.Element, 2)
		for _, err := range []error{BN254Fr.Random(a), BLS12377Fr.Random(b), BLS12381Fr.Random(c), BW6761Fr.Random(d)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		rand.Reader = from()
		for i := range 2 {
			same(t, &a[i], new(fr254.Element).MustSetRandom(), i)
		}
		for i := range 2 {
			same(t, &b[i], new(fr377.Element).MustSetRandom(), i)
		}
		for i := range 2 {
			same(t, &c[i], new(fr381.Element).MustSetRandom(), i)
		}
		for i := range 2 {
			same(t, &d[i], new(fr761.Element).MustSetRandom(), i)
		}
	}
}

func same[T comparable](t *testing.T, got, want *T, i int) {
	t.Helper()
	if *got != *want {
		t.Errorf("scalar %d is %v, gnark-crypto's is %v", i, *got, *want)
	}
}

func BenchmarkHorner(b *testing.B) {
	p := make(fr254.Vector, 1<<20)
	p.MustSetRandom()
	for b.Loop() {
		BN254Fr.Horner(p, p[0])
	}
}

func BenchmarkEval(b *testing.B) {
	p := make(fr254.Vector, 1<<20)
	p.MustSetRandom()
	for b.Loop() {
		BN254Fr.Eval(p, p[0])
	}
}
