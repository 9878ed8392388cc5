package kzg

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	stock "github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// Sizes of EIP-7594, on BLS12-381: the consensus specification's
// polynomial-commitments-sampling.
const (
	blobScalars = 4096
	cellScalars = 64
	scalarBytes = 32
	// CellCount is the number of cells of a blob that is extended to twice its size.
	CellCount = 2 * blobScalars / cellScalars
	// LeastCells is how many cells of a blob are enough for all.
	LeastCells = CellCount / 2
)

type (
	// Blob is the values of a polynomial at the roots of unity of order 4096, in
	// reversed order, each a number below r in 32 bytes, big-endian.
	Blob [blobScalars * scalarBytes]byte
	// Cell is the values of a blob's polynomial at a coset of 64 roots of unity of order
	// 8192, encoded as a Blob is.
	Cell [cellScalars * scalarBytes]byte
	// Commitment is a point of G1 in gnark-crypto's compressed bytes, a KZGCommitment.
	Commitment [bls12381.SizeOfG1AffineCompressed]byte
	// Proof is a point of G1 in gnark-crypto's compressed bytes, a KZGProof.
	Proof [bls12381.SizeOfG1AffineCompressed]byte
)

// EthereumSetup is the points of Ethereum's trusted setup that cells need.
type EthereumSetup struct {
	powers   []bls12381.G1Affine // of the secret s
	lagrange []bls12381.G1Affine // in a blob's order
	// g2 is the generator, and the secret to the power of 64 times it.
	g2, shifted bls12381.G2Affine

	domain   *fft.Domain  // of a cell
	shifts   []fr.Element // the first element of the coset of a cell
	inverses []fr.Element // of shifts
}

// ReadEthereumSetup reads a setup in JSON, as the consensus specification and go-eth-kzg
// have it: lists g1_monomial and g1_lagrange of 4096 points and g2_monomial of at least
// 65, each in hexadecimal compressed bytes. Every point is checked to be on the curve and
// in the group of order r, and the lists to be of one secret.
func ReadEthereumSetup(r io.Reader) (*EthereumSetup, error) {
	var text struct {
		G1Monomial []string `json:"g1_monomial"`
		G1Lagrange []string `json:"g1_lagrange"`
		G2Monomial []string `json:"g2_monomial"`
	}
	if err := json.NewDecoder(r).Decode(&text); err != nil {
		return nil, fmt.Errorf("%w: a trusted setup: %w", backend.ErrInvalidInput, err)
	}
	if a, b, c := len(text.G1Monomial), len(text.G1Lagrange), len(text.G2Monomial); a != blobScalars || b != blobScalars || c <= cellScalars {
		return nil, fmt.Errorf("%w: a trusted setup of %d and %d points in G1 and %d in G2, %d, %d and more than %d are wanted",
			backend.ErrInvalidInput, a, b, c, blobScalars, blobScalars, cellScalars)
	}
	s := &EthereumSetup{powers: make([]bls12381.G1Affine, blobScalars), lagrange: make([]bls12381.G1Affine, blobScalars)}
	g2 := make([]bls12381.G2Affine, cellScalars+1)
	for _, err := range []error{
		decodePoints("g1_monomial", s.powers, text.G1Monomial),
		decodePoints("g1_lagrange", s.lagrange, text.G1Lagrange),
		decodePoints("g2_monomial", g2, text.G2Monomial[:len(g2)]),
	} {
		if err != nil {
			return nil, err
		}
	}
	s.g2, s.shifted = g2[0], g2[cellScalars]
	merge.BitReverse(s.lagrange)
	if err := s.check(); err != nil {
		return nil, err
	}
	s.domain = fft.NewDomain(cellScalars)
	w, err := fft.Generator(2 * blobScalars)
	if err != nil {
		return nil, err
	}
	s.shifts = make([]fr.Element, CellCount)
	for i := range s.shifts {
		s.shifts[i].Exp(w, big.NewInt(int64(reversed(i, CellCount))))
	}
	s.inverses = fr.BatchInvert(s.shifts)
	return s, nil
}

// decodePoints reads compressed points in hexadecimal.
func decodePoints[P any, PP curves.Point[P]](what string, dst []P, text []string) error {
	return each(len(dst), func(i int) error {
		b, err := hex.DecodeString(strings.TrimPrefix(text[i], "0x"))
		if err == nil {
			_, err = PP(&dst[i]).SetBytes(b)
		}
		if err != nil {
			return fmt.Errorf("%w: point %d of %s: %w", backend.ErrInvalidInput, i, what, err)
		}
		return nil
	})
}

// check wants the lists to be of one secret, as far as cells use them: the Lagrange points
// are the transform of the powers, and the powers up to 64 those of G2.
func (s *EthereumSetup) check() error {
	wrong := func(what string) error {
		return fmt.Errorf("%w: a trusted setup: %s", backend.ErrInvalidInput, what)
	}
	// A polynomial with random values has one commitment in both forms.
	values := make(fr.Vector, blobScalars)
	values.MustSetRandom()
	var a, b bls12381.G1Affine
	if _, err := a.MultiExp(s.lagrange, values, ecc.MultiExpConfig{}); err != nil {
		return err
	}
	fft.NewDomain(blobScalars).FFTInverse(values, fft.DIT)
	if _, err := b.MultiExp(s.powers, values, ecc.MultiExpConfig{}); err != nil {
		return err
	}
	if !a.Equal(&b) {
		return wrong("g1_lagrange is not of the secret of g1_monomial")
	}
	var minus bls12381.G1Affine
	minus.Neg(&s.powers[0])
	ok, err := bls12381.PairingCheck([]bls12381.G1Affine{s.powers[cellScalars], minus}, []bls12381.G2Affine{s.g2, s.shifted})
	if err != nil {
		return err
	}
	if !ok || s.powers[0].IsInfinity() || s.g2.IsInfinity() {
		return wrong("g2_monomial is not of the secret of g1_monomial")
	}
	return nil
}

