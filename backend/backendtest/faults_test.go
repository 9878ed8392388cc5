package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
)

const (
	faultCurve = backend.BN254
	faultGroup = backend.G1
)

// TestGoodBackends: every check passes on a correct backend, with and without the optional
// capability.
func TestGoodBackends(t *testing.T) {
	o := Options{Curves: []backend.Curve{faultCurve}, Groups: []backend.Group{faultGroup}, Logs: []int{5}}
	t.Run("plain", func(t *testing.T) {
		Run(t, func(testing.TB) backend.Backend { return cpu.New(cpu.Options{}) }, o)
	})
	t.Run("allocator", func(t *testing.T) {
		Run(t, func(testing.TB) backend.Backend { return &allocating{Backend: cpu.New(cpu.Options{})} }, o)
	})
	t.Run("reference", func(t *testing.T) {
		Run(t, func(testing.TB) backend.Backend { return cpu.NewReference() }, o)
	})
}

// TestFaultsAreFound runs, for every fault, the checks that should find it against a backend with
// the fault: each must fail.
func TestFaultsAreFound(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			open := func() backend.Backend {
				b := f.make(cpu.New(cpu.Options{Chunk: 100}))
				t.Cleanup(func() { b.Close() }) // its error may be the fault
				return b
			}
			s := newSuite(Options{Curves: []backend.Curve{faultCurve, backend.BLS12377},
				Groups: []backend.Group{faultGroup}, Logs: []int{5}}, backend.Info{})
			s.answer, s.patience = 100*time.Millisecond, 20*time.Second // finds a fault that makes a call wait for ever
			s.soon = time.Second                                        // enough on a busy machine for what returns at once
			for _, name := range f.found {
				c := checkNamed(t, name)
				sub := &subject{suite: s, b: open(), open: open, curve: faultCurve, group: faultGroup}
				if slices.ContainsFunc(numberChecks, func(c check) bool { return c.name == name }) {
					sub.curve = 0
				}
				if err := s.try(c.run, sub); err == nil {
					t.Errorf("the check %q passes", name)
				}
			}
		})
	}
}

// TestEveryCheckCanFail fails if a check finds none of the faults.
func TestEveryCheckCanFail(t *testing.T) {
	found := map[string]bool{}
	for _, f := range faults() {
		for _, name := range f.found {
			found[name] = true
		}
	}
	for _, c := range slices.Concat(groupChecks, backendChecks, vectorChecks, pointChecks, numberChecks) {
		if !found[c.name] {
			t.Errorf("no fault shows that the check %q can fail", c.name)
		}
	}
}

func TestDifferenceIsFound(t *testing.T) {
	wrong, right := &faulty{Backend: cpu.New(cpu.Options{}), result: negate}, cpu.NewReference()
	if err := msms(t.Context(), wrong, right, []byte{0, 0, 0, 20, 0, 0, 20, 0, 5, 1, 2, 5, 3}); err == nil {
		t.Error("a wrong sign is no difference")
	}
	if err := msms(t.Context(), cpu.New(cpu.Options{}), right, []byte{0, 0, 0, 20, 0, 0, 20, 0, 5, 1, 2, 5, 3}); err != nil {
		t.Error(err)
	}
}

func checkNamed(t *testing.T, name string) check {
	for _, c := range slices.Concat(groupChecks, backendChecks, vectorChecks, pointChecks, numberChecks) {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("there is no check %q", name)
	return check{}
}

// faulty is a backend with a fault for each field that is set.
type faulty struct {
	backend.Backend
	info   func(backend.Info) backend.Info
	load   func(context.Context, backend.Backend, backend.Bases) (backend.BasesID, error)
	free   func(context.Context, backend.Backend, backend.BasesID) error
	jobs   func(context.Context, []backend.Job) ([]backend.Job, error)
	msm    func(context.Context, backend.Backend, []backend.Job) ([][]byte, error)
	result func([]byte) []byte
	err    func(error) error
	close  func(backend.Backend) error
	done   chan struct{}
}

func (f *faulty) Info() backend.Info {
	if f.info != nil {
		return f.info(f.Backend.Info())
	}
	return f.Backend.Info()
}

func (f *faulty) Done() <-chan struct{} {
	if f.done != nil {
		return f.done
	}
	return f.Backend.Done()
}

func (f *faulty) wrap(err error) error {
	if f.err != nil && err != nil {
		return f.err(err)
	}
	return err
}

func (f *faulty) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	load := backend.Backend.LoadBases
	if f.load != nil {
		id, err := f.load(ctx, f.Backend, b)
		return id, f.wrap(err)
	}
	id, err := load(f.Backend, ctx, b)
	return id, f.wrap(err)
}

