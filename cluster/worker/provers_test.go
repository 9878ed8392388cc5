package worker

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// stocked returns a work and a cache that has the work's objects.
func stocked(t *testing.T) (*cache, wire.Work) {
	t.Helper()
	c, err := newCache(t.TempDir(), 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	digest := strings.Repeat("ab", 32)
	if err := os.WriteFile(filepath.Join(c.dir, digest), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return c, wire.Work{Circuit: digest, ProvingKey: digest, VerifyingKey: digest}
}

// reached waits until f holds.
func reached(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen: " + what)
		}
	}
}

// TestProverGivenUp: a job that stops waiting for a prover does not disturb the job that opens it.
// The race detector checks what they share.
func TestProverGivenUp(t *testing.T) {
	c, w := stocked(t)
	opening, fail := make(chan struct{}), make(chan struct{})
	ps := newProvers(c, func(context.Context, wire.Work, Files) (Prover, error) {
		close(opening)
		<-fail
		return nil, backend.ErrGone
	}, 1, slog.New(slog.DiscardHandler))
	var first sync.WaitGroup
	first.Go(func() {
		if _, _, err := ps.get(t.Context(), "x", w); !errors.Is(err, backend.ErrGone) {
			t.Error(err)
		}
	})
	<-opening
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := ps.get(ctx, "x", w); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(fail)
	first.Wait()
	if ps.len() != 0 {
		t.Errorf("%d provers are open", ps.len())
	}
}

// TestOpenerPanics: an opener that panics fails its job, and neither the error nor the log has the
// panic's text.
func TestOpenerPanics(t *testing.T) {
	c, w := stocked(t)
	var log strings.Builder
	ps := newProvers(c, func(context.Context, wire.Work, Files) (Prover, error) { panic("a secret") },
		1, slog.New(slog.NewTextHandler(&log, nil)))
	if _, _, err := ps.get(t.Context(), "x", w); !errors.Is(err, backend.ErrInternal) ||
		strings.Contains(err.Error()+log.String(), "a secret") || !strings.Contains(log.String(), "TestOpenerPanics") {
		t.Error(err, log.String())
	}
	if ps.len() != 0 {
		t.Errorf("%d provers are open", ps.len())
	}
}

// TestWaitingIsNoStall: a job that waits for another one to open or fetch something does not count
// as stalled.
func TestWaitingIsNoStall(t *testing.T) {
	c, w := stocked(t)
	opening, goOn := make(chan struct{}), make(chan struct{})
	ps := newProvers(c, func(context.Context, wire.Work, Files) (Prover, error) {
		close(opening)
		<-goOn
		return nil, backend.ErrGone
	}, 1, slog.New(slog.DiscardHandler))
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { _, _, _ = ps.get(t.Context(), "x", w) })
	<-opening

	wait := func(what string, f func(ctx context.Context), end func()) {
		h := new(inHand)
		h.working.Store(true)
		done := make(chan struct{})
		all.Go(func() { f(context.WithValue(t.Context(), progressKey{}, h)); close(done) })
		reached(t, what+" is waited for", func() bool { return !h.working.Load() })
		end()
		<-done
		if !h.working.Load() {
			t.Error("it does not have to get on after it has waited for " + what)
		}
	}
	wait("a prover", func(ctx context.Context) { _, _, _ = ps.get(ctx, "x", w) }, func() { close(goOn) })
	c.one.Lock()
	wait("the cache", func(ctx context.Context) { _, _ = c.get(ctx, "x", w.Circuit, nil) }, c.one.Unlock)
}
