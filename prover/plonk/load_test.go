package plonk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/plonk"
)

func faultyEngine(t *testing.T, f *faulty.Backends) *engine.Engine {
	t.Helper()
	e, err := pippin.New(t.Context(), engine.Config{Open: f.Open, Restarts: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestLoadProver makes provers of keys of both forms, which prove, load each setup once and
// leave nothing behind.
func TestLoadProver(t *testing.T) {
	for _, curve := range curves() {
		b := build(t, curve, samples.ByName("commitments"))
		w := b.witness(t, 3)
		for _, raw := range []bool{false, true} {
			f := faulty.Backends{Elsewhere: true}
			e := faultyEngine(t, &f)
			from := bytes.NewReader(append(provingBytes(t, b.pk, raw), 1, 2, 3))
			p, err := plonk.LoadProver(t.Context(), e, b.ccs, from, plonk.WithVerify(b.vk))
			if err != nil {
				t.Fatalf("%v, raw %v: %v", curve, raw, err)
			}
			if from.Len() != 3 || f.Loads.Load() != 2 || f.Bases.Load() != 2 {
				t.Errorf("%v, raw %v: %d bytes are left, %d bases were loaded and %d are there, want 3 and 2", curve, raw, from.Len(), f.Loads.Load(), f.Bases.Load())
			}
			proof, err := p.Prove(t.Context(), w)
			if err != nil {
				t.Fatalf("%v, raw %v: %v", curve, raw, err)
			}
			b.verify(t, proof, w)
			if err := p.Close(); err != nil || f.Held() != 0 {
				t.Errorf("%v, raw %v: %d bases and spaces are left, %v", curve, raw, f.Held(), err)
			}
		}
	}
}

// last is a reader that calls before when one byte is left.
type last struct {
	*bytes.Reader
	before func() error
}

func (l *last) Read(p []byte) (int, error) {
	if l.Len() == 1 {
		if err := l.before(); err != nil {
			return 0, err
		}
	}
	return l.Reader.Read(p[:max(1, min(len(p), l.Len()-1))])
}

// TestLoadedMeanwhile has the last byte of a key come only when the first of its setups has
// been loaded.
func TestLoadedMeanwhile(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	f := faulty.Backends{Elsewhere: true}
	p, err := plonk.LoadProver(t.Context(), faultyEngine(t, &f), b.ccs, &last{bytes.NewReader(provingBytes(t, b.pk, false)), func() error {
		for end := time.Now().Add(time.Minute); f.Bases.Load() < 1; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("no points were loaded within a minute")
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil || f.Held() != 0 {
		t.Errorf("%d bases and spaces are left, %v", f.Held(), err)
	}
}

// TestLoadProverRefuses has keys that are damaged or another circuit's, and another verifying
// key. Nothing is left of them.
func TestLoadProverRefuses(t *testing.T) {
	b, other := build(t, ecc.BN254, samples.ByName("commitments")), build(t, ecc.BN254, samples.ByName("cubic"))
	key := provingBytes(t, b.pk, true)
	f := faulty.Backends{Elsewhere: true}
	e := faultyEngine(t, &f)
	damaged := bytes.Clone(key)
	damaged[len(damaged)-1] ^= 1
	for what, c := range map[string]struct {
		load func() (*plonk.Prover, error)
		want error
	}{
		"a part of the key": {func() (*plonk.Prover, error) {
			return plonk.LoadProver(t.Context(), e, b.ccs, bytes.NewReader(key[:len(key)-1]))
		}, io.ErrUnexpectedEOF},
		"a wrong point": {func() (*plonk.Prover, error) {
			return plonk.LoadProver(t.Context(), e, b.ccs, bytes.NewReader(damaged))
		}, backend.ErrInvalidInput},
		"another circuit": {func() (*plonk.Prover, error) {
			return plonk.LoadProver(t.Context(), e, other.ccs, bytes.NewReader(key))
		}, backend.ErrInvalidInput},
		"another verifying key": {func() (*plonk.Prover, error) {
			return plonk.LoadProver(t.Context(), e, b.ccs, bytes.NewReader(key), plonk.WithVerify(other.vk))
		}, backend.ErrInvalidInput},
		"no constraint system": {func() (*plonk.Prover, error) {
			return plonk.LoadProver(t.Context(), e, nil, bytes.NewReader(key))
		}, backend.ErrInvalidInput},
	} {
		if p, err := c.load(); p != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		if f.Held() != 0 {
			t.Errorf("%s: %d bases and spaces are left", what, f.Held())
		}
	}
	if f.Loads.Load() == 0 {
		t.Error("no points were loaded: the test is for those that are")
	}
}

// TestLoadingGoesOn kills the backend at each of its first calls: what was loaded is loaded
// again, and the proof is right.
func TestLoadingGoesOn(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	w := b.witness(t, 3)
	key := provingBytes(t, b.pk, false)
	for n := int64(1); n <= 20; n++ {
		f := faulty.Backends{Elsewhere: true}
		f.Die.Store(n)
		p, err := plonk.LoadProver(t.Context(), faultyEngine(t, &f), b.ccs, bytes.NewReader(key), plonk.WithVerify(b.vk))
		if err != nil {
			t.Fatalf("dead at call %d: %v", n, err)
		}
		if _, err := p.Prove(t.Context(), w); err != nil {
			t.Errorf("dead at call %d: %v", n, err)
		}
		if f.Die.Load() > 0 {
			t.Errorf("no backend died at call %d", n)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
