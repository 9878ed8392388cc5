package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// An observer opens backends and counts what each of them answers: the engine
// itself does not say which backend a call went to. Safe for concurrent use.
type observer struct {
	open engine.Opener

	mu  sync.Mutex
	all []*observed
}

// observed is one opened backend. It hides the optional capabilities of the
// backend inside, such as memory for scalars; this example uses none.
type observed struct {
	backend.Backend
	name    string // with a number, since a name may be opened several times
	answers atomic.Int64
}

// Open opens a backend and observes its calls. It serves as an engine.Opener.
func (o *observer) Open(ctx context.Context, name string) (backend.Backend, error) {
	b, err := o.open(ctx, name)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := &observed{Backend: b, name: fmt.Sprintf("%d: %s", len(o.all)+1, name)}
	o.all = append(o.all, seen)
	return seen, nil
}

// opened lists the backends in the order of their opening.
func (o *observer) opened() []*observed {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]*observed(nil), o.all...)
}

// MSM implements backend.Backend. Jobs without points are not counted: the
// engine sends them to load bases.
func (b *observed) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	out, err := b.Backend.MSM(ctx, jobs)
	if err == nil {
		for i := range jobs {
			if jobs[i].Count > 0 {
				b.answers.Add(1)
			}
		}
	}
	return out, err
}
