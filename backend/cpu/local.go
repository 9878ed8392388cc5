package cpu

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/internal/layout"
)

// kernel computes over one group. Points and scalars come as bytes that are
// whole elements, aligned to 8 bytes, and are only read.
type kernel interface {
	// newSum starts a sum at infinity.
	newSum() sum
	// firstOffCurve is the index of a point off the curve, or -1.
	firstOffCurve(points []byte) (int, error)
}

// sum adds up products.
type sum interface {
	// add adds the sum of scalars[i] * points[i].
	add(points, scalars []byte) error
	// affine is the sum as a point in new memory.
	affine() []byte
}

// local is a backend in this process: it keeps bases and spaces, checks what is
// given and leaves the arithmetic to a kernel and to what computes steps.
type local struct {
	info      backend.Info
	chunk     int // points that are computed at a time, at most
	parallel  int // jobs computed at the same time, at most
	group     func(backend.Curve, backend.Group) kernel
	field     func(backend.Curve) arithmetic
	operate   func(context.Context, *operation) error // on numbers
	residents *backendutil.Residents[kept, *space]
	copies    copies
	room      *room
	meter     backendutil.Meter
}

// kept is the points of one set of bases.
type kept struct {
	kernel kernel
	points []byte
}

type resident = backendutil.Resident[kept]

func newLocal(name string, chunk, parallel int, group func(backend.Curve, backend.Group) kernel, field func(backend.Curve) arithmetic, operate func(context.Context, *operation) error) *local {
	device := device()
	return &local{
		info: backend.Info{
			Name:      name,
			InProcess: true,
			Version:   "gnark-crypto " + gnarkVersion(),
			Devices:   []backend.Device{device},
			Can:       backend.Capabilities{MSM: backend.CurveGroups(), Vectors: backend.Curves(), Numbers: backend.NumberOps()},
		},
		chunk:     chunk,
		parallel:  parallel,
		group:     group,
		field:     field,
		operate:   operate,
		residents: backendutil.NewResidents[kept, *space](name),
		copies:    newCopies(),
		room:      newRoom(device.Memory),
	}
}

// gnarkVersion is the version of gnark-crypto in this program, or "unknown".
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

func (l *local) Info() backend.Info { return l.info }

func (l *local) Ping(ctx context.Context) error { return l.residents.Ping(ctx) }

func (l *local) Done() <-chan struct{} { return l.residents.Done() }

func (l *local) LoadBases(ctx context.Context, b backend.Bases) (_ backend.BasesID, err error) {
	end, err := l.residents.Begin()
	if err != nil {
		return 0, err
	}
	defer end()
	defer backendutil.Caught(&err)
	if err := backend.Ended(ctx); err != nil {
		return 0, err
	}
	if err := layout.Check(); err != nil {
		return 0, err
	}
	if err := b.Validate(); err != nil {
		return 0, err
	}
	points, err := l.own(ctx, &b)
	if err != nil {
		return 0, err
	}
	k := kept{kernel: l.group(b.Curve, b.Group), points: points}
	if b.Hints.Check {
		if err := k.check(ctx, &b); err != nil {
			return 0, err
		}
	}
	return l.residents.AddBases(backendutil.Loaded{Curve: b.Curve, Group: b.Group, Count: b.Count}, k), nil
}

// own is the points of b in memory: b.Bytes itself, or a copy of anything else.
func (l *local) own(ctx context.Context, b *backend.Bases) ([]byte, error) {
	if b.File == nil && b.Pieces == nil {
		_, err := layout.View[uint64](b.Bytes)
		return b.Bytes, err
	}
	if have := l.info.Devices[0].Memory; have > 0 && uint64(b.Size()) > have {
		return nil, fmt.Errorf("%w: %d bases of %v %v are %d bytes, the machine has %d", backend.ErrOutOfMemory,
			b.Count, b.Curve, b.Group, b.Size(), have)
	}
	points := layout.Bytes(make([]uint64, b.Size()/8))
	return points, b.Read(ctx, points)
}

// check refuses a coordinate that is not below q and a point off the curve.
func (k *kept) check(ctx context.Context, b *backend.Bases) error {
	const part = 1 << 16
	size, fp := b.Curve.PointBytes(b.Group), b.Curve.FieldBytes()
	for lo := 0; lo < b.Count; lo += part {
		if err := backend.Ended(ctx); err != nil {
			return err
		}
		points := k.points[lo*size : min(lo+part, b.Count)*size]
		if i := firstNotBelow(points, layout.BaseField(b.Curve)); i >= 0 {
			return fmt.Errorf("%w: base %d of %v %v has a coordinate that is not below q", backend.ErrInvalidInput,
				lo+i*fp/size, b.Curve, b.Group)
		}
		i, err := k.kernel.firstOffCurve(points)
		if err != nil {
			return err
		}
		if i >= 0 {
			return fmt.Errorf("%w: base %d of %v %v is not on the curve", backend.ErrInvalidInput, lo+i, b.Curve, b.Group)
		}
	}
	return nil
}

