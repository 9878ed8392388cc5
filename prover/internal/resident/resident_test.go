package resident

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/heaptest"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/vector"
)

// TestMergedScalarsLeaveNothing merges equal scalars and wants gone, after the
// MSM, which they were, what each stood for, and the sums of their bases.
func TestMergedScalarsLeaveNothing(t *testing.T) {
	const n, different = 3000, 60
	logs, scalars := make(fr.Vector, n), make(fr.Vector, n)
	logs.MustSetRandom()
	// No two classes' first members are side by side, as their scalars are when
	// they have been merged.
	for i := range scalars {
		switch {
		case i >= 2*different:
			scalars[i] = scalars[2*(i*i%different)]
		case i%2 == 1:
			scalars[i] = scalars[i-1]
		default:
			scalars[i].MustSetRandom()
		}
	}
	_, _, g, _ := bn254.Generators()
	points := bn254.BatchScalarMultiplicationG1(&g, logs)
	e, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	table, err := Load(t.Context(), e, group.BN254G1, points)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	want, err := table.Sum(t.Context(), scalars)
	if err != nil {
		t.Fatal(err)
	}
	var got bn254.G1Affine
	batch := NewBatch(e)
	Add(t.Context(), batch, table, scalars, Always, &got)
	if err := batch.Run(t.Context()); err != nil || got != want {
		t.Fatalf("%v, %v; want %v", got, err, want)
	}
	dump := heaptest.Dump(t)

	hashes, err := merge.Hash(t.Context(), n, Columns(scalars))
	if err != nil {
		t.Fatal(err)
	}
	classes, err := hashes.Classes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sums, err := group.BN254G1.SumClasses(t.Context(), points, classes)
	if err != nil {
		t.Fatal(err)
	}
	merged := make([]fr.Element, classes.Len())
	largest := 0
	for i := range merged {
		merged[i] = scalars[classes.Members(i)[0]]
		if len(classes.Members(i)) > len(classes.Members(largest)) {
			largest = i
		}
	}
	if classes.Len() >= n/10 || len(classes.Members(largest)) < 50 {
		t.Fatalf("%d classes are not what the test is for", classes.Len())
	}
	hashed := make([]uint64, 8)
	for i := range hashed {
		hashed[i] = reflect.ValueOf(hashes).Elem().FieldByName("hash").Index(i).Uint()
	}
	secrets := map[string][]byte{
		"the members of a class":  layout.Bytes(classes.Members(largest)),
		"the sum of a class":      layout.Bytes(sums[largest : largest+1]),
		"the scalars of the sums": layout.Bytes(merged[:4]),
		"hashes of the scalars":   layout.Bytes(hashed),
	}
	now := heaptest.Dump(t)
	for what, b := range secrets {
		if bytes.Contains(dump, b) {
			t.Errorf("%s: still in memory", what)
		}
		if !bytes.Contains(now, b) {
			t.Errorf("%s: not found where it is", what)
		}
	}
}

// column is elements of one byte, of which so many are different.
func column(n, different int) merge.Column {
	b := make([]byte, 8*n)
	for i := range n {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(i%different)+1)
	}
	return merge.Column{Bytes: b, Size: 8}
}

