// Package circomkeys makes proving keys (.zkey) and witnesses (.wtns) as snarkjs and circom do, for
// tests and measurements: without a ceremony, from secrets that everybody can compute. With them
// every proof can be computed by multiplying a generator, which is what Known does.
package circomkeys

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math/big"
	"math/bits"
	"slices"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/vector"
)

// Term is a wire times a factor.
type Term struct {
	Wire   int
	Factor int64
}

// Constraint says that the product of the sums A and B is the sum C.
type Constraint struct{ A, B, C []Term }

// Circuit is a circuit of circom. Wire 0 is 1, and the public signals follow it.
type Circuit struct {
	Curve         backend.Curve
	Wires, Public int
	// Constraints yields the same each time.
	Constraints iter.Seq[Constraint]
}

// Secrets are the numbers that a set-up must forget.
type Secrets struct{ Tau, Alpha, Beta, Delta *big.Int }

// KnownSecrets returns secrets that are no secrets: hashes of names.
func KnownSecrets(c backend.Curve) Secrets {
	secret := func(name string) *big.Int {
		h := sha256.Sum256([]byte("known to everybody: " + name))
		return new(big.Int).Mod(new(big.Int).SetBytes(h[:]), c.ScalarField())
	}
	return Secrets{secret("tau"), secret("alpha"), secret("beta"), secret("delta")}
}

// Known is what a set-up knew of a circuit.
type Known struct {
	Curve   backend.Curve
	Public  int
	Secrets Secrets
	// at returns the value at tau of a wire's polynomial A, B or C.
	at func(side, wire int) *big.Int
}

// Proof returns the factors by which the generators are multiplied to get the points A, B and C of
// the proof with the randomness r and s.
func (k *Known) Proof(values []*big.Int, r, s *big.Int) (a, b, c *big.Int) {
	order, x := k.Curve.ScalarField(), &k.Secrets
	times := func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }
	sums := [3]*big.Int{new(big.Int), new(big.Int), new(big.Int)} // A, B, C at tau
	private := new(big.Int)
	for i, w := range values {
		for side, sum := range sums {
			sum.Add(sum, times(w, k.at(side, i)))
		}
		if i > k.Public {
			part := times(x.Beta, k.at(0, i))
			part.Add(part, times(x.Alpha, k.at(1, i))).Add(part, k.at(2, i))
			private.Add(private, part.Mul(part, w))
		}
	}
	a = times(r, x.Delta)
	a.Add(a, x.Alpha).Add(a, sums[0]).Mod(a, order)
	b = times(s, x.Delta)
	b.Add(b, x.Beta).Add(b, sums[1]).Mod(b, order)
	c = times(sums[0], sums[1])
	c.Sub(c, sums[2]).Add(c, private).Mul(c, new(big.Int).ModInverse(x.Delta, order))
	c.Add(c, times(s, a)).Add(c, times(r, b)).Sub(c, times(times(r, s), x.Delta))
	return a, b, c.Mod(c, order)
}

// Witness returns the .wtns file of values, one for each wire.
func Witness(c backend.Curve, values []*big.Int) []byte {
	n := c.ScalarBytes()
	head := binary.LittleEndian.AppendUint32(nil, uint32(n))
	head = append(head, littleEndian(c.ScalarField(), n)...)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(values)))
	var all []byte
	for _, v := range values {
		all = append(all, littleEndian(v, n)...)
	}
	b := header("wtns", 2, 2)
	return append(append(b, Section(1, head)...), Section(2, all)...)
}

// header returns the begin of a file.
func header(kind string, version, sections uint32) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(kind), version)
	return binary.LittleEndian.AppendUint32(b, sections)
}

// Section returns a section of a file.
func Section(kind uint32, content []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(content)))
	return append(b, content...)
}

// littleEndian returns a number in n bytes.
func littleEndian(v *big.Int, n int) []byte {
	b := v.FillBytes(make([]byte, n))
	slices.Reverse(b)
	return b
}

// Write writes the .zkey file of a circuit. The engine multiplies the generators.
func Write(ctx context.Context, e *engine.Engine, to io.Writer, c *Circuit, s Secrets) (*Known, error) {
	switch c.Curve {
	case backend.BN254:
		return write[bn254.G1Affine, bn254.G2Affine, fr254.Element](ctx, e, to, c, s, msm.BN254G1, msm.BN254G2, vector.BN254)
	case backend.BLS12381:
		return write[bls12381.G1Affine, bls12381.G2Affine, fr381.Element](ctx, e, to, c, s, msm.BLS12381G1, msm.BLS12381G2, vector.BLS12381)
	}
	return nil, fmt.Errorf("%w: circom on %v", backend.ErrUnsupported, c.Curve)
}

