package cpu

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/consensys/gnark-crypto/ecc"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
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

// local is a backend in this process: it keeps bases, counts their uses,
// checks what is given and leaves the arithmetic to a kernel.
type local struct {
	info     backend.Info
	chunk    int
	parallel int // jobs computed at the same time, at most
	group    func(backend.Curve, backend.Group) kernel

	mu     sync.Mutex
	bases  map[backend.BasesID]*resident
	lastID backend.BasesID
	closed bool
	calls  sync.WaitGroup // loads and MSMs; none begins after closed
}

// resident is one set of bases.
type resident struct {
	backend.Loaded
	kernel kernel
	points []byte
	// Under local.mu:
	uses int
	// freed is made by FreeBases, and closed when the last use has ended.
	freed chan struct{}
}

func newLocal(name string, chunk, parallel int, group func(backend.Curve, backend.Group) kernel) *local {
	return &local{
		info: backend.Info{
			Name:    name,
			Version: "gnark-crypto " + gnarkVersion(),
			Devices: []backend.Device{device()},
			Curves:  backend.Curves(),
		},
		chunk:    chunk,
		parallel: parallel,
		group:    group,
		bases:    make(map[backend.BasesID]*resident),
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

// begin enters a call, unless the backend is closed; end leaves it.
func (l *local) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("%w: backend %s", backend.ErrClosed, l.info.Name)
	}
	l.calls.Add(1)
	return nil
}

func (l *local) end() { l.calls.Done() }

// caught turns a panic of this goroutine into an error. It is for deferring.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: panic: %v", backend.ErrUnsupported, p)
	}
}

func (l *local) LoadBases(ctx context.Context, b backend.Bases) (_ backend.BasesID, err error) {
	if err := l.begin(); err != nil {
		return 0, err
	}
	defer l.end()
	defer caught(&err)
	if err := ctx.Err(); err != nil {
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
	r := &resident{
		Loaded: backend.Loaded{Curve: b.Curve, Group: b.Group, Count: b.Count},
		kernel: l.group(b.Curve, b.Group),
		points: points,
	}
	if b.Hints.Check {
		if err := l.checkPoints(ctx, r); err != nil {
			return 0, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastID++
	l.bases[l.lastID] = r
	return l.lastID, nil
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
	at := 0
	for p, err := range b.All() {
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at += copy(points[at:], p)
	}
	return points, nil
}

// checkPoints refuses a coordinate that is not below q and a point off the curve.
func (l *local) checkPoints(ctx context.Context, r *resident) error {
	const part = 1 << 16
	size, fp := r.Curve.PointBytes(r.Group), r.Curve.FieldBytes()
	for lo := 0; lo < r.Count; lo += part {
		if err := ctx.Err(); err != nil {
			return err
		}
		points := r.points[lo*size : min(lo+part, r.Count)*size]
		i, err := firstNotBelow(points, fp, ids[r.Curve].BaseField())
		if err != nil {
			return err
		}
		if i >= 0 {
			return fmt.Errorf("%w: base %d of %v %v has a coordinate that is not below q", backend.ErrInvalidInput,
				lo+i*fp/size, r.Curve, r.Group)
		}
		if i, err = r.kernel.firstOffCurve(points); err != nil {
			return err
		}
		if i >= 0 {
			return fmt.Errorf("%w: base %d of %v %v is not on the curve", backend.ErrInvalidInput, lo+i, r.Curve, r.Group)
		}
	}
	return nil
}

func (l *local) FreeBases(ctx context.Context, id backend.BasesID) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.end()
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	r, ok := l.bases[id]
	if !ok {
		l.mu.Unlock()
		return fmt.Errorf("%w: bases %d are not loaded", backend.ErrInvalidInput, id)
	}
	if r.freed == nil {
		r.freed = make(chan struct{})
		l.release(r, 0)
	}
	freed := r.freed
	l.mu.Unlock()

	select {
	case <-freed:
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.bases, id)
		return nil
	case <-ctx.Done():
		return ctx.Err() // no new call gets the bases, and freeing can be asked for again
	}
}

// release ends some uses of r; the caller holds mu.
func (l *local) release(r *resident, uses int) {
	r.uses -= uses
	if r.uses == 0 && r.freed != nil {
		close(r.freed)
	}
}

func (l *local) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.calls.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.bases)
	return nil
}

