package pedersen_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/pedersen"
)

// compare wants gnark-crypto's answers.
func compare[P comparable, S any](t *testing.T, k *pedersen.Key[P, S], values []S, commit, prove func([]S) (P, error), verify func(P, P) error) {
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

// each compares a key of n points with gnark-crypto, on one curve.
var each = map[string]func(t *testing.T, e *engine.Engine, n int){}

func TestEqualsGnarkCrypto(t *testing.T) {
	if len(each) != len(backend.Curves()) {
		t.Fatalf("%d curves", len(each))
	}
	e, err := pippin.New(t.Context(), engine.Config{CheckInput: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, e := range map[string]*engine.Engine{"engine": e, "no engine": nil} {
		for curve, compare := range each {
			t.Run(name+"/"+curve, func(t *testing.T) { compare(t, e, 50) })
		}
	}
}
