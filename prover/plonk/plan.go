package plonk

import "github.com/pippin-zk/pippin/vector"

// size is what the memory of a circuit's proofs depends on.
type size struct {
	n           int // rows, a power of two
	pieces      int // cosets of n values on which the quotient is computed
	commitments int
	solved      int // values that the host sends, from which polynomials are put together
}

// sizeOf returns the size for n rows, a power of two. The quotient has 3n + 6 coefficients: n for each of
// three cosets, and six that stand on their own, see overhang. In the smallest circuits these would overlap, and
// there are as many cosets as all coefficients take.
func sizeOf(n, commitments int) size {
	if n < 2*topsEach {
		return size{n: n, pieces: (3*(n+2) + n - 1) / n, commitments: commitments}
	}
	return size{n: n, pieces: 3, commitments: commitments}
}

// Elements returns how many elements of the scalar field lie where a backend computes, for
// a circuit of n rows, a power of two, that makes so many commitments and has at most 4 n wires. key stay with a key
// and its constraint system, proof with each proof in flight.
func Elements(n, commitments int) (key, proof int) {
	s := sizeOf(n, commitments)
	_, key = planKey(s, vector.Vector[struct{}]{})
	key += (3 + commitments) * (n + 7) / 8 // keyVectors.places, of four bytes, eight in an element or more
	_, proof = planProof(s, vector.Vector[struct{}]{})
	return key, proof
}

// plan cuts a vector into parts that follow one another, or counts what they need.
type plan[S comparable] struct {
	all vector.Vector[S] // of nothing while counting
	at  int
}

// take cuts the next n elements off.
func (p *plan[S]) take(n int) vector.Vector[S] {
	p.at += n
	return p.all.Slice(p.at-n, p.at)
}

// cut returns the i-th of the vectors of n elements that follow one another in v.
func cut[S comparable](v vector.Vector[S], i, n int) vector.Vector[S] { return v.Slice(i*n, (i+1)*n) }

// The polynomials of a key, in their order in memory. Those of the commitments follow.
// Qk comes first: it is not complete without a proof's public values, and so has no
// values on cosets.
const (
	left = iota
	right
	product
	output
	sigma1
	sigma2
	sigma3
	columns
	fixed = -1
)

// keyVectors are a key's polynomials where a backend computes.
type keyVectors[S comparable] struct {
	size
	coefficients vector.Vector[S]   // of all, reversed
	values       []vector.Vector[S] // of all but Qk on each coset
	first        vector.Vector[S]   // values of the first Lagrange polynomial on every coset
	sigma        vector.Vector[S]   // values of S1 to S3
	fixed        vector.Vector[S]   // values of Qk
	roots        vector.Vector[S]   // all n-th roots of unity, in order

	// places say where the values of L, R, O and each commitment are: among all wires' (assignment.Columns), or the
	// commitment's (shape.committedPlaces).
	places []vector.Indices[S]
}

// planKey cuts a key's vectors from all, and counts the elements that they need.
func planKey[S comparable](s size, all vector.Vector[S]) (k *keyVectors[S], count int) {
	p := plan[S]{all: all}
	k = &keyVectors[S]{size: s}
	k.coefficients = p.take((1 + columns + s.commitments) * s.n)
	for range s.pieces {
		k.values = append(k.values, p.take((columns+s.commitments)*s.n))
	}
	k.first = p.take(s.pieces * s.n)
	k.sigma = p.take(3 * s.n)
	k.fixed = p.take(s.n)
	k.roots = p.take(s.n)
	return k, p.at
}

// polynomial returns the coefficients of one of the key's polynomials.
func (k *keyVectors[S]) polynomial(i int) vector.Vector[S] { return cut(k.coefficients, 1+i, k.n) }

// on returns the values of one of the key's polynomials on a coset.
func (k *keyVectors[S]) on(coset, i int) vector.Vector[S] { return cut(k.values[coset], i, k.n) }

// The polynomials of a proof, in their order in memory. Those that the circuit commits to
// follow.
const (
	wireL = iota
	wireR
	wireO
	ratio    // Z, the running product of the permutation argument
	constant // Qk with the proof's public values
	wires
)

// proofVectors are a proof's vectors, beside the key's.
type proofVectors[S comparable] struct {
	size
	polynomials vector.Vector[S] // values, then coefficients, reversed
	values      vector.Vector[S] // of them on a coset; the commitments take turns
	parts       vector.Vector[S] // the quotient's values on all cosets, then its remainders' coefficients
	blinds      vector.Vector[S] // what the host sends to be added to a few coefficients
	tops        vector.Vector[S] // a few coefficients of L, R, O, Z and S1 to S3

	// In the memory of values, before they are computed:
	solved vector.Vector[S] // values of wires, then those of each commitment

	// In the memory of values, when they are not needed any more:
	quotient vector.Vector[S] // its 3 (n+2) coefficients

	// In the memory of parts, when they are not needed any more:
	shifted vector.Vector[S] // Z, blinded, its n+3 coefficients in order
	opened  vector.Vector[S] // what is opened at zeta, as many
	sum     vector.Vector[S] // n
}

// blindCounts are how many coefficients blind the polynomials from L to Z.
var blindCounts = [...]int{wireL: 2, wireR: 2, wireO: 2, ratio: 3}

// blindElements is their sum.
const blindElements = 9

// planProof cuts a proof's vectors from all, and counts the elements that they need.
func planProof[S comparable](s size, all vector.Vector[S]) (v *proofVectors[S], count int) {
	p := plan[S]{all: all}
	v = &proofVectors[S]{size: s}
	v.polynomials = p.take((wires + s.commitments) * s.n)
	v.values = p.take(max((wires+min(1, s.commitments))*s.n, 3*(s.n+2), s.solved))
	v.parts = p.take(max(s.pieces*s.n, 3*(s.n+3)))
	v.blinds = p.take((s.pieces + 2) * blindElements)
	v.tops = p.take(topsOf * topsEach)
	v.solved = v.values.Slice(0, s.solved)
	v.quotient = v.values.Slice(0, 3*(s.n+2))
	v.shifted, v.opened, v.sum = cut(v.parts, 0, s.n+3), cut(v.parts, 1, s.n+3), cut(v.parts, 2, s.n+3).Slice(0, s.n)
	return v, p.at
}

// polynomial returns one of the proof's polynomials.
func (v *proofVectors[S]) polynomial(i int) vector.Vector[S] { return cut(v.polynomials, i, v.n) }

// on returns the values of a polynomial on the coset that is worked on.
func (v *proofVectors[S]) on(i int) vector.Vector[S] { return cut(v.values, min(i, wires), v.n) }

// part returns the values of the quotient on a coset.
func (v *proofVectors[S]) part(coset int) vector.Vector[S] { return cut(v.parts, coset, v.n) }

// blind returns a row of what is added to a polynomial's coefficients.
func (v *proofVectors[S]) blind(row, polynomial int) vector.Vector[S] {
	at := row * blindElements
	for _, c := range blindCounts[:polynomial] {
		at += c
	}
	return v.blinds.Slice(at, at+blindCounts[polynomial])
}
