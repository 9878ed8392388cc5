package plonk_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	stock "github.com/consensys/gnark/backend/plonk"
	gnark254 "github.com/consensys/gnark/backend/plonk/bn254"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/plonk"
)

func provingBytes(t *testing.T, pk stock.ProvingKey, raw bool) []byte {
	t.Helper()
	var b bytes.Buffer
	write := pk.WriteTo
	if raw {
		write = pk.WriteRawTo
	}
	if _, err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReadProvingKey reads keys of both forms, with the next bytes left, and refuses them
// where they are cut or a bit is another one.
func TestReadProvingKey(t *testing.T) {
	for _, curve := range curves() {
		pk := build(t, curve, samples.ByName("commitments")).pk
		want := provingBytes(t, pk, true)
		for _, raw := range []bool{false, true} {
			from := bytes.NewReader(append(provingBytes(t, pk, raw), 1, 2, 3))
			got, err := plonk.ReadProvingKey(t.Context(), nil, curve, from)
			if err != nil {
				t.Errorf("%v, raw %v: %v", curve, raw, err)
				continue
			}
			if !bytes.Equal(provingBytes(t, got, true), want) || from.Len() != 3 {
				t.Errorf("%v, raw %v: the key is another one, or %d bytes are left", curve, raw, from.Len())
			}
		}
	}
	if _, err := plonk.ReadProvingKey(t.Context(), nil, ecc.BW6_633, bytes.NewReader(nil)); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("a curve that is not supported: %v", err)
	}
}

// versioned reports whether this gnark writes a marker and a version first, as it does from v0.15 on.
func versioned(key []byte) bool { return binary.BigEndian.Uint64(key) == 0 }

// TestKeysBeforeVersions reads keys as gnark below v0.15 writes them: without a version, and with
// a compressed verifying key in front of points of either form.
func TestKeysBeforeVersions(t *testing.T) {
	pk := build(t, ecc.BN254, samples.ByName("commitments")).pk.(*gnark254.ProvingKey)
	want := provingBytes(t, pk, true)
	for _, raw := range []bool{false, true} {
		var b bytes.Buffer
		write := []func(io.Writer) (int64, error){pk.Vk.WriteTo, pk.Kzg.WriteTo, pk.KzgLagrange.WriteTo}
		if raw {
			write[1], write[2] = pk.Kzg.WriteRawTo, pk.KzgLagrange.WriteRawTo
		}
		for _, write := range write {
			if _, err := write(&b); err != nil {
				t.Fatal(err)
			}
		}
		if versioned(b.Bytes()) {
			b.Next(16)
		}
		got, err := plonk.ReadProvingKey(t.Context(), nil, ecc.BN254, &b)
		if err != nil {
			t.Errorf("raw %v: %v", raw, err)
		} else if !bytes.Equal(provingBytes(t, got, true), want) || b.Len() != 0 {
			t.Errorf("raw %v: the key is another one, or %d bytes are left", raw, b.Len())
		}
	}
}

// TestDamagedKeys changes a bit in every part of a key, and cuts it there.
func TestDamagedKeys(t *testing.T) {
	pk := build(t, ecc.BN254, samples.ByName("commitments")).pk
	b := provingBytes(t, pk, true)
	vk := len(b) - 2*4 - 64*(len(pk.(*gnark254.ProvingKey).Kzg.G1)+len(pk.(*gnark254.ProvingKey).KzgLagrange.G1))
	indices := 8 * len(pk.(*gnark254.ProvingKey).Vk.CommitmentConstraintIndexes)
	free := func(at int) bool { // what no key tells is wrong
		if !versioned(b) { // a compressed point may be another one then
			return at < vk
		}
		return at >= 8+8+8+2*32 && at < 8+8+8+2*32+8 || at >= vk-indices && at < vk
	}
	for at := 0; at < len(b); at += max(7, len(b)/200) {
		_, err := plonk.ReadProvingKey(t.Context(), nil, ecc.BN254, bytes.NewReader(b[:at]))
		if !errors.Is(err, backend.ErrInvalidInput) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", at, err)
		}
		if free(at) {
			continue
		}
		bad := slices.Clone(b)
		bad[at] ^= 1 << (at % 8)
		if _, err := plonk.ReadProvingKey(t.Context(), nil, ecc.BN254, bytes.NewReader(bad)); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("a bit at %d changed: %v", at, err)
		}
	}
	bad := slices.Clone(b)
	bad[len(b)-1] ^= 1
	if _, err := plonk.ReadProvingKey(t.Context(), nil, ecc.BN254, bytes.NewReader(bad)); err == nil ||
		!strings.Contains(err.Error(), "KzgLagrange.G1[") {
		t.Errorf("the last point: %v does not name it", err)
	}
}

// TestVerifyNamesTheKey: where a proof is refused because of the key's points, the error says which.
func TestVerifyNamesTheKey(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	for want, spoil := range map[string]func(pk *gnark254.ProvingKey){
		"KzgLagrange is not the Lagrange form": func(pk *gnark254.ProvingKey) {
			v := slices.Clone(pk.KzgLagrange.G1)
			v[0], v[1] = v[1], v[0]
			pk.KzgLagrange.G1 = v
		},
		"points of Kzg are": func(pk *gnark254.ProvingKey) {
			v := slices.Clone(pk.Kzg.G1)
			v[1].X.Double(&v[1].X)
			pk.Kzg.G1 = v
		},
	} {
		pk := *b.pk.(*gnark254.ProvingKey)
		spoil(&pk)
		p, err := plonk.NewProver(nil, b.ccs, &pk, plonk.WithVerify(b.vk))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := p.Prove(t.Context(), b.witness(t, 3)); !errors.Is(err, plonk.ErrNotVerified) ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "msm key check") {
			t.Errorf("%v, which should name %s", err, want)
		}
	}
}
