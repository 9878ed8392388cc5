package proving

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/logger"
	"github.com/rs/zerolog"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/inuse"
	"github.com/pippin-zk/pippin/prover/internal/versions"
)

// TestIcicle: whoever asks for icicle is told what to do instead, by an error or, where gnark takes the
// option, by one line of the log.
func TestIcicle(t *testing.T) {
	var said strings.Builder
	was := logger.Logger()
	defer logger.Set(was)
	logger.Set(zerolog.New(&said))
	warnIcicle = sync.Once{}
	for range 2 {
		_, err := configOf([]gnark.ProverOption{gnark.WithIcicleAcceleration()})
		switch {
		case versions.Gnark() >= "0.15.0":
			if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "pippin.Use") {
				t.Errorf("%v", err)
			}
		case err != nil:
			t.Errorf("gnark takes the option: %v", err)
		}
	}
	if n := strings.Count(said.String(), "pippin.Use"); versions.Gnark() < "0.15.0" && n != 1 {
		t.Errorf("it is said %d times", n)
	}
	failed := errors.New("another")
	if _, err := configOf([]gnark.ProverOption{func(*gnark.ProverConfig) error { return failed }}); !errors.Is(err, failed) {
		t.Errorf("another option's error is %v", err)
	}
}

// TestGivenNoEngine: a proof in this process is told of while an engine computes elsewhere, and only then.
func TestGivenNoEngine(t *testing.T) {
	var said strings.Builder
	was := logger.Logger()
	defer logger.Set(was)
	logger.Set(zerolog.New(&said))
	warnHere = sync.Once{}
	load := func(given *engine.Engine) {
		t.Helper()
		k, err := Load(t.Context(), given, Options[int]{}, func(context.Context, *engine.Engine) (Scheme[int], error) {
			return &scheme{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		k.Close()
	}
	var bypassed atomic.Int32
	open := func(inProcess bool) *engine.Engine {
		t.Helper()
		e, err := engine.New(t.Context(), engine.Config{
			OnEvent: func(ev engine.Event) {
				if ev.Kind == engine.EventBypassed && strings.Contains(ev.String(), "given no engine") {
					bypassed.Add(1)
				}
			},
			Open: func(context.Context, string) (backend.Backend, error) {
				return &placed{inProcess: inProcess, done: make(chan struct{})}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		inuse.Opened(e)
		return e
	}
	open(true)
	load(nil)
	other := open(false)
	load(other)
	if said.Len() != 0 {
		t.Errorf("it is said of a proof on the engine that there is: %s", &said)
	}
	load(nil)
	load(nil)
	if n := strings.Count(said.String(), "pippin.Use"); n != 1 {
		t.Errorf("it is said %d times: %s", n, &said)
	}
	warnHere = sync.Once{}
	other.Close() // after its events
	if n := bypassed.Load(); n != 1 {
		t.Errorf("%d events say it", n)
	}
	if load(nil); strings.Count(said.String(), "pippin.Use") != 1 {
		t.Error("it is said of an engine that is closed")
	}
}

// placed is a backend that is in this process, or is not.
type placed struct {
	backend.Backend
	inProcess bool
	done      chan struct{}
}

func (p *placed) Info() backend.Info         { return backend.Info{Name: "placed", InProcess: p.inProcess} }
func (p *placed) Ping(context.Context) error { return nil }
func (p *placed) Done() <-chan struct{}      { return p.done }
func (p *placed) Close() error               { return nil }
