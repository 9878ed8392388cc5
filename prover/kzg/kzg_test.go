package kzg_test

import (
	"errors"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/kzg"
)

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// engines are both ways to compute.
func engines(t *testing.T) map[string]*engine.Engine {
	e, err := pippin.New(t.Context(), engine.Config{CheckInput: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return map[string]*engine.Engine{"engine": e, "no engine": nil}
}

// srsSize is enough for several buckets, and small.
const srsSize = 80

func TestEqualsGnarkCrypto(t *testing.T) {
	for name, e := range engines(t) {
		// The second secret makes a key whose points repeat: G, tG, -G, -tG.
		for secret, alpha := range map[string]*big.Int{"random": big.NewInt(123456789), "repeating": big.NewInt(-1)} {
			for _, curve := range backend.Curves() {
				if testing.Short() && curve != backend.BN254 {
					continue // the algorithm is written once for all
				}
				t.Run(name+"/"+secret+"/"+curve.String(), func(t *testing.T) { curveTests[curve].equals(t, e, srsSize, alpha) })
			}
		}
	}
}

// TestKeysEqualGnarkCrypto compares keys that the engine makes and reads with gnark-crypto's.
func TestKeysEqualGnarkCrypto(t *testing.T) {
	for name, e := range engines(t) {
		for _, curve := range backend.Curves() {
			for _, alpha := range []int64{123456789, 0, 1, -1} {
				t.Run(name+"/"+curve.String(), func(t *testing.T) { curveTests[curve].keysEqual(t, e, 64, big.NewInt(alpha)) })
			}
		}
	}
}

// TestReadSRSOfAnotherCurve is refused before anything is read.
func TestReadSRSOfAnotherCurve(t *testing.T) {
	if _, err := kzg.ReadSRS(t.Context(), nil, ecc.BLS24_315, nil); !errors.Is(err, backend.ErrUnsupported) {
		t.Error(err)
	}
}