// root returns snarkjs's root of unity of order 2^power.
func root(c backend.Curve, power int) *big.Int {
	r := c.ScalarField()
	e := new(big.Int).Sub(r, big.NewInt(1))
	return e.Exp(big.NewInt(5), e.Rsh(e, uint(power)), r)
}

// maker writes a key.
type maker[P1, P2 any, S comparable, PS curves.Scalar[S]] struct {
	*Circuit
	Secrets
	ctx    context.Context
	e      *engine.Engine
	g1     *msm.Group[P1, S]
	g2     *msm.Group[P2, S]
	field  *vector.Field[S]
	power  int // of the domain
	sides  [3][]S
	factor map[int64]S
	coding map[int64][]byte // factors as the file has them

	entries []byte
}

// write writes a key on one curve.
func write[P1, P2 any, S comparable, PS curves.Scalar[S]](ctx context.Context, e *engine.Engine, to io.Writer,
	c *Circuit, s Secrets, g1 *msm.Group[P1, S], g2 *msm.Group[P2, S], field *vector.Field[S]) (*Known, error) {
	constraints := 0
	for range c.Constraints {
		constraints++
	}
	m := &maker[P1, P2, S, PS]{Circuit: c, Secrets: s, ctx: ctx, e: e, g1: g1, g2: g2, field: field,
		power: max(1, bits.Len(uint(constraints+c.Public))), factor: map[int64]S{}, coding: map[int64][]byte{}}
	if err := m.evaluate(constraints); err != nil {
		return nil, err
	}
	if err := m.file(to); err != nil {
		return nil, err
	}
	at := func(side, wire int) *big.Int { return PS(&m.sides[side][wire]).BigInt(new(big.Int)) }
	return &Known{c.Curve, c.Public, s, at}, nil
}

// element returns a number as an element.
func (m *maker[P1, P2, S, PS]) element(v *big.Int) (x S) {
	PS(&x).SetBigInt(v)
	return x
}

// lagrange returns the values at tau of the Lagrange polynomials of the roots of unity of order
// 2^power: (tau^n - 1)/n * w^i/(tau - w^i).
func (m *maker[P1, P2, S, PS]) lagrange(power int) (all []S, err error) {
	n, r := 1<<power, m.Curve.ScalarField()
	share := new(big.Int).Exp(m.Tau, big.NewInt(int64(n)), r)
	share.Sub(share, big.NewInt(1)).Mul(share, new(big.Int).ModInverse(big.NewInt(int64(n)), r)).Mod(share, r)
	_, err = m.field.Repeat(m.ctx, m.e, 2*n, func(ctx context.Context, s *vector.Session[S]) error {
		x, y := s.New(n), s.New(n)
		p := s.Program()
		p.Powers(x, m.element(big.NewInt(1)), m.element(root(m.Curve, power)))
		p.Map(y, vector.Const(m.element(m.Tau)).Sub(x.Expr()))
		p.Invert(y, y)
		p.Map(y, y.Expr().Mul(x.Expr()).Scale(m.element(share)))
		read := p.Read(y)
		if err := p.Run(ctx); err != nil {
			return err
		}
		all = read.Get()
		return nil
	})
	return all, err
}

// evaluate computes the values at tau of the wires' polynomials, and the entries of A and B.
func (m *maker[P1, P2, S, PS]) evaluate(constraints int) error {
	l, err := m.lagrange(m.power)
	if err != nil {
		return err
	}
	for side := range m.sides {
		m.sides[side] = make([]S, m.Wires)
	}
	row := 0
	for c := range m.Constraints {
		for side, terms := range [...][]Term{c.A, c.B, c.C} {
			for _, t := range terms {
				m.add(side, row, t, &l[row])
			}
		}
		row++
	}
	for w := range m.Public + 1 { // rows that keep the public signals apart
		m.add(0, constraints+w, Term{w, 1}, &l[constraints+w])
	}
	return nil
}

