//go:build cuda

package vector

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
)

var (
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of random inputs")
	small = flag.Bool("small", false, "little input, as on the fake driver")
	long  = flag.Bool("long", false, "also scans of three levels")
)

// little reports whether kernels are slow and tests should be small.
func little() bool { return *small || cudatest.Slow() }

func TestMain(m *testing.M) {
	cudatest.WithKernels()
	flag.Parse()
	os.Exit(m.Run())
}

// card is a computer, and the spaces and bases that its programs name.
type card struct {
	testing.TB
	*Computer
	*model
	spaces map[backend.SpaceID]*Space
	bases  map[backend.BasesID]*msm.Bases
}

func open(t testing.TB, c backend.Curve, o device.Options) *card {
	t.Helper()
	d, err := device.Open(0, o)
	cudatest.Opened(t, err)
	m, err := msm.New(d)
	if err != nil {
		t.Fatal(err)
	}
	k := &card{t, New(d, m), newModel(c), make(map[backend.SpaceID]*Space), make(map[backend.BasesID]*msm.Bases)}
	t.Cleanup(func() {
		var errs []error
		for _, s := range k.spaces {
			errs = append(errs, s.Free())
		}
		for _, b := range k.bases {
			errs = append(errs, b.Free())
		}
		if err := errors.Join(append(errs, k.Close(), m.Close(), d.Close())...); err != nil {
			t.Error(err)
		}
	})
	return k
}

func (k *card) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// space makes a new space and returns it as a range.
func (k *card) space(n int) backend.Range {
	k.Helper()
	s, err := k.NewSpace(k.Context(), backend.Elements{Element: backend.ScalarOf(k.curve), Count: n})
	k.must(err)
	id := backend.SpaceID(len(k.spaces) + 1)
	k.spaces[id] = s
	return backend.Range{Space: id, Count: n}
}

// try runs a program as the backend does.
func (k *card) try(ctx context.Context, steps ...backend.Step) ([][]byte, error) {
	k.Helper()
	err := backend.Check(steps, backend.Memory{Bases: func(id backend.BasesID) (backend.Elements, bool) {
		b, ok := k.bases[id]
		return b.Elements, ok
	}, Space: func(id backend.SpaceID) (backend.Elements, bool) {
		s, ok := k.spaces[id]
		return s.Elements, ok
	}})
	k.must(err)
	return k.Run(ctx, steps, Used{
		Space: func(id backend.SpaceID) *Space { return k.spaces[id] },
		Bases: func(id backend.BasesID) *msm.Bases { return k.bases[id] },
	})
}

func (k *card) run(steps ...backend.Step) [][]byte {
	k.Helper()
	answers, err := k.try(k.Context(), steps...)
	k.must(err)
	return answers
}

func part(r backend.Range, from, n int) backend.Range {
	return backend.Range{Space: r.Space, Offset: r.Offset + from, Count: n}
}

// model computes with numbers. It computes each step by its definition.
type model struct {
	curve backend.Curve
	r     *big.Int
	mont  *big.Int // R
	unmnt *big.Int // 1/R
	rand  *rand.Rand
}

func newModel(c backend.Curve) *model {
	m := &model{curve: c, r: c.ScalarField(), rand: rand.New(rand.NewPCG(*seed, uint64(c)))}
	m.mont = new(big.Int).Lsh(big.NewInt(1), uint(8*c.ScalarBytes()))
	m.unmnt = new(big.Int).ModInverse(m.mont, m.r)
	return m
}

// bytes returns elements, in memory aligned for gnark-crypto's types.
func (m *model) bytes(vs ...*big.Int) []byte {
	size := m.curve.ScalarBytes()
	b := layout.Bytes(make([]uint64, len(vs)*size/8))
	for i, v := range vs {
		e := b[i*size : (i+1)*size]
		new(big.Int).Mod(new(big.Int).Mul(v, m.mont), m.r).FillBytes(e)
		slices.Reverse(e)
	}
	return b
}

// numbers returns the values of elements. All must be canonical.
func (m *model) numbers(t testing.TB, b []byte) []*big.Int {
	t.Helper()
	size := m.curve.ScalarBytes()
	var vs []*big.Int
	for ; len(b) >= size; b = b[size:] {
		e := bytes.Clone(b[:size])
		slices.Reverse(e)
		v := new(big.Int).SetBytes(e)
		if v.Cmp(m.r) >= 0 {
			t.Fatalf("seed %d: element %d is not below r", *seed, len(vs))
		}
		vs = append(vs, v.Mod(v.Mul(v, m.unmnt), m.r))
	}
	return vs
}