func (f *faulty) FreeBases(ctx context.Context, id backend.BasesID) error {
	if f.free != nil {
		return f.free(ctx, f.Backend, id)
	}
	return f.wrap(f.Backend.FreeBases(ctx, id))
}

func (f *faulty) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	var err error
	if f.jobs != nil {
		if jobs, err = f.jobs(ctx, slices.Clone(jobs)); err != nil {
			return nil, err
		}
	}
	compute := f.msm
	if compute == nil {
		compute = func(ctx context.Context, b backend.Backend, jobs []backend.Job) ([][]byte, error) {
			return b.MSM(ctx, jobs)
		}
	}
	r, err := compute(ctx, f.Backend, jobs)
	if err != nil {
		return nil, f.wrap(err)
	}
	if f.result != nil {
		for i := range r {
			r[i] = f.result(r[i])
		}
	}
	return r, nil
}

func (f *faulty) Close() error {
	if f.close != nil {
		return f.close(f.Backend)
	}
	return f.Backend.Close()
}

// eachJob changes jobs one by one.
func eachJob(change func(*backend.Job)) func(context.Context, []backend.Job) ([]backend.Job, error) {
	return func(_ context.Context, jobs []backend.Job) ([]backend.Job, error) {
		for i := range jobs {
			change(&jobs[i])
		}
		return jobs, nil
	}
}

// eachScalar changes the values of scalars, in a copy.
func eachScalar(change func(v, r *big.Int)) func(context.Context, []backend.Job) ([]backend.Job, error) {
	size, r := faultCurve.ScalarBytes(), fixtures.Order(faultCurve)
	return eachJob(func(j *backend.Job) {
		if j.Ready != nil || len(j.Bytes)%size != 0 {
			return
		}
		j.Bytes = slices.Clone(j.Bytes)
		for i := 0; i < len(j.Bytes); i += size {
			v := fixtures.ScalarValue(faultCurve, j.Bytes[i:])
			change(v, r)
			copy(j.Bytes[i:], fixtures.Scalar(faultCurve, v))
		}
	})
}

// eachPoint changes the points of bases in memory, in a copy.
func eachPoint(change func(all [][]byte)) func(context.Context, backend.Backend, backend.Bases) (backend.BasesID, error) {
	return func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
		if bases.Bytes != nil && bases.Curve == faultCurve {
			bases.Bytes = slices.Clone(bases.Bytes)
			change(slices.Collect(slices.Chunk(bases.Bytes, faultCurve.PointBytes(faultGroup))))
		}
		return b.LoadBases(ctx, bases)
	}
}

// negate returns minus a point of faultGroup.
func negate(p []byte) []byte {
	n := faultCurve.FieldBytes()
	y := fixtures.FromRaw(p[n:])
	if y.Sign() == 0 {
		return p
	}
	return append(p[:n:n], fixtures.Raw(y.Sub(fixtures.Modulus(faultCurve), y), n)...)
}

// whole reads bases into memory without any of the checks.
func whole(b backend.Bases) []byte {
	switch {
	case b.Count > 1<<20:
		return nil
	case b.File != nil:
		p := make([]byte, b.Size())
		_, _ = io.ReadFull(io.NewSectionReader(b.File, b.FileOffset, b.Size()), p)
		return p
	case b.Pieces != nil:
		var p []byte
		for piece := range b.Pieces {
			p = append(p, piece...)
		}
		return append(p, make([]byte, max(0, b.Size()-int64(len(p))))...)[:b.Size()]
	}
	return b.Bytes
}

// fault is one way to be wrong, with the checks that must find it.
type fault struct {
	name  string
	found []string
	make  func(backend.Backend) backend.Backend
}

func faults() []fault {
	with := func(f faulty) func(backend.Backend) backend.Backend {
		return func(b backend.Backend) backend.Backend {
			g := f
			g.Backend = b
			return &g
		}
	}
	return slices.Concat(arithmeticFaults(with), sourceFaults(with), jobFaults(with), lifeFaults(with),
		vectorFaults(), pointFaults(), numberFaults())
}

