// Package hook is what MultiExp asks first in a woven program: it has the MSM
// computed by an engine, on bases that stay resident where they are used again. It
// answers for BatchScalarMultiplication and ToLagrangeG1 too, where the backend has
// programs over points.
package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	known "github.com/pippin-zk/pippin/internal/known/sum"
	"github.com/pippin-zk/pippin/msm"
)

// maxTasks is the most that gnark-crypto allows in a MultiExpConfig; the stock
// function has the error for more.
const maxTasks = 1024

// Runtime answers the MSMs of a process. Safe for concurrent use.
type Runtime struct {
	o    Options
	asks bool // a backend is named, so that proofs are not left to gnark
	once sync.Once
	live *opened
	err  error // of opening it

	loads  atomic.Int64 // sets of bases that the engine was given
	mu     sync.Mutex   // for Trace and Report too
	counts map[string]int
}

// opened is an engine with the bases that are resident in it.
type opened struct {
	*engine.Engine
	cache cache
}

// New makes a runtime. Its engine is opened by the first MSM that is large
// enough.
func New(o Options) *Runtime {
	if o.Threshold == 0 {
		o.Threshold = engine.DefaultThreshold
	}
	asks := o.Backend != ""
	if !asks {
		o.Backend = "cpu"
	}
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	return &Runtime{o: o, asks: asks, counts: map[string]int{}}
}

// Close closes the engine. The runtime declines every call afterwards, or fails
// it when it is strict.
func (r *Runtime) Close() error {
	r.once.Do(func() { r.err = backend.ErrClosed })
	if r.live == nil {
		return nil
	}
	r.live.cache.close()
	return r.live.Close()
}

// broken has every call decline, or fail, because of err.
func (r *Runtime) broken(err error) {
	r.o.Threshold = -1 // which may be what is wrong
	r.once.Do(func() { r.setError(err) })
}

func (r *Runtime) setError(err error) {
	r.err = err
	instead := "gnark-crypto computes in this process"
	if r.o.Strict {
		instead = "calls fail"
	}
	r.o.Report(fmt.Sprintf("%s: %s", instead, strings.Join(strings.Fields(err.Error()), " ")))
}

// failure returns the error of a call that was not answered: nil, so that gnark computes it, unless the
// runtime is strict.
func (r *Runtime) failure(err error) error {
	if r.o.Strict {
		return err
	}
	return nil
}

// open opens the engine once; what went wrong then stays so.
func (r *Runtime) open() (*opened, error) {
	r.once.Do(func() {
		e := &opened{}
		var fallbacks []string
		if r.o.Strict {
			fallbacks = []string{engine.NoFallback}
		}
		cfg := engine.Config{
			Open: r.o.Open, Backend: r.o.Backend, Fallbacks: fallbacks,
			OnEvent: func(ev engine.Event) { r.event(e, ev) }, Observer: (*loads)(&r.loads),
		}
		if !r.o.Unknown {
			cfg.Known = []engine.Known{known.Known()}
		}
		var err error
		if e.Engine, err = engine.New(context.Background(), cfg); err != nil {
			r.setError(err)
			return
		}
		e.cache.init(r.limit(e.Engine), r.o.Idle)
		r.live = e
		if r.o.Opened != nil {
			r.o.Opened(e.Engine)
		}
	})
	return r.live, r.err
}

// limit returns the most bytes of bases to keep resident: none in this process, where the
// backend uses bases where they are.
func (r *Runtime) limit(e *engine.Engine) int64 {
	switch {
	case r.o.Backend == "cpu" || r.o.Cache < 0:
		return 0
	case r.o.Cache > 0:
		return r.o.Cache
	}
	if d := e.Info().Devices; len(d) > 0 && d[0].Memory > 0 {
		return int64(d[0].Memory / 2)
	}
	return defaultCache
}

// event follows what happens to the backend.
func (r *Runtime) event(e *opened, ev engine.Event) {
	if ev.Kind == engine.EventOpened {
		return
	}
	if errors.Is(ev.Err, backend.ErrOutOfMemory) {
		e.cache.full.Store(true)
	}
	r.report(string(ev.Kind), ev.String())
}

