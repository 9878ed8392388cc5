package msm

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bn254"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// book is a log that tests read.
type book struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *book) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *book) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

// TestForgottenHandles: forgotten bases are freed, and the log says so. A part keeps the whole.
func TestForgottenHandles(t *testing.T) {
	var log book
	w := &world{t: t}
	e := w.engine(engine.Config{Backend: "shared", Log: slog.New(slog.NewTextHandler(&log, nil))})
	points, scalars, want := input(8)
	part := func() *BN254G1Bases {
		b := load(t, e, points)
		p, err := b.Slice(0, 8)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := BN254G1.NewScalars(t.Context(), e, 8); err != nil {
			t.Fatal(err)
		}
		return p
	}()
	freed := func(b *fakeBuffer) bool { return b.freed.Load() == 1 }
	f := w.all()[0]
	if !collected(func() bool { return freed(f.allocs[0]) && log.has("scalars was forgotten") }) {
		t.Error("forgotten scalars are kept")
	}
	if got, err := part.MSM(t.Context(), scalars); err != nil || got != want {
		t.Errorf("a part of forgotten bases: %v", err)
	}
	if e.Stats().Bases != 1 {
		t.Error("bases that a part uses were freed")
	}
	runtime.KeepAlive(part)
	if !collected(func() bool { return e.Stats().Bases == 0 && log.has("bases were forgotten") }) {
		t.Error("forgotten bases are kept")
	}
	frees := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.frees
	}
	for since := time.Now(); frees() == 0 && time.Since(since) < 10*time.Second; time.Sleep(time.Millisecond) {
	}
	if n := frees(); n != 1 {
		t.Errorf("%d frees", n)
	}
}

// collected runs the garbage collector until is returns true.
func collected(is func() bool) bool {
	return eventually(func() bool {
		runtime.GC()
		return is()
	})
}

// TestClosedHandlesAreNotForgotten: closed bases cause no warning.
func TestClosedHandlesAreNotForgotten(t *testing.T) {
	var log book
	w := &world{t: t}
	e := w.engine(engine.Config{Backend: "shared", Log: slog.New(slog.NewTextHandler(&log, nil))})
	points, _, _ := input(8)
	func() {
		load(t, e, points).Close()
		s, err := BN254G1.NewScalars(t.Context(), e, 8)
		if err != nil {
			t.Fatal(err)
		}
		s.Free()
	}()
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if log.has("forgotten") {
		t.Error("a warning about what was closed")
	}
}

// TestDigest: the digest is the contract's, of the whole and of parts, wherever the points lie. It
// is computed once.
func TestDigest(t *testing.T) {
	e := (&world{t: t}).engine(engine.Config{})
	points, _, _ := input(8)
	b := load(t, e, points)
	want := func(points []bn254.G1Affine) backend.Digest {
		spec := backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: len(points), Bytes: layout.Bytes(points)}
		d, err := spec.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Digest(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	whole := want(points)
	if d, err := b.Digest(t.Context()); err != nil || d != whole {
		t.Errorf("%v, %v", d, err)
	}
	part, err := b.Slice(2, 7)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := part.Digest(t.Context()); err != nil || d != want(points[2:7]) {
		t.Errorf("a part: %v, %v", d, err)
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(layout.Bytes(points), 64); err != nil {
		t.Fatal(err)
	}
	filed, err := BN254G1.LoadFile(t.Context(), e, f, 64, 8)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := filed.Digest(t.Context()); err != nil || d != whole {
		t.Errorf("in a file: %v, %v", d, err)
	}
	points[0] = points[1] // against the rules, to see that the points are not read again
	if d, err := b.Digest(t.Context()); err != nil || d != whole {
		t.Errorf("again: %v, %v", d, err)
	}
	once, err := BN254G1.Load(t.Context(), e, points, ReadOnce())
	if err != nil {
		t.Fatal(err)
	}
	defer once.Close()
	if _, err := once.Digest(t.Context()); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("of what may not be read: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Digest(t.Context()); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("of closed bases: %v", err)
	}
	filed.Close()
	runtime.KeepAlive(b)
}

// TestCheckInput: input for which a backend may compute another answer than gnark-crypto is
// refused, in memory and in files. The error names the point.
func TestCheckInput(t *testing.T) {
	w := &world{t: t}
	e := w.engine(engine.Config{Backend: "gpu", CheckInput: true})
	_, _, g, _ := bls12381.Generators()
	off := g
	off.X.SetUint64(3)
	// The curve's order has a cofactor: most points with a small x are outside of the subgroup.
	outside := bls12381.G1Affine{}
	for x := uint64(0); !outside.IsOnCurve() || outside.IsInSubGroup() || outside.IsInfinity(); x++ {
		outside.X.SetUint64(x)
		var y2, four = outside.X, outside.X
		y2.Square(&outside.X).Mul(&y2, &outside.X)
		y2.Add(&y2, four.SetUint64(4))
		if y2.Legendre() == 1 {
			outside.Y.Sqrt(&y2)
		}
	}
	large := g
	for i := range large.X {
		large.X[i] = ^uint64(0)
	}
	const at = checkPart + 5
	for name, c := range map[string]struct {
		p    bls12381.G1Affine
		want string
	}{
		"fine":                    {g, ""},
		"off the curve":           {off, "base 4101 of bls12-381 g1 is not in the subgroup"},
		"outside of the subgroup": {outside, "base 4101 of bls12-381 g1 is not in the subgroup"},
		"not below q":             {large, "base 4101 of bls12-381 g1 has a coordinate"},
	} {
		points := make([]bls12381.G1Affine, at+3) // zero points are infinity, which is in the subgroup
		points[at] = c.p
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(layout.Bytes(points)); err != nil {
			t.Fatal(err)
		}
		b, err := BLS12381G1.Load(t.Context(), e, points)
		fb, ferr := BLS12381G1.LoadFile(t.Context(), e, f, 0, len(points))
		for _, err := range []error{err, ferr} {
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err == nil {
			b.Close()
			fb.Close()
		}
	}
	if n := loadsOf(w); n != 2 {
		t.Errorf("%d loads, of two that are fine", n)
	}
}
