package arith_test

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/local"
)

// TestNilEngine computes without an engine, which is one in this process, and
// with an engine that nothing made.
func TestNilEngine(t *testing.T) {
	t.Cleanup(func() { local.Close() })
	for _, c := range []struct {
		e    *engine.Engine
		want error
	}{{nil, nil}, {&engine.Engine{}, backend.ErrInvalidInput}} {
		n, err := arith.New(t.Context(), c.e, 64, 1)
		if !errors.Is(err, c.want) {
			t.Errorf("New: %v", err)
		}
		if err == nil {
			n.Free()
		}
		if s, err := arith.Open(t.Context(), c.e, 8); !errors.Is(err, c.want) {
			t.Errorf("Open: %v", err)
		} else if err == nil {
			s.Close()
		}
	}
}
