// Package randprog makes random programs and inputs for backends out of bytes, of which every value is a
// case, and runs programs over vectors on two backends to compare them.
package randprog

import (
	"math/big"
	"math/rand/v2"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
)

// Reader hands out the bytes of a case, zeros after their end.
type Reader struct{ data []byte }

// Read reads the case that data is.
func Read(data []byte) *Reader { return &Reader{data} }

// Bytes returns n random bytes.
func Bytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// Next returns the next byte.
func (r *Reader) Next() byte {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

// Below returns a number below n, which is at most 256.
func (r *Reader) Below(n int) int { return int(r.Next()) % n }

// Scalars returns n scalars of which edges are likely.
func (r *Reader) Scalars(c backend.Curve, n int) []byte {
	order, one := fixtures.Order(c), big.NewInt(1)
	var out []byte
	for i := range n {
		v := new(big.Int)
		switch r.Below(8) {
		case 0: // zero
		case 1:
			v.SetInt64(int64(r.Next()))
		case 2:
			v.Sub(order, big.NewInt(1+int64(r.Next())))
		case 3:
			v.Lsh(one, uint(r.Next())*2)
		case 4:
			v.Sub(v.Lsh(one, uint(r.Next())*2), one)
		case 5:
			rng := rand.New(rand.NewPCG(uint64(r.Next()), uint64(r.Next())))
			v.SetBytes(Bytes(rng, c.ScalarBytes()+8))
		case 6: // the scalar before
			if i > 0 {
				v = fixtures.ScalarValue(c, out[len(out)-c.ScalarBytes():])
			}
		case 7: // half of the order, and near it
			v.Add(v.Rsh(order, 1), big.NewInt(int64(r.Next())-128))
		}
		out = append(out, fixtures.Scalar(c, v)...)
	}
	return out
}
