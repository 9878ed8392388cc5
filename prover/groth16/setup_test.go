package groth16_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	stock "github.com/consensys/gnark/backend/groth16"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// withRandom has everything take its randomness from a seed while f runs.
func withRandom(f func()) {
	old := rand.Reader
	defer func() { rand.Reader = old }()
	rand.Reader = mathrand.NewChaCha8([32]byte{1})
	f()
}

// TestSetup makes keys of the same randomness as gnark, and wants the same bytes, on four
// curves and for circuits with and without commitments.
func TestSetup(t *testing.T) {
	for _, id := range []ecc.ID{ecc.BN254, ecc.BLS12_377, ecc.BLS12_381, ecc.BW6_761} {
		for _, sample := range samples.All {
			if id != ecc.BN254 && sample.Name != "commitments" && sample.Name != "hints and tables" {
				continue
			}
			b := build(t, id, sample)
			var want, got struct {
				pk groth16.ProvingKey
				vk groth16.VerifyingKey
			}
			var err error
			withRandom(func() { want.pk, want.vk, err = stock.Setup(b.ccs) })
			if err != nil {
				t.Fatal(err)
			}
			made := 0
			withRandom(func() {
				got.pk, got.vk, err = groth16.SetupOn(t.Context(), newEngine(t, engine.Config{Backend: "cpu"}), b.ccs,
					groth16.OnPoints(func(points, of int) {
						if made = points; points > of {
							t.Errorf("%d of %d points", points, of)
						}
					}))
			})
			if err != nil {
				t.Fatal(err)
			}
			same(t, got.pk, want.pk)
			same(t, got.vk, want.vk)
			if made == 0 {
				t.Error("no progress was told")
			}
			if sample.Name != "commitments" {
				continue
			}
			p, err := groth16.NewProver(nil, b.ccs, got.pk)
			if err != nil {
				t.Fatal(err)
			}
			w := b.witness(t, 3)
			proof, err := p.Prove(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			public, err := w.Public()
			if err != nil {
				t.Fatal(err)
			}
			if err := stock.Verify(proof, got.vk, public); err != nil {
				t.Error(err)
			}
			p.Close()
		}
	}
}

// same wants two keys to have the same bytes.
func same(t *testing.T, got, want io.WriterTo) {
	t.Helper()
	var a, b bytes.Buffer
	if _, err := got.WriteTo(&a); err != nil {
		t.Fatal(err)
	}
	if _, err := want.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("%T: %d bytes differ from gnark's %d", got, a.Len(), b.Len())
	}
}

// TestSetupSurvives has the backend die while points are made, and cancels a set-up.
func TestSetupSurvives(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	var f faulty.Backends
	e := newEngine(t, engine.Config{Open: f.Open})
	for _, calls := range []int64{1, 3, 7} {
		f.Die.Store(calls)
		pk, vk, err := groth16.SetupOn(t.Context(), e, b.ccs)
		if err != nil {
			t.Fatal(err)
		}
		made := *b
		made.pk, made.vk = pk, vk
		p, err := groth16.NewProver(nil, b.ccs, pk)
		if err != nil {
			t.Fatal(err)
		}
		w := b.witness(t, 5)
		proof, err := p.Prove(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		made.verify(t, proof, w)
		p.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := groth16.SetupOn(ctx, e, b.ccs); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, _, err := groth16.Setup(nil); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
	if n := f.Held(); n != 0 {
		t.Errorf("%d bases and spaces are left", n)
	}
}
