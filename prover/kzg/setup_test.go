package kzg_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	bls12381kzg "github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/kzg"
)

// ownSetup is a setup in Ethereum's form whose secret is known. The comparison with
// go-eth-kzg, on Ethereum's own, is in examples/kzg.
var ownSetup = sync.OnceValue(func() []byte {
	const n, powersOfG2 = 4096, 65
	secret := big.NewInt(987654321)
	srs, err := bls12381kzg.NewSRS(n, secret)
	if err != nil {
		panic(err)
	}
	lagrange, err := bls12381kzg.ToLagrangeG1(srs.Pk.G1)
	if err != nil {
		panic(err)
	}
	text := map[string][]string{}
	add := func(list string, point []byte) { text[list] = append(text[list], "0x"+hex.EncodeToString(point)) }
	for i := range n {
		power, value := srs.Pk.G1[i].Bytes(), lagrange[i].Bytes()
		add("g1_monomial", power[:])
		add("g1_lagrange", value[:])
	}
	_, _, _, g2 := bls12381.Generators()
	for range powersOfG2 {
		point := g2.Bytes()
		add("g2_monomial", point[:])
		g2.ScalarMultiplication(&g2, secret)
	}
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return b
})

// cellProver returns a prover of cells over ownSetup in this process.
func cellProver(t testing.TB) *kzg.CellProver {
	t.Helper()
	s, err := kzg.ReadEthereumSetup(bytes.NewReader(ownSetup()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := kzg.LoadCells(t.Context(), nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// randomBlob returns a blob of random elements.
func randomBlob(rng *rand.Rand) *kzg.Blob {
	b := new(kzg.Blob)
	for i := 0; i < len(b); i += fr.Bytes {
		var x fr.Element
		x[0], x[1], x[2], x[3] = rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()>>2
		y := x.Bytes()
		copy(b[i:], y[:])
	}
	return b
}

// TestSetupIsChecked: what is no setup, or is damaged, is refused.
func TestSetupIsChecked(t *testing.T) {
	whole := ownSetup()
	for what, change := range map[string]func(s map[string][]string){
		"a point less":         func(s map[string][]string) { s["g1_monomial"] = s["g1_monomial"][1:] },
		"a digit":              func(s map[string][]string) { s["g1_lagrange"][7] = "0x00" },
		"two points exchanged": func(s map[string][]string) { l := s["g1_lagrange"]; l[3], l[4] = l[4], l[3] },
		"powers exchanged":     func(s map[string][]string) { l := s["g1_monomial"]; l[3], l[4] = l[4], l[3] },
		"another power in G2":  func(s map[string][]string) { l := s["g2_monomial"]; l[64] = l[63] },
		"no points in G2":      func(s map[string][]string) { delete(s, "g2_monomial") },
	} {
		var s map[string][]string
		if err := json.Unmarshal(whole, &s); err != nil {
			t.Fatal(err)
		}
		change(s)
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kzg.ReadEthereumSetup(bytes.NewReader(b)); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := kzg.ReadEthereumSetup(strings.NewReader("no JSON")); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("no JSON: %v", err)
	}
}

// TestComputeEqualsRecover: the half of a blob's cells that is computed, and the half that is the blob, are those
// that all values of the polynomial of either half give.
func TestComputeEqualsRecover(t *testing.T) {
	c := cellProver(t)
	blob := randomBlob(rand.New(rand.NewPCG(5, 6)))
	want, err := c.Compute(t.Context(), blob)
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []int{0, kzg.LeastCells} {
		var indices []uint64
		var cells []*kzg.Cell
		for i := range kzg.LeastCells {
			indices, cells = append(indices, uint64(first+i)), append(cells, &want[0].Cells[first+i])
		}
		got, err := c.Recover(t.Context(), indices, cells)
		if err != nil || *got[0] != *want[0] {
			t.Errorf("from cell %d on: %v, the same: %v", first, err, err == nil && *got[0] == *want[0])
		}
	}
}
