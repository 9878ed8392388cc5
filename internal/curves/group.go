package curves

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Group makes points of one group.
type Group interface {
	// Generator returns gnark-crypto's generator, as one point.
	Generator() Points
	// New returns n affine points, all of them infinity.
	New(n int) Points
	// Points returns the affine points that lie in b, whose memory they are. It is
	// ErrInvalidInput if b is no whole number of points, or not aligned to 8 bytes.
	Points(b []byte) (Points, error)
	// Sums returns n points in Jacobian coordinates, all of them infinity.
	Sums(n int) Sums
	// SumsIn returns those that lie in b, as Points does.
	SumsIn(b []byte) (Sums, error)
}

// Points is affine points. Other arguments of this type are of the same group.
type Points interface {
	Len() int
	// Bytes returns the memory of all points.
	Bytes() []byte
	// Part returns the points from lo on, below hi. They share memory.
	Part(lo, hi int) Points
	OnCurve(i int) bool
	InSubgroup(i int) bool
	// Encode writes gnark-crypto's encoding of point i.
	Encode(i int, to []byte, as backend.Encoding)
	// Decode sets point i to the one that b encodes. The error says that b encodes none that
	// is on the curve, or that there are other bytes behind it. The subgroup is not checked.
	Decode(i int, b []byte) error
}

// Sums is points in Jacobian coordinates. Arguments are of the same group; a sum is named by
// its index. Different sums may be changed at the same time. What depends on scalars takes a time that does too.
type Sums interface {
	Len() int
	// Part returns the sums from lo on, below hi. They share memory.
	Part(lo, hi int) Sums
	// Clear sets all sums to infinity, and so wipes their memory.
	Clear()
	// Set sets sum i to point k.
	Set(i int, from Points, k int)
	// Add adds point k to sum i.
	Add(i int, from Points, k int)
	// Subtract subtracts point k from sum i.
	Subtract(i int, from Points, k int)
	// SetSum sets sum i to sum k of others.
	SetSum(i int, from Sums, k int)
	// AddSum adds sum k of others to sum i.
	AddSum(i int, from Sums, k int)
	// SubtractSum subtracts sum k of others from sum i.
	SubtractSum(i int, from Sums, k int)
	Double(i int)
	// Multiply multiplies sum i by a number.
	Multiply(i int, by *big.Int)
	// Rotate multiplies sum i by 1 + w, w as in package eisenstein. Only G1 of BN254 and BLS12-381 have it.
	Rotate(i int)
	// MSM sets sum i to the MSM of points and as many scalars, in gnark-crypto's memory
	// layout. At most tasks goroutines compute it; 0 lets gnark-crypto choose.
	MSM(i int, points Points, scalars Elements, tasks int) error
	// Affine sets as many points to the sums.
	Affine(to Points)
	// Point returns sum i as an affine point in new memory.
	Point(i int) []byte
}

// decoder is gnark-crypto's type Decoder.
type decoder interface {
	Decode(any) error
	BytesRead() int64
}

// group is a Group on gnark-crypto's types: P is an affine point, J one in Jacobian
// coordinates, S a scalar.
type group[P, J, S any, PP Affine[P, J], PJ summed[P, J, S]] struct {
	generator func() P
	encode    func(p *P, to []byte, as backend.Encoding)
	decoder   func(io.Reader) decoder
	batch     func([]J) []P // to affine; nil where gnark-crypto has none
	rotate    func(*J)      // nil where a group has none
}

// newGroup makes a Group of gnark-crypto's functions; they tell the types. C and U are the
// encodings.
func newGroup[P, J, S, C, U any, PP Affine[P, J], PJ summed[P, J, S]](
	generator func() P, _ func(PJ, []P, []S, ecc.MultiExpConfig) (*J, error), compressed func(*P) C, uncompressed func(*P) U,
	decoder func(io.Reader) decoder, batch func([]J) []P, rotate func(*J),
) Group {
	encode := func(p *P, to []byte, as backend.Encoding) {
		if as == backend.Compressed {
			copy(to, layout.Bytes([]C{compressed(p)}))
			return
		}
		copy(to, layout.Bytes([]U{uncompressed(p)}))
	}
	return &group[P, J, S, PP, PJ]{generator, encode, decoder, batch, rotate}
}

// points is Points on gnark-crypto's types.
type points[P, J, S any, PP Affine[P, J], PJ summed[P, J, S]] struct {
	in *group[P, J, S, PP, PJ]
	at []P
}

// sums is Sums on gnark-crypto's types.
type sums[P, J, S any, PP Affine[P, J], PJ summed[P, J, S]] struct {
	in *group[P, J, S, PP, PJ]
	at []J
}

func (g *group[P, J, S, PP, PJ]) Generator() Points {
	return &points[P, J, S, PP, PJ]{g, []P{g.generator()}}
}

func (g *group[P, J, S, PP, PJ]) New(n int) Points {
	return &points[P, J, S, PP, PJ]{g, make([]P, n)}
}

