package arith_test

import (
	"context"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
)

// noting is the CPU backend, which notes which steps were said to be public.
type noting struct {
	backend.Backend
	backend.Programs
	public []bool
}

func (n *noting) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	for _, s := range steps {
		if c, ok := s.(backend.Compute); ok {
			n.public = append(n.public, c.Public)
		}
	}
	return n.Programs.Run(ctx, steps)
}

// TestPublic: operands are secret unless the caller says that they are not, and those of an
// RSA key always; answers are the same.
func TestPublic(t *testing.T) {
	b := cpu.New(cpu.Options{})
	programs, _ := backend.As[backend.Programs](b)
	seen := &noting{Backend: b, Programs: programs}
	e, err := engine.New(t.Context(), engine.Config{
		Backend: "noting", Open: func(context.Context, string) (backend.Backend, error) { return seen, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const bits = 128
	rng := rand.New(rand.NewPCG(5, 5))
	key, modulus, _ := rsaKey(t, bits)
	m, err := arith.FromBig(2*bits, modulus)
	if err != nil {
		t.Fatal(err)
	}
	a, x := random(rng, modulus, 2*bits, 3), random(rng, new(big.Int).Lsh(big.NewInt(1), 40), 40, 3)
	var powers [2]*arith.Numbers
	for i, public := range []bool{false, true} {
		c := arith.On(e, arith.Options{Public: public, Memory: 1 << 7}) // in parts
		seen.public = nil
		if powers[i], err = c.ExpMod(t.Context(), a, x, m); err != nil {
			t.Fatal(err)
		}
		if len(seen.public) < 2 || slices.Contains(seen.public, !public) {
			t.Errorf("steps of powers with Public %v: %v", public, seen.public)
		}
		seen.public = nil
		if _, err := c.ExpModCRT(t.Context(), a, key); err != nil || len(seen.public) == 0 || slices.Contains(seen.public, true) {
			t.Errorf("steps of signatures with Public %v: %v, %v", public, seen.public, err)
		}
	}
	for i := range a.Len() {
		if want := new(big.Int).Exp(a.Big(i), x.Big(i), modulus); powers[0].Big(i).Cmp(want) != 0 || powers[1].Big(i).Cmp(want) != 0 {
			t.Errorf("power %d: %x and %x, want %x", i, powers[0].Big(i), powers[1].Big(i), want)
		}
	}
	s, err := arith.Open(t.Context(), e, arith.Words(2*bits, 7))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	y, err1 := s.New(2*bits, 3)
	z, err2 := s.New(2*bits, 1)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	p := s.Program()
	p.Write(y, a)
	p.Write(z, m)
	p.InvMod(y, y, z)
	p.Public(true)
	p.InvMod(y, y, z)
	seen.public = nil
	if err := p.Run(t.Context()); err != nil || !slices.Equal(seen.public, []bool{false, true}) {
		t.Error(seen.public, err)
	}
	p.Reset()
	p.InvMod(y, y, z)
	if err := p.Run(t.Context()); err != nil || seen.public[2] {
		t.Error("after Reset", seen.public, err)
	}
}