// scalarsOf reads numbers below r to Montgomery form; it returns the first that is none, or -1.
func scalarsOf(dst []fr.Element, b []byte) int {
	for i := range dst {
		if dst[i].SetBytesCanonical(b[i*scalarBytes:(i+1)*scalarBytes]) != nil {
			return i
		}
	}
	return -1
}

// VerifyCells checks cells against commitments and proofs: cell k is that of index
// indices[k] of the blob of commitments[k], and has proofs[k]. A commitment may come
// several times. It returns nil if all cells are right, and ErrVerifyOpeningProof of
// gnark-crypto's kzg of BLS12-381 if one is not. backend.ErrInvalidInput is for lists of
// different lengths, an index of no cell, a field element that is not below r, and a
// point that is not in the group.
//
// It is the consensus specification's verify_cell_kzg_proof_batch, computed in this process
// with two pairings for all cells. The factors that join the cells are random.
func (s *EthereumSetup) VerifyCells(commitments []Commitment, indices []uint64, cells []*Cell, proofs []Proof) error {
	n := len(cells)
	if len(commitments) != n || len(indices) != n || len(proofs) != n {
		return fmt.Errorf("%w: %d commitments, %d indices, %d cells and %d proofs", backend.ErrInvalidInput,
			len(commitments), len(indices), n, len(proofs))
	}
	if n == 0 {
		return nil
	}
	// The factors are powers of a random number.
	powers := make([]fr.Element, n)
	var r fr.Element
	if _, err := r.SetRandom(); err != nil {
		return err
	}
	powers[0].SetOne()
	for k := 1; k < n; k++ {
		powers[k].Mul(&powers[k-1], &r)
	}
	// The same commitment is multiplied once, and cells of one index are added up.
	place := map[Commitment]int{}
	var weights []fr.Element
	var given []bls12381.G1Affine
	sums := make([][]fr.Element, CellCount)
	points, moved := make([]bls12381.G1Affine, n), make([]fr.Element, n)
	for k := range cells {
		i, ok := place[commitments[k]]
		if !ok {
			var p bls12381.G1Affine
			if _, err := p.SetBytes(commitments[k][:]); err != nil {
				return fmt.Errorf("%w: commitment %d: %w", backend.ErrInvalidInput, k, err)
			}
			i = len(given)
			place[commitments[k]], given, weights = i, append(given, p), append(weights, fr.Element{})
		}
		weights[i].Add(&weights[i], &powers[k])
	}
	if err := each(n, func(k int) error {
		if _, err := points[k].SetBytes(proofs[k][:]); err != nil {
			return fmt.Errorf("%w: proof %d: %w", backend.ErrInvalidInput, k, err)
		}
		return nil
	}); err != nil {
		return err
	}
	var values [cellScalars]fr.Element
	for k, index := range indices {
		if index >= CellCount {
			return fmt.Errorf("%w: index %d of cell %d, below %d is wanted", backend.ErrInvalidInput, index, k, CellCount)
		}
		if cells[k] == nil {
			return fmt.Errorf("%w: cell %d is nil", backend.ErrInvalidInput, k)
		}
		if bad := scalarsOf(values[:], cells[k][:]); bad >= 0 {
			return fmt.Errorf("%w: element %d of cell %d is not below r", backend.ErrInvalidInput, bad, k)
		}
		if sums[index] == nil {
			sums[index] = make([]fr.Element, cellScalars)
		}
		for i := range values {
			values[i].Mul(&values[i], &powers[k])
			sums[index][i].Add(&sums[index][i], &values[i])
		}
		// z = shift^64 times the proof moves to the other side.
		moved[k].Exp(s.shifts[index], big.NewInt(cellScalars))
		moved[k].Mul(&moved[k], &powers[k])
	}
	// The sum of the polynomials with the values of the cells.
	interpolation := make([]fr.Element, cellScalars)
	for index, v := range sums {
		if v == nil {
			continue
		}
		s.domain.FFTInverse(v, fft.DIT)
		var power fr.Element
		power.SetOne()
		for i := range v {
			v[i].Mul(&v[i], &power)
			interpolation[i].Add(&interpolation[i], &v[i])
			power.Mul(&power, &s.inverses[index])
		}
	}
	for i := range interpolation {
		interpolation[i].Neg(&interpolation[i])
	}
	// e(sum of r proofs, [s^64]) = e(sum of r (commitments - interpolations + z proofs), [1])
	var left, right bls12381.G1Jac
	if _, err := left.MultiExp(points, powers, ecc.MultiExpConfig{}); err != nil {
		return err
	}
	all := append(append(append([]bls12381.G1Affine{}, given...), s.powers[:cellScalars]...), points...)
	by := append(append(append([]fr.Element{}, weights...), interpolation...), moved...)
	if _, err := right.MultiExp(all, by, ecc.MultiExpConfig{}); err != nil {
		return err
	}
	pair := make([]bls12381.G1Affine, 2)
	pair[0].FromJacobian(&left)
	pair[1].FromJacobian(right.Neg(&right))
	ok, err := bls12381.PairingCheck(pair, []bls12381.G2Affine{s.shifted, s.g2})
	if err != nil {
		return err
	}
	if !ok {
		return stock.ErrVerifyOpeningProof
	}
	return nil
}
