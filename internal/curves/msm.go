package curves

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// MSMs computes MSMs over one group. Points and scalars come as bytes that are whole
// elements, aligned to 8 bytes, and are only read.
//
// It is apart from Group, which has MSMs too, for the programs that compute nothing else: what
// they do not call is not linked into them.
type MSMs interface {
	// NewTotal starts a sum at infinity, whose MSMs take at most tasks goroutines; 0 lets
	// gnark-crypto choose.
	NewTotal(tasks int) Total
	// OnCurve returns how many points there are, and what reports whether point i is on the
	// curve.
	OnCurve(points []byte) (n int, onCurve func(i int) bool, err error)
	// check compares the group's types with the layout that backend describes.
	check(c backend.Curve, g backend.Group) error
}

// Total adds up products.
type Total interface {
	// Add adds the sum of scalars[i] * points[i].
	Add(points, scalars []byte) error
	// Affine returns the sum as a point in new memory.
	Affine() []byte
}

// summed is a Jacobian point that has MSMs of affine points P and scalars S. In a woven program
// gnark-crypto's MultiExp asks an engine. So "msm weave" changes the calls in this package, and
// the method here, to the function that gnark-crypto had before; no other package may use it.
type summed[P, J, S any] interface {
	Jacobian[P, J]
	MultiExp([]P, []S, ecc.MultiExpConfig) (*J, error)
}

// msms is MSMs on gnark-crypto's types: P is an affine point, J one in Jacobian coordinates,
// S a scalar.
type msms[P, J, S any, PP Affine[P, J], PJ summed[P, J, S]] struct{ generator func() P }

// newMSMs makes MSMs of gnark-crypto's functions; they tell the types.
func newMSMs[P, J, S any, PP Affine[P, J], PJ summed[P, J, S]](generator func() P,
	_ func(PJ, []P, []S, ecc.MultiExpConfig) (*J, error)) MSMs {
	return msms[P, J, S, PP, PJ]{generator}
}

func (m msms[P, J, S, PP, PJ]) NewTotal(tasks int) Total {
	return &total[P, J, S, PP, PJ]{config: ecc.MultiExpConfig{NbTasks: tasks}}
}

func (m msms[P, J, S, PP, PJ]) OnCurve(points []byte) (int, func(i int) bool, error) {
	p, err := layout.View[P](points)
	return len(p), func(i int) bool { return PP(&p[i]).IsOnCurve() }, err
}

// total is a sum in Jacobian form.
type total[P, J, S any, PP Affine[P, J], PJ summed[P, J, S]] struct {
	at     J
	config ecc.MultiExpConfig
}

func (t *total[P, J, S, PP, PJ]) Add(points, scalars []byte) error {
	p, err := layout.View[P](points)
	if err != nil {
		return err
	}
	s, err := layout.View[S](scalars)
	if err != nil {
		return err
	}
	var part J
	if _, err := PJ(&part).MultiExp(p, s, t.config); err != nil {
		return fmt.Errorf("%w: gnark-crypto: %w", backend.ErrInternal, err)
	}
	PJ(&t.at).AddAssign(&part)
	return nil
}

func (t *total[P, J, S, PP, PJ]) Affine() []byte {
	p := make([]P, 1)
	PP(&p[0]).FromJacobian(&t.at)
	return layout.Bytes(p)
}
