//go:build cuda

package number

import (
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

func TestMain(m *testing.M) {
	cudatest.WithKernels()
	flag.Parse()
	os.Exit(m.Run())
}

// card is a turn on a device and a computer on it.
type card struct {
	*testing.T
	*device.Turn
	*Computer
}

func open(t *testing.T) *card {
	t.Helper()
	d, err := device.Open(0, device.Options{})
	cudatest.Opened(t, err)
	turn, err := d.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(turn.Compute.Synchronize(), turn.End(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return &card{t, turn, c}
}

func (c *card) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// memory copies bytes to device memory, which is freed when the test ends.
func (c *card) memory(b []byte) driver.Span {
	c.Helper()
	m, err := c.Keep(int64(len(b)), func(int64) error { return nil })
	c.must(err)
	c.Cleanup(func() {
		if err := errors.Join(c.Compute.Synchronize(), m.Free()); err != nil {
			c.Error(err)
		}
	})
	c.must(c.Compute.Write(m.Span(), b))
	return m.Span()
}

// numbers returns the bytes of a batch, little-endian.
func numbers(words int, xs ...*big.Int) []byte {
	var all []byte
	for _, x := range xs {
		b := x.FillBytes(make([]byte, 4*words))
		slices.Reverse(b)
		all = append(all, b...)
	}
	return all
}

// run computes one operation. It returns the answers, or the error about what is refused.
func (c *card) run(op backend.NumberOp, words, count int, a, b, m []*big.Int, exponentWords int) ([]*big.Int, error) {
	c.Helper()
	dst := c.memory(make([]byte, 4*words*count))
	s := &Step{Compute: backend.Compute{Op: op, Dst: backend.Batch{Words: words, Count: count}}}
	s.At.Dst = device.Address(dst)
	s.A, s.At.A = backend.Batch{Words: words, Count: len(a)}, device.Address(c.memory(numbers(words, a...)))
	s.M, s.At.M = backend.Batch{Words: words, Count: len(m)}, device.Address(c.memory(numbers(words, m...)))
	if b != nil {
		s.B, s.At.B = backend.Batch{Words: exponentWords, Count: len(b)}, device.Address(c.memory(numbers(exponentWords, b...)))
	}
	scratch, err := c.Scratch(s)
	c.must(err)
	refused := c.memory(slices.Repeat([]byte{0xff}, RefusedBytes))
	work := c.memory(make([]byte, max(scratch, 4)))
	c.must(c.Queue(s, Resources{Stream: c.Compute, Work: work, Refused: device.Address(refused), Pace: func(int) error { return nil }}))
	read := func(s driver.Span) []byte {
		got := make([]byte, s.Size())
		c.must(c.Compute.Read(got, s))
		return got
	}
	var answers []*big.Int
	for number := range slices.Chunk(read(dst), 4*words) {
		slices.Reverse(number)
		answers = append(answers, new(big.Int).SetBytes(number))
	}
	return answers, Refusal(&s.Compute, read(refused))
}

// TestEngines compares residues and powers with math/big, at every width with a choice: by the
// chosen engines, by those for cards that are slow at double precision, and by groups if there are
// any.
func TestEngines(t *testing.T) {
	for words, now := range chosen {
		t.Run(fmt.Sprint(32*words), func(t *testing.T) {
			c := open(t)
			all := map[string]engines{"chosen": now}
			if now.slow != now.powers {
				all["slow"] = engines{residues: now.residues, powers: now.slow, threads: now.threads}
			}
			if now.threads > 0 {
				all["groups"] = engines{residues: byGroup, powers: byGroup, threads: now.threads}
			}
			for name, by := range all {
				c.engines = map[int]engines{words: by}
				c.engine(name, words)
			}
			if (c.groups[words] != nil) != (now.threads > 0) {
				t.Errorf("by groups: %v, want %v", c.groups[words] != nil, now.threads > 0)
			}
		})
	}
}

func (c *card) engine(name string, words int) {
	r := rand.New(rand.NewPCG(uint64(words), 1))
	random := func(below *big.Int) *big.Int {
		b := make([]byte, 4*words+8)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		x := new(big.Int).SetBytes(b)
		return x.Mod(x, below)
	}
	one, count := big.NewInt(1), 3
	full := new(big.Int).Lsh(one, uint(32*words))
	ps := []*big.Int{new(big.Int).Sub(full, one)}
	for range count - 1 {
		ps = append(ps, new(big.Int).SetBit(random(full), 0, 1))
	}
	for _, moduli := range [][]*big.Int{ps, ps[:1], ps[1:2]} {
		p := func(i int) *big.Int { return moduli[i%len(moduli)] }
		var xs, ys, es []*big.Int
		for i := range count {
			xs, ys, es = append(xs, random(p(i))), append(ys, random(p(i))), append(es, new(big.Int).SetUint64(uint64(r.Uint32())))
		}
		xs[0].Sub(p(0), one)
		es[1].SetInt64(0)
		for _, op := range []struct {
			op backend.NumberOp
			b  []*big.Int
			of func(i int, r, inverse *big.Int) *big.Int
		}{
			{backend.NumAddMod, ys, func(i int, _, _ *big.Int) *big.Int { return new(big.Int).Add(xs[i], ys[i]) }},
			{backend.NumSubMod, ys, func(i int, _, _ *big.Int) *big.Int { return new(big.Int).Sub(xs[i], ys[i]) }},
			{backend.NumMulMod, ys, func(i int, _, _ *big.Int) *big.Int { return new(big.Int).Mul(xs[i], ys[i]) }},
			{backend.NumMontMul, ys, func(i int, _, v *big.Int) *big.Int { z := new(big.Int).Mul(xs[i], ys[i]); return z.Mul(z, v) }},
			{backend.NumMontSqr, nil, func(i int, _, v *big.Int) *big.Int { z := new(big.Int).Mul(xs[i], xs[i]); return z.Mul(z, v) }},
			{backend.NumToMont, nil, func(i int, r, _ *big.Int) *big.Int { return new(big.Int).Mul(xs[i], r) }},
			{backend.NumFromMont, nil, func(i int, _, v *big.Int) *big.Int { return new(big.Int).Mul(xs[i], v) }},
			{backend.NumExpMod, es, func(i int, _, _ *big.Int) *big.Int { return new(big.Int).Exp(xs[i], es[i], p(i)) }},
		} {
			width := words
			if op.op == backend.NumExpMod {
				width = 1
			}
			got, err := c.run(op.op, words, count, xs, op.b, moduli, width)
			if err != nil {
				c.Errorf("%s, %v, %d moduli: %v", name, op.op, len(moduli), err)
			}
			for i := range count {
				want := op.of(i, full, new(big.Int).ModInverse(full, p(i)))
				if got[i].Cmp(want.Mod(want, p(i))) != 0 {
					c.Errorf("%s, %v, %d moduli: number %d is wrong", name, op.op, len(moduli), i)
				}
			}
		}
	}
	for _, op := range []backend.NumberOp{backend.NumMontMul, backend.NumExpMod} {
		width := words
		if op == backend.NumExpMod {
			width = 1
		}
		for _, bad := range []struct{ a, p *big.Int }{{one, new(big.Int).Sub(ps[0], one)}, {ps[0], ps[0]}, {new(big.Int), one}} {
			if _, err := c.run(op, words, 1, []*big.Int{bad.a}, []*big.Int{new(big.Int)}, []*big.Int{bad.p},
				width); !errors.Is(err, backend.ErrInvalidInput) {
				c.Errorf("%s, %v of %x modulo %x: %v", name, op, bad.a, bad.p, err)
			}
		}
	}
}
