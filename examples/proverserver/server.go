package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bn254mimc "github.com/consensys/gnark-crypto/ecc/bn254/fr/mimc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/hash/mimc"

	"github.com/pippin-zk/pippin/engine"
)

// chain says "I know where this chain of hashes begins". It commits to the
// beginning as well, so that the solver calls the engine too.
type chain struct {
	links int
	Start frontend.Variable
	End   frontend.Variable `gnark:",public"`
}

func (c *chain) Define(api frontend.API) error {
	x := c.Start
	for range c.links {
		h, err := mimc.NewMiMC(api)
		if err != nil {
			return err
		}
		h.Write(x)
		x = h.Sum()
	}
	api.AssertIsEqual(x, c.End)
	commitment, err := api.(frontend.Committer).Commit(c.Start, x)
	if err != nil {
		return err
	}
	api.AssertIsDifferent(commitment, 0)
	return nil
}

// server proves for one circuit.
type server struct {
	links    int
	system   *system
	started  atomic.Uint64
	verified atomic.Uint64

	mu  sync.Mutex
	err error // the first
}

func newServer(engine *engine.Engine, system string, links int) (*server, error) {
	y, err := newSystem(system, engine, &chain{links: links})
	return &server{links: links, system: y}, err
}

func (s *server) close() error { return s.system.close() }

// work proves in n goroutines until ctx ends. The channel gives the first
// error, or nil, when all have ended.
func (s *server) work(ctx context.Context, n int) <-chan error {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				// A request that was begun is answered, as a server's last.
				if err := s.one(context.WithoutCancel(ctx), s.started.Add(1)); err != nil {
					s.fail(err)
					return
				}
				s.verified.Add(1)
			}
		})
	}
	done := make(chan error, 1)
	go func() {
		wg.Wait()
		done <- s.failed()
	}()
	return done
}

// one proves the chain that begins at a number, and verifies.
func (s *server) one(ctx context.Context, start uint64) error {
	var x fr.Element
	x.SetUint64(start)
	first := x
	for range s.links {
		b := x.Bytes()
		h := bn254mimc.NewMiMC()
		if _, err := h.Write(b[:]); err != nil {
			return err
		}
		x.SetBytes(h.Sum(nil))
	}
	w, err := frontend.NewWitness(&chain{Start: first, End: x}, ecc.BN254.ScalarField())
	if err != nil {
		return err
	}
	proof, err := s.system.prove(ctx, w)
	if err != nil {
		return fmt.Errorf("request %d: %w", start, err)
	}
	public, err := w.Public()
	if err != nil {
		return err
	}
	if err := s.system.verify(proof, public); err != nil {
		return fmt.Errorf("request %d: %w", start, err)
	}
	return nil
}

// wait returns when n more proofs were verified.
func (s *server) wait(ctx context.Context, n int) error {
	for until := s.verified.Load() + uint64(n); s.verified.Load() < until; {
		if err := errors.Join(s.failed(), ctx.Err()); err != nil {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}

func (s *server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *server) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// events prints and remembers what happens to the engine.
type events struct {
	mu    sync.Mutex
	out   io.Writer
	begin time.Time
	all   []engine.Event
}

func (e *events) add(ev engine.Event) {
	e.say("  " + ev.String())
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

func (e *events) say(line string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begin.IsZero() {
		e.begin = time.Now()
	}
	fmt.Fprintf(e.out, "%6.2f s  %s\n", time.Since(e.begin).Seconds(), line)
}

// restarts returns how often a dead backend was opened again.
func (e *events) restarts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, ev := range e.all {
		if ev.Kind == engine.EventRestart {
			n++
		}
	}
	return n
}
