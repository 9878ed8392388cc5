// Package transcript makes challenges of what a prover has said (Fiat and
// Shamir), with gnark-crypto's transcript in the types of any curve.
package transcript

import (
	"fmt"
	"hash"
	"sync"

	fiatshamir "github.com/consensys/gnark-crypto/fiat-shamir"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/group"
)

// Transcript is what was said. Its errors wrap backend.ErrInvalidInput.
type Transcript[P, S any] struct {
	g1   *group.Ops[P, S]
	fr   *group.Field[S]
	fs   *fiatshamir.Transcript
	lock sync.Locker
}

// New begins a transcript. names are its challenges in their order. The transcript holds
// the lock while it uses h.
func New[P, S any](g1 *group.Ops[P, S], fr *group.Field[S], h hash.Hash, lock sync.Locker, names ...string) *Transcript[P, S] {
	return &Transcript[P, S]{g1, fr, fiatshamir.NewTranscript(h, names...), lock}
}

// Say binds bytes to a challenge.
func (t *Transcript[P, S]) Say(challenge string, b ...[]byte) error {
	for _, b := range b {
		if err := t.fs.Bind(challenge, b); err != nil {
			return failed(err)
		}
	}
	return nil
}

// Points binds points to a challenge.
func (t *Transcript[P, S]) Points(challenge string, points ...P) error {
	for i := range points {
		if err := t.Say(challenge, t.g1.Marshal(&points[i])); err != nil {
			return err
		}
	}
	return nil
}

// Scalars binds scalars to a challenge.
func (t *Transcript[P, S]) Scalars(challenge string, scalars ...S) error {
	for i := range scalars {
		if err := t.Say(challenge, t.fr.Marshal(&scalars[i])); err != nil {
			return err
		}
	}
	return nil
}

// Challenge returns the named challenge. It depends on all that was bound to it, and on
// the challenge before.
func (t *Transcript[P, S]) Challenge(name string) (c S, err error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	b, err := t.fs.ComputeChallenge(name)
	if err != nil {
		return c, failed(err)
	}
	return t.fr.FromBytes(b), nil
}

func failed(err error) error {
	return fmt.Errorf("%w: transcript: %w", backend.ErrInvalidInput, err)
}

// Fold returns the challenge by which polynomials opened at one point are folded, as
// gnark-crypto's KZG verifier computes it.
func Fold[P, S any](g1 *group.Ops[P, S], fr *group.Field[S], h hash.Hash, lock sync.Locker, point S,
	digests []P, claimed []S, data ...[]byte) (c S, err error) {
	const name = "gamma"
	t := New(g1, fr, h, lock, name)
	if err := t.Scalars(name, point); err != nil {
		return c, err
	}
	if err := t.Points(name, digests...); err != nil {
		return c, err
	}
	if err := t.Scalars(name, claimed...); err != nil {
		return c, err
	}
	if err := t.Say(name, data...); err != nil {
		return c, err
	}
	return t.Challenge(name)
}
