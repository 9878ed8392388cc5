package groth16

import (
	"context"
	"iter"

	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/proving"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// Merging says whether equal elements are merged before an MSM. The answer is the same either way.
type Merging = resident.Merging

const (
	// MergeAuto merges if it pays, by an estimate of the share of equal elements.
	MergeAuto = resident.Auto
	// MergeAlways merges whenever two elements are equal.
	MergeAlways = resident.Always
	// MergeNever merges nothing.
	MergeNever = resident.Never
)

// ErrNotVerified is wrapped by the error of a Prove whose proof did not verify (see WithVerify),
// although it had been made twice.
var ErrNotVerified = proving.ErrNotVerified

// Event reports that a proof was refused and made again; see WithVerify. Events of backends are
// engine.Event, from engine.Config.OnEvent.
type Event = proving.Event

// Option configures a Prover.
type Option func(*options)

type options struct {
	proving.Settings[Proof, VerifyingKey]
	mergeBases   Merging
	mergeScalars Merging
	overlap      overlap
	where        where
}

func optionsOf(opts []Option) (o options) {
	for _, set := range opts {
		set(&o)
	}
	return o
}

// WithProverOptions applies gnark's options to every proof. Those of the call come after them.
func WithProverOptions(opts ...gnark.ProverOption) Option {
	return func(o *options) { o.Prover = append(o.Prover, opts...) }
}

// MergeBases says whether equal points of a key are loaded once, and their scalars added up for
// each proof. The proofs are the same. Merging speeds up every backend, and takes memory for the
// points that remain.
//
// MergeAuto, the default, merges a slice of points if at least an eighth of them would go. It
// merges none if, when the key is loaded, the engine's backend is in another process and has
// vectors: that backend takes the scalars from a witness that it gets once.
func MergeBases(m Merging) Option { return func(o *options) { o.mergeBases = m } }

// MergeScalars says whether this process adds up the points of equal scalars before an MSM. The
// proofs are the same. MergeAuto, the default, does so if at least an eighth of the scalars would
// go and this process computes the MSMs. Another backend would have to be sent the sums of points.
func MergeScalars(m Merging) Option { return func(o *options) { o.mergeScalars = m } }

// WithVerify verifies every proof before it is returned, if the verifying key belongs to the
// proving key. A proof that does not verify is reported to OnEvent and made again, with new
// randomness and MSMs in this process. The options must be those with which the proofs' verifiers
// work.
//
// For several keys give the option several times; Use needs that. Proofs with other keys are then
// not verified. NewProver returns backend.ErrInvalidInput if none of the verifying keys belongs to
// its proving key.
func WithVerify(vk VerifyingKey, opts ...gnark.VerifierOption) Option {
	verify := func(p Proof, public witness.Witness) error { return stock.Verify(p, vk, public, opts...) }
	return func(o *options) { o.VerifyBy(vk, verify, opts) }
}

// OnEvent calls f for every proof that WithVerify refused and that was made again. Calls may be
// concurrent. Events of backends are reported by engine.Config.OnEvent.
func OnEvent(f func(Event)) Option { return func(o *options) { o.OnEvent = f } }

// scheme is a key in an engine, without its types.
type scheme = proving.Scheme[Proof]

// residentKey is a key in an engine, with the options of its use. All constraint systems of the key share it: they have
// the same constraints, and the matrices of the one that was proved first stay for the others.
type residentKey = proving.Key[Proof]

// loadKey loads a key for constraint systems of a shape. It keeps the key's points but not the key,
// so that the key can become garbage.
func loadKey(ctx context.Context, e *engine.Engine, o options, b binding, s shape, ccs constraint.ConstraintSystem,
	pk ProvingKey) (*residentKey, error) {
	chosen, _ := o.For(b.belongs(pk)) // Use may have been given verifying keys for other keys
	return proving.Load(ctx, e, chosen, func(ctx context.Context, e *engine.Engine) (scheme, error) {
		return b.load(ctx, e, &o, s, ccs, pk)
	})
}

// Prover proves statements of one circuit with one key, whose points it keeps resident in an
// engine. It is safe for concurrent use. Proofs made at the same time share nothing but the points
// and the engine.
type Prover struct {
	key *residentKey
	ccs constraint.ConstraintSystem
}

// NewProver loads the key's points into the engine; a nil engine is one in this process. The
// constraint system and the key must not change until Close. A key that does not belong to the
// constraint system is backend.ErrInvalidInput.
func NewProver(engine *engine.Engine, ccs constraint.ConstraintSystem, pk ProvingKey, opts ...Option) (*Prover, error) {
	o := optionsOf(opts)
	b, err := bindingOf(pk)
	if err != nil {
		return nil, err
	}
	s, err := shapeOf(ccs)
	if err != nil {
		return nil, err
	}
	if err := b.check(ccs, &s, pk); err != nil {
		return nil, err
	}
	if _, err := o.For(b.belongs(pk)); err != nil {
		return nil, err
	}
	k, err := loadKey(context.Background(), engine, o, b, s, ccs, pk)
	if err != nil {
		return nil, err
	}
	return &Prover{k, ccs}, nil
}

// Prove returns a proof for a full witness. Its options add to those of NewProver. If the witness
// does not satisfy the circuit, the error is gnark's. Other errors wrap a sentinel of package
// backend or are the context's.
//
// When the context ends, Prove returns within some milliseconds, even during transforms and MSMs.
// An MSM in this process runs on after the call. gnark's solver, which is asked if ours cannot
// tell, does not look at the context.
func (p *Prover) Prove(ctx context.Context, w witness.Witness, opts ...gnark.ProverOption) (Proof, error) {
	return p.key.Prove(ctx, p.ccs, w, opts)
}

// ProveAll yields the proof of each full witness, or its error, in the order of the witnesses. It
// works at inFlight of them at a time, at least one; a proof that waits to be yielded counts. With
// two, this process solves for one while the backend proves the one before. Proofs of circuits of
// up to 2^16 constraints share requests if the backend is in another process and computes programs;
// many in flight fill these requests. A witness that fails ends nothing. When ctx ends, the last
// error stands for all that are left.
//
// ProveAll ranges over witnesses in a separate goroutine. Leaving the loop over the proofs cancels
// those in flight. It then waits for them, and until witnesses yields or ends.
func (p *Prover) ProveAll(ctx context.Context, witnesses iter.Seq[witness.Witness], inFlight int,
	opts ...gnark.ProverOption) iter.Seq2[Proof, error] {
	return p.key.ProveAll(ctx, p.ccs, witnesses, inFlight, opts)
}

// Close waits for the proofs in flight and frees the key's points. Closing twice is no error.
func (p *Prover) Close() error { return p.key.Close() }
