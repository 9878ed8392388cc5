package circom

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/circom/internal/file"
	"github.com/pippin-zk/pippin/prover/internal/proving"
)

// ErrNotVerified is wrapped by the error about a proof that is not right.
var ErrNotVerified = proving.ErrNotVerified

// Verify returns nil if a proof is right for its public signals. An error that wraps ErrNotVerified
// says that it is not; points that are not in their groups and another number of public signals are
// such errors too. Verify takes the key's points as they are; see Check.
func (vk *VerifyingKey) Verify(p *Proof) error {
	if p == nil {
		return fmt.Errorf("%w: no proof", backend.ErrInvalidInput)
	}
	b, err := vk.binding()
	if err != nil {
		return err
	}
	return b.verify(vk, p)
}

// Check returns an error that wraps backend.ErrInvalidInput if a point of the key is not in its
// group. It takes up to a tenth of a millisecond a public signal.
func (vk *VerifyingKey) Check() error {
	if _, err := vk.binding(); err != nil {
		return err
	}
	c, _ := curveOf(vk.Curve)
	for i, p := range append([]G1{vk.Alpha}, vk.IC...) {
		name := fmt.Sprintf("IC[%d]", i-1)
		if i == 0 {
			name = "alpha"
		}
		if err := checkPoint(c, backend.G1, p.coordinates(), name); err != nil {
			return err
		}
	}
	for name, p := range map[string]G2{"beta": vk.Beta, "gamma": vk.Gamma, "delta": vk.Delta} {
		if err := checkPoint(c, backend.G2, p.coordinates(), name); err != nil {
			return err
		}
	}
	return nil
}

// checkPoint returns an error if a verifying key's point is not in its group.
func checkPoint(c backend.Curve, g backend.Group, coordinates []*big.Int, name string) error {
	b, err := pointBytes(c, coordinates)
	if err == nil {
		err = inGroup(c, g, b)
	}
	if err != nil {
		return fmt.Errorf("%w: verifying key: %s: %w", backend.ErrInvalidInput, name, err)
	}
	return nil
}

// binding returns the binding of the key's curve.
func (vk *VerifyingKey) binding() (binding, error) {
	if vk == nil || len(vk.IC) == 0 {
		return nil, fmt.Errorf("%w: verifying key: it has no IC", backend.ErrInvalidInput)
	}
	b, ok := bindings[vk.Curve]
	if !ok {
		return nil, fmt.Errorf("%w: circom on the curve %v", backend.ErrUnsupported, vk.Curve)
	}
	return b, nil
}

// curveOf returns a curve by gnark-crypto's number, false for one without circom's circuits.
func curveOf(id ecc.ID) (backend.Curve, bool) {
	c, ok := curves.WithID(id)
	return c, ok && slices.Contains(file.Curves, c)
}

// coordinates returns the parts of the coordinates in the order of memory.
func (p G1) coordinates() []*big.Int { return []*big.Int{p.X, p.Y} }

func (p G2) coordinates() []*big.Int { return []*big.Int{p.X[0], p.X[1], p.Y[0], p.Y[1]} }

// pointBytes returns a point in memory layout: each part of a coordinate times R, little-endian.
func pointBytes(c backend.Curve, coordinates []*big.Int) ([]byte, error) {
	q, size := c.BaseField(), c.FieldBytes()
	var b []byte
	for _, x := range coordinates {
		if x == nil || x.Sign() < 0 || x.Cmp(q) >= 0 {
			return nil, errors.New("a coordinate is missing or not from 0 to q-1")
		}
		m := new(big.Int).Lsh(x, uint(8*size))
		part := m.Mod(m, q).FillBytes(make([]byte, size))
		slices.Reverse(part)
		b = append(b, part...)
	}
	return b, nil
}

// numbers returns the numbers that b has in Montgomery form modulo q.
func numbers(c backend.Curve, b []byte) (all []*big.Int) {
	q, size := c.BaseField(), c.FieldBytes()
	inverse := new(big.Int).Lsh(big.NewInt(1), uint(8*size))
	inverse.ModInverse(inverse, q)
	for part := range slices.Chunk(b, size) {
		x := littleEndian(part)
		all = append(all, x.Mod(x.Mul(x, inverse), q))
	}
	return all
}

