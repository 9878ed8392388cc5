package groth16_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/groth16"
	gnark381 "github.com/consensys/gnark/backend/groth16/bls12-381"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// keyForms writes a key in each of gnark's forms.
var keyForms = map[string]func(stock.ProvingKey, io.Writer) error{
	"compressed": func(pk stock.ProvingKey, w io.Writer) error { _, err := pk.WriteTo(w); return err },
	"raw":        func(pk stock.ProvingKey, w io.Writer) error { _, err := pk.WriteRawTo(w); return err },
	"dump":       func(pk stock.ProvingKey, w io.Writer) error { return pk.WriteDump(w) },
}

func written(t *testing.T, form string, pk stock.ProvingKey) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := keyForms[form](pk, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReadProvingKey reads keys of every form as gnark does, and leaves the bytes after them.
func TestReadProvingKey(t *testing.T) {
	for _, curve := range curves() {
		for _, name := range []string{"cubic", "commitments"} {
			pk := build(t, curve, samples.ByName(name)).pk
			for form := range keyForms {
				b := written(t, form, pk)
				want := stock.NewProvingKey(curve)
				var err error
				if form == "dump" {
					err = want.ReadDump(bytes.NewReader(b))
				} else {
					_, err = want.ReadFrom(bytes.NewReader(b))
				}
				if err != nil {
					t.Fatal(err)
				}
				from := bytes.NewReader(append(slices.Clone(b), 1, 2, 3))
				got, err := groth16.ReadProvingKey(t.Context(), nil, from)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%v, %s, %s: the key is not the one that gnark reads: %v", curve, name, form, err)
				}
				if err == nil && from.Len() != 3 {
					t.Errorf("%v, %s, %s: %d bytes behind the key are left, want 3", curve, name, form, from.Len())
				}
			}
		}
	}
}

// TestDamagedKeys changes a bit in every part of a key, and cuts it there.
func TestDamagedKeys(t *testing.T) {
	pk := build(t, ecc.BN254, samples.ByName("commitments")).pk
	e := newEngine(t, engine.Config{})
	for _, form := range []string{"raw", "dump"} {
		b := written(t, form, pk)
		tables := 8 + 5*32 // where the domain says whether it has tables; neither value makes a key wrong
		if form == "dump" {
			tables += 8
		}
		step := max(7, len(b)/300)
		for at := 0; at < len(b); at += step {
			if _, err := groth16.ReadProvingKey(t.Context(), e, bytes.NewReader(b[:at])); !errors.Is(err, backend.ErrInvalidInput) ||
				!errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, cut at %d: %v", form, at, err)
			}
			if at == tables {
				continue
			}
			bad := slices.Clone(b)
			bad[at] ^= 1 << (at % 8)
			if _, err := groth16.ReadProvingKey(t.Context(), e, bytes.NewReader(bad)); !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("%s, a bit at %d changed: %v", form, at, err)
			}
		}
	}
}

// outsideOfSubgroup returns a point of BLS12-381 that is on the curve and not in the subgroup.
func outsideOfSubgroup() (outside bls12381.G1Affine) {
	for outside.X.SetOne(); ; outside.X.Double(&outside.X) {
		outside.Y.Square(&outside.X).Mul(&outside.Y, &outside.X)
		four := outside.X
		four.SetUint64(4)
		outside.Y.Add(&outside.Y, &four)
		if outside.Y.Sqrt(&outside.Y) != nil && outside.IsOnCurve() && !outside.IsInSubGroup() {
			return outside
		}
	}
}

// TestVerifyNamesTheKey: where a proof is refused because of the key's points, the error says which.
func TestVerifyNamesTheKey(t *testing.T) {
	b := build(t, ecc.BLS12_381, samples.ByName("commitments"))
	for want, spoil := range map[string]func(pk *gnark381.ProvingKey){
		"the verifier's options": func(*gnark381.ProvingKey) {},
		"points of G1.A": func(pk *gnark381.ProvingKey) {
			pk.G1.A = slices.Clone(pk.G1.A)
			pk.G1.A[0] = outsideOfSubgroup()
		},
		"points of G1.Z": func(pk *gnark381.ProvingKey) {
			pk.G1.Z = slices.Clone(pk.G1.Z)
			pk.G1.Z[0] = outsideOfSubgroup()
		},
	} {
		pk := *b.pk.(*gnark381.ProvingKey)
		spoil(&pk)
		opts := []groth16.Option{groth16.WithVerify(b.vk)}
		if want == "the verifier's options" {
			opts = []groth16.Option{groth16.WithVerify(b.vk, gnark.WithVerifierHashToFieldFunction(sha256.New()))}
		}
		p, err := groth16.NewProver(nil, b.ccs, &pk, opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := p.Prove(t.Context(), b.witness(t, 3)); !errors.Is(err, groth16.ErrNotVerified) ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "msm key check") != strings.HasPrefix(want, "points") {
			t.Errorf("%v, which should name %s", err, want)
		}
	}
}