type maker = func(faulty) func(backend.Backend) backend.Backend

func arithmeticFaults(with maker) []fault {
	one := big.NewInt(1)
	return []fault{
		{"wrong sign", []string{
			"sizes", "distributions", "equal scalars", "special points", "ranges", "reference", "concurrent calls", "free and reload",
		},
			with(faulty{result: negate})},
		{"r-1 is taken for 1", []string{"edge scalars", "edge scalars alone", "equal scalars"},
			with(faulty{jobs: eachScalar(func(v, r *big.Int) {
				if new(big.Int).Add(v, one).Cmp(r) == 0 {
					v.SetInt64(1)
				}
			})})},
		{"r-2 is taken for zero", []string{"edge scalars", "edge scalars alone"},
			with(faulty{jobs: eachScalar(func(v, r *big.Int) {
				if new(big.Int).Add(v, big.NewInt(2)).Cmp(r) == 0 {
					v.SetInt64(0)
				}
			})})},
		{"a carry is lost in 2^128-1", []string{"edge scalars"},
			with(faulty{jobs: eachScalar(func(v, r *big.Int) {
				if v.BitLen() == 128 && new(big.Int).Add(v, one).BitLen() == 129 {
					v.SetInt64(0)
				}
			})})},
		{"the top bit is lost", []string{"edge scalars", "edge scalars alone", "sizes"},
			with(faulty{jobs: eachScalar(func(v, r *big.Int) { v.SetBit(v, faultCurve.ScalarBits()-1, 0) })})},
		{"zero is taken for one", []string{"edge scalars", "edge scalars alone", "distributions"},
			with(faulty{jobs: eachScalar(func(v, r *big.Int) {
				if v.Sign() == 0 {
					v.SetInt64(1)
				}
			})})},
		{"one is taken for two", []string{"linearity", "split and concatenate", "edge scalars alone"},
			with(faulty{jobs: eachScalar(func(v, r *big.Int) {
				if v.Cmp(one) == 0 {
					v.SetInt64(2)
				}
			})})},
		{"infinity is taken for a point", []string{"infinities only", "special points", "sources"},
			with(faulty{load: eachPoint(func(all [][]byte) {
				for i, p := range all {
					if bytes.Equal(p, make([]byte, len(p))) {
						g, _ := pointsOf(fixtures.Key{Curve: faultCurve, Group: faultGroup})
						_ = g.Fill(all[i], i)
					}
				}
			})})},
		{"equal points count once", []string{"special points", "edge scalars"},
			with(faulty{load: eachPoint(func(all [][]byte) {
				seen := map[string]bool{}
				for _, p := range all {
					if key := string(p); seen[key] {
						clear(p)
					} else {
						seen[key] = true
					}
				}
			})})},
		{"P - P is no infinity", []string{"special points", "edge scalars"},
			with(faulty{result: func(p []byte) []byte {
				if bytes.Equal(p, make([]byte, len(p))) {
					return bytes.Repeat([]byte{1}, len(p))
				}
				return p
			}})},
		{"the point of position 20 is forgotten", []string{"permutation", "sizes"},
			with(faulty{load: eachPoint(func(all [][]byte) {
				if len(all) > 20 {
					clear(all[20])
				}
			})})},
		{"32 points are one too few", []string{"sizes"},
			with(faulty{jobs: eachJob(func(j *backend.Job) {
				if j.Count == 32 {
					j.Count, j.Bytes = 31, j.Bytes[:31*faultCurve.ScalarBytes()]
				}
			})})},
		{"no points are an error", []string{"sizes", "ranges", "batch"},
			with(faulty{msm: func(ctx context.Context, b backend.Backend, jobs []backend.Job) ([][]byte, error) {
				for i := range jobs {
					if jobs[i].Count == 0 && jobs[i].SameAs == 0 {
						return nil, backend.ErrInvalidInput
					}
				}
				return b.MSM(ctx, jobs)
			}})},
	}
}

