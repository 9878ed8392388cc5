package vector_test

import (
	"context"
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/vector"
)

// TestNoEngine asks for sessions without an engine, and with one that nothing made.
func TestNoEngine(t *testing.T) {
	for _, e := range []*engine.Engine{nil, {}} {
		if _, err := vector.BN254.Open(t.Context(), e, 8); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("Open: %v", err)
		}
		_, err := vector.BN254.Repeat(t.Context(), e, 8, func(context.Context, *vector.Session[fr.Element]) error { return nil })
		if !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("Repeat: %v", err)
		}
	}
}
