package resident

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// soon waits for something that has to happen, and says what did not.
func soon[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(5 * time.Second):
		t.Fatalf("not within 5 s: %s", what)
	}
	return v
}

// TestUses: what a program names is kept until its last use has ended, each by its id, and
// nothing that is being freed, or is not there, can be used.
func TestUses(t *testing.T) {
	s := New[string, string]("test")
	points := backend.Elements{Element: backend.PointOf(backend.BN254, backend.G1), Count: 4}
	scalars := backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: 4}
	one, two := s.AddBases(points, "one"), s.AddBases(points, "two")
	space, other := s.AddSpace(scalars, "space"), s.AddSpace(scalars, "other")
	if one == two || space == other {
		t.Fatalf("bases %d and %d, spaces %d and %d", one, two, space, other)
	}
	steps := []backend.Step{backend.Job{Bases: one, Count: 4, Src: backend.Range{Space: space, Count: 4}}}
	checked, err := s.Use(steps)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Find(steps)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []*Used[string, string]{checked, found} {
		if len(u.Bases) != 1 || u.Bases[one].Kept != "one" || len(u.Spaces) != 1 || u.Spaces[space].Kept != "space" {
			t.Errorf("used: %+v", u)
		}
		memory := u.Memory()
		if e, ok := memory.Bases(one); !ok || e != points {
			t.Errorf("bases: %v, %v", e, ok)
		}
		if e, ok := memory.Space(space); !ok || e != scalars {
			t.Errorf("space: %v, %v", e, ok)
		}
		if _, ok := memory.Space(other); ok {
			t.Error("a space that the program does not name")
		}
	}
	freed := make(chan error, 4)
	go func() {
		freed <- s.FreeBases(t.Context(), one, func(string) error { return errors.New("one is free") })
	}()
	go func() {
		freed <- s.FreeSpace(t.Context(), space, func(string) error { return errors.New("space is free") })
	}()
	for inUse := true; inUse; time.Sleep(time.Millisecond) { // until both are being freed
		s.mu.Lock()
		inUse = s.bases.kept[one].freed == nil || s.spaces.kept[space].freed == nil
		s.mu.Unlock()
	}
	for what, step := range map[string]backend.Step{
		"bases that are being freed":   backend.Job{Bases: one, Count: 4, Src: backend.Range{Space: other, Count: 4}},
		"a space that is being freed":  backend.Job{Bases: two, Count: 4, Src: backend.Range{Space: space, Count: 4}},
		"bases that are not there":     backend.Job{Bases: 99, Count: 4, Src: backend.Range{Space: other, Count: 4}},
		"a space that is not there":    backend.Job{Bases: two, Count: 4, Src: backend.Range{Space: 99, Count: 4}},
		"a space that is not there: 0": backend.Read{},
	} {
		if _, err := s.Use([]backend.Step{step}); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("using %s: %v", what, err)
		}
		if _, err := s.Find([]backend.Step{step}); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("finding %s: %v", what, err)
		}
	}
	s.End(checked)
	for _, c := range []chan struct{}{found.Bases[one].freed, found.Spaces[space].freed} {
		select {
		case <-c:
			t.Error("freed during a use")
		default:
		}
	}
	s.End(found)
	said := map[string]bool{fmt.Sprint(soon(t, "the first is freed", freed)): true, fmt.Sprint(soon(t, "the second is freed", freed)): true}
	if !said["one is free"] || !said["space is free"] {
		t.Errorf("freeing says %v", said)
	}
	go func() {
		freed <- s.FreeBases(t.Context(), s.AddBases(points, "unused"), func(string) error { return nil })
	}()
	if err := soon(t, "bases that nobody uses are freed", freed); err != nil {
		t.Error(err)
	}
	if !s.PutBases(one, points, "one again") || s.PutBases(two, points, "two again") {
		t.Error("an id that is free is refused, or one that is taken is given again")
	}
	closed := make(chan [2][]string)
	go func() {
		bases, spaces, first := s.Close()
		_, _, again := s.Close()
		if !first || again {
			t.Errorf("closed first: %v, %v", first, again)
		}
		slices.Sort(bases)
		closed <- [2][]string{bases, spaces}
	}()
	kept := soon(t, "the set is closed", closed)
	if !slices.Equal(kept[0], []string{"one again", "two"}) || !slices.Equal(kept[1], []string{"other"}) {
		t.Errorf("kept in the end: %v", kept)
	}
	soon(t, "the set is done", s.Done())
	if _, err := s.Begin(); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("a call after Close: %v", err)
	}
	if n := len(s.bases.kept) + len(s.spaces.kept); n != 0 {
		t.Errorf("%d are still kept", n)
	}
}
