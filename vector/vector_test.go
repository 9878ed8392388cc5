package vector_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
	"go.uber.org/goleak"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/vector"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func newEngine(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := pippin.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func open(t testing.TB, e *engine.Engine, elements int) *vector.BN254Session {
	t.Helper()
	s, err := vector.BN254.Open(t.Context(), e, elements)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func random(n int) fr.Vector {
	v := make(fr.Vector, n)
	v.MustSetRandom()
	return v
}

// of returns a vector by a formula.
func of(n int, f func(i int) fr.Element) fr.Vector {
	v := make(fr.Vector, n)
	for i := range v {
		v[i] = f(i)
	}
	return v
}

// evaluate computes a value by Horner's rule.
func evaluate(c []fr.Element, z fr.Element) (v fr.Element) {
	for _, e := range slices.Backward(c) {
		v.Mul(&v, &z).Add(&v, &e)
	}
	return v
}

// TestSteps: every method does what it says, by formulas of gnark-crypto's.
func TestSteps(t *testing.T) {
	const n = 64
	e := newEngine(t, engine.Config{})
	s := open(t, e, 20*n)
	a, b, c := random(n), random(n), random(n)
	b[5].SetZero()
	k, z := random(1)[0], random(1)[0]
	var one fr.Element
	one.SetOne()
	var minus fr.Element
	minus.Neg(&one)
	domain := fft.NewDomain(n)
	va, vb, vc, dst := s.New(n), s.New(n), s.New(n), s.New(n)
	big := s.New(2 * n)
	index := s.NewIndices(n)
	indices := make([]uint32, n)
	for i := range indices {
		indices[i] = uint32(7*i+3) % n
	}
	load := func(p *vector.Program[fr.Element]) {
		p.Write(va, a)
		p.Write(vb, b)
		p.Write(vc, c)
		p.WriteIndices(index, indices)
	}
	el := func(f func(r *fr.Element, i int)) func(int) fr.Element {
		return func(i int) (r fr.Element) { f(&r, i); return r }
	}
	bits := func(i int) int {
		r := 0
		for k := 1; k < n; k, i = 2*k, i/2 {
			r = 2*r + i%2
		}
		return r
	}
	coset := func(c []fr.Element) fr.Vector {
		return of(n, func(j int) (r fr.Element) {
			x := k
			for range j {
				x.Mul(&x, &domain.Generator)
			}
			return evaluate(c, x)
		})
	}
	for name, f := range map[string]struct {
		do   func(p *vector.Program[fr.Element])
		want fr.Vector // of dst
	}{
		"write": {func(p *vector.Program[fr.Element]) { p.Write(dst, c) }, c},
		"copy":  {func(p *vector.Program[fr.Element]) { p.Copy(dst, vb) }, b},
		"fill":  {func(p *vector.Program[fr.Element]) { p.Fill(dst, k) }, of(n, func(int) fr.Element { return k })},
		"add":   {func(p *vector.Program[fr.Element]) { p.Add(dst, va, vb) }, of(n, el(func(r *fr.Element, i int) { r.Add(&a[i], &b[i]) }))},
		"sub":   {func(p *vector.Program[fr.Element]) { p.Sub(dst, va, vb) }, of(n, el(func(r *fr.Element, i int) { r.Sub(&a[i], &b[i]) }))},
		"mul":   {func(p *vector.Program[fr.Element]) { p.Mul(dst, va, vb) }, of(n, el(func(r *fr.Element, i int) { r.Mul(&a[i], &b[i]) }))},
		"muladd": {func(p *vector.Program[fr.Element]) { p.MulAdd(dst, va, vb, vc) },
			of(n, el(func(r *fr.Element, i int) { r.Mul(&a[i], &b[i]).Add(r, &c[i]) }))},
		"scale": {func(p *vector.Program[fr.Element]) { p.Scale(dst, va, k) }, of(n, el(func(r *fr.Element, i int) { r.Mul(&a[i], &k) }))},
		"in place": {func(p *vector.Program[fr.Element]) {
			p.Copy(dst, va)
			p.Mul(dst, dst, dst)
			p.Sub(dst, vc, dst)
		}, of(n, el(func(r *fr.Element, i int) { r.Square(&a[i]).Sub(&c[i], r) }))},
		"sum": {func(p *vector.Program[fr.Element]) {
			p.Copy(dst, vc)
			p.Sum(dst, va.Slice(0, 10).Times(k), dst.Times(minus), vb.Slice(1, 31).Times(one), va.Times(fr.Element{}), vb.Times(minus))
		}, of(n, el(func(r *fr.Element, i int) {
			r.Add(&b[i], &c[i]).Neg(r)
			if i < 30 {
				r.Add(r, &b[i+1])
			}
			if i < 10 {
				var x fr.Element
				r.Add(r, x.Mul(&a[i], &k))
			}
		}))},
		"sum of nothing": {func(p *vector.Program[fr.Element]) { p.Sum(dst) }, make(fr.Vector, n)},
		"sum of short ones": {func(p *vector.Program[fr.Element]) { p.Sum(dst, va.Slice(0, 3).Times(one)) },
			append(slices.Clone(a[:3]), make(fr.Vector, n-3)...)},
		"sum of many": {func(p *vector.Program[fr.Element]) {
			terms := []vector.Term[fr.Element]{dst.Times(k)}
			for i := range 200 {
				terms = append(terms, va.Slice(i%7, i%7+50).Times(k), big.Slice(i%64, i%64+n).Times(one))
			}
			p.Copy(dst, vc)
			p.Fill(big, one)
			p.Sum(dst, terms...)
		}, of(n, el(func(r *fr.Element, i int) {
			r.Set(&c[i])
			for j := 0; j < 200 && i < 50; j++ {
				r.Add(r, &a[i+j%7])
			}
			r.Mul(r, &k)
			var x fr.Element
			r.Add(r, x.SetUint64(200))
		}))},
		"map": {func(p *vector.Program[fr.Element]) {
			p.Map(dst, va.Rotate(1).Expr().Mul(vb.Every(2).Rotate(3).Expr()).Sub(vc.Reversed().Expr()).Add(va.Slice(4, 9).Expr()).
				Add(vb.Slice(9, 10).Expr().Square().Double().Neg()).Add(vector.Const(k)).Add(vector.Expr[fr.Element]{}).Scale(z))
		}, of(n, el(func(r *fr.Element, i int) {
			r.Mul(&a[(i+1)%n], &b[2*(i+3)%n]).Sub(r, &c[bits(i)]).Add(r, &a[4+i%5])
			var x fr.Element
			r.Sub(r, x.Square(&b[9]).Double(&x)).Add(r, &k).Mul(r, &z)
		}))},
		"map to": {func(p *vector.Program[fr.Element]) {
			p.Copy(dst, vc)
			p.MapTo(dst.Every(3).Rotate(-1), 10, va.Expr())
		}, func() fr.Vector {
			v := slices.Clone(c)
			for i := range 10 {
				v[((3*(i-1))%n+n)%n] = a[i]
			}
			return v
		}()},
		"powers": {func(p *vector.Program[fr.Element]) { p.Powers(dst, k, z) }, func() fr.Vector {
			v := fr.Vector{k}
			for i := 1; i < n; i++ {
				v = append(v, *new(fr.Element).Mul(&v[i-1], &z))
			}
			return v
		}()},
		"invert": {func(p *vector.Program[fr.Element]) { p.Invert(dst, vb) }, of(n, el(func(r *fr.Element, i int) { r.Inverse(&b[i]) }))},
		"gather": {func(p *vector.Program[fr.Element]) { p.Gather(dst, va, index) }, of(n, func(i int) fr.Element { return a[indices[i]] })},
		"transform": {func(p *vector.Program[fr.Element]) {
			p.Transform(dst, va.Slice(0, 50), vector.Transform[fr.Element]{Shift: k})
		}, coset(a[:50])},
		"transform, reversed": {func(p *vector.Program[fr.Element]) {
			p.Transform(dst, va, vector.Transform[fr.Element]{To: backend.Reversed})
		}, func() fr.Vector {
			v := slices.Clone(a)
			domain.FFT(v, fft.DIF)
			return v
		}()},
		"transform and back": {func(p *vector.Program[fr.Element]) {
			p.Transform(dst, va, vector.Transform[fr.Element]{To: backend.Reversed, Shift: z, Batch: 4})
			p.Transform(dst, dst, vector.Transform[fr.Element]{Inverse: true, From: backend.Reversed, Shift: z, Batch: 4})
		}, a},
	} {
		p := s.Program()
		load(p)
		f.do(p)
		got := p.Read(dst)
		if err := p.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(got.Get(), f.want) {
			t.Errorf("%s: another vector", name)
		}
	}

	// Answers.
	p := s.Program()
	load(p)
	products, before := s.New(n), s.New(n)
	all, same := p.Products(products, va), p.ProductsBefore(before, va)
	values := p.Evaluate(z, va, vb.Slice(0, 7))
	reversed := p.EvaluateIn(backend.Reversed, z, va)
	rest := p.Divide(dst.Slice(0, n-1), va, z)
	quotient, prods, prodsBefore := p.Read(dst.Slice(0, n-1)), p.Read(products), p.Read(before)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	product := fr.One()
	for i := range a {
		if before := prodsBefore.Get()[i]; before != product {
			t.Errorf("the product before %d is another", i)
		}
		if product.Mul(&product, &a[i]); prods.Get()[i] != product {
			t.Errorf("product %d is another", i)
		}
	}
	if all.Get() != product || same.Get() != product {
		t.Error("the product of all is another")
	}
	swapped := of(n, func(i int) fr.Element { return a[bits(i)] })
	if v := values.Get(); len(v) != 2 || v[0] != evaluate(a, z) || v[1] != evaluate(b[:7], z) ||
		reversed.Get()[0] != evaluate(swapped, z) || rest.Get() != v[0] {
		t.Error("a value is another")
	}
	x := random(1)[0] // a(x) = q(x) (x - z) + a(z)
	var right fr.Element
	q := evaluate(quotient.Get(), x)
	rem := rest.Get()
	if right.Sub(&x, &z).Mul(&right, &q).Add(&right, &rem); right != evaluate(a, x) {
		t.Error("another quotient")
	}
}

