// Package local computes MSMs in this process. It is what backend/cpu and backend/cpu/msm share:
// the first adds vectors, points and numbers; the second is for programs that must be linked with
// nothing more.
package local

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/resident"
)

// Kernel computes over one group. Points and scalars come as bytes of whole elements, aligned to 8
// bytes. It only reads them.
type Kernel interface {
	// NewSum starts a sum at infinity.
	NewSum() Sum
	// FirstOffCurve returns the index of a point off the curve, or -1.
	FirstOffCurve(points []byte) (int, error)
}

// Sum adds up products.
type Sum interface {
	// Add adds the sum of scalars[i] * points[i].
	Add(points, scalars []byte) error
	// Affine returns the sum as a point in new memory.
	Affine() []byte
}

// Backend is a backend in this process. It keeps bases and checks arguments; a Kernel does the
// arithmetic. It also keeps spaces, each an S, for a backend that adds programs.
type Backend[S any] struct {
	About     backend.Info
	Chunk     int // the most points that are computed at a time
	Parallel  int // the most jobs that are computed at the same time
	Residents *resident.Set[Kept, S]
	Meter     resident.Meter

	group  func(backend.Curve, backend.Group) Kernel
	copies copies
}

// Kept is the points of one set of bases.
type Kept struct {
	Kernel Kernel
	Points []byte
}

// New returns a backend of MSMs. A chunk of 0 is DefaultChunk, and parallel of 0 is
// DefaultParallel.
func New[S any](name string, chunk, parallel int, group func(backend.Curve, backend.Group) Kernel) *Backend[S] {
	if chunk <= 0 {
		chunk = DefaultChunk
	}
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	return &Backend[S]{
		About: backend.Info{
			Name:      name,
			InProcess: true,
			Version:   "gnark-crypto " + gnarkVersion(),
			Devices:   []backend.Device{device()},
			Can:       backend.Capabilities{MSM: backend.CurveGroups()},
		},
		Chunk:     chunk,
		Parallel:  parallel,
		Residents: resident.New[Kept, S](name),
		group:     group,
		copies:    newCopies(),
	}
}

const (
	// DefaultChunk is the most points that an MSM takes at a time.
	DefaultChunk = 1 << 22
	// DefaultParallel is the most jobs that are computed at the same time. One MSM leaves
	// processors idle: gnark-crypto shares out some 20 windows and adds up their sums on one
	// processor. On 16 cores a second job at the same time makes the MSMs of a Groth16 proof 10 to
	// 20 % faster, a fourth another 3 %, and more jobs nothing. On two cores it makes no
	// difference.
	DefaultParallel = 4
)

// gnarkVersion returns the version of gnark-crypto in this program, or "unknown".
func gnarkVersion() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, d := range b.Deps {
			if d.Path == "github.com/consensys/gnark-crypto" {
				return d.Version
			}
		}
	}
	return "unknown"
}

func (l *Backend[S]) Info() backend.Info { return l.About }

func (l *Backend[S]) Ping(ctx context.Context) error { return l.Residents.Ping(ctx) }

func (l *Backend[S]) Done() <-chan struct{} { return l.Residents.Done() }

func (l *Backend[S]) LoadBases(ctx context.Context, b backend.Bases) (_ backend.BasesID, err error) {
	end, err := l.Residents.Begin()
	if err != nil {
		return 0, err
	}
	defer end()
	defer resident.Caught(&err)
	if err := backend.Ended(ctx); err != nil {
		return 0, err
	}
	if err := curves.Check(); err != nil {
		return 0, err
	}
	if err := b.Validate(); err != nil {
		return 0, err
	}
	points, err := l.own(ctx, &b)
	if err != nil {
		return 0, err
	}
	k := Kept{Kernel: l.group(b.Curve, b.Group), Points: points}
	if b.Hints.Check {
		if err := k.check(ctx, &b); err != nil {
			return 0, err
		}
	}
	return l.Residents.AddBases(b.Elements(), k), nil
}

// own returns the points of b in memory: b.Bytes itself, or a copy of any other source.
func (l *Backend[S]) own(ctx context.Context, b *backend.Bases) ([]byte, error) {
	if b.File == nil && b.Pieces == nil {
		_, err := layout.View[uint64](b.Bytes)
		return b.Bytes, err
	}
	if have := l.About.Devices[0].Memory; have > 0 && uint64(b.Size()) > have {
		return nil, fmt.Errorf("%w: %d bases of %v %v are %d bytes, the machine has %d", backend.ErrOutOfMemory,
			b.Count, b.Curve, b.Group, b.Size(), have)
	}
	points := layout.Bytes(make([]uint64, b.Size()/8))
	return points, b.Read(ctx, points)
}

// check refuses a coordinate not below q and a point off the curve.
func (k *Kept) check(ctx context.Context, b *backend.Bases) error {
	const part = 1 << 14
	size, fp := b.Curve.PointBytes(b.Group), b.Curve.FieldBytes()
	for lo := 0; lo < b.Count; lo += part {
		if err := backend.Yield(ctx); err != nil {
			return err
		}
		points := k.Points[lo*size : min(lo+part, b.Count)*size]
		if i := FirstNotBelow(points, layout.BaseField(b.Curve)); i >= 0 {
			return fmt.Errorf("%w: base %d of %v %v has a coordinate that is not below q", backend.ErrInvalidInput,
				lo+i*fp/size, b.Curve, b.Group)
		}
		i, err := k.Kernel.FirstOffCurve(points)
		if err != nil {
			return err
		}
		if i >= 0 {
			return fmt.Errorf("%w: base %d of %v %v is not on the curve", backend.ErrInvalidInput, lo+i, b.Curve, b.Group)
		}
	}
	return nil
}