// TestClasses: Auto merges many elements of which an eighth is superfluous, Always wherever
// two are equal, and Never nothing.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		name         string
		m            Merging
		n, different int
		classes      int // 0 for not merged
	}{
		{"never", Never, 4096, 10, 0},
		{"nothing", Always, 0, 1, 0},
		{"always", Always, 4, 3, 3},
		{"always, but all differ", Always, 100, 100, 0},
		{"auto, equal", Auto, 4096, 64, 64},
		{"auto, few", Auto, least - 1, 10, 0},
		{"auto, not so few", Auto, least, 10, 10},
		{"auto, nearly all differ", Auto, 4096, 4000, 0},
	} {
		got, err := c.m.Classes(t.Context(), c.n, column(c.n, c.different))
		if err != nil || (got == nil) != (c.classes == 0) || got != nil && got.Len() != c.classes {
			t.Errorf("%s: %v, %v; want %d classes", c.name, got, err, c.classes)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Always.Classes(ended, 4096, column(4096, 10)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// TestBatch: each MSM has its own answer; those with the same scalars merge them once; and the
// first thing that is wrong is what Run says.
func TestBatch(t *testing.T) {
	const n = 40
	e, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	logs, scalars, other := make(fr.Vector, n), make(fr.Vector, n), make(fr.Vector, n)
	logs.MustSetRandom()
	other.MustSetRandom()
	for i := range scalars {
		scalars[i].SetUint64(uint64(1 + i%7))
	}
	_, _, g, _ := bn254.Generators()
	points := bn254.BatchScalarMultiplicationG1(&g, logs)
	slices.Reverse(logs)
	reversed := bn254.BatchScalarMultiplicationG1(&g, logs)
	one, err := Load(t.Context(), e, group.BN254G1, points)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two, err := Load(t.Context(), e, group.BN254G1, reversed)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	want := func(table *Table[bn254.G1Affine, fr.Element], s fr.Vector) bn254.G1Affine {
		sum, err := table.Sum(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	resident := e.Stats().Backends[0].Resident
	for _, m := range []Merging{Never, Always} {
		b := NewBatch(e)
		var got [3]bn254.G1Affine
		Add(t.Context(), b, one, scalars, m, &got[0])
		Add(t.Context(), b, two, scalars, m, &got[1])
		Add(t.Context(), b, one, other, m, &got[2])
		if merged := m == Always; merged && (len(b.merged) != 2 || b.merged[any(&scalars[0])].(*shorter[fr.Element]).classes.Len() != 7) {
			t.Errorf("merged: %v", b.merged)
		}
		var ends []string // bases are closed before their points are wiped, which were there before
		b.end = append([]func(){func() { ends = append(ends, "first") }}, append(b.end, func() { ends = append(ends, "last") })...)
		if err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(ends, []string{"last", "first"}) {
			t.Errorf("what was begun %v ends in this order", ends)
		}
		if got != [3]bn254.G1Affine{want(one, scalars), want(two, scalars), want(one, other)} {
			t.Errorf("merging %d: wrong answers", m)
		}
		if now := e.Stats().Backends[0].Resident; now != resident {
			t.Errorf("merging %d: %d bytes of bases stay", m, now-resident)
		}
	}
	if sum := want(one, scalars[:3]); sum == want(one, scalars) || sum == (bn254.G1Affine{}) {
		t.Error("fewer scalars than bases")
	}

	var none bn254.G1Affine
	b := NewBatch(e)
	Add(t.Context(), b, one, other[:n-1], Never, &none)
	b.Fail(errors.New("later"))
	Add(t.Context(), b, one, other, Never, &none)
	if err := b.Run(t.Context()); !errors.Is(err, backend.ErrInvalidInput) || none != (bn254.G1Affine{}) {
		t.Errorf("too few scalars: %v", err)
	}
	own := errors.New("own")
	b = NewBatch(e)
	b.Fail(own)
	b.Fail(errors.New("later"))
	if err := b.Run(t.Context()); err != own {
		t.Errorf("failed: %v", err)
	}
	if m := Auto.Scalars(e); m != Auto {
		t.Errorf("where this process computes the MSMs, scalars are merged as %d says", m)
	}
	if m := Auto.Scalars(far(t)); m != Never {
		t.Errorf("where another process computes the MSMs, scalars are merged as %d says", m)
	}
	if m := Always.Scalars(far(t)); m != Always {
		t.Errorf("always is %d", m)
	}
}

// remote is a backend that another process has.
type remote struct{ backend.Backend }

func (r remote) Info() backend.Info {
	info := r.Backend.Info()
	info.InProcess = false
	return info
}

// Unwrap shows what the backend can do.
func (r remote) Unwrap() backend.Backend { return r.Backend }

// far returns an engine on another process.
func far(t *testing.T) *engine.Engine {
	e, err := engine.New(t.Context(), engine.Config{
		Open:      func(context.Context, string) (backend.Backend, error) { return remote{cpu.New(cpu.Options{})}, nil },
		Fallbacks: []string{engine.NoFallback},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestEngineOfOnesOwn: Or takes the user's engine and leaves it open, or makes one and ends it.
func TestEngineOfOnesOwn(t *testing.T) {
	mine, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	for _, given := range []*engine.Engine{mine, nil} {
		e, end, err := Or(t.Context(), given)
		if err != nil || e == nil || given != nil && e != given {
			t.Fatalf("%p: %p, %v", given, e, err)
		}
		if err := end(); err != nil || e.Closed() != (given == nil) {
			t.Errorf("the end: %v, closed %v", err, e.Closed())
		}
	}
}

// TestMemoryIsFreed: Free calls all that was added, once, and scalars are zero again.
func TestMemoryIsFreed(t *testing.T) {
	e, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var m Memory
	var calls atomic.Int64
	for range 3 {
		m.Add(func() { calls.Add(1) })
	}
	// After the end of the call no backend gives memory: it is a slice of this process.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if w := NewLoan[fr.Element](t.Context(), &m, e, backend.BN254).Lend(40); w != nil {
		t.Error("a backend in this process, which has no memory of its own, lends some")
	}
	two := [2]fr.Vector{Scalars(t.Context(), &m, e, group.BN254G1, 10), Scalars(ended, &m, e, group.BN254G1, 10)}
	for _, scalars := range two {
		if len(scalars) != 10 {
			t.Fatalf("%d scalars", len(scalars))
		}
		for i := range scalars {
			if !scalars[i].IsZero() {
				t.Error("scalars that are not zero")
			}
			scalars[i].SetUint64(7)
		}
	}
	m.Free()
	m.Free()
	for i, scalars := range two {
		if calls.Load() != 3 || slices.ContainsFunc(scalars, func(s fr.Element) bool { return !s.IsZero() }) {
			t.Errorf("%d calls, the scalars %d: %v", calls.Load(), i, scalars)
		}
	}
}

// place is a session of a test: in a backend, which may be gone.
type place struct {
	backend int
	gone    error
	closes  int
}

func (p *place) Together(other *place) bool { return p.backend == other.backend }
func (p *place) Err() error                 { return p.gone }
func (p *place) Close() error               { p.closes++; return nil }

// TestVectorsMove: a key's vectors are loaded once for each backend, move with the proofs,
// and stay until the last proof that uses them has ended.
func TestVectorsMove(t *testing.T) {
	v := NewVectors[*place, string]()
	var loaded []*place
	load := func(_ context.Context, s *place) (*place, string, error) {
		loaded = append(loaded, &place{backend: s.backend})
		return loaded[len(loaded)-1], fmt.Sprint("vectors ", len(loaded)), nil
	}
	beside := func(s *place, want string) (release func() error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		got, release, err := v.Beside(ctx, s, load)
		if err != nil || got != want {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
		return release
	}
	closes := func(want ...int) {
		t.Helper()
		var got []int
		for _, p := range loaded {
			got = append(got, p.closes)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("sessions were closed %v times, want %v", got, want)
		}
	}
	a := beside(&place{backend: 1}, "vectors 1")
	b := beside(&place{backend: 1}, "vectors 1")
	a()
	closes(0)
	c := beside(&place{backend: 2}, "vectors 2") // another backend
	closes(0, 0)
	b()
	closes(1, 0)
	c()
	closes(1, 0) // kept for the next proof
	loaded[1].gone = backend.ErrGone
	d := beside(&place{backend: 2}, "vectors 3") // it is gone
	closes(1, 1, 0)
	if _, _, err := v.Beside(t.Context(), &place{backend: 4}, func(context.Context, *place) (*place, string, error) {
		return nil, "", backend.ErrOutOfMemory
	}); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a load that fails: %v", err)
	}
	d()
	d = beside(&place{backend: 2}, "vectors 3")
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	closes(1, 1, 0) // a proof uses it
	d()
	closes(1, 1, 1)

	v.turn <- struct{}{} // somebody moves them
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	over := make(chan error, 1)
	go func() {
		_, _, err := v.Beside(ended, &place{}, load)
		over <- err
	}()
	select {
	case err := <-over:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a proof that ends before its turn: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("a proof whose context has ended waits for its turn")
	}
}

// TestAhead: a session that was opened ahead is used, closed if nobody used it, and not opened
// where it would be large.
func TestAhead(t *testing.T) {
	e, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	f := vector.BN254
	sessions := func() int { return e.Stats().Sessions }
	a := OpenAhead(t.Context(), f, e, 8)
	a.opening.Wait()
	if a.session == nil || sessions() != 1 {
		t.Fatalf("%d sessions ahead", sessions())
	}
	calls := 0
	by, err := a.Repeat(t.Context(), func(context.Context, *vector.Session[fr.Element]) error {
		if calls++; sessions() != 1 {
			t.Errorf("%d sessions, one of which was opened ahead", sessions())
		}
		return nil
	})
	if err != nil || by != e.Backend() || calls != 1 || sessions() != 0 {
		t.Errorf("by %q, %v, %d calls, %d sessions", by, err, calls, sessions())
	}
	a.Close()

	a = OpenAhead(t.Context(), f, e, 8)
	a.opening.Wait()
	a.Close()
	if a.session == nil || sessions() != 0 {
		t.Error("a session that nobody used is open")
	}
	large := OpenAhead(t.Context(), f, e, MostAhead/32+1)
	large.opening.Wait()
	if large.session != nil {
		t.Error("a large session is open ahead")
	}
	large.elements = 8 // what Repeat opens then
	count := func(context.Context, *vector.Session[fr.Element]) error { calls++; return nil }
	if _, err := large.Repeat(t.Context(), count); err != nil || calls != 2 {
		t.Errorf("without a session ahead: %v, %d calls", err, calls)
	}
	large.Close()
	(*Ahead[fr.Element])(nil).Close()
}

// described is a backend with some devices, perhaps of another process.
type described struct {
	backend.Backend
	here    bool
	devices []uint64 // memory in bytes
}

func (d described) Info() backend.Info {
	i := d.Backend.Info()
	i.InProcess, i.Devices = d.here, nil
	for _, memory := range d.devices {
		i.Devices = append(i.Devices, backend.Device{Memory: memory})
	}
	return i
}

// TestMostAhead: on other processes' devices a part of the smallest one's memory may be taken ahead, and 256 MiB
// anywhere.
func TestMostAhead(t *testing.T) {
	for _, c := range []struct {
		here    bool
		devices []uint64
		want    int
	}{
		{false, []uint64{64 << 30}, 2 << 30}, {false, []uint64{64 << 30, 32 << 30}, 1 << 30}, {false, []uint64{4 << 30}, MostAhead},
		{false, nil, MostAhead}, {true, []uint64{64 << 30}, MostAhead},
	} {
		e, err := engine.New(t.Context(), engine.Config{Fallbacks: []string{engine.NoFallback},
			Open: func(context.Context, string) (backend.Backend, error) {
				return described{cpu.New(cpu.Options{}), c.here, c.devices}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		if got := mostAhead(e); got != c.want {
			t.Errorf("%+v: %d bytes", c, got)
		}
		e.Close()
	}
}

// TestLoadBeside: bases are loaded while a session is open as large as a proof's, if another process
// computes programs; a session for which there is no room keeps no key from being loaded.
func TestLoadBeside(t *testing.T) {
	here, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	there := far(t)
	for name, c := range map[string]struct {
		on             *engine.Engine
		elements, want int // sessions while bases are loaded
	}{
		"in this process": {here, 8, 0},
		"in another":      {there, 8, 1},
		"without room":    {there, 1 << 50, 0},
	} {
		var loads atomic.Int32
		load := func(context.Context) error {
			if loads.Add(1); c.on.Stats().Sessions != c.want {
				t.Errorf("%s: %d sessions beside the load, want %d", name, c.on.Stats().Sessions, c.want)
			}
			return nil
		}
		if err := LoadBeside(t.Context(), vector.BN254, c.on, c.elements, load, load); err != nil || loads.Load() != 2 {
			t.Errorf("%s: %v, %d loads", name, err, loads.Load())
		}
		if c.on.Stats().Sessions != 0 {
			t.Errorf("%s: a session is left", name)
		}
	}
	failed := errors.New("failed")
	err = LoadBeside(t.Context(), vector.BN254, there, 8, func(context.Context) error { return failed }, func(ctx context.Context) error {
		<-ctx.Done() // ends with the first error
		return ctx.Err()
	})
	if !errors.Is(err, failed) {
		t.Errorf("a load that fails: %v", err)
	}
}

// choosy is a backend that refuses bases of G2, once those of G1 are there.
type choosy struct {
	backend.Backend
	sets int // of G1 that are awaited
	inG1 chan struct{}
}

func (c choosy) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	if b.Group == backend.G2 {
		for range c.sets {
			<-c.inG1
		}
		return 0, fmt.Errorf("%w: bases of G2", backend.ErrInvalidInput)
	}
	id, err := c.Backend.LoadBases(ctx, b)
	c.inG1 <- struct{}{}
	return id, err
}

// TestLoadBases: bases of both groups are loaded, and CloseBases frees them; where one set fails, those that
// were loaded are freed.
func TestLoadBases(t *testing.T) {
	_, _, g1, g2 := bn254.Generators()
	ones := []*Bases[bn254.G1Affine, fr.Element]{{Points: []bn254.G1Affine{g1}}, {Points: []bn254.G1Affine{g1, g1}}}
	other := &Bases[bn254.G2Affine, fr.Element]{Points: []bn254.G2Affine{g2}}
	load := func(e *engine.Engine) error {
		return LoadBases(t.Context(), vector.BN254, e, 8, group.BN254G1, ones, group.BN254G2, other)
	}
	e, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := load(e); err != nil || e.Stats().Bases != 3 || ones[1].Table.Len() != 2 || other.Table.Len() != 1 {
		t.Fatalf("%v, %d sets of bases", err, e.Stats().Bases)
	}
	if err := CloseBases(ones, other); err != nil || e.Stats().Bases != 0 {
		t.Errorf("%v, %d sets of bases are left", err, e.Stats().Bases)
	}
	refusing, err := engine.New(t.Context(), engine.Config{
		Open: func(context.Context, string) (backend.Backend, error) {
			return choosy{cpu.New(cpu.Options{}), len(ones), make(chan struct{})}, nil
		},
		Fallbacks: []string{engine.NoFallback},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer refusing.Close()
	if err := load(refusing); !errors.Is(err, backend.ErrInvalidInput) || refusing.Stats().Bases != 0 {
		t.Errorf("%v, %d sets of bases are left", err, refusing.Stats().Bases)
	}
}
