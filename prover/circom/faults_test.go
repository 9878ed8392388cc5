package circom_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/circom"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/heaptest"
)

var moments = flag.Int("moments", 10, "swaps and deaths of a backend in the test of them")

// TestMadeAgain: a backend whose last answer is wrong. The proof is made again in this process, and
// an event says so.
func TestMadeAgain(t *testing.T) {
	b := build(t, backend.BN254, "bits of 40")
	for name, f := range map[string]*faulty.Backends{
		"batches":  {Lie: func(jobs, _ int) bool { return jobs > 1 }, Elsewhere: true},
		"programs": {Lie: func(_, steps int) bool { return steps > 10 }, Elsewhere: true},
	} {
		t.Run(name, func(t *testing.T) {
			var events []circom.Event
			merging := circom.MergeNever
			if name == "batches" {
				merging = circom.MergeAlways
			}
			k := b.load(t, circom.WithEngine(newEngine(t, engine.Config{Open: f.Open})), circom.MergeScalars(merging),
				circom.OnEvent(func(ev circom.Event) { events = append(events, ev) }))
			p, err := k.Prove(t.Context(), b.of(t))
			if err != nil {
				t.Fatal(err)
			}
			if err := k.VerifyingKey().Verify(p); err != nil {
				t.Error(err)
			}
			if len(events) != 1 || events[0].Backend != "cpu" || !errors.Is(events[0].Err, circom.ErrNotVerified) {
				t.Errorf("events %v", events)
			}
			p, err = k.Prove(t.Context(), b.of(t), circom.WithoutVerify())
			if err != nil {
				t.Fatal(err)
			}
			if err := k.VerifyingKey().Verify(p); !errors.Is(err, circom.ErrNotVerified) || len(events) != 1 {
				t.Errorf("a proof that was not to be verified: %v, events %v", err, events)
			}
		})
	}
}

// TestWrongWitness: the witness does not satisfy the circuit. This process makes its proof once,
// another one is not believed.
func TestWrongWitness(t *testing.T) {
	b := build(t, backend.BN254, "product")
	wrong := bytes.Clone(b.witness)
	wrong[sectionOf(t, wrong, 2)+2*32]++
	w, err := circom.ParseWitness(wrong)
	if err != nil {
		t.Fatal(err)
	}
	for elsewhere, times := range map[bool]int64{false: 1, true: 2} {
		f := faulty.Backends{Elsewhere: elsewhere}
		var again atomic.Int64
		k := b.load(t, circom.WithEngine(newEngine(t, engine.Config{Open: f.Open})), circom.OnEvent(func(circom.Event) { again.Add(1) }))
		_, err := k.Prove(t.Context(), w)
		if !errors.Is(err, circom.ErrNotVerified) || !strings.Contains(err.Error(), "is the witness this circuit's?") {
			t.Errorf("elsewhere %v: %v", elsewhere, err)
		}
		if 1+again.Load() != times {
			t.Errorf("elsewhere %v: %d proofs, want %d", elsewhere, 1+again.Load(), times)
		}
	}
}

// TestSwapAndDeath changes and kills backends while proofs are made. None may be wrong.
func TestSwapAndDeath(t *testing.T) {
	for name, elsewhere := range map[string]bool{"batches": false, "programs": true} {
		t.Run(name, func(t *testing.T) { swapAndDie(t, elsewhere) })
	}
}

func swapAndDie(t *testing.T, elsewhere bool) {
	f := faulty.Backends{Elsewhere: elsewhere}
	e := newEngine(t, engine.Config{Open: f.Open, Backend: "first"})
	b := build(t, backend.BN254, "bits of 40")
	k := b.load(t, circom.WithEngine(e), circom.OnEvent(func(ev circom.Event) { t.Error(ev) }))
	var stop atomic.Bool
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				if _, err := k.Prove(t.Context(), b.of(t)); err != nil {
					t.Error(err)
					return
				}
				made.Add(1)
			}
		})
	}
	f.Disturb(t, *moments, 6, &made, e.Use)
	stop.Store(true)
	wg.Wait()
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	e.Close()
	if n := f.Held(); n != 0 {
		t.Errorf("%d bases and spaces are left", n)
	}
}

