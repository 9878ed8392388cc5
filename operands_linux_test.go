package pippin_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/vector"
)

// These tests give the operations of arith, vector and points every pattern of operands that are
// equal, overlap or were freed. An answer is that of operands apart from each other with the same
// values, or the operation is refused. Wrong uses are errors, never wrong numbers.

// onEach runs a test on an engine of each backend that there is everywhere, or on the plugin of
// -backend.
func onEach(t *testing.T, do func(t *testing.T, e *engine.Engine)) {
	open := opener(t)
	for _, name := range []string{"cpu", "reference", *backendName} {
		t.Run(name, func(t *testing.T) {
			e, err := pippin.New(t.Context(), engine.Config{Backend: name, Open: open})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			do(t, e)
		})
	}
}

// numbersCase is an operation of arith.Program. Its operands are letters: d is written, c the
// carries, x scratch, a and b are read, m is the modulus, s one number that is written.
type numbersCase struct {
	name, operands string
	add            func(p *arith.Program, o []*arith.Batch)
}

var numbersCases = []numbersCase{
	{"AddCarry", "dcab", func(p *arith.Program, o []*arith.Batch) { p.AddCarry(o[0], o[1], o[2], o[3]) }},
	{"SubBorrow", "dcab", func(p *arith.Program, o []*arith.Batch) { p.SubBorrow(o[0], o[1], o[2], o[3]) }},
	{"Resize", "da", func(p *arith.Program, o []*arith.Batch) { p.Resize(o[0], o[1]) }},
	{"Add", "dab", func(p *arith.Program, o []*arith.Batch) { p.Add(o[0], o[1], o[2]) }},
	{"Sub", "dab", func(p *arith.Program, o []*arith.Batch) { p.Sub(o[0], o[1], o[2]) }},
	{"Compare", "cab", func(p *arith.Program, o []*arith.Batch) { p.Compare(o[0], o[1], o[2]) }},
	{"Mul", "wab", func(p *arith.Program, o []*arith.Batch) { p.Mul(o[0], o[1], o[2]) }},
	{"Sqr", "wa", func(p *arith.Program, o []*arith.Batch) { p.Sqr(o[0], o[1]) }},
	{"AddMod", "dabm", func(p *arith.Program, o []*arith.Batch) { p.AddMod(o[0], o[1], o[2], o[3]) }},
	{"SubMod", "dabm", func(p *arith.Program, o []*arith.Batch) { p.SubMod(o[0], o[1], o[2], o[3]) }},
	{"Reduce", "dam", func(p *arith.Program, o []*arith.Batch) { p.Reduce(o[0], o[1], o[2]) }},
	{"MulMod", "dabm", func(p *arith.Program, o []*arith.Batch) { p.MulMod(o[0], o[1], o[2], o[3]) }},
	{"MontMul", "dabm", func(p *arith.Program, o []*arith.Batch) { p.MontMul(o[0], o[1], o[2], o[3]) }},
	{"MontSqr", "dam", func(p *arith.Program, o []*arith.Batch) { p.MontSqr(o[0], o[1], o[2]) }},
	{"ToMont", "dam", func(p *arith.Program, o []*arith.Batch) { p.ToMont(o[0], o[1], o[2]) }},
	{"FromMont", "dam", func(p *arith.Program, o []*arith.Batch) { p.FromMont(o[0], o[1], o[2]) }},
	{"ExpMod", "dabm", func(p *arith.Program, o []*arith.Batch) { p.ExpMod(o[0], o[1], o[2], o[3]) }},
	{"InvMod", "dam", func(p *arith.Program, o []*arith.Batch) { p.InvMod(o[0], o[1], o[2]) }},
	{"GFAdd", "dab", func(p *arith.Program, o []*arith.Batch) { p.GFAdd(64, o[0], o[1], o[2]) }},
	{"GFMul", "dab", func(p *arith.Program, o []*arith.Batch) { p.GFMul(64, o[0], o[1], o[2]) }},
	{"GFSqr", "da", func(p *arith.Program, o []*arith.Batch) { p.GFSqr(64, o[0], o[1]) }},
	{"GFInv", "da", func(p *arith.Program, o []*arith.Batch) { p.GFInv(64, o[0], o[1]) }},
	{"Sum", "sa", func(p *arith.Program, o []*arith.Batch) { p.Sum(o[0], o[1]) }},
	{"Dot", "sab", func(p *arith.Program, o []*arith.Batch) { p.Dot(o[0], o[1], o[2]) }},
	{"DotMod", "sabo", func(p *arith.Program, o []*arith.Batch) { p.DotMod(o[0], o[1], o[2], o[3]) }},
	{"PowerSums", "dao", func(p *arith.Program, o []*arith.Batch) { p.PowerSums(o[0], o[1], o[2]) }},
	{"ExpModShort", "dxxam", func(p *arith.Program, o []*arith.Batch) { p.ExpModShort(o[0], o[1], o[2], o[3], 11, o[4]) }},
	{"ExpModShort of 8", "dxxam", func(p *arith.Program, o []*arith.Batch) { p.ExpModShort(o[0], o[1], o[2], o[3], 8, o[4]) }},
	{"ExpModShort of 1", "dxxam", func(p *arith.Program, o []*arith.Batch) { p.ExpModShort(o[0], o[1], o[2], o[3], 1, o[4]) }},
}

