package arith_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
)

func open(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := pippin.New(context.Background(), engine.Config{Backend: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// random returns count numbers below a limit.
func random(rng *rand.Rand, limit *big.Int, bits, count int) *arith.Numbers {
	n := arith.Make(bits, count)
	for i := range count {
		v := new(big.Int)
		for range bits/64 + 2 {
			v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(rng.Uint64()))
		}
		n.Set(i, v.Mod(v, limit))
	}
	return n
}

// TestCalculator compares every operation with math/big, whole and in parts.
func TestCalculator(t *testing.T) {
	e := open(t)
	rng := rand.New(rand.NewPCG(1, 1))
	const bits, count = 96, 10
	limit := new(big.Int).Lsh(big.NewInt(1), bits)
	modulus := new(big.Int).Sub(limit, big.NewInt(17))
	a, b := random(rng, modulus, bits, count), random(rng, modulus, bits, count)
	m, err := arith.FromBig(bits, modulus)
	if err != nil {
		t.Fatal(err)
	}
	r := limit
	inverse := new(big.Int).ModInverse(r, modulus)
	mod := func(v *big.Int) *big.Int { return v.Mod(v, modulus) }
	mul := func(v ...*big.Int) *big.Int {
		p := big.NewInt(1)
		for _, x := range v {
			p.Mul(p, x)
		}
		return p
	}
	for _, memory := range []int{0, 200} {
		var last int
		c := arith.On(e, arith.Options{Memory: memory, Progress: func(done, all int) {
			if all != count || done > all {
				t.Errorf("progress: %d of %d", done, all)
			}
			last = done
		}})
		plain := func(n *arith.Numbers, _ *arith.Numbers, err error) (*arith.Numbers, error) { return n, err }
		ctx := t.Context()
		for _, o := range []struct {
			name string
			do   func() (*arith.Numbers, error)
			want func(a, b *big.Int) *big.Int
		}{
			{"Add", func() (*arith.Numbers, error) { return plain(c.Add(ctx, a, b)) }, func(a, b *big.Int) *big.Int {
				a.Add(a, b)
				return a.Mod(a, limit)
			}},
			{"Sub", func() (*arith.Numbers, error) { return plain(c.Sub(ctx, a, b)) }, func(a, b *big.Int) *big.Int {
				a.Sub(a, b)
				return a.Mod(a, limit)
			}},
			{"Mul", func() (*arith.Numbers, error) { return c.Mul(ctx, a, b) }, func(a, b *big.Int) *big.Int { return mul(a, b) }},
			{"Sqr", func() (*arith.Numbers, error) { return c.Sqr(ctx, a) }, func(a, _ *big.Int) *big.Int { return mul(a, a) }},
			{"Resize", func() (*arith.Numbers, error) { return c.Resize(ctx, a, 64) }, func(a, _ *big.Int) *big.Int {
				return a.SetUint64(a.Uint64())
			}},
			{"AddMod", func() (*arith.Numbers, error) { return c.AddMod(ctx, a, b, m) }, func(a, b *big.Int) *big.Int { return mod(a.Add(a, b)) }},
			{"SubMod", func() (*arith.Numbers, error) { return c.SubMod(ctx, a, b, m) }, func(a, b *big.Int) *big.Int { return mod(a.Sub(a, b)) }},
			{"Reduce", func() (*arith.Numbers, error) { return c.Reduce(ctx, a, m) }, func(a, _ *big.Int) *big.Int { return mod(a) }},
			{"MulMod", func() (*arith.Numbers, error) { return c.MulMod(ctx, a, b, m) }, func(a, b *big.Int) *big.Int { return mod(mul(a, b)) }},
			{"MontMul", func() (*arith.Numbers, error) { return c.MontMul(ctx, a, b, m) }, func(a, b *big.Int) *big.Int {
				return mod(mul(a, b, inverse))
			}},
			{"MontSqr", func() (*arith.Numbers, error) { return c.MontSqr(ctx, a, m) }, func(a, _ *big.Int) *big.Int {
				return mod(mul(a, a, inverse))
			}},
			{"ToMont", func() (*arith.Numbers, error) { return c.ToMont(ctx, a, m) }, func(a, _ *big.Int) *big.Int { return mod(mul(a, r)) }},
			{"FromMont", func() (*arith.Numbers, error) { return c.FromMont(ctx, a, m) }, func(a, _ *big.Int) *big.Int {
				return mod(mul(a, inverse))
			}},
			{"ExpMod", func() (*arith.Numbers, error) { return c.ExpMod(ctx, a, b, m) }, func(a, b *big.Int) *big.Int {
				return a.Exp(a, b, modulus)
			}},
			{"ExpModShort", func() (*arith.Numbers, error) { return c.ExpModShort(ctx, a, 65537, m) }, func(a, _ *big.Int) *big.Int {
				return a.Exp(a, big.NewInt(65537), modulus)
			}},
			{"ExpModShort of 1", func() (*arith.Numbers, error) { return c.ExpModShort(ctx, a, 1, m) }, func(a, _ *big.Int) *big.Int { return a }},
			{"Into", func() (*arith.Numbers, error) {
				dst := arith.Make(bits, count)
				got, err := c.Into(dst).ExpModShort(ctx, a, 6, m)
				if got != dst {
					t.Errorf("Into returns other numbers: %v", got)
				}
				return got, err
			}, func(a, _ *big.Int) *big.Int { return a.Exp(a, big.NewInt(6), modulus) }},
			{"bytes", func() (*arith.Numbers, error) {
				dst := arith.Make(bits, count)
				for i := range count {
					if err := dst.SetBytes(i, append(make([]byte, 3), a.Bytes(i)...)); err != nil {
						return nil, err
					}
				}
				last = count
				return dst, nil
			}, func(a, _ *big.Int) *big.Int { return a }},
			{"InvMod", func() (*arith.Numbers, error) { return c.InvMod(ctx, a, m) }, func(a, _ *big.Int) *big.Int {
				if v := new(big.Int).ModInverse(a, modulus); v != nil {
					return v
				}
				return new(big.Int)
			}},
			{"GFAdd", func() (*arith.Numbers, error) { return c.GFAdd(ctx, 96, a, b) }, func(a, b *big.Int) *big.Int { return a.Xor(a, b) }},
		} {
			last = 0
			got, err := o.do()
			if err != nil {
				t.Errorf("%s: %v", o.name, err)
				continue
			}
			for i := range count {
				if want := o.want(a.Big(i), b.Big(i)); got.Big(i).Cmp(want) != 0 {
					t.Errorf("%s, memory %d, element %d: %x, want %x", o.name, memory, i, got.Big(i), want)
				}
			}
			if last != count {
				t.Errorf("%s: progress ends at %d of %d", o.name, last, count)
			}
		}
		signs, err := c.Compare(ctx, a, b)
		for i := range count {
			if err != nil || signs[i] != a.Big(i).Cmp(b.Big(i)) {
				t.Fatalf("Compare: %v, %v", signs, err)
			}
		}
		overAll(t, c, a, b, m, modulus)
		fields(t, c, a, b)
	}
}

func overAll(t *testing.T, c *arith.Calculator, a, b, m *arith.Numbers, modulus *big.Int) {
	sum, dot, powers := new(big.Int), new(big.Int), []*big.Int{new(big.Int), new(big.Int), new(big.Int)}
	for i := range a.Len() {
		sum.Add(sum, a.Big(i))
		dot.Add(dot, new(big.Int).Mul(a.Big(i), b.Big(i)))
		for k, p := range powers {
			p.Mod(p.Add(p, new(big.Int).Exp(a.Big(i), big.NewInt(int64(k+1)), modulus)), modulus)
		}
	}
	check := func(what string, got *arith.Numbers, err error, want ...*big.Int) {
		if err != nil || got.Len() != len(want) {
			t.Errorf("%s: %v, %v", what, got, err)
			return
		}
		for i, w := range want {
			if got.Big(i).Cmp(w) != 0 {
				t.Errorf("%s, %d: %x, want %x", what, i, got.Big(i), w)
			}
		}
	}
	got, err := c.Sum(t.Context(), a, 128)
	check("Sum", got, err, sum)
	got, err = c.Dot(t.Context(), a, b, 224)
	check("Dot", got, err, dot)
	got, err = c.DotMod(t.Context(), a, b, m)
	check("DotMod", got, err, new(big.Int).Mod(dot, modulus))
	got, err = c.PowerSums(t.Context(), a, m, 3)
	check("PowerSums", got, err, powers...)
}

// fields holds products, squares and inverses against each other.
func fields(t *testing.T, c *arith.Calculator, a, b *arith.Numbers) {
	ctx := t.Context()
	ab, err1 := c.GFMul(ctx, 96, a, b)
	inverse, err2 := c.GFInv(ctx, 96, b)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	back, err := c.GFMul(ctx, 96, ab, inverse)
	if err != nil || fmt.Sprint(back.Words) != fmt.Sprint(a.Words) {
		t.Errorf("a b / b: %v, %v", back, err)
	}
	sqr, err1 := c.GFSqr(ctx, 96, a)
	mul, err2 := c.GFMul(ctx, 96, a, a)
	if err := errors.Join(err1, err2); err != nil || fmt.Sprint(sqr.Words) != fmt.Sprint(mul.Words) {
		t.Error("a^2 is not a a", err)
	}
}

func TestWrong(t *testing.T) {
	e, ctx := open(t), t.Context()
	c := arith.On(e, arith.Options{Memory: 300})
	numbers := func(bits int, v ...int64) *arith.Numbers {
		n := arith.Make(bits, len(v))
		for i, x := range v {
			n.Set(i, big.NewInt(x))
		}
		return n
	}
	seven := numbers(64, 7)
	for _, x := range []struct {
		says string
		do   func() error
	}{
		{"element 2: the modulus is even", func() error {
			_, err := c.MulMod(ctx, numbers(64, 1, 2, 3), numbers(64, 1, 2, 3), numbers(64, 5, 7, 8))
			return err
		}},
		{"element 1: A is not below the modulus", func() error { _, err := c.ExpMod(ctx, numbers(64, 1, 7), seven, seven); return err }},
		{"element 60: A is not below the modulus", func() error { // in a later part
			a := make([]int64, 70)
			a[60] = 7
			_, err := c.ExpMod(ctx, numbers(64, a...), seven, seven)
			return err
		}},
		{"A has 32 bits, M has 64", func() error { _, err := c.MulMod(ctx, numbers(32, 1), numbers(32, 1), seven); return err }},
		{"2 numbers in B, of 3 elements", func() error { _, _, err := c.Add(ctx, numbers(64, 1, 2, 3), numbers(64, 1, 2)); return err }},
		{"0 numbers in B, of 1 elements", func() error { _, _, err := c.Add(ctx, seven, numbers(64)); return err }},
		{"0 numbers in M, of 1 elements", func() error { _, err := c.ExpMod(ctx, seven, seven, numbers(64)); return err }},
		{"M: no numbers", func() error { _, err := c.ExpMod(ctx, seven, seven, nil); return err }},
		{"A: the numbers were freed", func() error {
			a := numbers(64, 1)
			a.Free()
			_, err := c.Sqr(ctx, a)
			return err
		}},
		{"A: no numbers", func() error { _, err := c.Sqr(ctx, nil); return err }},
		{"no numbers of 3", func() error { _, err := c.Sqr(ctx, &arith.Numbers{Width: 3, Words: make([]uint32, 4)}); return err }},
		{"GF(2^1)", func() error { _, err := c.GFSqr(ctx, 1, numbers(32, 1)); return err }},
		{"A has 64 bits, an element of GF(2^128) takes 128", func() error { _, err := c.GFSqr(ctx, 128, seven); return err }},
		{"A has 65568 bits, at most 65536", func() error { _, err := c.Sqr(ctx, numbers(65568, 1)); return err }},
		{"0 sums of powers", func() error { _, err := c.PowerSums(ctx, seven, numbers(64, 9), 0); return err }},
		{"a sum of 32 bits of numbers of 64", func() error { _, err := c.Sum(ctx, seven, 32); return err }},
		{"the exponent 0", func() error { _, err := c.ExpModShort(ctx, seven, 0, numbers(64, 9)); return err }},
		{"a destination of 1 numbers of 64 bits, want 1 of 128", func() error { _, err := c.Into(numbers(64, 0)).Sqr(ctx, seven); return err }},
		{"the destination is A", func() error { _, err := c.Into(seven).MulMod(ctx, seven, seven, numbers(64, 9)); return err }},
		{"numbers of 1099511627776 bits", func() error { _, err := arith.New(ctx, e, 1<<40, 1<<40); return err }},
		{"element 0 is not from 0 to below 2^64", func() error { return numbers(64, 1).Set(0, big.NewInt(-1)) }},
		{"element 0 is not below 2^64", func() error { return numbers(64, 1).SetBytes(0, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0}) }},
		{"element 1 is not from 0 to below 2^64", func() error {
			_, err := arith.FromBig(64, big.NewInt(1), big.NewInt(-1))
			return err
		}},
		{"a write: no numbers", func() error {
			s, err := arith.Open(ctx, e, 8)
			if err != nil {
				return err
			}
			defer s.Close()
			b, err := s.New(64, 1)
			if err != nil {
				return err
			}
			p := s.Program()
			p.Write(b, nil)
			return p.Run(ctx)
		}},
	} {
		if err := x.do(); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), x.says) ||
			strings.Contains(err.Error(), "step") {
			t.Errorf("%v, want %q", err, x.says)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Sqr(ended, seven); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// TestIntoOverlaps: a destination that has a word of an operand would spoil it when a batch is
// computed in parts, or repeated on another backend.
func TestIntoOverlaps(t *testing.T) {
	e, ctx := open(t), t.Context()
	view := func(words []uint32) *arith.Numbers { return &arith.Numbers{Width: 1, Words: words} }
	k, _, _ := rsaKey(t, 64)
	for _, memory := range []int{0, 1} {
		c := arith.On(e, arith.Options{Memory: memory})
		buf := []uint32{2, 3, 4, 101, 5, 6, 7, 0, 0, 0}
		a, m, b := view(buf[:3]), view(buf[3:4]), view(buf[4:7])
		for at := range len(buf) - 2 {
			dst := view(buf[at : at+3])
			_, err := c.Into(dst).MulMod(ctx, a, b, m)
			if apart := at == len(buf)-3; apart != (err == nil) || !apart && !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("memory %d, a destination at %d: %v", memory, at, err)
			}
		}
		if !slices.Equal(buf, []uint32{2, 3, 4, 101, 5, 6, 7, 10, 18, 28}) {
			t.Errorf("memory %d: %d", memory, buf)
		}
		words := make([]uint32, 5)
		rsa := &arith.Numbers{Width: 4, Words: words[:4]}
		for name, dst := range map[string][]uint32{"A": words[1:], "P": k.P.Words[:2]} {
			into := &arith.Numbers{Width: 4, Words: dst}
			if name == "P" {
				into.Width = 2
			}
			if _, err := c.Into(into).ExpModCRT(ctx, rsa, k); !errors.Is(err, backend.ErrInvalidInput) ||
				!strings.Contains(err.Error(), "the destination is A or a number of the key") {
				t.Errorf("ExpModCRT into words of %s: %v", name, err)
			}
		}
	}
}

// TestNoSuchNumbers: numbers of no bits, or of more words than there can be, are errors.
func TestNoSuchNumbers(t *testing.T) {
	e, ctx := open(t), t.Context()
	c := arith.On(e, arith.Options{})
	s, err := arith.Open(ctx, e, 16)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := arith.Make(64, 2)
	for _, x := range []struct{ bits, count int }{
		{0, 1}, {-1, 1}, {math.MinInt, 1}, {1, -1}, {1 << 62, 1 << 62}, {64, 1 << 61}, {32, 1 << 62}, {math.MaxInt, 8}, {1, math.MaxInt},
	} {
		if n := arith.Words(x.bits, x.count); n != math.MaxInt {
			t.Errorf("Words(%d, %d) is %d", x.bits, x.count, n)
		}
		for name, do := range map[string]func() error{
			"New":         func() error { _, err := arith.New(ctx, e, x.bits, x.count); return err },
			"Session.New": func() error { _, err := s.New(x.bits, x.count); return err },
			"Open":        func() error { _, err := arith.Open(ctx, e, arith.Words(x.bits, x.count)); return err },
			"Make": func() (err error) {
				defer func() {
					if recover() != nil {
						err = backend.ErrInvalidInput
					}
				}()
				arith.Make(x.bits, x.count)
				return nil
			},
		} {
			if err := do(); !errors.Is(err, backend.ErrInvalidInput) && !errors.Is(err, backend.ErrOutOfMemory) {
				t.Errorf("%s of %d numbers of %d bits: %v", name, x.count, x.bits, err)
			}
		}
		if x.bits > 0 {
			continue
		}
		for name, do := range map[string]func() error{
			"FromBig":   func() error { _, err := arith.FromBig(x.bits, new(big.Int)); return err },
			"FromBytes": func() error { _, err := arith.FromBytes(x.bits, nil); return err },
			"Sum":       func() error { _, err := c.Sum(ctx, arith.Make(1, 2), x.bits); return err },
			"Dot":       func() error { _, err := c.Dot(ctx, a, a, x.bits); return err },
			"Resize":    func() error { _, err := c.Resize(ctx, a, x.bits); return err },
		} {
			if err := do(); !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("%s of %d bits: %v", name, x.bits, err)
			}
		}
	}
	if n := arith.Words(33, 3); n != 8 {
		t.Errorf("Words(33, 3) is %d", n)
	}
}

