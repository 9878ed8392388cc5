package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestNoEngine calls every method of engines that New did not make. They return errors or nothing,
// and do not panic.
func TestNoEngine(t *testing.T) {
	ctx := t.Context()
	for name, e := range map[string]*Engine{"nil": nil, "zero": {}} {
		b := &Bases{}
		src := Source{Bases: backend.Bases{Curve: backend.BN254, Group: backend.G1, Bytes: make([]byte, 64), Count: 1}}
		space := Space{Elements: backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: 1}}
		for call, f := range map[string]func() error{
			"Use":         func() error { return e.Use(ctx, "cpu") },
			"Load":        func() error { _, err := e.Load(ctx, src); return err },
			"MSM":         func() error { _, _, err := e.MSM(ctx, []Request{{Bases: b}}); return err },
			"no MSM":      func() error { _, _, err := e.MSM(ctx, nil); return err },
			"Alloc":       func() error { _, err := e.Alloc(ctx, 64); return err },
			"OpenSession": func() error { _, err := e.OpenSession(ctx, space); return err },
			"Repeat": func() error {
				_, err := e.Repeat(ctx, space, func(context.Context, *Session) error { return nil })
				return err
			},
		} {
			if err := f(); !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("%s engine, %s: %v", name, call, err)
			}
		}
		if e.Backend() != "" || e.Info().Name != "" || e.Config().Backend != "" || e.Stats().Backends != nil || e.Closed() {
			t.Errorf("%s engine says something of itself", name)
		}
		if found, _ := e.Find(func(*backend.Bases) int { return 0 }); found != nil {
			t.Errorf("%s engine has bases", name)
		}
		if _, end := e.Observe(ctx, Phase{}); end == nil {
			t.Errorf("%s engine: no function", name)
		}
		if err := errors.Join(e.Close(), e.Shutdown(ctx)); err != nil {
			t.Errorf("%s engine: %v", name, err)
		}
	}
}

// TestNoBasesNoSession does the same for bases and sessions.
func TestNoBasesNoSession(t *testing.T) {
	ctx := t.Context()
	w := &world{t: t}
	e := w.engine(Config{})
	defer e.Close()
	for _, b := range []*Bases{nil, {}} {
		if _, _, err := e.MSM(ctx, []Request{{Bases: b}}); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("an MSM without bases: %v", err)
		}
		if b.Acquire() || b.Close() != nil {
			t.Error("no bases are in use")
		}
		if b.Closed() || b.ReadOnce() || b.Spec().Count != 0 {
			t.Error("bases that nothing loaded have something")
		}
	}
	for _, s := range []*Session{nil, {}} {
		_, run := s.Run(ctx, nil)
		_, beside := s.Beside(ctx, 1)
		_, repeat := s.Repeat(ctx, func(context.Context, *Session) error { return nil })
		for _, err := range []error{run, beside, repeat, s.Err()} {
			if !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("no session: %v", err)
			}
		}
		if s.Current() || s.Close() != nil {
			t.Error("no session is open")
		}
		if s.Together(s) || s.Space() != 0 || s.Len() != 0 || s.Backend() != "" {
			t.Error("no session has something")
		}
	}
}
