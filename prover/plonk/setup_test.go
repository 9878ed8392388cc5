package plonk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	stock "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// TestSetup wants gnark's keys, with a setup in Lagrange form and without, on an engine
// whose backend dies meanwhile.
func TestSetup(t *testing.T) {
	for _, id := range []ecc.ID{ecc.BN254, ecc.BLS12_377, ecc.BLS12_381, ecc.BW6_761} {
		for _, name := range []string{"commitments", "cubic"} {
			b := build(t, id, samples.ByName(name))
			srs, lagrange, err := unsafekzg.NewSRS(b.ccs)
			if err != nil {
				t.Fatal(err)
			}
			wantPK, wantVK, err := stock.Setup(b.ccs, srs, lagrange)
			if err != nil {
				t.Fatal(err)
			}
			var f faulty.Backends
			e := newEngine(t, engine.Config{Open: f.Open})
			for i, form := range []func() (plonk.ProvingKey, plonk.VerifyingKey, error){
				func() (plonk.ProvingKey, plonk.VerifyingKey, error) {
					return plonk.SetupOn(t.Context(), e, b.ccs, srs, lagrange)
				},
				func() (plonk.ProvingKey, plonk.VerifyingKey, error) {
					return plonk.SetupOn(t.Context(), e, b.ccs, srs, nil)
				},
				func() (plonk.ProvingKey, plonk.VerifyingKey, error) { return plonk.Setup(b.ccs, srs, lagrange) },
			} {
				f.Die.Store(int64(i + 1))
				pk, vk, err := form()
				if err != nil {
					t.Fatal(err)
				}
				same(t, pk, wantPK)
				same(t, vk, wantVK)
			}
			if n := f.Held(); n != 0 {
				t.Errorf("%d bases and spaces are left", n)
			}
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

// TestSetupRefuses gives a setup that is too short, of another curve, or none.
func TestSetupRefuses(t *testing.T) {
	b, other := build(t, ecc.BN254, samples.ByName("cubic")), build(t, ecc.BLS12_381, samples.ByName("cubic"))
	large := build(t, ecc.BN254, samples.ByName("commitments"))
	srs, lagrange, err := unsafekzg.NewSRS(b.ccs)
	if err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"no system":     func() error { _, _, err := plonk.Setup(nil, srs, lagrange); return err },
		"no setup":      func() error { _, _, err := plonk.Setup(b.ccs, nil, nil); return err },
		"another curve": func() error { _, _, err := plonk.Setup(other.ccs, srs, lagrange); return err },
		"too short":     func() error { _, _, err := plonk.Setup(large.ccs, srs, lagrange); return err },
		"Lagrange form of another size": func() error {
			_, l, err := unsafekzg.NewSRS(large.ccs)
			if err == nil {
				_, _, err = plonk.Setup(b.ccs, srs, l)
			}
			return err
		},
	} {
		if err := do(); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := plonk.SetupOn(ctx, nil, b.ccs, srs, lagrange); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
