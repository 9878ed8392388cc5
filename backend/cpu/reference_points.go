package cpu

import (
	"bytes"
	"context"
	"io"
	"math/big"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/layout"
)

// referencePoints returns the arithmetic of a group for NewReference.
func referencePoints(e backend.Element) group {
	f := numbersOf(e.Curve)
	return [...][2]group{
		backend.BN254: {
			pointByPoint[bn254.G1Affine, bn254.G1Jac, *bn254.G1Affine, *bn254.G1Jac]{f, e, decode254},
			pointByPoint[bn254.G2Affine, bn254.G2Jac, *bn254.G2Affine, *bn254.G2Jac]{f, e, decode254},
		},
		backend.BLS12377: {
			pointByPoint[bls12377.G1Affine, bls12377.G1Jac, *bls12377.G1Affine, *bls12377.G1Jac]{f, e, decode377},
			pointByPoint[bls12377.G2Affine, bls12377.G2Jac, *bls12377.G2Affine, *bls12377.G2Jac]{f, e, decode377},
		},
		backend.BLS12381: {
			pointByPoint[bls12381.G1Affine, bls12381.G1Jac, *bls12381.G1Affine, *bls12381.G1Jac]{f, e, decode381},
			pointByPoint[bls12381.G2Affine, bls12381.G2Jac, *bls12381.G2Affine, *bls12381.G2Jac]{f, e, decode381},
		},
		backend.BW6761: {
			pointByPoint[bw6761.G1Affine, bw6761.G1Jac, *bw6761.G1Affine, *bw6761.G1Jac]{f, e, decode761},
			pointByPoint[bw6761.G2Affine, bw6761.G2Jac, *bw6761.G2Affine, *bw6761.G2Jac]{f, e, decode761},
		},
	}[e.Curve][e.Group-backend.G1]
}

// pointByPoint is the reference arithmetic of a group: products are double-and-add, every
// step is what its definition says, a transform n^2 products.
type pointByPoint[P, J any, PP local.Affine[P, J], PJ adder[P, J]] struct {
	numbers
	of      backend.Element
	decoder func(io.Reader) decoder
}

// addTimes adds k p to sum.
func (g pointByPoint[P, J, PP, PJ]) addTimes(sum *J, p *P, k *big.Int) {
	var product J
	for bit := k.BitLen() - 1; bit >= 0; bit-- {
		PJ(&product).DoubleAssign()
		if k.Bit(bit) == 1 {
			PJ(&product).AddMixed(p)
		}
	}
	PJ(sum).AddAssign(&product)
}

func (g pointByPoint[P, J, PP, PJ]) multiply(ctx context.Context, _ *local.Call, dst, src, scalars []byte, terms int) error {
	to, from, by := viewOf[P](dst), viewOf[P](src), g.list(scalars)
	if scalars == nil {
		by = []*big.Int{big.NewInt(1)}
	}
	results := make([]P, len(to))
	for j := range results {
		var sum J
		for i := range max(terms, 1) {
			if err := backend.Ended(ctx); err != nil {
				return err
			}
			at := j*max(terms, 1) + i
			g.addTimes(&sum, &from[at%len(from)], by[at%len(by)])
		}
		PP(&results[j]).FromJacobian(&sum)
	}
	copy(to, results)
	return nil
}

func (g pointByPoint[P, J, PP, PJ]) add(_ context.Context, dst []byte, plus, minus [][]byte) error {
	to := viewOf[P](dst)
	results := make([]P, len(to))
	for i := range results {
		var sum J
		for k, b := range slices.Concat(plus, minus) {
			sign := big.NewInt(1)
			if k >= len(plus) {
				sign.Sub(g.r, sign)
			}
			p := viewOf[P](b)
			g.addTimes(&sum, &p[i%len(p)], sign)
		}
		PP(&results[i]).FromJacobian(&sum)
	}
	copy(to, results)
	return nil
}

func (g pointByPoint[P, J, PP, PJ]) transform(ctx context.Context, _ *local.Call, dst, src []byte, t *backend.Transform) error {
	to, batch := viewOf[P](dst), max(t.Batch, 1)
	n := len(to) / batch
	w, shift, scale := g.root(n), big.NewInt(1), big.NewInt(1)
	if len(t.Shift) > 0 {
		shift = g.number(t.Shift)
	}
	if t.Inverse {
		w.ModInverse(w, g.r)
		shift.ModInverse(shift, g.r)
		scale.ModInverse(big.NewInt(int64(n)), g.r)
	}
	power := func(z *big.Int, e int) *big.Int { return new(big.Int).Exp(z, big.NewInt(int64(e)), g.r) }
	var all []P
	for in := range slices.Chunk(viewOf[P](src), len(src)/g.of.Bytes()/batch) {
		in = natural(slices.Clone(in), t.From)
		out := make([]P, n)
		for j := range out {
			var sum J
			for k := range in {
				if err := backend.Ended(ctx); err != nil {
					return err
				}
				factor := power(w, j*k)
				if t.Inverse {
					g.times(g.times(factor, power(shift, j)), scale)
				} else {
					g.times(factor, power(shift, k))
				}
				g.addTimes(&sum, &in[k], factor)
			}
			PP(&out[j]).FromJacobian(&sum)
		}
		all = append(all, natural(out, t.To)...)
	}
	copy(to, all)
	return nil
}

