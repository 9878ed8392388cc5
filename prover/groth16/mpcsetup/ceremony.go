package mpcsetup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/programs"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// Ceremony is the set-up on one curve. P1, P2 and S are gnark-crypto's points and scalar, and U is
// its mpcsetup.UpdateProof. C, Q, E and R are gnark's SrsCommons, Phase2, Phase2Evaluations and
// R1CS. It is safe for concurrent use.
type Ceremony[P1, P2 any, S comparable, U, C, Q, E, R any] struct {
	g1 *group.Ops[P1, S]
	g2 *group.Ops[P2, S]
	fr *group.Field[S]

	hashTo2 func(msg, dst []byte) (P2, error)
	// beacon and sameRatio are gnark-crypto's BeaconContributions and SameRatioMany.
	beacon    func(hash, dst, beacon []byte, n int) []S
	sameRatio func(...any) error
	// verify is UpdateProof.Verify.
	verify func(_ *U, challenge []byte, dst byte, one []update[P1], two []update[P2]) error

	// These take gnark's types apart, sharing their memory, and put them together.
	powers      func(*C) powers[P1, P2]
	commons     func(*powers[P1, P2]) *C
	phase2      func(*Q) phase2[P1, P2, U]
	evaluations func(*evaluations[P1, P2]) *E
	system      func(*R) (*constraint.System, []S)
	keys        func(*C, *E, *Q) (groth16.ProvingKey, groth16.VerifyingKey, error)
}

// powers are the vectors of gnark's SrsCommons of a domain of n elements.
type powers[P1, P2 any] struct {
	tau1        []P1 // 2n-1 points, the first is the generator
	tau2        []P2 // n points, the first is the generator
	alpha, beta []P1 // n points
	beta2       P2
}

// update is a point before and after a contribution.
type update[P any] struct{ before, after P }

// Option configures a function that takes long.
type Option func(*options)

type options struct{ made func(points, of int) }

// OnPoints calls f with how many points are computed so far, and how many there will be. Calls do
// not overlap.
func OnPoints(f func(points, of int)) Option { return func(o *options) { o.made = f } }

// part is how many products one program computes. It bounds the memory of a backend, and what must
// be repeated when the backend dies. Only tests change it.
var part = 1 << 19

// run runs programs. An observer of the engine sees them as one phase.
func run(ctx context.Context, e *engine.Engine, opts []Option, all []programs.Program) error {
	total := 0
	for _, p := range all {
		total += p.Points
	}
	return observed(ctx, e, opts, total, func(ctx context.Context, progress *programs.Progress) error {
		return programs.Run(ctx, progress, all)
	})
}

// observed runs f as a phase. f computes total points.
func observed(ctx context.Context, e *engine.Engine, opts []Option, total int, f func(context.Context, *programs.Progress) error) error {
	var o options
	for _, set := range opts {
		set(&o)
	}
	ctx, end := e.Observe(ctx, engine.Phase{Kind: engine.PhaseSetup, Points: total})
	err := f(ctx, programs.NewProgress(total, o.made))
	end(err)
	return err
}

// on runs f on e or, if e is nil, on an engine in this process.
func on(ctx context.Context, e *engine.Engine, f func(*engine.Engine) error) error {
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return err
	}
	err = f(e)
	return errors.Join(err, end())
}

// scaled appends the programs that multiply points, each by its scalar or all by one. It returns
// where the products will be.
func scaled[P, S any](all *[]programs.Program, e *engine.Engine, ops *group.Ops[P, S], points []P, scalars []S) []P {
	to := make([]P, len(points))
	*all = append(*all, programs.Scaled(e, ops.Group, to, points, scalars, part)...)
	return to
}

// draw sets x to a random scalar other than 0, as gnark draws it.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) draw(x []S) error {
	var zero S
	for {
		if err := c.fr.Random(x); err != nil || x[0] != zero {
			return err
		}
	}
}

// prove returns the proof that a contribution's x is known, as gnark-crypto's UpdateValues does: x
// times the generator, and x times a point hashed from that. This process computes it, so that a
// wrong backend can only cause a contribution that nobody accepts, and never one of a number that
// is known.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) prove(x *S, challenge []byte, dst byte) (u U, err error) {
	k := c.fr.Big(x)
	defer group.WipeInt(k)
	commitment := c.g1.Sum(group.Term[P1]{Point: c.g1.Generator(), K: k})
	encoded := c.g1.Marshal(&commitment)
	base, err := c.hashTo2(append(bytes.Clone(encoded), challenge...), []byte{dst})
	if err != nil {
		return u, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	knowledge := c.g2.Sum(group.Term[P2]{Point: base, K: k})
	err = readProof(bytes.NewReader(append(encoded, c.g2.Marshal(&knowledge)...)), &u)
	return u, err
}

// readProof reads a proof as gnark-crypto's UpdateProof writes it.
func readProof[U any](from io.Reader, u *U) error {
	if _, err := any(u).(io.ReaderFrom).ReadFrom(from); err != nil {
		return fmt.Errorf("%w: a proof of the contribution: %w", backend.ErrInvalidInput, err)
	}
	return nil
}

// readChallenge reads the end of a contribution: the hash of the contribution before it.
func readChallenge(from io.Reader) ([]byte, error) {
	var n [1]byte
	_, err := io.ReadFull(from, n[:])
	var challenge []byte
	if err == nil && n[0] > 0 {
		challenge = make([]byte, n[0])
		_, err = io.ReadFull(from, challenge)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the challenge: %w", backend.ErrInvalidInput, err)
	}
	return challenge, nil
}

// follows checks that a contribution follows another, whose hash is challenge.
func follows(next, challenge []byte) error {
	if len(next) != 0 && !bytes.Equal(next, challenge) {
		return fmt.Errorf("%w: the contribution is to another than the one before it: its challenge is not that one's hash",
			backend.ErrInvalidInput)
	}
	return nil
}

// wrong names the wrong part of a contribution.
func wrong(what string, err error) error {
	return fmt.Errorf("%w: the contribution to %s: %w", backend.ErrInvalidInput, what, err)
}

// random returns n powers of a random number, beginning with 1. They are not secret, but nobody
// knows them before the points are fixed.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) random(ctx context.Context, n int) ([]S, error) {
	one, by, v := c.fr.One(), make([]S, 1), make([]S, n)
	if err := c.fr.RandomNonzero(&by[0]); err != nil {
		return nil, err
	}
	return v, c.fr.Powers(ctx, v, &one, &by[0])
}

// summed returns a program that sets out to the sum of points times scalars. There may be more
// scalars than points.
func summed[P, S any](e *engine.Engine, ops *group.Ops[P, S], points []P, scalars []S, out *P) programs.Program {
	return programs.Program{Points: len(points), Run: func(ctx context.Context) error {
		if len(points) == 0 {
			return nil // infinity
		}
		t, err := resident.Load(ctx, e, ops, points)
		if err != nil {
			return err
		}
		*out, err = t.Sum(ctx, scalars[:len(points)])
		return errors.Join(err, t.Close())
	}}
}