// some returns n elements, among them 0, 1 and r-1, the others random.
func (m *model) some(n int) []*big.Int {
	vs := make([]*big.Int, n)
	for i := range vs {
		switch m.rand.IntN(8) {
		case 0:
			vs[i] = new(big.Int)
		case 1:
			vs[i] = big.NewInt(1)
		case 2:
			vs[i] = new(big.Int).Sub(m.r, big.NewInt(1))
		default:
			vs[i] = m.any()
		}
	}
	return vs
}

// any returns one random element.
func (m *model) any() *big.Int {
	v := new(big.Int)
	for range 7 {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(m.rand.Uint64()))
	}
	return v.Mod(v, m.r)
}

func (m *model) mod(v *big.Int) *big.Int { return v.Mod(v, m.r) }

// value returns the value of a polynomial at z.
func (m *model) value(coefficients []*big.Int, z *big.Int) *big.Int {
	v := new(big.Int)
	for _, c := range slices.Backward(coefficients) {
		m.mod(v.Mul(v, z).Add(v, c))
	}
	return v
}

// reversed returns a list with element i at the place with the bits of i reversed.
func reversed[T any](in []T) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[bits.Reverse(uint(i))>>(bits.UintSize-bits.Len(uint(len(in)-1)))] = v
	}
	return out
}

func (k *card) same(what string, got []byte, want ...*big.Int) {
	k.Helper()
	g := k.numbers(k, got)
	if len(g) != len(want) {
		k.Fatalf("%s: %d elements, want %d", what, len(g), len(want))
	}
	for i := range g {
		if g[i].Cmp(want[i]) != 0 {
			k.Fatalf("%v, seed %d: %s: element %d of %d is %v, want %v", k.curve, *seed, what, i, len(g), g[i], want[i])
		}
	}
}

func eachCurve(t *testing.T, f func(k *card)) {
	for _, c := range backend.Curves() {
		t.Run(c.String(), func(t *testing.T) { f(open(t, c, device.Options{})) })
	}
}

// lengths returns lengths near which scans change what they do: by threads, by tiles, with two
// levels of tiles and with three.
func (k *card) lengths() []int {
	ns := []int{1, 2, 7, 9, 127, 1000, 1024, 1025, 3000}
	if !little() {
		ns = append(ns, 8, 1023, 2048, 1<<16+1)
		if *long && k.curve == backend.BN254 {
			ns = append(ns, 1<<20+5000) // for which the model takes seconds
		}
	}
	return ns
}

// TestProducts computes running products of all kinds and in place, with and without a zero among
// the elements.
func TestProducts(t *testing.T) {
	eachCurve(t, func(k *card) {
		for _, n := range k.lengths() {
			x := k.some(n)
			for i := range x {
				if x[i].Sign() == 0 && i != n-1 {
					x[i] = k.any()
				}
			}
			src, dst := k.space(n), k.space(n)
			got := k.run(
				backend.Write{Dst: src, Input: backend.Input{Bytes: k.bytes(x...)}},
				backend.Products{Dst: dst, Src: src},
				backend.Read{Src: dst},
				backend.Products{Dst: src, Src: src, Exclusive: true},
				backend.Read{Src: src},
			)
			inclusive, exclusive := make([]*big.Int, n), make([]*big.Int, n)
			p := big.NewInt(1)
			for i := range x {
				exclusive[i] = p
				p = k.mod(new(big.Int).Mul(p, x[i]))
				inclusive[i] = p
			}
			what := fmt.Sprint(n, " products")
			k.same(what, got[2], inclusive...)
			k.same(what+", exclusive", got[4], exclusive...)
			k.same(what+", all", got[1], p)
			k.same(what+", all", got[3], p)
		}
		none := k.space(0)
		k.same("no products", k.run(backend.Products{Dst: none, Src: none})[0], big.NewInt(1))
	})
}

// TestInvert inverts elements, zeros among them, in place and to another place.
func TestInvert(t *testing.T) {
	eachCurve(t, func(k *card) {
		for _, n := range append(k.lengths(), 0) {
			x := k.some(n)
			src, dst := k.space(n), k.space(n)
			got := k.run(
				backend.Write{Dst: src, Input: backend.Input{Bytes: k.bytes(x...)}},
				backend.Invert{Dst: dst, Src: src},
				backend.Invert{Dst: src, Src: src},
				backend.Read{Src: dst},
				backend.Read{Src: src},
			)
			want := make([]*big.Int, n)
			for i := range x {
				want[i] = new(big.Int)
				if x[i].Sign() != 0 {
					want[i].ModInverse(x[i], k.r)
				}
			}
			k.same(fmt.Sprint(n, " inverses"), got[3], want...)
			k.same(fmt.Sprint(n, " inverses in place"), got[4], want...)
		}
	})
}