func sourceFaults(with maker) []fault {
	return []fault{
		{"a file's offset is ignored", []string{"sources"},
			with(faulty{load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
				bases.FileOffset = 0
				return b.LoadBases(ctx, bases)
			}})},
		{"a file is read when it is needed", []string{"sources"}, func(b backend.Backend) backend.Backend { return &lazy{Backend: b} }},
		{"pieces are kept", []string{"sources"},
			with(faulty{load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
				if bases.Pieces != nil {
					var kept [][]byte
					for p, err := range bases.Pieces {
						if err != nil {
							return 0, err
						}
						kept = append(kept, p)
					}
					bases.Bytes, bases.Pieces = bytes.Join(kept, nil), nil
				}
				return b.LoadBases(ctx, bases)
			}})},
		{"missing and superfluous bytes do not matter", []string{"sources end early or late", "invalid bases"},
			with(faulty{load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
				bases.Bytes, bases.File, bases.Pieces = whole(bases), nil, nil
				return b.LoadBases(ctx, bases)
			}})},
		{"points are not checked", []string{"check of points"},
			with(faulty{load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
				bases.Hints.Check = false
				return b.LoadBases(ctx, bases)
			}})},
		{"only points in memory are checked", []string{"check of points"},
			with(faulty{load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
				bases.Hints.Check = bases.Hints.Check && bases.Bytes != nil
				return b.LoadBases(ctx, bases)
			}})},
		{"infinity is refused when checking", []string{"infinities only", "sources"},
			with(faulty{load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
				if bases.Hints.Check && bases.Bytes != nil {
					for p := range slices.Chunk(bases.Bytes, bases.Curve.PointBytes(bases.Group)) {
						if bytes.Equal(p, make([]byte, len(p))) {
							return 0, backend.ErrInvalidInput
						}
					}
				}
				return b.LoadBases(ctx, bases)
			}})},
		{"multiples shift the points", []string{"multiples"},
			with(faulty{load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
				if bases.Hints.Multiples > 1 {
					bases.Bytes = append(slices.Clone(bases.Bytes[64:]), bases.Bytes[:64]...)
				}
				return b.LoadBases(ctx, bases)
			}})},
		{"points are found again by address", []string{"free and reload"}, func(b backend.Backend) backend.Backend {
			return &byAddress{Backend: b, ids: map[*byte]backend.BasesID{}}
		}},
		{"points are changed", []string{"arguments untouched"},
			with(faulty{load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
				mine := bases
				mine.Bytes = slices.Clone(bases.Bytes)
				id, err := b.LoadBases(ctx, mine)
				if len(bases.Bytes) > 64*100 {
					clear(bases.Bytes[64*90 : 64*91])
				}
				return id, err
			}})},
	}
}

// lazy reads files at the first MSM.
type lazy struct {
	backend.Backend
	files map[backend.BasesID]backend.Bases
}

func (l *lazy) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	if b.File == nil {
		return l.Backend.LoadBases(ctx, b)
	}
	if l.files == nil {
		l.files = map[backend.BasesID]backend.Bases{}
	}
	id := backend.BasesID(1<<40 + len(l.files))
	l.files[id] = b
	return id, nil
}

func (l *lazy) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		if b, ok := l.files[jobs[i].Bases]; ok {
			b.Bytes, b.File = whole(b), nil
			id, err := l.Backend.LoadBases(ctx, b)
			if err != nil {
				return nil, err
			}
			jobs[i].Bases = id
		}
	}
	return l.Backend.MSM(ctx, jobs)
}

func (l *lazy) FreeBases(ctx context.Context, id backend.BasesID) error {
	if _, ok := l.files[id]; ok {
		return nil
	}
	return l.Backend.FreeBases(ctx, id)
}

// byAddress copies points, and uses the copy again for any points at the same address.
type byAddress struct {
	backend.Backend
	ids map[*byte]backend.BasesID
}

func (a *byAddress) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	if len(b.Bytes) == 0 {
		return a.Backend.LoadBases(ctx, b)
	}
	if id, ok := a.ids[&b.Bytes[0]]; ok {
		return id, nil
	}
	key := &b.Bytes[0]
	b.Bytes = slices.Clone(b.Bytes)
	id, err := a.Backend.LoadBases(ctx, b)
	a.ids[key] = id
	return id, err
}

func (a *byAddress) FreeBases(context.Context, backend.BasesID) error { return nil }

