package groth16_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	bn254 "github.com/consensys/gnark/backend/groth16/bn254"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// TestLoadProver makes provers of keys of every form, which prove, load each part once and
// leave nothing behind.
func TestLoadProver(t *testing.T) {
	for _, curve := range curves() {
		b := build(t, curve, samples.ByName("commitments"))
		w := b.witness(t, 3)
		parts := int64(5 + 2*len(b.ccs.GetCommitments().CommitmentIndexes()))
		for form := range keyForms {
			key := written(t, form, b.pk)
			for what, c := range map[string]struct {
				elsewhere bool
				opts      []groth16.Option
				loads     int64 // of the key's parts, at least
			}{
				"another process":         {true, nil, parts},
				"another process, merged": {true, []groth16.Option{groth16.MergeBases(groth16.MergeAlways)}, parts},
				"this process":            {false, nil, parts},
				"this process, plain":     {false, []groth16.Option{groth16.MergeBases(groth16.MergeNever), groth16.MergeScalars(groth16.MergeNever)}, parts},
			} {
				f := faulty.Backends{Elsewhere: c.elsewhere}
				e := newEngine(t, engine.Config{Open: f.Open, Fallbacks: []string{engine.NoFallback}})
				from := bytes.NewReader(append(slices.Clone(key), 1, 2, 3))
				p, err := groth16.LoadProver(t.Context(), e, b.ccs, from, append(c.opts, groth16.WithVerify(b.vk))...)
				if err != nil {
					t.Errorf("%v, %s, %s: %v", curve, form, what, err)
					continue
				}
				if from.Len() != 3 || f.Loads.Load() != c.loads || f.Bases.Load() != c.loads {
					t.Errorf("%v, %s, %s: %d bytes are left, %d bases were loaded and %d are there, want 3 and %d", curve, form, what, from.Len(), f.Loads.Load(), f.Bases.Load(), c.loads)
				}
				proof, err := p.Prove(t.Context(), w)
				if err != nil {
					t.Errorf("%v, %s, %s: %v", curve, form, what, err)
					continue
				}
				b.verify(t, proof, w)
				if err := p.Close(); err != nil || f.Held() != 0 {
					t.Errorf("%v, %s, %s: %d bases and spaces are left, %v", curve, form, what, f.Held(), err)
				}
			}
		}
		p, err := groth16.LoadProver(t.Context(), nil, b.ccs, bytes.NewReader(written(t, "raw", b.pk)))
		if err != nil {
			t.Fatal(err)
		}
		proof, err := p.Prove(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		b.verify(t, proof, w)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// stopping is a reader that calls on before it reads on at a place.
type stopping struct {
	*bytes.Reader
	left int // until the place
	on   func() error
}

func (s *stopping) Read(p []byte) (int, error) {
	if s.left == 0 {
		s.left = -1
		if err := s.on(); err != nil {
			return 0, err
		}
	}
	if s.left > 0 {
		p = p[:min(len(p), s.left)]
		s.left -= len(p)
	}
	return s.Reader.Read(p)
}

// TestLoadedMeanwhile has the last byte of a key come only when all parts but the last have
// been loaded.
func TestLoadedMeanwhile(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	for _, form := range []string{"compressed", "dump"} {
		key := written(t, form, b.pk)
		f := faulty.Backends{Elsewhere: true}
		e := newEngine(t, engine.Config{Open: f.Open, Fallbacks: []string{engine.NoFallback}})
		all := int64(5 + 2*len(b.ccs.GetCommitments().CommitmentIndexes()))
		from := &stopping{bytes.NewReader(key), len(key) - 1, func() error {
			for end := time.Now().Add(time.Minute); f.Bases.Load() < all-1; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					return fmt.Errorf("%d of %d parts were loaded within a minute", f.Bases.Load(), all)
				}
			}
			return nil
		}}
		p, err := groth16.LoadProver(t.Context(), e, b.ccs, from)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if err := p.Close(); err != nil || f.Held() != 0 {
			t.Errorf("%s: %d bases and spaces are left, %v", form, f.Held(), err)
		}
	}
}

// TestLoadProverRefuses has keys that are damaged or another circuit's, other verifying keys
// and systems, and backends without room. Nothing is left of them.
func TestLoadProverRefuses(t *testing.T) {
	b, other := build(t, ecc.BN254, samples.ByName("commitments")), build(t, ecc.BN254, samples.ByName("cubic"))
	key := written(t, "raw", b.pk)
	f := faulty.Backends{Elsewhere: true}
	e := newEngine(t, engine.Config{Open: f.Open, Fallbacks: []string{engine.NoFallback}})
	bad := *b.pk.(*bn254.ProvingKey)
	bad.G2.B = slices.Clone(bad.G2.B)
	bad.G2.B[len(bad.G2.B)-1].X.A0.SetUint64(1)
	damaged := written(t, "raw", &bad)
	ended, cancel := context.WithCancel(t.Context())
	for what, c := range map[string]struct {
		load func() (*groth16.Prover, error)
		want error
	}{
		"a part of the key": {func() (*groth16.Prover, error) {
			return groth16.LoadProver(t.Context(), e, b.ccs, bytes.NewReader(key[:len(key)-1]))
		}, io.ErrUnexpectedEOF},
		"a wrong point in G2": {func() (*groth16.Prover, error) {
			return groth16.LoadProver(t.Context(), e, b.ccs, bytes.NewReader(damaged))
		}, backend.ErrInvalidInput},
		"another circuit": {func() (*groth16.Prover, error) {
			return groth16.LoadProver(t.Context(), e, other.ccs, bytes.NewReader(key))
		}, backend.ErrInvalidInput},
		"another curve": {func() (*groth16.Prover, error) {
			return groth16.LoadProver(t.Context(), e, build(t, ecc.BLS12_381, samples.ByName("cubic")).ccs, bytes.NewReader(key))
		}, backend.ErrInvalidInput},
		"another verifying key": {func() (*groth16.Prover, error) {
			return groth16.LoadProver(t.Context(), e, b.ccs, bytes.NewReader(key), groth16.WithVerify(other.vk))
		}, backend.ErrInvalidInput},
		"no constraint system": {func() (*groth16.Prover, error) {
			return groth16.LoadProver(t.Context(), e, nil, bytes.NewReader(key))
		}, backend.ErrInvalidInput},
		"a context that ends": {func() (*groth16.Prover, error) {
			return groth16.LoadProver(ended, e, b.ccs, &stopping{bytes.NewReader(key), len(key) - 1, func() error { cancel(); return nil }})
		}, context.Canceled},
	} {
		p, err := c.load()
		if p != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		if f.Held() != 0 {
			t.Errorf("%s: %d bases and spaces are left", what, f.Held())
		}
	}
	if f.Loads.Load() == 0 {
		t.Error("no part was loaded: the test is for those that are")
	}
}

// TestLoadingGoesOn kills the backend at each of its first calls, and one that is ready: what
// was loaded is loaded again, and the proof is right.
func TestLoadingGoesOn(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	w := b.witness(t, 3)
	key := written(t, "compressed", b.pk)
	for n := int64(1); n <= 24; n++ {
		f := faulty.Backends{Elsewhere: true}
		f.Die.Store(n)
		e := newEngine(t, engine.Config{Open: f.Open, Restarts: 2})
		p, err := groth16.LoadProver(t.Context(), e, b.ccs, bytes.NewReader(key), groth16.WithVerify(b.vk))
		if err != nil {
			t.Fatalf("dead at call %d: %v", n, err)
		}
		if _, err := p.Prove(t.Context(), w); err != nil {
			t.Errorf("dead at call %d: %v", n, err)
		}
		if err := e.Use(t.Context(), "cpu"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Prove(t.Context(), w); err != nil {
			t.Errorf("dead at call %d, on another backend: %v", n, err)
		}
		if f.Die.Load() > 0 {
			t.Errorf("no backend died at call %d", n)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