// TestDivide divides by X - z, also in place, and evaluates in both orders, at ordinary points and
// at 0 and 1.
func TestDivide(t *testing.T) {
	eachCurve(t, func(k *card) {
		for _, n := range k.lengths() {
			for _, z := range []*big.Int{k.any(), new(big.Int), big.NewInt(1)} {
				x := k.some(n)
				src, dst := k.space(n), k.space(n)
				got := k.run(
					backend.Write{Dst: src, Input: backend.Input{Bytes: k.bytes(x...)}},
					backend.Divide{Dst: part(dst, 0, n-1), Src: src, Point: k.bytes(z)},
					backend.Read{Src: dst},
					backend.Divide{Dst: part(src, 0, n-1), Src: src, Point: k.bytes(z)},
					backend.Read{Src: src},
				)
				want := make([]*big.Int, n) // and the element that was at the last place
				v := new(big.Int)
				for i := n - 1; i > 0; i-- {
					v = k.mod(new(big.Int).Add(new(big.Int).Mul(v, z), x[i]))
					want[i-1] = v
				}
				value := k.value(x, z)
				what := fmt.Sprintf("%d coefficients by X - %v", n, z)
				want[n-1] = new(big.Int)
				k.same(what, got[2], want...)
				want[n-1] = x[n-1]
				k.same(what+" in place", got[4], want...)
				k.same(what+", remainder", got[1], value)
				k.same(what+", remainder", got[3], value)
			}
		}
	})
}

// TestEvaluate evaluates many vectors of different lengths together.
func TestEvaluate(t *testing.T) {
	eachCurve(t, func(k *card) {
		most := 13
		if *long && k.curve == backend.BN254 {
			most = 21
		}
		z := k.any()
		for _, order := range []backend.Order{backend.Natural, backend.Reversed} {
			// Vectors of one length, and then all of them.
			var every []backend.Range
			var all []*big.Int
			for log := range most + 1 {
				n := 1 << log
				x := k.some(n)
				space := k.space(n)
				at := x
				if order == backend.Reversed {
					at = reversed(x)
				}
				got := k.run(
					backend.Write{Dst: space, Input: backend.Input{Bytes: k.bytes(at...)}},
					backend.Evaluate{Src: []backend.Range{space, space, part(space, 0, n/2+n%2)}, Order: order, Point: k.bytes(z)},
				)
				v := k.value(x, z)
				half := k.value(x[:n/2+n%2], z)
				if order == backend.Reversed {
					half = k.value(reversed(at[:n/2+n%2]), z)
				}
				k.same(fmt.Sprintf("values of 2^%d in order %v", log, order), got[1], v, v, half)
				every, all = append(every, space), append(all, v)
			}
			if order == backend.Natural {
				x := k.some(3001)
				space := k.space(3001)
				k.run(backend.Write{Dst: space, Input: backend.Input{Bytes: k.bytes(x...)}})
				every, all = append(every, space, part(space, 0, 0), part(space, 0, 1023)), append(all,
					k.value(x, z), new(big.Int), k.value(x[:1023], z))
			}
			got := k.run(backend.Evaluate{Src: every, Order: order, Point: k.bytes(z)})
			k.same(fmt.Sprintf("values of all in order %v", order), got[0], all...)
		}
	})
}

// TestManyEvaluations evaluates more polynomials than one launch takes, short and long ones.
func TestManyEvaluations(t *testing.T) {
	defer func(n int) { mostEvaluated = n }(mostEvaluated)
	mostEvaluated = 2
	eachCurve(t, func(k *card) {
		z := k.any()
		for _, n := range []int{3, 1 << 12} {
			x := k.some(n)
			space := k.space(n)
			var every []backend.Range
			var want []*big.Int
			for i := range 5 {
				every, want = append(every, part(space, 0, n-i%3)), append(want, k.value(x[:n-i%3], z))
			}
			got := k.run(
				backend.Write{Dst: space, Input: backend.Input{Bytes: k.bytes(x...)}},
				backend.Evaluate{Src: every, Point: k.bytes(z)},
			)
			k.same(fmt.Sprintf("5 values of about %d coefficients", n), got[1], want...)
		}
	})
}