// TestFields: the four are of their curves.
func TestFields(t *testing.T) {
	e := newEngine(t, engine.Config{})
	testField(t, e, vector.BN254, "bn254")
	testField(t, e, vector.BLS12377, "bls12-377")
	testField(t, e, vector.BLS12381, "bls12-381")
	testField(t, e, vector.BW6761, "bw6-761")
}

type number[E any] interface {
	curves.Element[E]
	MustSetRandom() *E
}

func testField[E comparable, P number[E]](t *testing.T, e *engine.Engine, f *vector.Field[E], name string) {
	a, b := make([]E, 5), make([]E, 5)
	for i := range a {
		P(&a[i]).MustSetRandom()
		P(&b[i]).MustSetRandom()
	}
	var got *vector.Answer[[]E]
	by, err := f.Repeat(t.Context(), e, 10, func(ctx context.Context, s *vector.Session[E]) error {
		va, vb := s.New(5), s.New(5)
		p := s.Program()
		p.Write(va, a)
		p.Write(vb, b)
		p.MulAdd(va, va, vb, va)
		got = p.Read(va)
		return p.Run(ctx)
	})
	if err != nil || by != "cpu" || f.Curve().String() != name ||
		f.IndexElements(100) != (400+f.Curve().ScalarBytes()-1)/f.Curve().ScalarBytes() {
		t.Fatalf("%s: by %q, %v", name, by, err)
	}
	for i, g := range got.Get() {
		var want E
		P(&want).Mul(&a[i], &b[i])
		if P(&want).Add(&want, &a[i]); g != want {
			t.Errorf("%s: element %d is another", name, i)
		}
	}
}

