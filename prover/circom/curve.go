package circom

import (
	"context"
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/circom/internal/file"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/vector"
)

// curve connects gnark-crypto's types of one curve to the algorithm, which is written once for all
// curves. Each generated file has one value.
type curve[P1, P2 any, S comparable] struct {
	g1 *group.Ops[P1, S]
	g2 *group.Ops[P2, S]
	fr *group.Field[S]
	// vectors computes over the same field on a backend.
	vectors *vector.Field[S]
	// solver adds up rows of matrices.
	solver *assignment.Solver[S]
	// generator returns gnark-crypto's root of unity of an order.
	generator func(order uint64) (S, error)
	// pairing reports whether the product of pairings is 1.
	pairing func([]P1, []P2) (bool, error)
	// domain makes the transforms of a size in this process.
	domain func(size int, shift S) *group.Domain[S]
}

// binding is what a Key needs from a curve.
type binding interface {
	// load loads a key into an engine.
	load(context.Context, *engine.Engine, *keyOptions, *file.Key) (scheme, error)
	// verify verifies a proof.
	verify(*VerifyingKey, *Proof) error
}

// scheme is a key in an engine, without its types.
type scheme interface {
	// prove makes a proof of the values of all wires, without a look at it.
	prove(ctx context.Context, values []byte) (*Proof, error)
	// verify verifies a proof.
	verify(*Proof) error
	// in loads the same key into another engine.
	in(context.Context, *engine.Engine) (scheme, error)
	// verifyingKey returns the verifying key.
	verifyingKey() *VerifyingKey
	// constraints returns the number of constraints.
	constraints() int
	// fresh reports whether nobody has contributed to the key.
	fresh() bool
	Close() error
}

// id returns gnark-crypto's number of the curve.
func (c *curve[P1, P2, S]) id() ecc.ID { return curves.ID(c.vectors.Curve()) }

// generatorOfRoots is the number whose powers are snarkjs's roots of unity on every curve: that of
// order n is 5^((r-1)/n). gnark-crypto's are those of 7 on BLS12-381.
const generatorOfRoots = 5

// root returns snarkjs's root of unity of order 2^power.
func (c *curve[P1, P2, S]) root(power int) (w S) {
	r := c.vectors.Curve().ScalarField()
	e := new(big.Int).Sub(r, big.NewInt(1))
	e.Rsh(e, uint(power))
	c.fr.SetBig(&w, e.Exp(big.NewInt(generatorOfRoots), e, r))
	return w
}

// step returns the odd k below n for which snarkjs's root of unity of order n, a power of two, is
// gnark-crypto's to the power of k. What snarkjs has at place i is at place k i mod n of
// gnark-crypto's domains.
func (c *curve[P1, P2, S]) step(n int) (int, error) {
	g, err := c.generator(uint64(n))
	if err != nil {
		return 0, err
	}
	power := bits.TrailingZeros(uint(n))
	w, inverse, one := c.root(power), c.fr.Inverse(g), c.fr.One()
	// Bit i of k is whether what is left of w, after the bits below, has order 2^(power-i).
	k := 0
	for i := range power {
		left := c.fr.Product(w, c.fr.Power(inverse, k))
		if c.fr.Power(left, 1<<(power-1-i)) != one {
			k |= 1 << i
		}
	}
	return k, nil
}