// littleEndian returns the number of some bytes.
func littleEndian(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// g1Of returns a point in memory layout as coordinates.
func g1Of(c backend.Curve, b []byte) G1 {
	x := numbers(c, b)
	return G1{x[0], x[1]}
}

// g2Of does what g1Of does, in G2.
func g2Of(c backend.Curve, b []byte) G2 {
	x := numbers(c, b)
	return G2{[2]*big.Int{x[0], x[1]}, [2]*big.Int{x[2], x[3]}}
}

// verifier is a verifying key with its types as parameters.
type verifier[P1, P2 any, S comparable] struct {
	*curve[P1, P2, S]
	alpha              P1
	beta, gamma, delta P2
	ic                 []P1
}

// checkHeader refuses a key with a point of its header, one that verifying takes, that is not in its
// group.
func checkHeader(f *file.Key) error {
	for _, p := range []struct {
		name  string
		group backend.Group
		bytes []byte
	}{
		{"alpha1", backend.G1, f.Alpha1}, {"beta2", backend.G2, f.Beta2},
		{"gamma2", backend.G2, f.Gamma2}, {"delta2", backend.G2, f.Delta2},
	} {
		if err := inGroup(f.Curve, p.group, p.bytes); err != nil {
			return refuse("zkey: section 2: %s: %w", p.name, err)
		}
	}
	return nil
}

// verifierOf returns the verifying key of a key, whose points it checks.
func (c *curve[P1, P2, S]) verifierOf(f *file.Key) (*verifier[P1, P2, S], error) {
	v := &verifier[P1, P2, S]{curve: c, ic: make([]P1, f.IC.Count)}
	if err := f.IC.Read(layout.Bytes(v.ic), 0); err != nil {
		return nil, err
	}
	for i := range v.ic {
		if inGroup(f.Curve, backend.G1, layout.Bytes(v.ic[i:i+1])) != nil {
			return nil, f.IC.Refuse(i, "is not in the group")
		}
	}
	if err := checkHeader(f); err != nil {
		return nil, err
	}
	v.alpha = point[P1](f.Alpha1)
	v.beta, v.gamma, v.delta = point[P2](f.Beta2), point[P2](f.Gamma2), point[P2](f.Delta2)
	return v, nil
}

// verifyingKey returns the key without its types.
func (v *verifier[P1, P2, S]) verifyingKey() *VerifyingKey {
	c := v.vectors.Curve()
	of2 := func(p P2) G2 { return g2Of(c, layout.Bytes([]P2{p})) }
	vk := &VerifyingKey{Curve: v.id(), Alpha: g1Of(c, layout.Bytes([]P1{v.alpha}))}
	vk.Beta, vk.Gamma, vk.Delta = of2(v.beta), of2(v.gamma), of2(v.delta)
	for i := range v.ic {
		vk.IC = append(vk.IC, g1Of(c, layout.Bytes(v.ic[i:i+1])))
	}
	return vk
}

// set sets a point to coordinates, which must be below q.
func set[P any](c backend.Curve, to *P, coordinates []*big.Int) error {
	b, err := pointBytes(c, coordinates)
	if err == nil {
		*to = point[P](b)
	}
	return err
}

// verify verifies a proof with a key that has no types yet.
func (c *curve[P1, P2, S]) verify(vk *VerifyingKey, p *Proof) error {
	v := &verifier[P1, P2, S]{curve: c, ic: make([]P1, len(vk.IC))}
	on := c.vectors.Curve()
	errs := []error{
		set(on, &v.alpha, vk.Alpha.coordinates()), set(on, &v.beta, vk.Beta.coordinates()),
		set(on, &v.gamma, vk.Gamma.coordinates()), set(on, &v.delta, vk.Delta.coordinates()),
	}
	for i := range vk.IC {
		errs = append(errs, set(on, &v.ic[i], vk.IC[i].coordinates()))
	}
	if err := cmp.Or(errs...); err != nil {
		return fmt.Errorf("%w: verifying key: %w", backend.ErrInvalidInput, err)
	}
	return v.verify(p)
}

// refused says why a proof is not right.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrNotVerified, fmt.Errorf(format, args...))
}

// verify verifies a proof:
//
//	e(A, B) = e(alpha, beta) e(IC_0 + sum x_i IC_i, gamma) e(C, delta)
func (v *verifier[P1, P2, S]) verify(p *Proof) error {
	if p.Curve != v.id() {
		return refused("a proof on the curve %v, the key is on %v", p.Curve, v.id())
	}
	if len(p.Public) != len(v.ic)-1 {
		return refused("%d public signals, the key has %d", len(p.Public), len(v.ic)-1)
	}
	c := v.vectors.Curve()
	var points [3][]byte
	for i, part := range []struct {
		name        string
		group       backend.Group
		coordinates []*big.Int
	}{{"A", backend.G1, p.A.coordinates()}, {"B", backend.G2, p.B.coordinates()}, {"C", backend.G1, p.C.coordinates()}} {
		b, err := pointBytes(c, part.coordinates)
		if err == nil {
			err = inGroup(c, part.group, b)
		}
		if err != nil {
			return refused("%s: %w", part.name, err)
		}
		points[i] = b
	}
	sum, err := v.sum(p.Public)
	if err != nil {
		return err
	}
	minusA := point[P1](points[0])
	v.g1.Neg(&minusA)
	ok, err := v.pairing([]P1{minusA, sum, point[P1](points[2]), v.alpha}, []P2{point[P2](points[1]), v.gamma, v.delta, v.beta})
	if err != nil {
		return fmt.Errorf("%w: gnark-crypto: %w", backend.ErrInternal, err)
	}
	if !ok {
		return ErrNotVerified
	}
	return nil
}

// sum returns IC_0 + sum x_i IC_i.
func (v *verifier[P1, P2, S]) sum(public []*big.Int) (sum P1, err error) {
	c := v.vectors.Curve()
	r := c.ScalarField()
	x := make([]S, 1+len(public))
	x[0] = v.fr.One()
	for i, value := range public {
		if value == nil || value.Sign() < 0 || value.Cmp(r) >= 0 {
			return sum, refused("public signal %d is missing or not from 0 to r-1", i)
		}
		v.fr.SetBig(&x[i+1], value)
	}
	total := curves.MSMsOf(c, backend.G1).NewTotal(0)
	if err := total.Add(layout.Bytes(v.ic), layout.Bytes(x)); err != nil {
		return sum, err
	}
	return point[P1](total.Affine()), nil
}