// TestMemory: vectors do not overlap, what is freed is used again, and what does
// not fit says so.
func TestMemory(t *testing.T) {
	s := open(t, newEngine(t, engine.Config{}), 100)
	a, b, c := s.New(30), s.New(40), s.New(30)
	if err := errors.Join(a.Err(), b.Err(), c.Err()); err != nil || s.Left() != 0 {
		t.Fatal(err, s.Left())
	}
	va, vb, vc := random(30), random(40), random(30)
	p := s.Program()
	p.Write(a, va)
	p.Write(b, vb)
	p.Write(c, vc)
	ra, rb, rc := p.Read(a), p.Read(b), p.Read(c)
	if err := p.Run(t.Context()); err != nil || !slices.Equal(ra.Get(), va) || !slices.Equal(rb.Get(), vb) || !slices.Equal(rc.Get(), vc) {
		t.Errorf("three vectors: %v", err)
	}
	if v := s.New(1); !errors.Is(v.Err(), backend.ErrOutOfMemory) || !strings.Contains(v.Err().Error(), "of the session's 100 are 0 free") {
		t.Errorf("in full memory: %v", v.Err())
	}
	a.Free()
	a.Free()
	c.Free()
	b.Slice(0, 40).Free() // the whole of it
	b.Slice(0, 4).Free()
	if s.Left() != 100 {
		t.Errorf("%d left after all is freed", s.Left())
	}
	d := s.New(100) // what was freed is one again
	if err := d.Err(); err != nil {
		t.Error(err)
	}
	d.Free()
	a, b, c = s.New(30), s.New(40), s.New(30)
	b.Slice(1, 40).Free() // a part
	a.Free()
	c.Free()
	if v := s.New(50); !errors.Is(v.Err(), backend.ErrOutOfMemory) || !strings.Contains(v.Err().Error(), "60 free and 30 in a row") {
		t.Errorf("in two halves: %v", v.Err())
	}
	if n := s.New(0); n.Err() != nil || n.Len() != 0 {
		t.Errorf("of nothing: %v", n.Err())
	}
	if _, err := vector.BN254.Open(t.Context(), newEngine(t, engine.Config{}), 1<<50); !errors.Is(err, backend.ErrOutOfMemory) ||
		!strings.Contains(err.Error(), "1125899906842624 scalars of bn254") {
		t.Errorf("a session that does not fit: %v", err)
	}
	if _, err := vector.BN254.Open(t.Context(), newEngine(t, engine.Config{}), -1); err == nil {
		t.Error("a negative session")
	}
}