// TestPowersAndGather makes sequences, and gathers elements by indices. An index out of range is
// refused, with its step and place.
func TestPowersAndGather(t *testing.T) {
	eachCurve(t, func(k *card) {
		for _, n := range append(k.lengths(), 0) {
			first, ratio := k.any(), k.any()
			powers := make([]*big.Int, n)
			v := first
			for i := range powers {
				powers[i] = v
				v = k.mod(new(big.Int).Mul(v, ratio))
			}
			indices := make([]uint32, 2*n)
			gathered := make([]*big.Int, 2*n)
			for i := range indices {
				indices[i] = uint32(k.rand.IntN(n))
				gathered[i] = powers[indices[i]]
			}
			src, dst, index := k.space(n), k.space(2*n), k.space(backend.IndexElements(k.curve, 2*n))
			got := k.run(
				backend.Powers{Dst: src, First: k.bytes(first), Ratio: k.bytes(ratio)},
				backend.WriteIndices{Dst: index, Indices: indices},
				backend.Gather{Dst: dst, Src: src, Index: index},
				backend.Read{Src: src},
				backend.Read{Src: dst},
			)
			k.same(fmt.Sprint(n, " powers"), got[3], powers...)
			k.same(fmt.Sprint(2*n, " gathered"), got[4], gathered...)
			if n < 100 {
				continue
			}
			indices[n+3], indices[n+7] = uint32(n), 1<<31
			_, err := k.try(k.Context(),
				backend.WriteIndices{Dst: index, Indices: indices},
				backend.Gather{Dst: dst, Src: src, Index: index},
			)
			if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "step 1 (Gather)") ||
				!strings.Contains(err.Error(), fmt.Sprint("index ", n+3)) {
				t.Errorf("an index out of range: %v", err)
			}
		}
	})
}

// TestSparseProducts multiplies vectors by matrices of one to three levels. In some of them one row
// has most of the entries.
func TestSparseProducts(t *testing.T) {
	eachCurve(t, func(k *card) {
		counts := []int{0, 1, 7, 1024, 1025, 5000}
		if !little() {
			counts = append(counts, 600_000)
		}
		const width, height = 300, 200
		x, values := k.some(width), k.some(3)
		src, dst, few := k.space(width), k.space(height), k.space(len(values))
		for _, n := range counts {
			for _, long := range []bool{false, true} {
				rows, columns, factors := make([]uint32, n), make([]uint32, n), make([]uint32, n)
				want := make([]*big.Int, height)
				for i := range want {
					want[i] = new(big.Int)
				}
				for i := range n {
					if rows[i] = uint32(k.rand.IntN(height)); long && i%50 > 0 {
						rows[i] = height / 3
					}
				}
				slices.Sort(rows)
				for i, row := range rows {
					columns[i], factors[i] = uint32(k.rand.IntN(width)), uint32(k.rand.IntN(backend.FactorValue+len(values)))
					by := append([]*big.Int{big.NewInt(1), big.NewInt(-1)}, values...)[factors[i]]
					want[row].Add(want[row], new(big.Int).Mul(by, x[columns[i]]))
				}
				for i := range want {
					want[i] = k.mod(want[i])
				}
				var tables [3]backend.Range
				for i := range tables {
					tables[i] = k.space(backend.IndexElements(k.curve, n))
				}
				got := k.run(
					backend.Write{Dst: src, Input: backend.Input{Bytes: k.bytes(x...)}},
					backend.Write{Dst: few, Input: backend.Input{Bytes: k.bytes(values...)}},
					backend.WriteIndices{Dst: tables[0], Indices: rows},
					backend.WriteIndices{Dst: tables[1], Indices: columns},
					backend.WriteIndices{Dst: tables[2], Indices: factors},
					backend.SparseProduct{Dst: dst, Src: src, Entries: n, Rows: tables[0], Columns: tables[1], Factors: tables[2], Values: few},
					backend.Read{Src: dst},
				)
				k.same(fmt.Sprintf("%d entries, a long row: %v", n, long), got[6], want...)
			}
		}
	})
}

// expression makes random valid stack code. It has a few operations more than most, on a stack at
// most deepest deep; long code reaches that depth.
func (m *model) expression(most, deepest, args, constants int) []backend.MapCode {
	var code []backend.MapCode
	depth := 0
	for len(code) < most || depth != 1 {
		var c backend.MapCode
		switch push := depth == 0 || depth < deepest && len(code) < most && m.rand.IntN(8) < 5; {
		case push:
			kinds := []backend.MapCode{{Op: backend.MapLoad, Arg: m.rand.IntN(args)}, {Op: backend.MapConst, Arg: m.rand.IntN(constants)}}
			if depth > 0 {
				kinds = append(kinds, backend.MapCode{Op: backend.MapCopy, Arg: m.rand.IntN(depth)})
			}
			c = kinds[m.rand.IntN(len(kinds))]
			depth++
		case depth > 1 && (len(code) >= most || m.rand.IntN(3) > 0):
			c.Op = []backend.MapOp{backend.MapAdd, backend.MapSub, backend.MapMul}[m.rand.IntN(3)]
			depth--
		default:
			c.Op = []backend.MapOp{backend.MapSquare, backend.MapDouble, backend.MapNeg}[m.rand.IntN(3)]
		}
		code = append(code, c)
	}
	return code
}