// add adds a term of a row.
func (m *maker[P1, P2, S, PS]) add(side, row int, t Term, l *S) {
	f, ok := m.factor[t.Factor]
	if !ok {
		f = m.element(big.NewInt(t.Factor))
		m.factor[t.Factor] = f
		// The file has f R^2, which is what f R has in memory.
		r := m.element(new(big.Int).Lsh(big.NewInt(1), uint(8*m.Curve.ScalarBytes())))
		PS(&r).Mul(&r, &f)
		m.coding[t.Factor] = layout.Bytes([]S{r})
	}
	var x S
	PS(&x).Mul(&f, l)
	PS(&m.sides[side][t.Wire]).Add(&m.sides[side][t.Wire], &x)
	if side < 2 {
		for _, v := range []int{side, row, t.Wire} {
			m.entries = binary.LittleEndian.AppendUint32(m.entries, uint32(v))
		}
		m.entries = append(m.entries, m.coding[t.Factor]...)
	}
}

// multiples returns the products of a group's generator and scalars, in memory layout.
func multiples[P, S any](m context.Context, e *engine.Engine, g *msm.Group[P, S], scalars []S) ([]byte, error) {
	generator := make([]P, 1)
	copy(layout.Bytes(generator), curves.GroupOf(g.Curve(), g.Group()).Generator().Bytes())
	const most = 1 << 20 // at a time
	var all []byte
	for part := range slices.Chunk(scalars, most) {
		p, err := g.Multiples(m, e, generator[0], part)
		if err != nil {
			return nil, err
		}
		all = append(all, layout.Bytes(p)...)
	}
	return all, nil
}

// file writes the sections.
func (m *maker[P1, P2, S, PS]) file(to io.Writer) (err error) {
	one := func(scalars ...S) (b []byte) {
		if err == nil {
			b, err = multiples(m.ctx, m.e, m.g1, scalars)
		}
		return b
	}
	two := func(scalars ...S) (b []byte) {
		if err == nil {
			b, err = multiples(m.ctx, m.e, m.g2, scalars)
		}
		return b
	}
	alpha, beta, delta := m.element(m.Alpha), m.element(m.Beta), m.element(m.Delta)
	var inverse S
	PS(&inverse).Inverse(&delta)
	joined := make([]S, m.Wires) // (beta A + alpha B + C), divided by delta but for public wires
	for i := range joined {
		var x S
		PS(&joined[i]).Mul(&m.sides[0][i], &beta)
		PS(&x).Mul(&m.sides[1][i], &alpha)
		PS(&joined[i]).Add(&joined[i], &x)
		PS(&joined[i]).Add(&joined[i], &m.sides[2][i])
		if i > m.Public {
			PS(&joined[i]).Mul(&joined[i], &inverse)
		}
	}
	odd, err := m.lagrange(m.power + 1)
	if err != nil {
		return err
	}
	h := make([]S, 1<<m.power)
	for i := range h {
		PS(&h[i]).Mul(&odd[2*i+1], &inverse)
	}
	q, r := m.Curve.FieldBytes(), m.Curve.ScalarBytes()
	head := binary.LittleEndian.AppendUint32(nil, uint32(q))
	head = append(head, littleEndian(m.Curve.BaseField(), q)...)
	head = binary.LittleEndian.AppendUint32(head, uint32(r))
	head = append(head, littleEndian(m.Curve.ScalarField(), r)...)
	for _, v := range []int{m.Wires, m.Public, 1 << m.power} {
		head = binary.LittleEndian.AppendUint32(head, uint32(v))
	}
	head = slices.Concat(head, one(alpha, beta), two(beta, m.element(big.NewInt(1))), one(delta), two(delta))
	count := binary.LittleEndian.AppendUint32(nil, uint32(len(m.entries)/(3*4+r)))
	sections := [][]byte{
		{1, 0, 0, 0},
		head,
		one(joined[:m.Public+1]...),
		append(count, m.entries...),
		one(m.sides[0]...),
		one(m.sides[1]...),
		two(m.sides[1]...),
		one(joined[m.Public+1:]...),
		one(h...),
		make([]byte, 64+4), // the circuit's hash, and no contributions
	}
	if err != nil {
		return err
	}
	if _, err := to.Write(header("zkey", 1, uint32(len(sections)))); err != nil {
		return err
	}
	for i, s := range sections {
		b := binary.LittleEndian.AppendUint32(nil, uint32(i+1))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
		if _, err := to.Write(b); err != nil {
			return err
		}
		if _, err := to.Write(s); err != nil {
			return err
		}
	}
	return nil
}