func (l *local) MSM(ctx context.Context, jobs []backend.Job) (_ [][]byte, err error) {
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	defer caught(&err)
	bases, err := l.use(jobs)
	if err != nil {
		return nil, err
	}
	defer l.unuse(bases)
	results := make([][]byte, len(jobs))
	if err := inTurns(ctx, chains(jobs), l.parallel, func(ctx context.Context, i int) (err error) {
		results[i], err = l.job(ctx, bases[i], &jobs[i], backend.Source(jobs, i))
		return err
	}); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
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
// The first error ends the others early. A job's error says which it was; of
// several it is that of the first job.
func inTurns(ctx context.Context, chains [][]int, n int, do func(context.Context, int) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		g     errgroup.Group
		mu    sync.Mutex
		first = -1
		err   error
	)
	g.SetLimit(n)
	for _, chain := range chains {
		g.Go(func() error {
			for _, i := range chain {
				one := func() (err error) {
					defer caught(&err)
					return do(inner, i)
				}()
				if one == nil {
					continue
				}
				mu.Lock()
				// What ended because another failed is not what went wrong.
				ended := inner.Err() != nil && ctx.Err() == nil && errors.Is(one, context.Canceled)
				if !ended && (first < 0 || i < first) {
					first, err = i, jobError(i, one)
				}
				cancel()
				mu.Unlock()
				return nil
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in err
	return err
}

// jobError says which job failed, unless the caller ended the call.
func jobError(i int, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("job %d: %w", i, err)
}

// use validates a batch and counts a use of the bases of every job.
func (l *local) use(jobs []backend.Job) ([]*resident, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := backend.CheckJobs(jobs, func(id backend.BasesID) (backend.Loaded, bool) {
		r, ok := l.bases[id]
		if !ok || r.freed != nil {
			return backend.Loaded{}, false
		}
		return r.Loaded, true
	})
	if err != nil {
		return nil, err
	}
	used := make([]*resident, len(jobs))
	for i := range jobs {
		used[i] = l.bases[jobs[i].Bases]
		used[i].uses++
	}
	return used, nil
}

func (l *local) unuse(bases []*resident) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range bases {
		l.release(r, 1)
	}
}

// job computes one MSM, chunk by chunk. src is the job that has the scalars.
func (l *local) job(ctx context.Context, r *resident, j, src *backend.Job) ([]byte, error) {
	point, scalar := r.Curve.PointBytes(r.Group), r.Curve.ScalarBytes()
	bounce := newBounce(src.Scalars, min(l.chunk, j.Count)*scalar)
	defer clear(bounce)
	total := r.kernel.newSum()
	for lo := 0; lo < j.Count; lo += l.chunk {
		hi := min(lo+l.chunk, j.Count)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if src == j { // otherwise all scalars were there for the earlier job
			if err := j.Wait(ctx, hi); err != nil {
				return nil, err
			}
		}
		scalars := src.Scalars[lo*scalar : hi*scalar]
		if bounce != nil {
			scalars = bounce[:copy(bounce, scalars)]
		}
		if j.Check || src.Check {
			i, err := firstNotBelow(scalars, scalar, ids[r.Curve].ScalarField())
			if err != nil {
				return nil, err
			}
			if i >= 0 {
				return nil, fmt.Errorf("%w: scalar %d is not below the order of %v", backend.ErrInvalidInput, lo+i, r.Curve)
			}
		}
		if err := total.add(r.points[(j.Offset+lo)*point:(j.Offset+hi)*point], scalars); err != nil {
			return nil, err
		}
	}
	return total.affine(), nil
}

// newBounce is memory for size bytes of scalars that are not aligned for
// gnark-crypto's type; nil when they are.
func newBounce(scalars []byte, size int) []byte {
	if lo, _ := layout.Range(scalars); lo%8 == 0 {
		return nil
	}
	return layout.Bytes(make([]uint64, size/8))
}

// ids has gnark-crypto's number of each curve, which knows its moduli.
var ids = [...]ecc.ID{
	backend.BN254:    ecc.BN254,
	backend.BLS12377: ecc.BLS12_377,
	backend.BLS12381: ecc.BLS12_381,
	backend.BW6761:   ecc.BW6_761,
}