// shape returns bits and count of an operand.
func (c *numbersCase) shape(i int) (bits, count int) {
	switch c.operands[i] {
	case 'c':
		return 32, 2
	case 'w':
		return 128, 2
	case 's':
		if c.name == "Dot" {
			return 128, 1
		}
		return 64, 1
	case 'o':
		return 64, 1
	}
	return 64, 2
}

// partitions returns each way to give k operands batches: place i has the number of its batch.
func partitions(k int) (all [][]int) {
	var grow func(p []int, batches int)
	grow = func(p []int, batches int) {
		if len(p) == k {
			all = append(all, slices.Clone(p))
			return
		}
		for b := range batches + 1 {
			grow(append(p, b), max(batches, b+1))
		}
	}
	grow(nil, 0)
	return all
}

// run computes with the operands in batches, as a partition says. A batch has the shape and values
// of the first operand that it is, but the modulus's if it is that too. of says whose value each
// operand has. after is called between the step and Run.
func (c *numbersCase) run(ctx context.Context, e *engine.Engine, in, of []int, after func(*arith.Session, []*arith.Batch)) (
	out []string, err error) {
	s, err := arith.Open(ctx, e, 64)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p := s.Program()
	batches := map[int]*arith.Batch{}
	var operands []*arith.Batch
	for i, k := range in {
		if batches[k] == nil {
			bits, count := c.shape(slices.Index(of, of[i]))
			b, err := s.New(bits, count)
			if err != nil {
				return nil, err
			}
			batches[k] = b
			values := arith.Make(bits, count)
			for j := range count {
				v := big.NewInt(int64(5 + 1000*of[i] + j))
				for l, m := range []byte(c.operands) {
					if of[l] == of[i] && (m == 'm' || m == 'o') {
						v.SetInt64(int64(1_000_003 + 2*j))
					}
				}
				if err := values.Set(j, v); err != nil {
					return nil, err
				}
			}
			p.Write(b, values)
		}
		operands = append(operands, batches[k])
	}
	c.add(p, operands)
	var reads []*arith.Numbers
	for i, what := range c.operands {
		if slices.Contains([]rune("dcws"), what) {
			reads = append(reads, p.Read(operands[i]))
		}
	}
	if after != nil {
		after(s, operands)
	}
	if err := p.Run(ctx); err != nil {
		return nil, err
	}
	for _, r := range reads {
		out = append(out, fmt.Sprint(r.Words))
	}
	return out, nil
}

// TestPatternsOfNumbers: batches that are one, and batches that were freed.
func TestPatternsOfNumbers(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		refused, right := 0, 0
		for _, c := range numbersCases {
			apart := make([]int, len(c.operands))
			for i := range apart {
				apart[i] = i
			}
			if _, err := c.run(ctx, e, apart, apart, nil); err != nil {
				t.Fatalf("%s: %v for operands apart", c.name, err)
			}
			for _, pattern := range partitions(len(c.operands)) {
				got, err := c.run(ctx, e, pattern, pattern, nil)
				if err != nil {
					if !errors.Is(err, backend.ErrInvalidInput) {
						t.Errorf("%s, %v: %v", c.name, pattern, err)
					}
					refused++
					continue
				}
				want, err := c.run(ctx, e, apart, pattern, nil)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s with the batches %v: %v, of operands apart %v, %v", c.name, pattern, got, want, err)
				}
				right++
			}
			for i := range apart {
				freed := func(s *arith.Session, o []*arith.Batch) {
					o[i].Free()
					if _, err := s.New(32*o[i].Width(), o[i].Len()); err != nil { // in its place
						t.Error(err)
					}
				}
				if got, err := c.run(ctx, e, apart, apart, freed); !errors.Is(err, backend.ErrInvalidInput) {
					t.Errorf("%s, operand %d was freed before Run: %v, %v", c.name, i, got, err)
				}
			}
		}
		if right < len(numbersCases) || refused < len(numbersCases) {
			t.Errorf("%d patterns are right and %d refused", right, refused)
		}
	})
}