func jobFaults(with maker) []fault {
	size := faultCurve.ScalarBytes()
	var mu sync.Mutex
	var last []byte
	return []fault{
		{"the last point is dropped", []string{"sizes", "ranges", "split and concatenate", "linearity", "permutation"},
			with(faulty{jobs: func(_ context.Context, jobs []backend.Job) ([]backend.Job, error) {
				if len(jobs) == 1 && jobs[0].Count > 0 {
					jobs[0].Count--
					jobs[0].Bytes = jobs[0].Bytes[:jobs[0].Count*size]
				}
				return jobs, nil
			}})},
		{"the offset is ignored", []string{"ranges", "batch", "split and concatenate", "groups together"},
			with(faulty{jobs: eachJob(func(j *backend.Job) { j.Offset = 0 })})},
		{"odd offsets are rounded down", []string{"ranges", "batch"},
			with(faulty{jobs: eachJob(func(j *backend.Job) { j.Offset &^= 1 })})},
		{"shared scalars are always the first job's", []string{"batch"},
			with(faulty{jobs: func(_ context.Context, jobs []backend.Job) ([]backend.Job, error) {
				for i := range jobs {
					if jobs[i].SameAs > 1 && jobs[i].Count == jobs[0].Count {
						jobs[i].SameAs = 1
					}
				}
				return jobs, nil
			}})},
		{"the order of results is reversed", []string{"batch", "groups together"},
			with(faulty{msm: func(ctx context.Context, b backend.Backend, jobs []backend.Job) ([][]byte, error) {
				r, err := b.MSM(ctx, jobs)
				slices.Reverse(r)
				return r, err
			}})},
		{"scalars are read before Ready", []string{"ready"},
			with(faulty{jobs: func(ctx context.Context, jobs []backend.Job) ([]backend.Job, error) {
				for i := range jobs {
					jobs[i].Bytes = slices.Clone(jobs[i].Bytes)
				}
				return jobs, nil
			}})},
		{"Ready is not called", []string{"ready", "ready fails", "cancelled while waiting for scalars", "free waits", "close waits"},
			with(faulty{jobs: eachJob(func(j *backend.Job) { j.Ready = nil })})},
		{"Ready is called for half of the scalars", []string{"ready"},
			with(faulty{jobs: eachJob(func(j *backend.Job) {
				if ready := j.Ready; ready != nil {
					j.Ready = func(ctx context.Context, n int) error { return ready(ctx, n/2) }
				}
			})})},
		{"Ready is called backwards", []string{"ready"},
			with(faulty{jobs: eachJob(func(j *backend.Job) {
				if ready, n := j.Ready, j.Count; ready != nil {
					j.Ready = func(ctx context.Context, _ int) error { return errors.Join(ready(ctx, n), ready(ctx, n/2)) }
				}
			})})},
		{"Ready's error is ignored", []string{"ready fails"},
			with(faulty{jobs: eachJob(func(j *backend.Job) {
				if ready := j.Ready; ready != nil {
					j.Ready = func(ctx context.Context, n int) error { _ = ready(ctx, n); return nil }
				}
			})})},
		{"scalars are not checked", []string{"check of scalars"},
			with(faulty{jobs: eachJob(func(j *backend.Job) { j.Check = false })})},
		{"unaligned scalars are refused", []string{"unaligned scalars"},
			with(faulty{msm: func(ctx context.Context, b backend.Backend, jobs []backend.Job) ([][]byte, error) {
				for i := range jobs {
					if lo, _ := layout.Range(jobs[i].Bytes); lo%8 != 0 {
						return nil, backend.ErrInvalidInput
					}
				}
				return b.MSM(ctx, jobs)
			}})},
		{"scalars are wiped where the caller has them", []string{"arguments untouched"},
			with(faulty{msm: func(ctx context.Context, b backend.Backend, jobs []backend.Job) ([][]byte, error) {
				r, err := b.MSM(ctx, jobs)
				for i := range jobs {
					clear(jobs[i].Bytes)
				}
				return r, err
			}})},
		{"one result buffer for all calls", []string{"results are the caller's"}, func(b backend.Backend) backend.Backend {
			kept := make([]byte, 4*64)
			return &faulty{Backend: b, msm: func(ctx context.Context, b backend.Backend, jobs []backend.Job) ([][]byte, error) {
				r, err := b.MSM(ctx, jobs)
				for i := range min(len(r), 4) {
					r[i] = kept[64*i : 64*i+copy(kept[64*i:], r[i])]
				}
				return r, err
			}}
		}},
		{"results share their memory", []string{"results are the caller's"},
			with(faulty{msm: func(ctx context.Context, b backend.Backend, jobs []backend.Job) ([][]byte, error) {
				r, err := b.MSM(ctx, jobs)
				all := bytes.Join(r, nil)
				for i := range r {
					r[i] = all[64*i : 64*i+64]
				}
				return r, err
			}})},
		{"calls share their scalars", []string{"concurrent calls"},
			with(faulty{jobs: func(_ context.Context, jobs []backend.Job) ([]backend.Job, error) {
				mu.Lock()
				last = jobs[0].Bytes
				mu.Unlock()
				for range 10 {
					runtime.Gosched()
				}
				mu.Lock()
				defer mu.Unlock()
				if len(last) > len(jobs[0].Bytes) {
					jobs[0].Bytes = last[:len(jobs[0].Bytes)]
				} else {
					jobs[0].Bytes = append(slices.Clone(last), jobs[0].Bytes[len(last):]...)
				}
				return jobs, nil
			}})},
		{"wrong jobs are not looked at", []string{"invalid jobs", "unknown bases"},
			with(faulty{msm: func(ctx context.Context, b backend.Backend, jobs []backend.Job) ([][]byte, error) {
				r, err := b.MSM(ctx, jobs)
				if errors.Is(err, backend.ErrInvalidInput) {
					return make([][]byte, len(jobs)), nil
				}
				return r, err
			}})},
		{"results come with errors", []string{"ready fails"},
			with(faulty{msm: func(ctx context.Context, b backend.Backend, jobs []backend.Job) ([][]byte, error) {
				r, err := b.MSM(ctx, jobs)
				if err != nil {
					return nil, nil
				}
				return r, nil
			}})},
	}
}