// TestKeysWithBadPoints: points off the curve or outside of the subgroup are named.
func TestKeysWithBadPoints(t *testing.T) {
	pk := build(t, ecc.BLS12_381, samples.ByName("cubic")).pk.(*gnark381.ProvingKey)
	outside := outsideOfSubgroup()
	off := pk.G1.Z[2]
	off.X.Double(&off.X)
	for _, c := range []struct {
		point bls12381.G1Affine
		forms []string
		want  string
	}{
		{outside, []string{"compressed", "raw", "dump"}, "G1.Z[2]: not in the subgroup"},
		{off, []string{"raw", "dump"}, "G1.Z[2]: n"}, // no encoding, or off the curve
	} {
		bad := *pk
		bad.G1.Z = slices.Clone(pk.G1.Z)
		bad.G1.Z[2] = c.point
		for _, form := range c.forms {
			_, err := groth16.ReadProvingKey(t.Context(), nil, bytes.NewReader(written(t, form, &bad)))
			if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", form, err, c.want)
			}
		}
	}
}

// TestClaimedLengths reads keys that claim more points than they have bytes for.
func TestClaimedLengths(t *testing.T) {
	pk := build(t, ecc.BN254, samples.ByName("cubic")).pk
	domain := 8 + 5*32 + 1
	long := func(form string, at int, n []byte) []byte {
		b := written(t, form, pk)
		copy(b[at:], n)
		return b
	}
	wires := 8 + domain + 3*64 + 2*128
	for name, b := range map[string][]byte{
		"points":   long("compressed", domain+3*32, binary.BigEndian.AppendUint32(nil, 1<<32-1)),
		"wires":    long("dump", wires, binary.BigEndian.AppendUint64(nil, 1<<40)),
		"a domain": long("raw", 0, binary.BigEndian.AppendUint64(nil, 1<<40)),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := groth16.ReadProvingKey(t.Context(), nil, bytes.NewReader(b))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 128<<20 {
			t.Errorf("%s: %d bytes of memory were taken", name, n)
		}
	}
}

// TestReadingGoesOn kills a backend in the middle of reading, and ends the context.
func TestReadingGoesOn(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	f := faulty.Backends{Elsewhere: true}
	f.Die.Store(4)
	e := newEngine(t, engine.Config{Open: f.Open, Restarts: 1})
	compressed := written(t, "compressed", b.pk)
	got, err := groth16.ReadProvingKey(t.Context(), e, bytes.NewReader(compressed))
	if err != nil || !bytes.Equal(written(t, "compressed", got), compressed) {
		t.Errorf("a key whose backend died is not the key: %v", err)
	}
	if f.Die.Load() > 0 {
		t.Error("no backend died")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := groth16.ReadProvingKey(ended, e, bytes.NewReader(compressed)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// BenchmarkReadProvingKey reads a key in each form, as gnark does and on an engine.
func BenchmarkReadProvingKey(b *testing.B) {
	pk := build(b, ecc.BN254, samples.Random("random of 8192", 3, 8192)).pk
	for _, form := range []string{"compressed", "raw"} {
		var key bytes.Buffer
		if err := keyForms[form](pk, &key); err != nil {
			b.Fatal(err)
		}
		b.Run(form+"/gnark", func(b *testing.B) {
			for b.Loop() {
				if _, err := stock.NewProvingKey(ecc.BN254).ReadFrom(bytes.NewReader(key.Bytes())); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(form+"/engine", func(b *testing.B) {
			for b.Loop() {
				if _, err := groth16.ReadProvingKey(b.Context(), nil, bytes.NewReader(key.Bytes())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
