package arith_test

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// TestNoEngine computes without an engine, and with one that nothing made.
func TestNoEngine(t *testing.T) {
	for _, e := range []*engine.Engine{nil, {}} {
		if _, err := arith.New(t.Context(), e, 64, 1); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("New: %v", err)
		}
		if _, err := arith.Open(t.Context(), e, 8); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("Open: %v", err)
		}
		a := arith.Make(64, 1)
		if _, err := arith.On(e, arith.Options{}).Mul(t.Context(), a, a); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("Mul: %v", err)
		}
	}
}
