package msm

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// DropIn has gnark-crypto's MultiExp, computed on an engine. If the points lie within a slice that
// was loaded (Group.Load), it uses the resident bases; others are loaded for the one call. Below
// engine.Config.Threshold points gnark-crypto itself computes.
type DropIn[P, S any] struct {
	g   *Group[P, S]
	e   *engine.Engine
	err error // why there is no engine

	threshold int
}

// On binds the group to an engine.
func (g *Group[P, S]) On(e *engine.Engine) DropIn[P, S] {
	err := usable(e)
	return DropIn[P, S]{g: g, e: e, err: err, threshold: e.Config().Threshold}
}

// MultiExp sets p to the sum of scalars[i]*points[i] and returns p, like the method of that name of
// gnark-crypto's affine points. config.NbTasks counts only where gnark-crypto computes.
func (d DropIn[P, S]) MultiExp(p *P, points []P, scalars []S, config ecc.MultiExpConfig) (*P, error) {
	if d.g == nil {
		return nil, errNoDropIn()
	}
	if d.small(len(points), len(scalars)) {
		if err := d.g.multiExp(p, points, scalars, config); err != nil {
			return nil, err
		}
		return p, nil
	}
	sum, err := d.run(points, scalars)
	if err != nil {
		return nil, err
	}
	*p = sum
	return p, nil
}

// jacobian is a Jacobian point type of gnark-crypto with MSMs.
type jacobian[P, J, S any] interface {
	curves.Jacobian[P, J]
	MultiExp([]P, []S, ecc.MultiExpConfig) (*J, error)
}

// MultiExpJac does what d.MultiExp does and sets a Jacobian point, like the method MultiExp of
// gnark-crypto's Jacobian points.
func MultiExpJac[P, J, S any, JP jacobian[P, J, S]](d DropIn[P, S], j JP, points []P, scalars []S, config ecc.MultiExpConfig) (JP, error) {
	if d.g == nil {
		return nil, errNoDropIn()
	}
	if d.small(len(points), len(scalars)) {
		return j.MultiExp(points, scalars, config)
	}
	sum, err := d.run(points, scalars)
	if err != nil {
		return nil, err
	}
	return j.FromAffine(&sum), nil
}

// within returns the index in b at which pts begin, or -1 if they are not part of b. Comparing
// addresses is enough: loaded slices do not change and stay reachable, so that no other points can
// have their memory.
func (g *Group[P, S]) within(b *backend.Bases, pts []P) int {
	if b.Curve != g.curve || b.Group != g.group || len(b.Bytes) == 0 {
		return -1
	}
	lo, hi := layout.Range(pts)
	from, to := layout.Range(b.Bytes)
	size := uintptr(g.curve.PointBytes(g.group))
	if lo < from || hi > to || (lo-from)%size != 0 {
		return -1
	}
	return int((lo - from) / size)
}

func errNoDropIn() error {
	return fmt.Errorf("%w: a drop-in that Group.On did not make", backend.ErrInvalidInput)
}

// small reports whether gnark-crypto computes. It also does if the lengths differ, so that the
// caller gets gnark-crypto's own error.
func (d DropIn[P, S]) small(points, scalars int) bool {
	return points != scalars || points == 0 || points < d.threshold
}

func (d DropIn[P, S]) run(pts []P, scalars []S) (P, error) {
	ctx := context.Background()
	if d.err != nil {
		var zero P
		return zero, d.err
	}
	if found, at := d.e.Find(func(b *backend.Bases) int { return d.g.within(b, pts) }); found != nil {
		defer found.Release()
		b := &Bases[P, S]{g: d.g, e: d.e, h: &handle{found}, start: at, end: at + len(pts)}
		return b.MSM(ctx, scalars)
	}
	b, err := d.g.Load(ctx, d.e, pts)
	if err != nil {
		var zero P
		return zero, err
	}
	defer b.Close()
	return b.MSM(ctx, scalars)
}