// compute returns what code leaves on its stack.
func (m *model) compute(code []backend.MapCode, arg, constant func(int) *big.Int) *big.Int {
	var s []*big.Int
	for _, c := range code {
		top := len(s) - 1
		v := new(big.Int)
		switch c.Op {
		case backend.MapLoad:
			s = append(s, arg(c.Arg))
			continue
		case backend.MapConst:
			s = append(s, constant(c.Arg))
			continue
		case backend.MapCopy:
			s = append(s, s[top-c.Arg])
			continue
		case backend.MapSquare:
			v.Mul(s[top], s[top])
		case backend.MapDouble:
			v.Lsh(s[top], 1)
		case backend.MapNeg:
			v.Neg(s[top])
		case backend.MapAdd:
			v.Add(s[top-1], s[top])
		case backend.MapSub:
			v.Sub(s[top-1], s[top])
		case backend.MapMul:
			v.Mul(s[top-1], s[top])
		}
		if c.Op == backend.MapAdd || c.Op == backend.MapSub || c.Op == backend.MapMul {
			s, top = s[:top], top-1
		}
		s[top] = m.mod(v)
	}
	return s[0]
}

// operand makes a random operand over a range.
func (m *model) operand(r backend.Range) backend.Operand {
	o := backend.Operand{Range: r}
	switch m.rand.IntN(4) {
	case 0:
		o.Stride = 1
	case 1:
		o.Stride, o.Rotate = 1, m.rand.IntN(2*r.Count)-r.Count
	case 2:
		o.Stride, o.Rotate = m.rand.IntN(4*r.Count)-2*r.Count, m.rand.IntN(r.Count)
	}
	if r.Count&(r.Count-1) == 0 && m.rand.IntN(2) == 0 {
		o.Order = backend.Reversed
	}
	return o
}

// place returns the place of an operand's element i, as the contract defines it.
func place(o backend.Operand, i int) int {
	p := ((o.Stride*i+o.Rotate)%o.Count + o.Count) % o.Count
	if o.Order == backend.Reversed && o.Count > 1 {
		p = int(bits.Reverse(uint(p)) >> (bits.UintSize - bits.Len(uint(o.Count-1))))
	}
	return p
}

// TestMap computes random expressions over random operands, also one that is written where it is
// read.
func TestMap(t *testing.T) {
	cases := 60
	if !little() {
		cases = 300
	}
	eachCurve(t, func(k *card) {
		for n := range cases {
			count := 1 + k.rand.IntN(700)
			code := k.expression(1+k.rand.IntN(60), 1+k.rand.IntN(backend.MapStack), 5, 4)
			constants := k.some(4)
			dst := k.space(1 << 10)
			m := backend.Map{Count: count, Dst: backend.Operand{Range: dst, Stride: 2*k.rand.IntN(600) + 1,
				Rotate: k.rand.IntN(1 << 10), Order: backend.Order(n % 2)}, Constants: k.bytes(constants...), Code: code}
			var values [][]*big.Int
			steps := []backend.Step{}
			for range 4 {
				r := k.space([]int{1, 5, 64, 700, 1 << 10}[k.rand.IntN(5)])
				v := k.some(r.Count)
				values = append(values, v)
				steps = append(steps, backend.Write{Dst: r, Input: backend.Input{Bytes: k.bytes(v...)}})
				m.Args = append(m.Args, k.operand(r))
			}
			old := k.some(dst.Count)
			values = append(values, old)
			m.Args = append(m.Args, m.Dst) // the same places
			steps = append(steps, backend.Write{Dst: dst, Input: backend.Input{Bytes: k.bytes(old...)}}, m, backend.Read{Src: dst})
			got := k.run(steps...)
			want := slices.Clone(old)
			for i := range count {
				want[place(m.Dst, i)] = k.compute(code, func(a int) *big.Int { return values[a][place(m.Args[a], i)] }, func(c int) *big.Int {
					return constants[c]
				})
			}
			k.same(fmt.Sprintf("case %d, %d operations, operands %+v", n, len(code), m.Args), got[len(got)-1], want...)
		}
		x := k.space(8)
		k.run(backend.Map{Dst: backend.Operand{Range: x, Stride: 1}, Constants: k.bytes(big.NewInt(1)),
			Code: []backend.MapCode{{Op: backend.MapConst}}})
		k.same("a map of nothing", k.run(backend.Read{Src: x})[0], slices.Repeat([]*big.Int{new(big.Int)}, 8)...)
	})
}

