package resident

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// TestFreeGivenUpGoesOn: when its context ends FreeBases returns, the bases
// take no new call, and they are freed once, after the last use; Close waits.
func TestFreeGivenUpGoesOn(t *testing.T) {
	s := New[string, struct{}]("test")
	id := s.AddBases(backend.Elements{Element: backend.PointOf(backend.BN254, backend.G1), Count: 4}, "kept")
	job := []backend.Step{backend.Job{Bases: id}}
	used, err := s.Use(job)
	if err != nil {
		t.Fatal(err)
	}
	freed := make(chan string, 2)
	free := func(kept string) error { freed <- kept; return nil }

	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("not worth the wait")
	cancel(cause)
	if err := s.FreeBases(ctx, id, free); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("FreeBases: %v", err)
	}
	if _, err := s.Use(job); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a use of bases being freed: %v", err)
	}
	if err := s.FreeBases(t.Context(), id, free); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("freeing again: %v", err)
	}
	closed := make(chan []string)
	go func() {
		kept, _, _ := s.Close()
		closed <- kept
	}()
	select {
	case <-freed:
		t.Error("freed during a use")
	case <-closed:
		t.Error("closed during a use")
	case <-s.Done():
		t.Error("done during a use")
	case <-time.After(20 * time.Millisecond):
	}
	s.End(used)
	if kept := <-closed; len(kept) != 0 {
		t.Errorf("Close found %v, which Free was to free", kept)
	}
	<-s.Done()
	if got := <-freed; got != "kept" || len(freed) != 0 {
		t.Errorf("freed %q and %d more", got, len(freed))
	}
}

func TestPing(t *testing.T) {
	s := New[string, struct{}]("test")
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	s.Close()
	if err := s.Ping(t.Context()); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