// TestFreedBeforeRun: a program does not write or read numbers that were freed after their step, and
// a session that was closed has no new batches.
func TestFreedBeforeRun(t *testing.T) {
	e, ctx := open(t), t.Context()
	s, err := arith.Open(ctx, e, 16)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.New(32, 4)
	if err != nil {
		t.Fatal(err)
	}
	n, err := arith.New(ctx, e, 32, 4)
	if err != nil {
		t.Fatal(err)
	}
	p := s.Program()
	p.Write(b, n)
	n.Free()
	if err := p.Run(ctx); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "the numbers were freed") {
		t.Errorf("a write of freed numbers: %v", err)
	}
	p.Reset()
	p.Read(b).Free()
	if err := p.Run(ctx); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a read to freed numbers: %v", err)
	}
	p.Reset()
	read := p.Read(b)
	if err := p.Run(ctx); err != nil || read.Len() != 4 {
		t.Errorf("after Reset: %v", err)
	}
	b.Free()
	if err := p.Run(ctx); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a second run, after the batch was freed: %v", err)
	}
	s.Close()
	if b, err := s.New(32, 1); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("a batch of a closed session: %v, %v", b, err)
	}
}

// TestSession keeps operands where the backend is.
func TestSession(t *testing.T) {
	e, ctx := open(t), t.Context()
	m, _ := arith.FromBig(64, big.NewInt(1_000_003))
	x, _ := arith.FromBig(64, big.NewInt(5), big.NewInt(999))
	var got *arith.Numbers
	by, err := arith.Repeat(ctx, e, arith.Words(64, 2)+arith.Words(64, 1), func(ctx context.Context, s *arith.Session) error {
		a, err1 := s.New(64, 2)
		k, err2 := s.New(64, 1)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		p := s.Program()
		p.Write(a, x)
		p.Write(k, m)
		for range 3 {
			p.MulMod(a, a, a, k)
		}
		got = p.Read(a)
		if err := p.Run(ctx); err != nil {
			return err
		}
		first := slices.Clone(got.Words)
		clear(got.Words)
		if err := p.Run(ctx); err != nil || !slices.Equal(got.Words, first) {
			return fmt.Errorf("the second run: %v, %x", err, got.Words)
		}
		return nil
	})
	if err != nil || by != "cpu" {
		t.Fatal(by, err)
	}
	for i := range 2 {
		if want := new(big.Int).Exp(x.Big(i), big.NewInt(8), m.Big(0)); got.Big(i).Cmp(want) != 0 {
			t.Errorf("element %d: %v, want %v", i, got.Big(i), want)
		}
	}
	if n := e.Stats().Sessions; n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestExpModCRT compares with math/big's powers, and refuses keys and numbers that do
// not fit.
func TestExpModCRT(t *testing.T) {
	c := arith.On(open(t), arith.Options{})
	p, q := big.NewInt(0xfffffffb), big.NewInt(0xffffffef) // primes
	one := big.NewInt(1)
	m := new(big.Int).Mul(p, q)
	d := new(big.Int).ModInverse(big.NewInt(65537), new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one)))
	number := func(v *big.Int) *arith.Numbers {
		n, err := arith.FromBig(32, v)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	key := arith.CRT{
		P: number(p), Q: number(q), DP: number(new(big.Int).Mod(d, new(big.Int).Sub(p, one))),
		DQ:   number(new(big.Int).Mod(d, new(big.Int).Sub(q, one))),
		QInv: number(new(big.Int).ModInverse(q, p)), E: 65537,
	}
	values := []*big.Int{new(big.Int), one, new(big.Int).Sub(m, one), p, new(big.Int).Mul(q, big.NewInt(77)), big.NewInt(0xdeadbeefcafe)}
	a, err := arith.FromBig(64, values...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.ExpModCRT(t.Context(), a, key)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if want := new(big.Int).Exp(v, d, m); got.Big(i).Cmp(want) != 0 {
			t.Errorf("%v^d = %v, want %v", v, got.Big(i), want)
		}
	}
	if _, err := c.ExpModCRT(t.Context(), arith.Make(32, 1), key); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a narrow number: %v", err)
	}
	for says, wrong := range map[string]func(k *arith.CRT){
		"do not belong together": func(k *arith.CRT) { k.DP = number(big.NewInt(12345)) },
		"public exponent E is 0": func(k *arith.CRT) { k.E = 0 },
		"public exponent E is 4": func(k *arith.CRT) { k.E = 4 },
		"Q of the key is even":   func(k *arith.CRT) { k.Q = number(big.NewInt(16)) },
		"the key's numbers and":  func(k *arith.CRT) { k.QInv = k.P },
	} {
		k := key
		wrong(&k)
		e := open(t)
		if _, err := arith.On(e, arith.Options{}).ExpModCRT(t.Context(), a, k); !errors.Is(err, backend.ErrInvalidInput) ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		if n := e.Stats().Refused; n != 0 {
			t.Errorf("%s: a backend was refused for a wrong key", says)
		}
	}
	big3, err := arith.FromBig(64, one, m, one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ExpModCRT(t.Context(), big3, key); !errors.Is(err, backend.ErrInvalidInput) ||
		!strings.Contains(err.Error(), "element 1: A is not below P Q") {
		t.Errorf("a number that is too large: %v", err)
	}
	wide := key
	for _, n := range []**arith.Numbers{&wide.P, &wide.Q, &wide.DP, &wide.DQ, &wide.QInv} {
		words := arith.Make(16*backend.MaxNumber+32, 1)
		copy(words.Words, (*n).Words)
		*n = words
	}
	if _, err := c.ExpModCRT(t.Context(), arith.Make(32*backend.MaxNumber+64, 1), wide); !errors.Is(err, backend.ErrInvalidInput) ||
		!strings.Contains(err.Error(), "at most 65536 are possible") {
		t.Errorf("a key that is too wide: %v", err)
	}
	key.DQ = arith.Make(64, 1)
	if _, err := c.ExpModCRT(t.Context(), a, key); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a wide exponent: %v", err)
	}
}