func (l *local) FreeBases(ctx context.Context, id backend.BasesID) error {
	end, err := l.residents.Begin()
	if err != nil {
		return err
	}
	defer end()
	return l.residents.FreeBases(ctx, id, func(kept) error { return nil })
}

func (l *local) Close() error {
	_, spaces, _ := l.residents.Close()
	for _, s := range spaces {
		_ = l.wipe(s) // has no error
	}
	return nil
}

// Usage implements backend.Metered. Calls wait for no turn.
func (l *local) Usage() backend.Usage {
	return backend.Usage{Devices: []backend.DeviceUsage{l.meter.Usage()}}
}

func (l *local) MSM(ctx context.Context, jobs []backend.Job) (_ [][]byte, err error) {
	end, err := l.residents.Begin()
	if err != nil {
		return nil, err
	}
	bases, err := l.residents.UseJobs(jobs)
	if err != nil {
		end()
		return nil, err
	}
	c := &call{copies: ctx.Done() != nil}
	l.meter.Begin(0)
	defer c.ended(func() { l.meter.End(); l.residents.EndJobs(bases); end() })
	defer backendutil.Caught(&err)
	results := make([][]byte, len(jobs))
	if err := inTurns(ctx, chains(jobs), l.parallel, func(ctx context.Context, i int) (err error) {
		defer backendutil.Caught(&err)
		results[i], err = l.job(ctx, c, bases[i], &jobs[i], backendutil.Source(jobs, i))
		return err
	}); err != nil {
		return nil, err
	}
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}
	return results, nil
}

// chains groups jobs by whose scalars they use: those of one chain are computed
// one after the other, since only the first of them waits for scalars.
func chains(jobs []backend.Job) [][]int {
	var list [][]int
	at := make([]int, len(jobs)) // the chain of each job
	for i := range jobs {
		if s := jobs[i].SameAs; s > 0 {
			at[i] = at[s-1]
			list[at[i]] = append(list[at[i]], i)
			continue
		}
		at[i] = len(list)
		list = append(list, []int{i})
	}
	return list
}

// inTurns calls do for the jobs of every chain, for at most n chains at a time.
// The first error is the answer, and ends the others early.
func inTurns(ctx context.Context, chains [][]int, n int, do func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(n)
	for _, chain := range chains {
		g.Go(func() error {
			for _, i := range chain {
				if err := do(ctx, i); err != nil {
					return jobError(i, err)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// jobError says which job failed, unless the caller ended the call.
func jobError(i int, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("job %d: %w", i, err)
}

// job computes one MSM, chunk by chunk. src is the job that has the scalars.
func (l *local) job(ctx context.Context, c *call, r *resident, j, src *backend.Job) ([]byte, error) {
	point, scalar := r.Curve.PointBytes(r.Group), r.Curve.ScalarBytes()
	at, _ := layout.Range(src.Scalars)
	copied := c.copies || at%8 != 0 // gnark-crypto's type is aligned
	total := r.Kept.kernel.newSum()
	for lo := 0; lo < j.Count; lo += l.chunk {
		hi := min(lo+l.chunk, j.Count)
		if err := backend.Ended(ctx); err != nil {
			return nil, err
		}
		if src == j { // otherwise all scalars were there for the earlier job
			if err := backendutil.Wait(ctx, j, hi); err != nil {
				return nil, err
			}
		}
		points, scalars := r.Kept.points[(j.Offset+lo)*point:(j.Offset+hi)*point], src.Scalars[lo*scalar:hi*scalar]
		add := func(scalars []byte) error {
			if j.Check || src.Check {
				if i := firstNotBelow(scalars, layout.ScalarField(r.Curve)); i >= 0 {
					return fmt.Errorf("%w: scalar %d is not below the order of %v", backend.ErrInvalidInput, lo+i, r.Curve)
				}
			}
			return total.add(points, scalars)
		}
		var err error
		if copied {
			err = l.copies.add(ctx, c, hi-lo, scalars, add)
		} else {
			err = add(scalars)
		}
		if err != nil {
			return nil, err
		}
	}
	return total.affine(), nil
}
