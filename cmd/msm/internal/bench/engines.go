package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/internal/record"
)

// Single is one backend behind an engine of its own. It neither falls back nor
// restarts: what is measured and verified is that backend and no other.
type Single struct {
	*engine.Engine
	only   backend.Backend // that the engine has, and closes
	Name   string
	info   backend.Info
	shared bool // has memory of its own for scalars
}

// Wrapper is an observer that stands in front of its engine's backend too.
type Wrapper interface {
	Wrap(backend.Backend) backend.Backend
}

func openEngine(ctx context.Context, open engine.Opener, name string, observer engine.Observer) (*Single, error) {
	e := &Single{Name: name}
	var err error
	e.Engine, err = engine.New(ctx, engine.Config{
		Backend:   name,
		Fallbacks: []string{engine.NoFallback},
		Restarts:  -1,
		Observer:  observer,
		Open: func(ctx context.Context, name string) (backend.Backend, error) {
			b, err := open(ctx, name)
			if err != nil {
				return nil, err
			}
			if m, ok := observer.(Wrapper); ok {
				b = m.Wrap(b)
			}
			e.only = b
			_, e.shared = backend.As[backend.Allocator](b)
			return b, nil
		},
	})
	if err != nil {
		return nil, err
	}
	e.info = e.Info()
	return e, nil
}

// openEngines opens all or none. note, when it is not nil, hears of plugins that
// were built from another commit; an engine tells the observer of its name, if any,
// of its phases.
func openEngines(ctx context.Context, open engine.Opener, names []string, note func(string),
	observers map[string]engine.Observer) (Engines, error) {
	var all Engines
	for _, name := range names {
		e, err := openEngine(ctx, open, name, observers[name])
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		all = append(all, e)
		if other := build.Mismatch(build.Info(e.info.Build), build.This()); other != "" && note != nil {
			note(fmt.Sprintf("backend %s: %s", name, other))
		}
	}
	return all, nil
}

type Engines []*Single

func (all Engines) close() error {
	var errs []error
	for _, e := range all {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}

func (all Engines) describe() []record.BackendInfo {
	var out []record.BackendInfo
	for _, e := range all {
		out = append(out, record.Describe(e.Name, e.info))
	}
	return out
}

// able keeps the engines whose backends can do something, and notes the others.
func (all Engines) able(what string, can func(backend.Capabilities) bool, note func(string)) Engines {
	return slices.DeleteFunc(slices.Clone(all), func(e *Single) bool {
		if can(e.info.Can) {
			return false
		}
		if note != nil {
			note(fmt.Sprintf("backend %s has no %s: left out", e.Name, what))
		}
		return true
	})
}

// HasCurve tells backends that have MSMs of a curve.
func HasCurve(c backend.Curve) func(backend.Capabilities) bool {
	return func(can backend.Capabilities) bool { return slices.Contains(can.MSMCurves(), c) }
}

// energy returns the millijoules that the engine's devices have used, 0 where it is not
// known.
func (e *Single) energy(ctx context.Context) (sum uint64) {
	for _, d := range e.usage(ctx).Devices {
		sum += d.Energy
	}
	return sum
}

// device returns the name of the engine's first device, and how many there are.
func (e *Single) device() string {
	switch d := e.info.Devices; len(d) {
	case 0:
		return ""
	case 1:
		return d[0].Name
	default:
		return fmt.Sprintf("%d x %s", len(d), d[0].Name)
	}
}