// TestLargestMap uses the most operands, constants and operations, and the deepest stack.
func TestLargestMap(t *testing.T) {
	eachCurve(t, func(k *card) {
		x := k.some(300)
		src, dst := k.space(300), k.space(300)
		constants := k.some(backend.MapConstants)
		m := backend.Map{Count: 300, Dst: backend.Operand{Range: dst, Stride: 1}, Constants: k.bytes(constants...)}
		for a := range backend.MapArgs {
			m.Args = append(m.Args, backend.Operand{Range: src, Stride: 1, Rotate: a})
		}
		// One element stays below the others: the sum of the earlier values.
		m.Code = k.expression(40, backend.MapStack, backend.MapArgs, backend.MapConstants)
		for {
			next := k.expression(60, backend.MapStack-1, backend.MapArgs, backend.MapConstants)
			if len(m.Code)+len(next)+1 > backend.MapCodes {
				break
			}
			m.Code = append(append(m.Code, next...), backend.MapCode{Op: backend.MapAdd})
		}
		for len(m.Code) < backend.MapCodes {
			m.Code = append(m.Code, backend.MapCode{Op: backend.MapSquare})
		}
		got := k.run(backend.Write{Dst: src, Input: backend.Input{Bytes: k.bytes(x...)}}, m, backend.Read{Src: dst})
		want := make([]*big.Int, 300)
		for i := range want {
			want[i] = k.compute(m.Code, func(a int) *big.Int { return x[(i+a)%300] }, func(c int) *big.Int { return constants[c] })
		}
		k.same("the largest map", got[2], want...)
	})
}

// TestCommit computes MSMs over a range of a vector, between steps that change it, and over no
// elements.
func TestCommit(t *testing.T) {
	eachCurve(t, func(k *card) {
		groups := backend.Groups()
		if little() {
			groups = groups[:1]
		}
		for g, group := range groups {
			const n = 60
			p, err := fixtures.New(fixtures.Key{Curve: k.curve, Group: group, Set: fixtures.Infinities, Seed: *seed})
			k.must(err)
			points, err := p.Bytes(n)
			k.must(err)
			b, err := k.msm.Load(k.Context(), &backend.Bases{Curve: k.curve, Group: group, Count: n, Bytes: points}, 0)
			k.must(err)
			id := backend.BasesID(g + 1)
			k.bases[id] = b
			x := k.space(100)
			v := k.some(100)
			twice := make([]*big.Int, len(v))
			for i := range v {
				twice[i] = k.mod(new(big.Int).Lsh(v[i], 1))
			}
			got := k.run(
				backend.Write{Dst: x, Input: backend.Input{Bytes: k.bytes(v...)}},
				backend.Job{Bases: id, Offset: 3, Count: 50, Src: part(x, 40, 50)},
				backend.Map{Count: 100, Dst: backend.Operand{Range: x, Stride: 1}, Args: []backend.Operand{{Range: x, Stride: 1}},
					Code: []backend.MapCode{{Op: backend.MapLoad}, {Op: backend.MapDouble}}},
				backend.Job{Bases: id, Count: n, Src: part(x, 0, n)},
				backend.Job{Bases: id, Count: 0, Src: part(x, 7, 0)},
				backend.Read{Src: x},
			)
			for i, want := range [][]byte{k.expected(p, 3, v[40:90]), k.expected(p, 0, twice[:n]), make([]byte, k.curve.PointBytes(group))} {
				if !bytes.Equal(got[[]int{1, 3, 4}[i]], want) {
					k.Errorf("seed %d, %v: commitment %d is wrong", *seed, group, i)
				}
			}
			k.same("the vector", got[5], twice...)
		}
	})
}

// TestSameBases computes MSMs of several vectors over the same bases, one step after the other, as one
// MSM: vectors one behind the other, apart, and one that is used twice. A step between that changes a vector,
// other bases and another number of them are heeded.
func TestSameBases(t *testing.T) {
	const n = 60
	eachCurve(t, func(k *card) {
		if little() && k.curve != backend.BN254 {
			return
		}
		p, err := fixtures.New(fixtures.Key{Curve: k.curve, Group: backend.G1, Set: fixtures.Infinities, Seed: *seed})
		k.must(err)
		points, err := p.Bytes(n)
		k.must(err)
		b, err := k.msm.Load(k.Context(), &backend.Bases{Curve: k.curve, Group: backend.G1, Count: n, Bytes: points}, 0)
		k.must(err)
		k.bases[1] = b
		x := k.space(5 * n)
		v := k.some(5 * n)
		steps := []backend.Step{backend.Write{Dst: x, Input: backend.Input{Bytes: k.bytes(v...)}}}
		want := [][]byte{nil}
		add := func(offset int, from, count int) {
			steps = append(steps, backend.Job{Bases: 1, Offset: offset, Count: count, Src: part(x, from, count)})
			want = append(want, k.expected(p, offset, v[from:from+count]))
		}
		for i := range 4 {
			add(0, i*n, n) // one behind the other
		}
		for i := range 4 {
			add(2, i*n, n-3) // apart
		}
		add(1, 0, n-3) // other bases
		add(1, 0, n-3) // the same once more
		add(0, 4*n, n)
		steps = append(steps, backend.Map{Count: n, Dst: backend.Operand{Range: part(x, 0, n), Stride: 1},
			Args: []backend.Operand{{Range: part(x, 4*n, n), Stride: 1}}, Code: []backend.MapCode{{Op: backend.MapLoad}}})
		copy(v[:n], v[4*n:])
		want = append(want, nil)
		add(0, 0, n)
		add(0, n, n)
		got := k.run(steps...)
		for i := range want {
			if want[i] != nil && !bytes.Equal(got[i], want[i]) {
				k.Errorf("seed %d: the answer of step %d is wrong", *seed, i)
			}
		}
	})
}

