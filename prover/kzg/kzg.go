// Package kzg is gnark-crypto's KZG commitments on an engine: the proving
// key's points are loaded once and stay where the backend computes.
//
//	key, err := kzg.LoadBN254(ctx, e, srs.Pk)
//	digest, err := key.Commit(ctx, polynomial)
//	proof, err := key.Open(ctx, polynomial, point)
//
// NewSRSBN254 and ToLagrangeBN254, and their like for the other curves, make keys on the
// engine, as gnark-crypto's NewSRS and ToLagrangeG1 do in this process. ReadSRS reads them.
//
// LoadMultiproofsBN254, and its like, prove a polynomial's values at all cosets of a domain
// at once. LoadCells does that for the blobs of Ethereum by EIP-7594.
//
// Arguments, results and errors are gnark-crypto's of the same name, with a
// context; gnark-crypto's package verifies. Polynomials may be secret: they
// are read during a call only, and every copy is wiped.
//
// # Files
//
//	multiproof.go  openings at cosets
//	cells.go       EIP-7594 on them, with ethereum.go
//	srs.go         keys made and read
package kzg

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/big"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/prover/internal/transcript"
)

// field is the points and scalars of one curve.
type field[P, S any] struct {
	g1   *group.Ops[P, S]
	fr   *group.Field[S]
	root func(n uint64) (S, error) // gnark-crypto's fr.Generator
}

// types ties gnark-crypto's types of proofs on one curve to the algorithm: O is its
// OpeningProof, B its BatchOpeningProof.
type types[P, S, O, B any] struct {
	proof      func(h P, claimed S) O
	batchProof func(h P, claimed []S) B
	// The curve's own errors.
	errSize, errCount, errNone error
}

// curve is all of gnark-crypto's types of one curve: R is its SRS.
type curve[P, S, O, B, R any] struct {
	field[P, S]
	types     types[P, S, O, B]
	newSRS    func(size uint64, alpha *big.Int) (*R, error)
	points    func(*R) *[]P
	verifying func(*R, io.Reader) (lines bool, err error) // reads the verifying key; lines tells that its lines are those of its points
}

// Key is a KZG proving key, in canonical or Lagrange form, resident in an
// engine. Safe for concurrent use. The types are gnark-crypto's: P the digest,
// S the coefficient, O the OpeningProof, B the BatchOpeningProof.
type Key[P, S, O, B any] struct {
	*field[P, S]
	*types[P, S, O, B]
	table *resident.Table[P, S]
	end   func() error // of an engine of its own
}

// load loads the points of a key.
func (c *curve[P, S, O, B, R]) load(ctx context.Context, e *engine.Engine, points []P) (*Key[P, S, O, B], error) {
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	table, err := resident.Load(ctx, e, c.g1, points)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return &Key[P, S, O, B]{&c.field, &c.types, table, end}, nil
}

// Close frees the points after the calls in flight. Closing twice is no error.
func (k *Key[P, S, O, B]) Close() error { return errors.Join(k.table.Close(), k.end()) }

// Len returns the number of points, which bounds the coefficients of a polynomial.
func (k *Key[P, S, O, B]) Len() int { return k.table.Len() }

// Commit returns the commitment to a polynomial: infinity, if it has no coefficients, which
// gnark-crypto below v0.20 refuses. nbTasks is there for gnark-crypto's
// signature: the backend decides how it computes.
func (k *Key[P, S, O, B]) Commit(ctx context.Context, p []S, nbTasks ...int) (P, error) {
	if len(p) > k.Len() {
		var zero P
		return zero, k.tooLong(len(p))
	}
	return k.table.Sum(ctx, p)
}

// Committer commits to polynomials in canonical form. It is, in the types of a
// curve, gnark-crypto 0.22's kzg.Committer.
type Committer[P, S any] interface {
	Commit(p []S) (P, error)
}

// Committer returns the key for gnark-crypto's functions that take a Committer, such as
// OpenWithCommitter and BatchOpenSinglePointWithCommitter. It commits until the context
// ends or the key is closed.
func (k *Key[P, S, O, B]) Committer(ctx context.Context) Committer[P, S] {
	return committer[P, S](func(p []S) (P, error) { return k.Commit(ctx, p) })
}

type committer[P, S any] func([]S) (P, error)

func (c committer[P, S]) Commit(p []S) (P, error) { return c(p) }

// tooLong returns the error of a polynomial of n coefficients.
func (k *Key[P, S, O, B]) tooLong(n int) error {
	return fmt.Errorf("%w: %w: %d coefficients, %d points", backend.ErrInvalidInput, k.errSize, n, k.Len())
}

// Open proves the value of a polynomial at a point, constants too, which gnark-crypto below
// v0.20 refuses.
func (k *Key[P, S, O, B]) Open(ctx context.Context, p []S, point S) (O, error) {
	var none O
	if len(p) > k.Len() {
		return none, k.tooLong(len(p))
	}
	q := append([]S(nil), p...)
	defer clear(q)
	value, h, err := k.quotient(ctx, q, point)
	if err != nil {
		return none, err
	}
	return k.proof(h, value), nil
}

// quotient returns p(z) and the commitment to (p - p(z))/(X - z). It overwrites p.
func (k *Key[P, S, O, B]) quotient(ctx context.Context, p []S, z S) (value S, h P, err error) {
	if len(p) == 0 {
		return value, h, nil
	}
	value = k.fr.Horner(p, z)
	h, err = k.table.Sum(ctx, p[1:])
	return value, h, err
}

// BatchOpenSinglePoint proves the values of several polynomials at one point.
// hf and dataTranscript go into the challenge that folds them.
func (k *Key[P, S, O, B]) BatchOpenSinglePoint(ctx context.Context, polynomials [][]S, digests []P,
	point S, hf hash.Hash, dataTranscript ...[]byte) (B, error) {
	var none B
	switch {
	case len(digests) != len(polynomials):
		return none, fmt.Errorf("%w: %w", backend.ErrInvalidInput, k.errCount)
	case len(polynomials) == 0:
		return none, fmt.Errorf("%w: %w", backend.ErrInvalidInput, k.errNone)
	}
	longest := 0
	for _, p := range polynomials {
		if len(p) > k.Len() {
			return none, k.tooLong(len(p))
		}
		longest = max(longest, len(p))
	}
	claimed := make([]S, len(polynomials))
	var wg sync.WaitGroup
	for i, p := range polynomials {
		wg.Go(func() { claimed[i] = k.fr.Eval(p, point) })
	}
	wg.Wait()
	gamma, err := transcript.Fold(k.g1, k.fr, hf, new(sync.Mutex), point, digests, claimed, dataTranscript...)
	if err != nil {
		return none, err
	}
	// The sum of the polynomials times powers of gamma, the first times 1.
	folded := make([]S, longest)
	defer clear(folded)
	copy(folded, polynomials[0])
	power := gamma
	for _, p := range polynomials[1:] {
		k.fr.AddScaledInto(folded, p, power)
		k.fr.Mul(&power, &power, &gamma)
	}
	_, h, err := k.quotient(ctx, folded, point)
	if err != nil {
		return none, err
	}
	return k.batchProof(h, claimed), nil
}
