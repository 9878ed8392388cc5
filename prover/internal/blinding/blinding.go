// Package blinding joins the sums of a Groth16 proof with the randomness that hides the witness.
package blinding

import (
	"math/big"

	"github.com/pippin-zk/pippin/prover/internal/group"
)

// Key has the points of a proving key that every proof takes, and the arithmetic for them.
type Key[P1, P2, S any] struct {
	G1 *group.Ops[P1, S]
	G2 *group.Ops[P2, S]
	Fr *group.Field[S]

	Alpha, Beta, Delta P1
	Beta2, Delta2      P2
}

// Sums are the results of a proof's MSMs: over A, B in both groups, K, and the quotient's points Z.
// They are secret: whoever has them can check a guess of the witness.
type Sums[P1, P2 any] struct {
	A, B, K, Z P1
	B2         P2
}

// Blinding is the randomness that hides the witness: r, s, and multiples of delta. It is secret too.
type Blinding[P1, P2, S any] struct {
	rs      [2]S
	rDelta  P1
	sDelta2 P2
}

// Draw draws r and s, uniform below the order.
func (k *Key[P1, P2, S]) Draw(b *Blinding[P1, P2, S]) error {
	return k.Fr.Random(b.rs[:])
}

// Mask computes the multiples of delta. It needs no sum, so it can run beside the MSMs.
func (k *Key[P1, P2, S]) Mask(b *Blinding[P1, P2, S]) {
	r, s := k.Fr.Big(&b.rs[0]), k.Fr.Big(&b.rs[1])
	defer wipeInts(r, s)
	b.rDelta = k.G1.Sum(group.Term[P1]{Point: k.Delta, K: r})
	b.sDelta2 = k.G2.Sum(group.Term[P2]{Point: k.Delta2, K: s})
}

// wipeInts clears the memory of numbers.
func wipeInts(ks ...*big.Int) {
	for _, k := range ks {
		group.WipeInt(k)
	}
}

// Join computes the proof's three points:
//
//	A = alpha + sum a + r delta
//	B = beta + sum b + s delta
//	C = sum k + sum z + s A + r (beta + sum b)
//
// The last term of C is the same as r B - r s delta with B in G1, which takes two multiples of delta more.
func (k *Key[P1, P2, S]) Join(t *Sums[P1, P2], b *Blinding[P1, P2, S]) (pa P1, pb P2, pc P1) {
	r, s := k.Fr.Big(&b.rs[0]), k.Fr.Big(&b.rs[1])
	defer wipeInts(r, s)
	term := func(point P1, by *big.Int) group.Term[P1] { return group.Term[P1]{Point: point, K: by} }
	pa = k.G1.Sum(term(k.Alpha, nil), term(t.A, nil), term(b.rDelta, nil))
	b1 := k.G1.Sum(term(k.Beta, nil), term(t.B, nil))
	pb = k.G2.Sum(group.Term[P2]{Point: k.Beta2}, group.Term[P2]{Point: t.B2}, group.Term[P2]{Point: b.sDelta2})
	pc = k.G1.Sum(term(t.K, nil), term(t.Z, nil), term(pa, s), term(b1, r))
	return pa, pb, pc
}