// vectorsCase is an operation of vector.Program: its operands' lengths, that of the written first.
type vectorsCase struct {
	name    string
	lengths []int
	add     func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element])
}

var vectorsCases = []vectorsCase{
	{"Copy", []int{4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) { p.Copy(o[0], o[1]) }},
	{"Add", []int{4, 4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) { p.Add(o[0], o[1], o[2]) }},
	{"Sub", []int{4, 4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) { p.Sub(o[0], o[1], o[2]) }},
	{"Mul", []int{4, 4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) { p.Mul(o[0], o[1], o[2]) }},
	{"MulAdd", []int{4, 4, 4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) { p.MulAdd(o[0], o[1], o[2], o[3]) }},
	{"Map, repeated", []int{4, 2}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) { p.Map(o[0], o[1].Expr().Square()) }},
	{"Map, rotated", []int{4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) {
		p.Map(o[0], o[1].Rotate(1).Expr().Double())
	}},
	{"Map, each second", []int{4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) {
		p.MapTo(o[0].Every(2), 2, o[1].Expr().Neg())
	}},
	{"Map, reversed", []int{4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) {
		p.MapTo(o[0].Reversed(), 4, o[1].Expr().Neg())
	}},
	{"Invert", []int{4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) { p.Invert(o[0], o[1]) }},
	{"Products", []int{4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) { p.Products(o[0], o[1]) }},
	{"ProductsBefore", []int{4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) { p.ProductsBefore(o[0], o[1]) }},
	{"Divide", []int{3, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) {
		p.Divide(o[0], o[1], fr.NewElement(3))
	}},
	{"Transform", []int{4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) {
		p.Transform(o[0], o[1], vector.Transform[fr.Element]{})
	}},
	{"Transform, shorter", []int{4, 2}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) {
		p.Transform(o[0], o[1], vector.Transform[fr.Element]{})
	}},
	{"Transform, two", []int{4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) {
		p.Transform(o[0], o[1], vector.Transform[fr.Element]{Batch: 2, Inverse: true})
	}},
	{"Sum", []int{4, 4, 4}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) {
		p.Sum(o[0], o[1].Times(fr.NewElement(2)), o[2].Times(fr.NewElement(3)))
	}},
	{"Sum in parts", []int{4, 4, 2}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) {
		p.Sum(o[0], o[1].Times(fr.NewElement(2)), o[2].Times(fr.NewElement(3)))
	}},
	{"Sum in more parts", []int{4, 2, 1, 3}, func(p *vector.Program[fr.Element], o []vector.Vector[fr.Element]) {
		p.Sum(o[0], o[1].Times(fr.NewElement(2)), o[2].Times(fr.NewElement(3)), o[3].Times(fr.NewElement(4)))
	}},
}

// run computes with operand i at place in[i] of a vector. Their values are those of the elements
// from of[i] on. after is called between the step and Run.
func (c *vectorsCase) run(ctx context.Context, e *engine.Engine, in, of []int,
	after func(*vector.BN254Session, vector.Vector[fr.Element])) (out []fr.Element, err error) {
	s, err := vector.BN254.Open(ctx, e, 64)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p, all := s.Program(), s.New(32)
	values := make([]fr.Element, all.Len())
	var operands []vector.Vector[fr.Element]
	for i, n := range c.lengths {
		for k := range n {
			values[in[i]+k].SetInt64(int64(7*(of[i]+k) + 3))
		}
		operands = append(operands, all.Slice(in[i], in[i]+n))
	}
	p.Write(all, values)
	c.add(p, operands)
	read := p.Read(operands[0])
	if after != nil {
		after(s, all)
	}
	if err := p.Run(ctx); err != nil {
		return nil, err
	}
	return read.Get(), nil
}

// places returns each way to put k operands at one of three places, of which each begins within
// what lies at the one before.
func places(k int) (all [][]int) {
	all = [][]int{nil}
	for range k {
		var longer [][]int
		for _, p := range all {
			for _, place := range []int{0, 1, 2} {
				longer = append(longer, append(slices.Clone(p), place))
			}
			longer = append(longer, append(slices.Clone(p), 8))
		}
		all = longer
	}
	return all
}

