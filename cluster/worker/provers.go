package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// provers keeps the open provers. Each serves all jobs of one work.
type provers struct {
	cache *cache
	open  Opener
	limit int
	log   *slog.Logger

	mu     sync.Mutex
	closed bool
	all    map[wire.Work]*opened
	clock  uint64
}

// opened is a prover that is being opened, that is open, or that could not be opened.
type opened struct {
	ready  chan struct{}
	p      Prover
	err    error
	tenant string // the tenant whose files it is opened from
	users  int
	used   uint64
}

func newProvers(c *cache, open Opener, limit int, log *slog.Logger) *provers {
	return &provers{cache: c, open: open, limit: limit, log: log, all: map[wire.Work]*opened{}}
}

func (ps *provers) len() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return len(ps.all)
}

// get returns the prover of a work, which stays open until release. The first caller opens it, with
// its own context and its tenant's files; the others wait.
func (ps *provers) get(ctx context.Context, tenant string, w wire.Work) (p Prover, release func(), err error) {
	for {
		ps.mu.Lock()
		if ps.closed {
			ps.mu.Unlock()
			return nil, nil, backend.ErrClosed
		}
		o, there := ps.all[w]
		if !there {
			o = &opened{ready: make(chan struct{}), tenant: tenant}
			ps.all[w] = o
		}
		o.users++
		ps.clock++
		o.used = ps.clock
		ps.mu.Unlock()
		release = func() { ps.release(w, o) }
		if !there {
			p, err := ps.openOne(ctx, tenant, w)
			ps.mu.Lock()
			o.p, o.err = p, err
			ps.mu.Unlock()
			close(o.ready)
		}
		goesOn := waits(ctx)
		select {
		case <-o.ready:
			goesOn()
		case <-ctx.Done():
			release()
			return nil, nil, context.Cause(ctx)
		}
		if o.err == nil {
			return o.p, release, nil
		}
		release()
		if there && ctx.Err() == nil && (errors.Is(o.err, errOpening) || o.tenant != tenant) {
			continue // the job that opened it ended, or another tenant's files are damaged
		}
		return nil, nil, o.err
	}
}

// errOpening says that the job that opened a prover ended before the prover was open.
var errOpening = errors.New("the job that opened the prover was cancelled")

func (ps *provers) openOne(ctx context.Context, tenant string, w wire.Work) (p Prover, err error) {
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = errors.Join(errOpening, err)
		}
	}()
	defer noPanic(ps.log, &err)
	files, err := ps.cache.files(ctx, tenant, w)
	if err != nil {
		return nil, err
	}
	return ps.open(ctx, w, files)
}

// release notes that a job no longer uses a prover. It then closes provers above the limit that
// nobody uses, the one used least lately first.
func (ps *provers) release(w wire.Work, o *opened) {
	ps.mu.Lock()
	o.users--
	var close []Prover
	if o.err != nil && ps.all[w] == o {
		delete(ps.all, w)
	}
	for len(ps.all) > ps.limit {
		var oldest wire.Work
		for w, o := range ps.all {
			if o.users == 0 && (ps.all[oldest] == nil || o.used < ps.all[oldest].used) {
				oldest = w
			}
		}
		if ps.all[oldest] == nil {
			break
		}
		close = append(close, ps.all[oldest].p)
		delete(ps.all, oldest)
	}
	ps.mu.Unlock()
	for _, p := range close {
		_ = p.Close() // what it leaves behind ends with the process
	}
}

// close closes all provers. No jobs run any more.
func (ps *provers) close() (err error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.closed = true
	for w, o := range ps.all {
		delete(ps.all, w)
		if o.users == 0 { // else its job is stuck
			err = errors.Join(err, o.p.Close())
		}
	}
	return err
}
