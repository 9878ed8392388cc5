package msm

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc"
)

// DropIn is MultiExp as gnark-crypto has it, on an engine. Points that lie
// within a slice that was loaded (Group.Load) use the resident bases; others
// are loaded for the one call. Below Config.Threshold points, gnark-crypto
// itself computes.
type DropIn[P, S any] struct {
	g *Group[P, S]
	e *Engine
}

// On binds the group to an engine.
func (g *Group[P, S]) On(e *Engine) DropIn[P, S] { return DropIn[P, S]{g, e} }

// MultiExp sets p to the sum of scalars[i]*points[i] and returns it, like the
// method of that name of gnark-crypto's affine points. config.NbTasks is
// heeded where gnark-crypto computes.
func (d DropIn[P, S]) MultiExp(p *P, points []P, scalars []S, config ecc.MultiExpConfig) (*P, error) {
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

// jacobianPoint is what gnark-crypto's Jacobian points share.
type jacobianPoint[P, J, S any] interface {
	*J
	FromAffine(*P) *J
	MultiExp([]P, []S, ecc.MultiExpConfig) (*J, error)
}

// MultiExpJac is d.MultiExp with a Jacobian result, like the method MultiExp of
// gnark-crypto's Jacobian points.
func MultiExpJac[P, J, S any, JP jacobianPoint[P, J, S]](d DropIn[P, S], j JP, points []P, scalars []S, config ecc.MultiExpConfig) (JP, error) {
	if d.small(len(points), len(scalars)) {
		return j.MultiExp(points, scalars, config)
	}
	sum, err := d.run(points, scalars)
	if err != nil {
		return nil, err
	}
	return j.FromAffine(&sum), nil
}

// small tells whether gnark-crypto computes: also for lengths that differ,
// whose error is its own.
func (d DropIn[P, S]) small(points, scalars int) bool {
	return points != scalars || points == 0 || points < d.e.cfg.Threshold
}

func (d DropIn[P, S]) run(pts []P, scalars []S) (P, error) {
	ctx := context.Background()
	if b := d.g.resident(d.e, pts); b != nil {
		defer b.h.p.Release()
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
