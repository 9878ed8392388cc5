package resident

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/keyfile"
)

// Early has the parts of a key that were loaded into an engine before the key was read to
// its end. Safe for concurrent use; a nil one has none. Close it.
type Early struct {
	engine *engine.Engine

	mu     sync.Mutex
	tables map[part]io.Closer // *Table[P, S] by where its points are
}

// part is where points are in memory.
type part struct{ from, to uintptr }

func partOf[P any](points []P) (p part) {
	p.from, p.to = layout.Range(points)
	return p
}

// NewEarly returns an Early for an engine, without any part.
func NewEarly(e *engine.Engine) *Early {
	return &Early{engine: e, tables: map[part]io.Closer{}}
}

// ReadPoints reads a part of a key as keyfile.Points does. If l is not nil, the part is loaded
// for LoadRest once all its points are valid, while the reader goes on; the reader's End waits
// for that, and has its error. The points must not change until whoever gets them from LoadRest
// closes them, or l.
func ReadPoints[P, S any](r *keyfile.Reader, l *Early, ops *group.Ops[P, S], what string) []P {
	if l == nil {
		return keyfile.Points(r, ops.Group, what)
	}
	return keyfile.PointsFor(r, ops.Group, what, func(ctx context.Context, points []P) error {
		if len(points) == 0 {
			return nil // they have no place of their own
		}
		t, err := Load(ctx, l.engine, ops, points)
		if err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.tables[partOf(points)] = t
		return nil
	})
}

// LoadRest does what Load does, but takes the very points that were loaded early into the same
// engine, which the caller closes then.
func LoadRest[P, S any](ctx context.Context, l *Early, e *engine.Engine, ops *group.Ops[P, S], points []P) (*Table[P, S], error) {
	if l != nil && l.engine == e && len(points) > 0 {
		l.mu.Lock()
		at := partOf(points)
		t, there := l.tables[at].(*Table[P, S])
		if there {
			delete(l.tables, at)
		}
		l.mu.Unlock()
		if there {
			return t, nil
		}
	}
	return Load(ctx, e, ops, points)
}

// Close frees the parts that nobody has taken.
func (l *Early) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, t := range l.tables {
		errs = append(errs, t.Close())
	}
	clear(l.tables)
	return errors.Join(errs...)
}