// TestMisuse: the first mistake is Run's error, nothing is computed, and the program
// can be used on.
func TestMisuse(t *testing.T) {
	ctx := t.Context()
	e := newEngine(t, engine.Config{})
	s, other := open(t, e, 200), open(t, newEngine(t, engine.Config{}), 10)
	_, _, g1, _ := bn254.Generators()
	bases, err := msm.BN254G1.Load(ctx, e, []bn254.G1Affine{g1, g1})
	if err != nil {
		t.Fatal(err)
	}
	defer bases.Close()
	v, w, foreign := s.New(16), s.New(8), other.New(8)
	freed := s.New(4)
	freed.Free()
	x := s.NewIndices(4)
	one := fr.One()
	for name, do := range map[string]func(p *vector.Program[fr.Element]){
		"no vector":            func(p *vector.Program[fr.Element]) { p.Read(vector.Vector[fr.Element]{}) },
		"a freed one":          func(p *vector.Program[fr.Element]) { p.Fill(freed, one) },
		"in an expression":     func(p *vector.Program[fr.Element]) { p.Map(v, freed.Expr().Add(v.Expr())) },
		"another engine's":     func(p *vector.Program[fr.Element]) { p.Copy(w, foreign) },
		"another's expression": func(p *vector.Program[fr.Element]) { p.Map(w, foreign.Expr()) },
		"a slice beyond":       func(p *vector.Program[fr.Element]) { p.Read(v.Slice(4, 17)) },
		"a slice backwards":    func(p *vector.Program[fr.Element]) { p.Read(v.Slice(4, 3).Slice(0, 1)) },
		"a negative one":       func(p *vector.Program[fr.Element]) { p.Read(s.New(-1)) },
		"a negative table":     func(p *vector.Program[fr.Element]) { p.WriteIndices(s.NewIndices(-1), nil) },
		"two lengths":          func(p *vector.Program[fr.Element]) { p.Add(v, v, w) },
		"too few elements":     func(p *vector.Program[fr.Element]) { p.Write(v, make([]fr.Element, 15)) },
		"too few indices":      func(p *vector.Program[fr.Element]) { p.WriteIndices(x, []uint32{1}) },
		"a short gather":       func(p *vector.Program[fr.Element]) { p.Gather(w, v, x) },
		"a table that is none": func(p *vector.Program[fr.Element]) { p.Gather(w, v, vector.Indices[fr.Element]{}) },
		"an index beyond": func(p *vector.Program[fr.Element]) {
			p.WriteIndices(x, []uint32{0, 1, 2, 8})
			p.Gather(v.Slice(0, 4), w, x)
		},
		"no matrix":         func(p *vector.Program[fr.Element]) { p.SparseProduct(v, vector.Matrix[fr.Element]{}, w) },
		"a negative matrix": func(p *vector.Program[fr.Element]) { p.SparseProduct(v, s.NewMatrix(-1, 0), w) },
		"too few entries":   func(p *vector.Program[fr.Element]) { p.WriteMatrix(s.NewMatrix(2, 0), vector.Entries[fr.Element]{}) },
		"too many factors": func(p *vector.Program[fr.Element]) {
			p.WriteMatrix(s.NewMatrix(0, 0), vector.Entries[fr.Element]{Values: []fr.Element{one}})
		},
		"a freed matrix": func(p *vector.Program[fr.Element]) {
			m := s.NewMatrix(1, 1)
			m.Free()
			p.SparseProduct(v, m, w)
		},
		"a column beyond": func(p *vector.Program[fr.Element]) {
			m := s.NewMatrix(1, 0)
			p.WriteMatrix(m, vector.Entries[fr.Element]{Rows: []uint32{15}, Columns: []uint32{8}, Factors: []uint32{0}})
			p.SparseProduct(v, m, w)
		},
		"a long sum":       func(p *vector.Program[fr.Element]) { p.Sum(w, v.Times(one)) },
		"a part of itself": func(p *vector.Program[fr.Element]) { p.Map(v.Slice(0, 8), v.Slice(1, 9).Expr()) },
		"no power of two": func(p *vector.Program[fr.Element]) {
			p.Transform(v.Slice(0, 12), v.Slice(0, 12), vector.Transform[fr.Element]{})
		},
		"both reversed": func(p *vector.Program[fr.Element]) {
			p.Transform(v, v, vector.Transform[fr.Element]{From: backend.Reversed, To: backend.Reversed})
		},
		"the same places":        func(p *vector.Program[fr.Element]) { p.MapTo(v.Every(2), 9, vector.Const(one)) },
		"more than the bases":    func(p *vector.Program[fr.Element]) { vector.Commit(p, bases, w) },
		"a quotient of too many": func(p *vector.Program[fr.Element]) { p.Divide(v, v, one) },
		"nothing to evaluate":    func(p *vector.Program[fr.Element]) { p.Evaluate(one) },
	} {
		p := s.Program()
		p.Fill(w, one)
		do(p)
		answer := p.Evaluate(one, w) // and what follows changes nothing
		if err := p.Run(ctx); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
		if len(answer.Get()) != 0 {
			t.Errorf("%s: an answer all the same", name)
		}
		again := p.Read(w.Slice(0, 1))
		if err := p.Run(ctx); err != nil || len(again.Get()) != 1 {
			t.Errorf("%s: the next program: %v", name, err)
		}
	}
	p := s.Program()
	p.Read(s.New(1000))
	if err := p.Run(ctx); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a vector that does not fit: %v", err)
	}
	if err := p.Run(ctx); err != nil {
		t.Errorf("an empty program: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.Fill(w, one)
	if err := p.Run(ctx); !errors.Is(err, backend.ErrClosed) || !errors.Is(s.Err(), backend.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestBeside: programs use the vectors of sessions that are together.
func TestBeside(t *testing.T) {
	s := open(t, newEngine(t, engine.Config{}), 8)
	key, err := s.Beside(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	if !s.Together(key) || !s.Current() || s.Backend() != "cpu" {
		t.Error("not together")
	}
	constant, v := key.New(8), s.New(8)
	want := random(8)
	p := key.Program()
	p.Write(constant, want)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	p = s.Program()
	p.Copy(v, constant)
	got := p.Read(v)
	if err := p.Run(t.Context()); err != nil || !slices.Equal(got.Get(), want) {
		t.Errorf("%v", err)
	}
}

// TestWriteWhen: elements are waited for, and the error of what makes them is Run's.
func TestWriteWhen(t *testing.T) {
	s := open(t, newEngine(t, engine.Config{}), 1000)
	v := s.New(1000)
	src, made := make(fr.Vector, 1000), random(1000)
	done := 0
	p := s.Program()
	p.WriteWhen(v, src, func(_ context.Context, n int) error {
		copy(src[done:n], made[done:n])
		done = n
		return nil
	})
	got := p.Read(v)
	if err := p.Run(t.Context()); err != nil || !slices.Equal(got.Get(), made) {
		t.Errorf("%v", err)
	}
	broken := errors.New("the witness failed")
	p.WriteWhen(v, src, func(context.Context, int) error { return broken })
	if err := p.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// TestForgottenSession checks that a forgotten session is closed, with a warning.
func TestForgottenSession(t *testing.T) {
	var mu sync.Mutex
	var log strings.Builder
	e := newEngine(t, engine.Config{Log: slog.New(slog.NewTextHandler(writer(func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		log.Write(b)
	}), nil))})
	func() {
		s, err := vector.BN254.Open(t.Context(), e, 77)
		if err != nil {
			t.Fatal(err)
		}
		if v := s.New(5); v.Err() != nil {
			t.Fatal(v.Err())
		}
		closed, err := vector.BN254.Open(t.Context(), e, 5)
		if err != nil {
			t.Fatal(err)
		}
		closed.Close()
	}()
	for end := time.Now().Add(20 * time.Second); e.Stats().Sessions > 0; {
		if time.Now().After(end) {
			t.Fatal("it is still open")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	if text := log.String(); strings.Count(text, "forgotten") != 1 || !strings.Contains(text, "count=77") {
		t.Errorf("the log: %s", text)
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// TestClosedSession has no new vectors: their memory is another session's.
func TestClosedSession(t *testing.T) {
	s := open(t, newEngine(t, engine.Config{Backend: "cpu"}), 8)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.New(4).Err(); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("a vector of a closed session: %v", err)
	}
}

// TestSumOverlaps: a sum is computed in parts where vectors end, so that what overlaps its
// destination elsewhere would be read after it was written.
func TestSumOverlaps(t *testing.T) {
	s := open(t, newEngine(t, engine.Config{Backend: "cpu"}), 16)
	all, short := s.New(8), s.New(2)
	one := fr.One()
	for from, wrong := range []bool{true, true, false, true, true} {
		p := s.Program()
		p.Fill(all, one)
		p.Fill(short, one)
		p.Sum(all.Slice(2, 6), all.Slice(from, from+4).Times(one), short.Times(one))
		if err := p.Run(t.Context()); errors.Is(err, backend.ErrInvalidInput) != wrong || !wrong && err != nil {
			t.Errorf("a term from %d on, of a sum from 2 on: %v", from, err)
		}
	}
}

// TestFreedBeforeRun: the place of a vector that was freed may be another's.
func TestFreedBeforeRun(t *testing.T) {
	s := open(t, newEngine(t, engine.Config{Backend: "cpu"}), 8)
	v, p := s.New(8), s.Program()
	p.Fill(v, fr.One())
	v.Free()
	if err := p.Run(t.Context()); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a vector was freed after its step: %v", err)
	}
}
