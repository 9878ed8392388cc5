package pedersen_test

import (
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	pedersen377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/pedersen"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	pedersen381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/pedersen"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	pedersen254 "github.com/consensys/gnark-crypto/ecc/bn254/fr/pedersen"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	pedersen761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/pedersen"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/pedersen"
)

// compare wants gnark-crypto's answers.
func compare[P comparable, J, S any](t *testing.T, k *pedersen.Key[P, J, S], values []S, commit, prove func([]S) (P, error), verify func(P, P) error) {
	t.Helper()
	defer k.Close()
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
		if _, err := k.Commit(t.Context(), other); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%d values for %d points: %v", len(other), k.Len(), err)
		}
	}
}

func TestEqualsGnarkCrypto(t *testing.T) {
	e, err := pippin.New(t.Context(), msm.Config{CheckInput: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const n = 50
	for name, e := range map[string]*msm.Engine{"engine": e, "no engine": nil} {
		t.Run(name+"/bn254", func(t *testing.T) {
			values, logs := make(fr254.Vector, n), make(fr254.Vector, n)
			values.MustSetRandom()
			logs.MustSetRandom()
			_, _, g, _ := bn254.Generators()
			keys, vk, err := pedersen254.Setup([][]bn254.G1Affine{bn254.BatchScalarMultiplicationG1(&g, logs)})
			if err != nil {
				t.Fatal(err)
			}
			k, err := pedersen.LoadBN254(t.Context(), e, keys[0])
			if err != nil {
				t.Fatal(err)
			}
			compare(t, k, []fr254.Element(values), keys[0].Commit, keys[0].ProveKnowledge, vk.Verify)
		})
		t.Run(name+"/bls12-377", func(t *testing.T) {
			values, logs := make(fr377.Vector, n), make(fr377.Vector, n)
			values.MustSetRandom()
			logs.MustSetRandom()
			_, _, g, _ := bls12377.Generators()
			keys, vk, err := pedersen377.Setup([][]bls12377.G1Affine{bls12377.BatchScalarMultiplicationG1(&g, logs)})
			if err != nil {
				t.Fatal(err)
			}
			k, err := pedersen.LoadBLS12377(t.Context(), e, keys[0])
			if err != nil {
				t.Fatal(err)
			}
			compare(t, k, []fr377.Element(values), keys[0].Commit, keys[0].ProveKnowledge, vk.Verify)
		})
		t.Run(name+"/bls12-381", func(t *testing.T) {
			values, logs := make(fr381.Vector, n), make(fr381.Vector, n)
			values.MustSetRandom()
			logs.MustSetRandom()
			_, _, g, _ := bls12381.Generators()
			keys, vk, err := pedersen381.Setup([][]bls12381.G1Affine{bls12381.BatchScalarMultiplicationG1(&g, logs)})
			if err != nil {
				t.Fatal(err)
			}
			k, err := pedersen.LoadBLS12381(t.Context(), e, keys[0])
			if err != nil {
				t.Fatal(err)
			}
			compare(t, k, []fr381.Element(values), keys[0].Commit, keys[0].ProveKnowledge, vk.Verify)
		})
		t.Run(name+"/bw6-761", func(t *testing.T) {
			values, logs := make(fr761.Vector, n), make(fr761.Vector, n)
			values.MustSetRandom()
			logs.MustSetRandom()
			_, _, g, _ := bw6761.Generators()
			keys, vk, err := pedersen761.Setup([][]bw6761.G1Affine{bw6761.BatchScalarMultiplicationG1(&g, logs)})
			if err != nil {
				t.Fatal(err)
			}
			k, err := pedersen.LoadBW6761(t.Context(), e, keys[0])
			if err != nil {
				t.Fatal(err)
			}
			compare(t, k, []fr761.Element(values), keys[0].Commit, keys[0].ProveKnowledge, vk.Verify)
		})
	}
}