// placed is the CPU backend, which notes where the batches of steps begin.
type placed struct {
	backend.Backend
	backend.Programs
	at []int
}

func (p *placed) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	for _, s := range steps {
		if c, ok := s.(backend.Compute); ok {
			p.at = append(p.at, c.Dst.Offset, c.A.Offset, c.B.Offset)
		}
	}
	return p.Programs.Run(ctx, steps)
}

// TestBatchesAreAligned: a session has as much room as its batches say that they take, and
// all begin at whole 16 bytes, those of a Calculator too.
func TestBatchesAreAligned(t *testing.T) {
	b := cpu.New(cpu.Options{})
	programs, _ := backend.As[backend.Programs](b)
	seen := &placed{Backend: b, Programs: programs}
	e, err := engine.New(t.Context(), engine.Config{
		Backend: "placed", Open: func(context.Context, string) (backend.Backend, error) { return seen, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := arith.Open(t.Context(), e, 3*arith.Words(96, 5))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		var batches [3]*arith.Batch
		for i := range batches {
			if batches[i], err = s.New(96, 5); err != nil {
				t.Fatal(err)
			}
		}
		p := s.Program()
		p.Add(batches[0], batches[1], batches[2])
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			b.Free()
		}
	}
	numbers := random(rand.New(rand.NewPCG(8, 8)), big.NewInt(1<<32), 96, 5)
	if _, err := arith.On(e, arith.Options{}).Mul(t.Context(), numbers, numbers); err != nil {
		t.Fatal(err)
	}
	if len(seen.at) != 9 || slices.ContainsFunc(seen.at, func(at int) bool { return at%4 != 0 }) {
		t.Errorf("batches at words %v", seen.at)
	}
}