// TestCancelled ends contexts before and during proofs and loads.
func TestCancelled(t *testing.T) {
	b := build(t, backend.BN254, "bits of 40")
	for _, elsewhere := range []bool{false, true} {
		f := faulty.Backends{Elsewhere: elsewhere}
		e := newEngine(t, engine.Config{Open: f.Open})
		k := b.load(t, circom.WithEngine(e))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := k.Prove(ended, b.of(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("elsewhere %v: %v", elsewhere, err)
		}
		if _, err := circom.ParseKey(b.key, circom.WithEngine(e), circom.WithContext(ended)); !errors.Is(err, context.Canceled) {
			t.Errorf("elsewhere %v: loading: %v", elsewhere, err)
		}
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(20*time.Millisecond))
			if _, err := k.Prove(ctx, b.of(t)); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("elsewhere %v: %v", elsewhere, err)
			}
			cancel()
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
		e.Close()
		if n := f.Held(); n != 0 {
			t.Errorf("elsewhere %v: %d bases and spaces are left", elsewhere, n)
		}
	}
}

// counter is a reader of bytes that keeps none of them.
type counter uint64

func (c *counter) Read(b []byte) (int, error) {
	for i := range b {
		*c = *c*6364136223846793005 + 1442695040888963407
		b[i] = byte(*c >> 56)
	}
	return len(b), nil
}

// TestSecretsAreWiped: after a proof and Wipe, memory has neither the witness nor r and s.
func TestSecretsAreWiped(t *testing.T) {
	for i, elsewhere := range []bool{false, true} {
		b := build(t, backend.BN254, "no public")
		f := faulty.Backends{Elsewhere: elsewhere}
		k := b.load(t, circom.WithEngine(newEngine(t, engine.Config{Open: f.Open})))
		// By its words: SetBytes would leave the number in a pool.
		secret := func() fr.Element {
			return fr.Element{0x9e3779b97f4a7c15 + uint64(i), 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0x0123456789abcdef}
		}
		drawn, redrawn := counter(i), counter(i)
		func() {
			x := secret()
			var y fr.Element
			y.Square(&x)
			w := circom.WitnessOf([]fr.Element{fr.One(), x, y})
			defer w.Wipe()
			x, y = fr.Element{}, fr.Element{}
			var err error
			withReader(&drawn, func() { _, err = k.Prove(t.Context(), w) })
			if err != nil {
				t.Fatal(err)
			}
		}()
		dump := heaptest.Dump(t)
		x := secret()
		rs := make([]fr.Element, 2)
		withReader(&redrawn, func() {
			rs[0].MustSetRandom()
			rs[1].MustSetRandom()
		})
		if drawn != redrawn {
			t.Fatal("the proof did not draw r and s only")
		}
		secrets := map[string][]byte{"a value": layout.Bytes([]fr.Element{x})}
		plain := x.Bits()
		secrets["a value as a number"] = layout.Bytes(plain[:])
		for i, name := range []string{"r", "s"} {
			secrets[name] = bytes.Clone(layout.Bytes(rs[i : i+1]))
			secrets[name+" as a number"] = layout.Bytes(rs[i].BigInt(new(big.Int)).Bits())
		}
		now := heaptest.Dump(t)
		for what, b := range secrets {
			if bytes.Contains(dump, b) {
				t.Errorf("elsewhere %v: %s is still in memory", elsewhere, what)
			}
			if !bytes.Contains(now, b) {
				t.Errorf("elsewhere %v: %s is not found where it is", elsewhere, what)
			}
		}
	}
}