func lifeFaults(with maker) []fault {
	return []fault{
		{"no name", []string{"info"}, with(faulty{info: func(i backend.Info) backend.Info { i.Name = ""; return i }})},
		{"no group", []string{"info"}, with(faulty{info: func(i backend.Info) backend.Info { i.Can.MSM = nil; return i }})},
		{"a process in process", []string{"info"}, with(faulty{info: func(i backend.Info) backend.Info { i.PID = 7; return i }})},
		{"Ping waits for computations", []string{"alive until closed"}, func(b backend.Backend) backend.Backend {
			return &busy{Backend: b}
		}},
		{"Done is closed too early", []string{"alive until closed"}, func(b backend.Backend) backend.Backend {
			gone := make(chan struct{})
			close(gone)
			return &faulty{Backend: b, done: gone}
		}},
		{"Done is never closed", []string{"alive until closed"}, with(faulty{done: make(chan struct{})})},
		{"causes are lost", []string{"causes are kept"},
			with(faulty{err: func(err error) error {
				if errors.Is(err, context.Canceled) {
					return context.Canceled
				}
				return err
			}})},
		{"freeing that was given up has not happened", []string{"free goes on when cancelled"},
			with(faulty{free: func(ctx context.Context, b backend.Backend, id backend.BasesID) error {
				if end, _ := ctx.Deadline(); time.Until(end) < time.Second {
					<-ctx.Done()
					return ctx.Err()
				}
				return b.FreeBases(ctx, id)
			}})},
		{"errors wrap nothing", []string{"invalid bases", "invalid jobs", "unknown bases", "closed",
			"cancelled before", "check of points", "check of scalars", "sources end early or late"},
			with(faulty{err: func(err error) error { return errors.New(err.Error()) }})},
		{"a curve that it lacks is invalid", []string{"invalid bases"},
			with(faulty{
				info: func(i backend.Info) backend.Info { i.Can.MSM = backend.CurveGroups()[:1]; return i },
				load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
					if bases.Curve != faultCurve {
						return 0, backend.ErrInvalidInput
					}
					return b.LoadBases(ctx, bases)
				},
			})},
		{"contexts are ignored", []string{"cancelled before", "cancelled while loading"},
			with(faulty{
				load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
					return b.LoadBases(context.WithoutCancel(ctx), bases)
				},
				msm: func(ctx context.Context, b backend.Backend, jobs []backend.Job) ([][]byte, error) {
					return b.MSM(context.WithoutCancel(ctx), jobs)
				},
			})},
		{"a context is looked at when a load begins", []string{"cancelled while loading"},
			with(faulty{load: func(ctx context.Context, b backend.Backend, bases backend.Bases) (backend.BasesID, error) {
				if err := ctx.Err(); err != nil {
					return 0, err
				}
				return b.LoadBases(context.WithoutCancel(ctx), bases)
			}})},
		{"a cancelled call is a dead backend", []string{"cancelled while waiting for scalars"},
			with(faulty{err: func(err error) error {
				if errors.Is(err, context.Canceled) {
					return fmt.Errorf("%w: %v", backend.ErrGone, err)
				}
				return err
			}})},
		{"freeing does nothing", []string{"unknown bases"},
			with(faulty{free: func(context.Context, backend.Backend, backend.BasesID) error { return nil }})},
		{"freeing does not wait", []string{"free waits"},
			with(faulty{free: func(ctx context.Context, b backend.Backend, id backend.BasesID) error {
				go b.FreeBases(ctx, id)
				return nil
			}})},
		{"closing does not wait", []string{"close waits"},
			with(faulty{close: func(b backend.Backend) error { go b.Close(); return nil }})},
		{"closing does nothing", []string{"closed"},
			with(faulty{close: func(backend.Backend) error { return nil }})},
		{"closing twice is an error", []string{"closed"}, func(b backend.Backend) backend.Backend {
			times := 0
			return &faulty{Backend: b, close: func(b backend.Backend) error {
				if times++; times > 1 {
					return backend.ErrClosed
				}
				return b.Close()
			}}
		}},
		{"a buffer is freed under a call", []string{"scalar buffers"}, func(b backend.Backend) backend.Backend {
			return &allocating{Backend: b, hasty: true}
		}},
		{"a buffer is too long", []string{"scalar buffers"}, func(b backend.Backend) backend.Backend {
			return &allocating{Backend: b, extra: 3}
		}},
		{"nothing is counted", []string{"usage"}, func(b backend.Backend) backend.Backend {
			return uncounted{b}
		}},
		{"a closed backend allocates", []string{"closed"}, func(b backend.Backend) backend.Backend {
			return &allocating{Backend: b, undead: true}
		}},
	}
}

