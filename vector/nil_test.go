package vector_test

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/local"
	"github.com/pippin-zk/pippin/vector"
)

// TestNilEngine opens a session without an engine, which is one in this process,
// and with an engine that nothing made.
func TestNilEngine(t *testing.T) {
	t.Cleanup(func() { local.Close() })
	s, err := vector.BN254.Open(t.Context(), nil, 8)
	if err != nil {
		t.Fatal(err)
	}
	if s.Backend() != "cpu" {
		t.Errorf("on %s", s.Backend())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := vector.BN254.Open(t.Context(), &engine.Engine{}, 8); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("zero engine: %v", err)
	}
}