// TestPatternsOfVectors: vectors that are one or overlap, and vectors that were freed.
func TestPatternsOfVectors(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		for _, c := range vectorsCases {
			var apart []int
			for i := range c.lengths {
				apart = append(apart, 4*i)
			}
			refused, right := 0, 0
			for _, pattern := range places(len(c.lengths)) {
				got, err := c.run(ctx, e, pattern, pattern, nil)
				if err != nil {
					if !errors.Is(err, backend.ErrInvalidInput) {
						t.Errorf("%s, %v: %v", c.name, pattern, err)
					}
					refused++
					continue
				}
				want, err := c.run(ctx, e, apart, pattern, nil)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s at %v: %v, of vectors apart %v, %v", c.name, pattern, got, want, err)
				}
				right++
			}
			if right == 0 || refused == 0 {
				t.Errorf("%s: %d patterns are right and %d refused", c.name, right, refused)
			}
			_, err := c.run(ctx, e, apart, apart, func(s *vector.BN254Session, all vector.Vector[fr.Element]) {
				all.Free()
				if err := s.New(all.Len()).Err(); err != nil { // in its place
					t.Error(err)
				}
			})
			if !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("%s, the vectors were freed before Run: %v", c.name, err)
			}
		}
	})
}

// pointsCases are the steps over points, whose vectors have 4 points, or 2 where they are repeated.
var pointsCases = []struct {
	name    string
	lengths []int
	step    func(r []backend.Range, scalars backend.Range) backend.Step
}{
	{"sum", []int{4, 4, 4}, func(r []backend.Range, _ backend.Range) backend.Step {
		return backend.AddPoints{Dst: r[0], Plus: r[1:]}
	}},
	{"difference", []int{4, 4, 2}, func(r []backend.Range, _ backend.Range) backend.Step {
		return backend.AddPoints{Dst: r[0], Plus: r[1:2], Minus: r[2:]}
	}},
	{"multiples", []int{4, 4}, func(r []backend.Range, s backend.Range) backend.Step {
		return backend.MultiplyPoints{Dst: r[0], Src: r[1], Scalars: s}
	}},
	{"multiples of some", []int{4, 2}, func(r []backend.Range, s backend.Range) backend.Step {
		return backend.MultiplyPoints{Dst: r[0], Src: r[1], Scalars: s}
	}},
	{"sums of two", []int{2, 4}, func(r []backend.Range, s backend.Range) backend.Step {
		return backend.MultiplyPoints{Dst: r[0], Src: r[1], Scalars: s, Terms: 2}
	}},
}

// TestPatternsOfPoints does the same with steps over points.
func TestPatternsOfPoints(t *testing.T) {
	onEach(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		multiples := make([]fr.Element, 16)
		for i := range multiples {
			multiples[i].SetInt64(int64(i + 2))
		}
		_, _, generator, _ := bn254.Generators()
		points, err := msm.BN254G1.Multiples(ctx, e, generator, multiples)
		if err != nil {
			t.Fatal(err)
		}
		element := backend.PointOf(backend.BN254, backend.G1)
		s, err := e.OpenSession(ctx, engine.Space{Elements: backend.Elements{Element: element, Count: 32}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		factors, err := s.BesideOf(ctx, backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer factors.Close()
		scalars := backend.Range{Space: factors.Space(), Count: 4}
		for _, c := range pointsCases {
			run := func(in, of []int) ([]byte, error) {
				values := make([]bn254.G1Affine, 32)
				var ranges []backend.Range
				for i, n := range c.lengths {
					copy(values[in[i]:], points[of[i]:of[i]+n])
					ranges = append(ranges, backend.Range{Space: s.Space(), Offset: in[i], Count: n})
				}
				out, err := s.Run(ctx, []backend.Step{
					backend.Write{Dst: backend.Range{Space: s.Space(), Count: 32}, Input: backend.Input{Bytes: layout.Bytes(values)}},
					backend.Write{Dst: scalars, Input: backend.Input{Bytes: layout.Bytes(multiples[:4])}},
					c.step(ranges, scalars), backend.Read{Src: ranges[0]},
				})
				if err != nil {
					return nil, err
				}
				return out[3], nil
			}
			var apart []int
			for i := range c.lengths {
				apart = append(apart, 4*i)
			}
			refused, right := 0, 0
			for _, pattern := range places(len(c.lengths)) {
				got, err := run(pattern, pattern)
				if err != nil {
					if !errors.Is(err, backend.ErrInvalidInput) {
						t.Errorf("%s, %v: %v", c.name, pattern, err)
					}
					refused++
					continue
				}
				if want, err := run(apart, pattern); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s at %v: %x, of points apart %x, %v", c.name, pattern, got, want, err)
				}
				right++
			}
			if right == 0 || refused == 0 {
				t.Errorf("%s: %d patterns are right and %d refused", c.name, right, refused)
			}
		}
	})
}
