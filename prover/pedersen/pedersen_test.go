package pedersen_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	stock377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/pedersen"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	stock381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/pedersen"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	stock254 "github.com/consensys/gnark-crypto/ecc/bn254/fr/pedersen"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	stock761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/pedersen"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/pedersen"
)

// proving is the address of gnark-crypto's proving key PK.
type proving[P, S, PK any] interface {
	*PK
	Commit([]S) (P, error)
	ProveKnowledge([]S) (P, error)
}

// verifying is the address of gnark-crypto's verifying key VK.
type verifying[P, VK any] interface {
	*VK
	Verify(commitment, knowledge P) error
}

// on returns the comparison of a key of n points with gnark-crypto's, on one curve. shorten
// takes the first point from one half of a key.
func on[P comparable, S, PK, VK, O any, KP proving[P, S, PK], KV verifying[P, VK]](
	c backend.Curve, setup func([][]P, ...O) ([]PK, VK, error), shorten func(KP),
	load func(context.Context, *engine.Engine, PK) (*pedersen.Key[P, S], error),
) func(t *testing.T, e *engine.Engine, n int) {
	return func(t *testing.T, e *engine.Engine, n int) {
		stock, vk, err := setup([][]P{points[P](t, c, n)})
		if err != nil {
			t.Fatal(err)
		}
		k, err := load(t.Context(), e, stock[0])
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		compare(t, k, scalars[S](t, c, n), KP(&stock[0]).Commit, KP(&stock[0]).ProveKnowledge, KV(&vk).Verify)
		shorten(&stock[0])
		_, err = load(t.Context(), e, stock[0])
		wantInvalid(t, "a key of unequal halves", err)
	}
}

// curveTests compare with gnark-crypto on each curve.
var curveTests = map[backend.Curve]func(t *testing.T, e *engine.Engine, n int){
	backend.BN254: on[bn254.G1Affine, fr254.Element](backend.BN254, stock254.Setup,
		func(k *stock254.ProvingKey) { k.BasisExpSigma = k.BasisExpSigma[1:] }, pedersen.LoadBN254),
	backend.BLS12377: on[bls12377.G1Affine, fr377.Element](backend.BLS12377, stock377.Setup,
		func(k *stock377.ProvingKey) { k.BasisExpSigma = k.BasisExpSigma[1:] }, pedersen.LoadBLS12377),
	backend.BLS12381: on[bls12381.G1Affine, fr381.Element](backend.BLS12381, stock381.Setup,
		func(k *stock381.ProvingKey) { k.BasisExpSigma = k.BasisExpSigma[1:] }, pedersen.LoadBLS12381),
	backend.BW6761: on[bw6761.G1Affine, fr761.Element](backend.BW6761, stock761.Setup,
		func(k *stock761.ProvingKey) { k.BasisExpSigma = k.BasisExpSigma[1:] }, pedersen.LoadBW6761),
}

// points returns n points of G1.
func points[P any](t *testing.T, c backend.Curve, n int) []P {
	t.Helper()
	all, err := fixtures.NewPoints(c, backend.G1, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := all.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	p, err := layout.View[P](b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// scalars returns n scalars.
func scalars[S any](t *testing.T, c backend.Curve, n int) []S {
	t.Helper()
	b, err := fixtures.Scalars(c, fixtures.Uniform, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	s, err := layout.View[S](b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compare wants gnark-crypto's answers.
func compare[P comparable, S any](t *testing.T, k *pedersen.Key[P, S], values []S, commit,
	prove func([]S) (P, error), verify func(P, P) error) {
	t.Helper()
	c, err := k.Commit(t.Context(), values)
	want, wantErr := commit(values)
	if err != nil || wantErr != nil || c != want {
		t.Errorf("commitment %v, %v; want %v, %v", c, err, want, wantErr)
	}
	p, err := k.ProveKnowledge(t.Context(), values)
	want, wantErr = prove(values)
	if err != nil || wantErr != nil || p != want {
		t.Errorf("proof %v, %v; want %v, %v", p, err, want, wantErr)
	}
	if err := verify(c, p); err != nil {
		t.Error(err)
	}
	for _, other := range [][]S{values[1:], append(values, values[0]), nil} {
		_, err := k.Commit(t.Context(), other)
		wantInvalid(t, fmt.Sprintf("%d values for %d points", len(other), k.Len()), err)
	}
}

func wantInvalid(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("%s: %v", what, err)
	}
}

func TestEqualsGnarkCrypto(t *testing.T) {
	e, err := pippin.New(t.Context(), engine.Config{CheckInput: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, e := range map[string]*engine.Engine{"engine": e, "no engine": nil} {
		for _, curve := range backend.Curves() {
			t.Run(name+"/"+curve.String(), func(t *testing.T) { curveTests[curve](t, e, 50) })
		}
	}
}