// TestManyCommits computes many MSMs with buckets one after the other, of which each ends beside the
// next in the other of two work memories, and a step between two of them that changes the scalars.
func TestManyCommits(t *testing.T) {
	n, rounds, less := 3000, 12, 200
	if little() {
		n, rounds, less = 100, 3, 20
	}
	eachCurve(t, func(k *card) {
		if little() && k.curve != backend.BN254 {
			return // the fake runs one kernel after the other anyway
		}
		p, err := fixtures.New(fixtures.Key{Curve: k.curve, Group: backend.G1, Seed: *seed})
		k.must(err)
		points, err := p.Bytes(n)
		k.must(err)
		b, err := k.msm.Load(k.Context(), &backend.Bases{Curve: k.curve, Group: backend.G1, Count: n, Bytes: points,
			Hints: backend.Hints{Multiples: 1}}, 0)
		k.must(err)
		k.bases[1] = b
		x := k.space(n)
		v := k.some(n)
		steps := []backend.Step{backend.Write{Dst: x, Input: backend.Input{Bytes: k.bytes(v...)}}}
		var want [][]byte
		for i := range rounds {
			count := n - less*i // less work each time, so that the next would overtake it
			steps = append(steps, backend.Job{Bases: 1, Count: count, Src: part(x, 0, count)})
			want = append(want, nil, k.expected(p, 0, v[:count]))
			steps = append(steps, backend.Map{Count: n, Dst: backend.Operand{Range: x, Stride: 1}, Args: []backend.Operand{{Range: x, Stride: 1}},
				Code: []backend.MapCode{{Op: backend.MapLoad}, {Op: backend.MapDouble}}})
			for j := range v {
				v[j] = k.mod(new(big.Int).Lsh(v[j], 1))
			}
		}
		for try := range 3 {
			got := k.run(steps...)
			for i := 1; i < len(want); i += 2 {
				if !bytes.Equal(got[i], want[i]) {
					k.Errorf("seed %d, try %d: commitment %d is wrong", *seed, try, i/2)
				}
			}
		}
	})
}

func (k *card) expected(p *fixtures.Points, offset int, scalars []*big.Int) []byte {
	k.Helper()
	b, err := p.Expected(offset, k.bytes(scalars...))
	k.must(err)
	return b
}

// TestUploads writes bytes that come late to what earlier steps read and write, and checks some.
func TestUploads(t *testing.T) {
	eachCurve(t, func(k *card) {
		const n = 5000
		a, b, c := k.some(n), k.some(n), k.some(n)
		x, y := k.space(n), k.space(n)
		var asked []int
		late := make([]byte, n*k.curve.ScalarBytes())
		add := backend.Map{Count: n, Dst: backend.Operand{Range: y, Stride: 1},
			Args: []backend.Operand{{Range: x, Stride: 1}, {Range: y, Stride: 1}},
			Code: []backend.MapCode{{Op: backend.MapLoad}, {Op: backend.MapLoad, Arg: 1}, {Op: backend.MapAdd}}}
		got := k.run(
			backend.Write{Dst: y, Input: backend.Input{Bytes: k.bytes(a...), Check: true}},
			backend.Write{Dst: x, Input: backend.Input{Bytes: k.bytes(b...)}},
			add,
			backend.Write{Dst: x, Input: backend.Input{Bytes: late, Check: true, Ready: func(_ context.Context, n int) error {
				asked = append(asked, n)
				copy(late, k.bytes(c...))
				return nil
			}}},
			add,
			backend.Read{Src: y},
		)
		want := make([]*big.Int, n)
		for i := range want {
			want[i] = k.mod(new(big.Int).Add(a[i], new(big.Int).Add(b[i], c[i])))
		}
		k.same("sums of what was written", got[5], want...)
		if len(asked) == 0 || asked[len(asked)-1] != n {
			k.Errorf("Ready was asked for %v of %d", asked, n)
		}

		never := errors.New("never")
		if _, err := k.try(k.Context(), backend.Write{Dst: x, Input: backend.Input{Bytes: late,
			Ready: func(context.Context, int) error { return never }}}); !errors.Is(err, never) || !errors.Is(err, backend.ErrInvalidInput) {
			k.Errorf("bytes that do not come: %v", err)
		}
		bad := k.bytes(a...)
		e := k.r.FillBytes(make([]byte, k.curve.ScalarBytes()))
		slices.Reverse(e)
		copy(bad[17*len(e):], e)
		copy(bad[4000*len(e):], e)
		_, err := k.try(k.Context(), backend.Write{Dst: y, Input: backend.Input{Bytes: k.bytes(a...), Check: true}},
			backend.Write{Dst: x, Input: backend.Input{Bytes: bad, Check: true}})
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "step 1 (Write)") ||
			!strings.Contains(err.Error(), "element 17 ") {
			k.Errorf("an element that is not below r: %v", err)
		}
		k.run(backend.Write{Dst: x, Input: backend.Input{Bytes: bad}})
	})
}