func (g *group[P, J, S, PP, PJ]) Points(b []byte) (Points, error) {
	at, err := layout.View[P](b)
	return &points[P, J, S, PP, PJ]{g, at}, err
}

func (g *group[P, J, S, PP, PJ]) Sums(n int) Sums {
	return &sums[P, J, S, PP, PJ]{g, make([]J, n)}
}

func (g *group[P, J, S, PP, PJ]) SumsIn(b []byte) (Sums, error) {
	at, err := layout.View[J](b)
	return &sums[P, J, S, PP, PJ]{g, at}, err
}

func (p *points[P, J, S, PP, PJ]) Len() int { return len(p.at) }

func (p *points[P, J, S, PP, PJ]) Bytes() []byte { return layout.Bytes(p.at) }

func (p *points[P, J, S, PP, PJ]) Part(lo, hi int) Points {
	return &points[P, J, S, PP, PJ]{p.in, p.at[lo:hi]}
}

func (p *points[P, J, S, PP, PJ]) OnCurve(i int) bool { return PP(&p.at[i]).IsOnCurve() }

func (p *points[P, J, S, PP, PJ]) InSubgroup(i int) bool { return PP(&p.at[i]).IsInSubGroup() }

func (p *points[P, J, S, PP, PJ]) Encode(i int, to []byte, as backend.Encoding) {
	p.in.encode(&p.at[i], to, as)
}

// errOther is a compressed point where an uncompressed one should be.
var errOther = errors.New("another encoding")

func (p *points[P, J, S, PP, PJ]) Decode(i int, b []byte) error {
	d := p.in.decoder(bytes.NewReader(b))
	if err := d.Decode(&p.at[i]); err != nil {
		return err
	}
	if d.BytesRead() != int64(len(b)) {
		return errOther
	}
	return nil
}

func (s *sums[P, J, S, PP, PJ]) Len() int { return len(s.at) }

func (s *sums[P, J, S, PP, PJ]) Part(lo, hi int) Sums {
	return &sums[P, J, S, PP, PJ]{s.in, s.at[lo:hi]}
}

func (s *sums[P, J, S, PP, PJ]) Clear() { clear(s.at) }

// point returns the address of an affine point.
func (s *sums[P, J, S, PP, PJ]) point(of Points, k int) *P {
	return &of.(*points[P, J, S, PP, PJ]).at[k]
}

// sum returns the address of another sum.
func (s *sums[P, J, S, PP, PJ]) sum(of Sums, k int) *J {
	return &of.(*sums[P, J, S, PP, PJ]).at[k]
}

func (s *sums[P, J, S, PP, PJ]) Set(i int, from Points, k int) {
	PJ(&s.at[i]).FromAffine(s.point(from, k))
}

func (s *sums[P, J, S, PP, PJ]) Add(i int, from Points, k int) {
	PJ(&s.at[i]).AddMixed(s.point(from, k))
}

func (s *sums[P, J, S, PP, PJ]) Subtract(i int, from Points, k int) {
	var negative P
	PP(&negative).Neg(s.point(from, k))
	PJ(&s.at[i]).AddMixed(&negative)
}

func (s *sums[P, J, S, PP, PJ]) SetSum(i int, from Sums, k int) { s.at[i] = *s.sum(from, k) }

func (s *sums[P, J, S, PP, PJ]) AddSum(i int, from Sums, k int) {
	PJ(&s.at[i]).AddAssign(s.sum(from, k))
}

func (s *sums[P, J, S, PP, PJ]) SubtractSum(i int, from Sums, k int) {
	PJ(&s.at[i]).SubAssign(s.sum(from, k))
}

func (s *sums[P, J, S, PP, PJ]) Double(i int) { PJ(&s.at[i]).DoubleAssign() }

func (s *sums[P, J, S, PP, PJ]) Multiply(i int, by *big.Int) {
	PJ(&s.at[i]).ScalarMultiplication(&s.at[i], by)
}

func (s *sums[P, J, S, PP, PJ]) Rotate(i int) { s.in.rotate(&s.at[i]) }

func (s *sums[P, J, S, PP, PJ]) MSM(i int, of Points, scalars Elements, tasks int) error {
	by, err := layout.View[S](scalars.Bytes())
	if err != nil {
		return err
	}
	if _, err := PJ(&s.at[i]).MultiExp(of.(*points[P, J, S, PP, PJ]).at, by, ecc.MultiExpConfig{NbTasks: tasks}); err != nil {
		return fmt.Errorf("%w: gnark-crypto: %w", backend.ErrInternal, err)
	}
	return nil
}

func (s *sums[P, J, S, PP, PJ]) Affine(to Points) {
	dst := to.(*points[P, J, S, PP, PJ]).at
	if s.in.batch != nil && len(s.at) > 1 {
		copy(dst, s.in.batch(s.at))
		return
	}
	for i := range s.at {
		PP(&dst[i]).FromJacobian(&s.at[i])
	}
}

func (s *sums[P, J, S, PP, PJ]) Point(i int) []byte {
	p := make([]P, 1)
	PP(&p[0]).FromJacobian(&s.at[i])
	return layout.Bytes(p)
}