// report tells what happened when it happens the first, second, fourth time
// and so on.
func (r *Runtime) report(kind, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[kind]++
	n := r.counts[kind]
	if n&(n-1) != 0 {
		return
	}
	if n > 1 {
		what = fmt.Sprintf("%s (%d times until now)", what, n)
	}
	r.o.Report(what)
}

// Of returns the hook of a group, whose Jacobian points J are made of affine ones by
// fromAffine. The hook answers true when *p is the sum, an error when
// MultiExp is to fail with it, and otherwise leaves the MSM to gnark-crypto and
// *p as it was. Scalars and points are read during the call; points of which
// bases are kept resident stay reachable as long as those are.
func Of[P, J, S any](r *Runtime, g *msm.Group[P, S], fromAffine func(*J, *P) *J) func(p *J, points []P,
	scalars []S, config ecc.MultiExpConfig) (bool, error) {
	return func(p *J, points []P, scalars []S, config ecc.MultiExpConfig) (bool, error) {
		n := len(points)
		if n < r.o.Threshold || n == 0 || n != len(scalars) || n > backend.MaxCount || config.NbTasks > maxTasks {
			return false, nil
		}
		sum, err := multiExp(r, g, points, scalars)
		if err != nil {
			return false, r.failure(err)
		}
		fromAffine(p, &sum)
		return true, nil
	}
}

func multiExp[P, S any](r *Runtime, g *msm.Group[P, S], points []P, scalars []S) (P, error) {
	e, err := r.open()
	if err != nil {
		return *new(P), err
	}
	start := time.Now()
	sum, l, err := ask(e, g, points, scalars, acquire)
	if errors.Is(err, engine.ErrBasesLost) {
		sum, l, err = ask(e, g, points, scalars, acquire) // which loads them again
	}
	if errors.Is(err, engine.ErrBasesLost) {
		sum, l, err = ask(e, g, points, scalars, loadOnce) // which the engine may load again
	}
	if err != nil {
		r.report("failure", err.Error())
		return sum, err
	}
	if e.cache.full.Swap(false) {
		e.cache.shrink()
	}
	l.MS = milliseconds(start)
	r.write(l)
	return sum, nil
}

// ask has the engine compute a sum on the bases that get answers.
func ask[P, S any](e *opened, g *msm.Group[P, S], points []P, scalars []S,
	get func(*opened, *msm.Group[P, S], []P) (*held[P, S], error)) (sum P, l line, err error) {
	bases, err := get(e, g, points)
	if err != nil {
		return sum, l, err
	}
	defer bases.end()
	batch := msm.NewBatch(e.Engine)
	answer := bases.Add(batch, scalars)
	if err := batch.Run(context.Background()); err != nil {
		if errors.Is(err, engine.ErrBasesLost) && bases.entry != nil {
			e.cache.lost(bases.entry)
		}
		return sum, l, err
	}
	l = line{Curve: g.Curve().String(), Group: g.Group().String(), Points: len(points), Backend: batch.Backend(), Bases: bases.state}
	return answer.Point(), l, nil
}

// call names what was asked for, "" MultiExp.
type call string

const (
	multiples  call = "BatchScalarMultiplication"
	toLagrange call = "ToLagrangeG1"
)

func milliseconds(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// line is what Trace gets of a call.
type line struct {
	Call    call    `json:"call,omitempty"`
	Curve   string  `json:"curve"`
	Group   string  `json:"group,omitempty"`
	Points  int     `json:"points,omitempty"`
	Size    int     `json:"constraints,omitempty"`
	Backend string  `json:"backend"` // which answered
	Bases   state   `json:"bases,omitempty"`
	MS      float64 `json:"ms"`
}

func (r *Runtime) write(l line) {
	if r.o.Trace == nil {
		return
	}
	b, err := json.Marshal(l)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.Trace.Write(append(b, '\n'))
}