// TestNewSpaceIsZero: a new space is zero, even in memory of an earlier one. Many elements are read
// at once.
func TestNewSpaceIsZero(t *testing.T) {
	k := open(t, backend.BN254, device.Options{})
	const n = 10000
	zero := slices.Repeat([]*big.Int{new(big.Int)}, n)
	for range 3 {
		x := k.space(n)
		got := k.run(backend.Read{Src: x}, backend.Powers{Dst: x, First: k.bytes(big.NewInt(5)), Ratio: k.bytes(k.any())}, backend.Read{
			Src: part(x, 0, 1),
		})
		k.same("a new space", got[0], zero...)
		k.same("its first element", got[2], big.NewInt(5))
		k.must(k.spaces[x.Space].Free())
		delete(k.spaces, x.Space)
	}
}

// TestNoRoom: a space without room fails, says how much it needs, and leaves the card usable.
func TestNoRoom(t *testing.T) {
	k := open(t, backend.BLS12381, device.Options{Memory: 64 << 20})
	kept := k.space(1 << 20) // 32 MiB
	for _, n := range []int{1 << 21, 1 << 40, 1 << 60} {
		if _, err := k.NewSpace(t.Context(), backend.Elements{Element: backend.ScalarOf(k.curve), Count: n}); !errors.Is(err,
			backend.ErrOutOfMemory) || !strings.Contains(err.Error(), fmt.Sprint(n, " scalars")) {
			t.Errorf("a space of %d elements: %v", n, err)
		}
	}
	other := k.space(1000) // it takes the work memory if it must
	got := k.run(backend.Powers{Dst: part(kept, 0, 100), First: k.bytes(big.NewInt(3)), Ratio: k.bytes(big.NewInt(1))},
		backend.Products{Dst: part(other, 0, 100), Src: part(kept, 0, 100)})
	k.same("all products", got[1], new(big.Int).Exp(big.NewInt(3), big.NewInt(100), k.r))
}

// TestCancelled cancels a program before, between and during its steps.
func TestCancelled(t *testing.T) {
	k := open(t, backend.BN254, device.Options{})
	x := k.space(1000)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := k.try(ctx,
		backend.Powers{Dst: x, First: k.bytes(big.NewInt(3)), Ratio: k.bytes(big.NewInt(1))},
		backend.Write{Dst: x, Input: backend.Input{Bytes: k.bytes(k.some(1000)...), Ready: func(ctx context.Context, _ int) error {
			cancel(cause)
			return ctx.Err()
		}}},
		backend.Read{Src: x},
	)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it waited for bytes: %v", err)
	}
	if _, err := k.try(ctx, backend.Read{Src: x}); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("cancelled before: %v", err)
	}
	if _, err := k.try(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("an empty program, cancelled before: %v", err)
	}
	if got := k.run(); len(got) != 0 {
		t.Errorf("an empty program answers %v", got)
	}
}

// TestPace runs a program longer than what is queued at a time.
func TestPace(t *testing.T) {
	defer func(n int) { mostQueued = n }(mostQueued)
	mostQueued = 100
	k := open(t, backend.BN254, device.Options{})
	x := k.space(10)
	steps := []backend.Step{backend.Powers{Dst: x, First: k.bytes(big.NewInt(1)), Ratio: k.bytes(big.NewInt(1))}}
	for range 200 {
		steps = append(steps, backend.Map{Count: 10, Dst: backend.Operand{Range: x, Stride: 1}, Args: []backend.Operand{{Range: x, Stride: 1}},
			Code: []backend.MapCode{{Op: backend.MapLoad}, {Op: backend.MapDouble}}})
	}
	steps = append(steps, backend.Read{Src: x})
	got := k.run(steps...)
	k.same("2^200", got[len(got)-1], slices.Repeat([]*big.Int{k.mod(new(big.Int).Lsh(big.NewInt(1), 200))}, 10)...)
}