// busy computes one call after the other, and makes Ping wait for its turn too.
type busy struct {
	backend.Backend
	calls chan struct{}
	once  sync.Once
}

func (b *busy) turn() func() {
	b.once.Do(func() { b.calls = make(chan struct{}, 1) })
	b.calls <- struct{}{}
	return func() { <-b.calls }
}

func (b *busy) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	defer b.turn()()
	return b.Backend.MSM(ctx, jobs)
}

func (b *busy) Ping(ctx context.Context) error {
	b.once.Do(func() { b.calls = make(chan struct{}, 1) })
	select {
	case b.calls <- struct{}{}:
		defer func() { <-b.calls }()
		return b.Backend.Ping(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// uncounted is a backend that counts nothing.
type uncounted struct{ backend.Backend }

func (u uncounted) Unwrap() backend.Backend { return u.Backend }

func (u uncounted) Usage() backend.Usage {
	return backend.Usage{Devices: make([]backend.DeviceUsage, len(u.Info().Devices))}
}

// allocating adds backend.Allocator to a backend, with faults where asked.
type allocating struct {
	backend.Backend
	calls         sync.RWMutex // held for reading by MSM
	hasty, undead bool
	extra         int
}

func (a *allocating) Unwrap() backend.Backend { return a.Backend }

func (a *allocating) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	a.calls.RLock()
	defer a.calls.RUnlock()
	return a.Backend.MSM(ctx, jobs)
}

func (a *allocating) Alloc(ctx context.Context, size int) (backend.Buffer, error) {
	if _, err := a.Backend.MSM(ctx, nil); err != nil && !a.undead {
		return nil, err
	}
	return &heap{a, make([]byte, size+a.extra)}, nil
}

type heap struct {
	a *allocating
	b []byte
}

func (h *heap) Bytes() []byte { return h.b }

func (h *heap) Free() {
	if !h.a.hasty {
		h.a.calls.Lock()
		defer h.a.calls.Unlock()
	}
}