func (l *Backend[S]) FreeBases(ctx context.Context, id backend.BasesID) error {
	return l.Residents.FreeBases(ctx, id, func(Kept) error { return nil })
}

// Close implements backend.Backend, for a backend without spaces.
func (l *Backend[S]) Close() error {
	l.Residents.Close()
	return nil
}

// Usage implements backend.Metered. No call waits for a turn.
func (l *Backend[S]) Usage() backend.Usage {
	return backend.Usage{Devices: []backend.DeviceUsage{l.Meter.Usage()}}
}

// MSM implements backend.Backend, for a backend without spaces.
func (l *Backend[S]) MSM(ctx context.Context, jobs []backend.Job) (_ [][]byte, err error) {
	end, err := l.Residents.Begin()
	if err != nil {
		return nil, err
	}
	p := &Program[S]{Backend: l, Call: NewCall(ctx), Steps: backend.Steps(jobs), Answers: make([][]byte, len(jobs))}
	if p.Used, err = l.Residents.Use(p.Steps); err != nil {
		end()
		return nil, err
	}
	l.Meter.Begin(0)
	defer p.Ended(func() { l.Meter.End(); l.Residents.End(p.Used); end() })
	defer resident.Caught(&err)
	if _, err := p.Jobs(ctx, 0); err != nil {
		return nil, err
	}
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}
	return p.Answers, nil
}

// Program is a valid program that runs.
type Program[S any] struct {
	*Backend[S]
	*Call
	Used    *resident.Used[Kept, S]
	Steps   []backend.Step
	Answers [][]byte
	// At returns the memory of a range. It is nil if there are no spaces.
	At func(backend.Range) []byte
}

// Jobs computes the jobs that follow one another from step first on, several chains at a time, and
// returns their number n. The first error ends the others early.
func (p *Program[S]) Jobs(ctx context.Context, first int) (n int, err error) {
	chains := p.chains(first)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(p.Parallel)
	for _, chain := range chains {
		n += len(chain)
		g.Go(func() (err error) {
			for _, i := range chain {
				if p.Answers[i], err = p.job(ctx, p.Steps[i].(backend.Job)); err != nil {
					return backend.InStep(i, p.Steps[i], err)
				}
			}
			return nil
		})
	}
	err = g.Wait()
	for i := first; err == nil && i < first+n; i++ { // in order: of several jobs with one Dst the last counts
		if dst := p.Steps[i].(backend.Job).Dst; dst.Space != 0 {
			copy(p.At(dst), p.Answers[i])
			p.Answers[i] = nil
		}
	}
	return n, err
}

// chains groups those jobs by the scalars that they use. The jobs of a chain are computed one after
// the other, since only its first job waits for scalars.
func (p *Program[S]) chains(first int) [][]int {
	var list [][]int
	at := make(map[int]int) // the chain of each job
	for i := first; i < len(p.Steps); i++ {
		j, ok := p.Steps[i].(backend.Job)
		if !ok {
			break
		}
		of, shared := at[j.SameAs-1]
		if !shared {
			of = len(list)
			list = append(list, nil)
		}
		at[i] = of
		list[of] = append(list[of], i)
	}
	return list
}

// job computes one MSM, chunk by chunk.
func (p *Program[S]) job(ctx context.Context, j backend.Job) (_ []byte, err error) {
	defer resident.Caught(&err)
	b := p.Used.Bases[j.Bases]
	point, scalar := b.Bytes(), b.Curve.ScalarBytes()
	in := j.Input
	switch {
	case j.Src.Space != 0:
		in.Bytes = p.At(j.Src)
	case j.SameAs > 0: // the earlier job has waited for all scalars
		from := p.Steps[j.SameAs-1].(backend.Job)
		in.Bytes, in.Check = from.Bytes, j.Check || from.Check
	}
	at, _ := layout.Range(in.Bytes)
	total := b.Kept.Kernel.NewSum()
	for lo := 0; lo < j.Count; lo += p.Chunk {
		hi := min(lo+p.Chunk, j.Count)
		if err := backend.Yield(ctx); err != nil {
			return nil, err
		}
		if err := in.Wait(ctx, hi); err != nil {
			return nil, err
		}
		points, scalars := b.Kept.Points[(j.Offset+lo)*point:(j.Offset+hi)*point], in.Bytes[lo*scalar:hi*scalar]
		add := func(scalars []byte) error {
			if in.Check {
				if i := FirstNotBelow(scalars, layout.ScalarField(b.Curve)); i >= 0 {
					return fmt.Errorf("%w: scalar %d is not below the order of %v", backend.ErrInvalidInput, lo+i, b.Curve)
				}
			}
			return total.Add(points, scalars)
		}
		switch {
		case j.Src.Space != 0: // the backend's own memory, which needs no copy
			err = p.Attempt(ctx, func() error { return add(scalars) })
		case p.mayEnd || at%8 != 0: // gnark-crypto's type must be aligned
			err = p.copies.add(ctx, p.Call, hi-lo, scalars, add)
		default:
			err = add(scalars)
		}
		if err != nil {
			return nil, err
		}
	}
	return total.Affine(), backend.Ended(ctx)
}
