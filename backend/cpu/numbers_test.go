package cpu

import (
	"bytes"
	"context"
	"errors"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// TestOperations runs every operation at the widths at which the code differs: half limbs, few
// limbs and many.
func TestOperations(t *testing.T) {
	a, b := New(Options{}), NewReference()
	defer a.Close()
	defer b.Close()
	rng := rand.New(rand.NewPCG(1, 9))
	for _, op := range backend.NumberOps() {
		for _, words := range []int{1, 2, 3, 4, 8, 17, 32, 33, 64} {
			p := randprog.Read(randprog.Bytes(rng, 4000)).Numbers()
			for range 4 {
				p.Step(op, words, rng.IntN(5))
			}
			if err := p.Differ(t.Context(), a, b); err != nil {
				t.Errorf("%v of %d words: %v", op, words, err)
			}
		}
	}
}

// TestSlowExponentiation: an exponentiation ends early when its context ends.
func TestSlowExponentiation(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	for _, words := range []int{1, 2, 3, 64} {
		m := whole(randprog.Bytes(rng, 4*words))
		m.SetBit(m, 0, 1)
		b := make([]byte, 4*words)
		put(b, m)
		k, err := newModulus(b, true, true)
		if err != nil {
			t.Fatal(err)
		}
		x, e := new(big.Int).Mod(whole(randprog.Bytes(rng, 4*words)), m), randprog.Bytes(rng, 40)
		put(b, x)
		z := make([]uint64, k.n)
		load(z, b)
		k.exp(t.Context(), z, z, e, make([]uint64, 20*k.n))
		store(b, z)
		if want := new(big.Int).Exp(x, whole(e), m); whole(b).Cmp(want) != 0 {
			t.Errorf("%d words: %x to the power %x modulo %x is %x, want %x", words, x, whole(e), m, whole(b), want)
		}
	}
}

// TestSecretModulus prepares moduli as secret and as public ones, of all widths, and short ones in
// wide numbers.
func TestSecretModulus(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for words := 1; words < 70; words++ {
		for _, bits := range []int{2, 33, 32*words - 63, 32*words - 1, 32 * words} {
			if bits < 2 || bits > 32*words {
				continue
			}
			m := whole(randprog.Bytes(rng, 4*words))
			m.Rsh(m, uint(32*words-bits)).SetBit(m, bits-1, 1).SetBit(m, 0, 1)
			b := make([]byte, 4*words)
			put(b, m)
			secret, err1 := newModulus(b, true, true)
			public, err2 := newModulus(b, true, false)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(secret, public) {
				t.Fatalf("modulo %x of %d words: %x, want %x", m, words, secret, public)
			}
		}
	}
}

// TestCancelNumbers ends operations within one long element, or among many.
func TestCancelNumbers(t *testing.T) {
	const words = backend.MaxNumber
	b := New(Options{})
	defer b.Close()
	v := b.(backend.Programs)
	id, err := v.NewSpace(t.Context(), backend.Word(), 4*words)
	if err != nil {
		t.Fatal(err)
	}
	batch := func(k int) backend.Batch {
		return backend.Batch{Space: id, Offset: k * words, Words: words, Count: 1}
	}
	ones := bytes.Repeat([]byte{0xff}, 4*words)
	started := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := v.Run(ctx, []backend.Step{
			backend.Write{Dst: batch(1).Range(), Input: backend.Input{Bytes: ones}},
			backend.Write{Dst: batch(2).Range(), Input: backend.Input{
				Bytes: ones, Ready: func(context.Context, int) error { close(started); return nil },
			}},
			// This takes minutes unless it is ended.
			backend.Compute{Op: backend.NumExpMod, Dst: batch(3), A: batch(0), B: batch(1), M: batch(2)},
		})
		done <- err
	}()
	<-started
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second): // half a second, unless the machine is busy
		t.Error("a cancelled exponentiation goes on")
	}
}