// coordinates returns the numbers of Fp that a point is made of: X and Y, each with its
// parts in order. They are not below q if the memory has such.
func (g pointByPoint[P, J, PP, PJ]) coordinates(b []byte) (v []*big.Int) {
	q := g.of.Curve.BaseField()
	inverse := new(big.Int).ModInverse(new(big.Int).Lsh(big.NewInt(1), uint(8*g.of.Curve.FieldBytes())), q)
	for e := range slices.Chunk(b, g.of.Curve.FieldBytes()) {
		e = slices.Clone(e)
		slices.Reverse(e)
		x := new(big.Int).SetBytes(e)
		if x.Cmp(q) < 0 {
			x.Mod(x.Mul(x, inverse), q)
		}
		v = append(v, x)
	}
	return v
}

func (g pointByPoint[P, J, PP, PJ]) check(_ context.Context, src []byte, subgroup bool) (bad, first int, err error) {
	p, q := viewOf[P](src), g.of.Curve.BaseField()
	for i := range p {
		valid := PP(&p[i]).IsOnCurve()
		for _, x := range g.coordinates(src[i*g.of.Bytes() : (i+1)*g.of.Bytes()]) {
			valid = valid && x.Cmp(q) < 0
		}
		if valid && subgroup {
			var product J
			var infinity, result P
			g.addTimes(&product, &p[i], g.r)
			PP(&result).FromJacobian(&product)
			valid = bytes.Equal(layout.Bytes([]P{result}), layout.Bytes([]P{infinity}))
		}
		if !valid {
			if bad == 0 {
				first = i
			}
			bad++
		}
	}
	return bad, first, nil
}

// decode takes what encodes to the same bytes.
func (g pointByPoint[P, J, PP, PJ]) decode(_ context.Context, dst, src []byte, as backend.Encoding) (int, error) {
	to, size := viewOf[P](dst), as.Bytes(g.of)
	again := make([]byte, size)
	for i := range to {
		b := src[i*size : (i+1)*size]
		if err := g.decoder(bytes.NewReader(b)).Decode(&to[i]); err != nil {
			return i, nil
		}
		if g.encoded(again, dst[i*g.of.Bytes():(i+1)*g.of.Bytes()], as); !bytes.Equal(again, b) {
			return i, nil
		}
	}
	return -1, nil
}

func (g pointByPoint[P, J, PP, PJ]) encode(_ context.Context, dst, src []byte, as backend.Encoding) error {
	size := as.Bytes(g.of)
	for i := range len(src) / g.of.Bytes() {
		g.encoded(dst[i*size:(i+1)*size], src[i*g.of.Bytes():(i+1)*g.of.Bytes()], as)
	}
	return nil
}

// encoded writes the point p in an encoding: big-endian coordinates, of each the last
// part first, with flags in the first bits. BN254 has two bits of room, the others have
// the three of the format of Zcash. Source: gnark-crypto, ecc/*/marshal.go.
func (g pointByPoint[P, J, PP, PJ]) encoded(dst, p []byte, as backend.Encoding) {
	flags := struct{ smallest, largest, infinity, plain byte }{0b100 << 5, 0b101 << 5, 0b110 << 5, 0b010 << 5}
	if g.of.Curve == backend.BN254 {
		flags.smallest, flags.largest, flags.infinity, flags.plain = 0b10<<6, 0b11<<6, 0b01<<6, 0
	}
	clear(dst)
	if bytes.Equal(p, make([]byte, len(p))) {
		if dst[0] = flags.plain; as == backend.Compressed {
			dst[0] = flags.infinity
		}
		return
	}
	v, fp := g.coordinates(p), g.of.Curve.FieldBytes()
	x, y := v[:len(v)/2], v[len(v)/2:]
	put := func(at int, parts []*big.Int) {
		for i, part := range parts {
			part.FillBytes(dst[at+(len(parts)-1-i)*fp:][:fp])
		}
	}
	put(0, x)
	if as == backend.Uncompressed {
		put(len(dst)/2, y)
		return
	}
	part := y[len(y)-1] // the last that is not zero says which of y and -y it is
	if part.Sign() == 0 {
		part = y[0]
	}
	flag := flags.smallest
	if new(big.Int).Lsh(part, 1).Cmp(g.of.Curve.BaseField()) > 0 {
		flag = flags.largest
	}
	dst[0] |= flag
}
