package plonk

import (
	"context"
	"iter"

	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/proving"
)

// ErrNotVerified is wrapped by the error of a Prove whose proof did not verify
// (see WithVerify) even when it had been made again.
var ErrNotVerified = proving.ErrNotVerified

// Event reports that a proof was refused and made again, see WithVerify. What happens to
// backends is an engine.Event, of engine.Config.OnEvent.
type Event = proving.Event

// Option configures a Prover.
type Option func(*options)

type options struct {
	proving.Settings[Proof, VerifyingKey]
}

func optionsOf(opts []Option) (o options) {
	for _, set := range opts {
		set(&o)
	}
	return o
}

// WithProverOptions applies gnark's options to every proof, before those that the call
// gives.
func WithProverOptions(opts ...gnark.ProverOption) Option {
	return func(o *options) { o.Prover = append(o.Prover, opts...) }
}

// WithVerify verifies every proof before it is returned, if the verifying key is for the
// proving key. A proof that does not verify is made again in this process with new
// randomness, and reported to OnEvent. The options must be those that verifiers of the
// proofs use.
//
// Give it several times for several keys, as Use needs it: proofs with other keys are not
// verified then. NewProver returns backend.ErrInvalidInput if none of the verifying keys
// is for its proving key.
func WithVerify(vk VerifyingKey, opts ...gnark.VerifierOption) Option {
	verify := func(p Proof, public witness.Witness) error { return stock.Verify(p, vk, public, opts...) }
	return func(o *options) { o.VerifyBy(vk, verify, opts) }
}

// OnEvent calls f for every proof that WithVerify refused and that was made again. Calls
// may be concurrent. It does not tell of backends that die: engine.Config.OnEvent does.
func OnEvent(f func(Event)) Option { return func(o *options) { o.OnEvent = f } }

// scheme is a key in an engine, its types hidden.
type scheme = proving.Scheme[Proof]

// residentKey is a key in an engine and how it is used.
type residentKey = proving.Key[Proof]

// loadKey loads a key for a constraint system. It keeps the key's points, but not
// the key: that could not become garbage then.
func loadKey(ctx context.Context, e *engine.Engine, o options, b binding, ccs constraint.ConstraintSystem,
	s *shape, pk ProvingKey) (*residentKey, error) {
	chosen, _ := o.For(b.belongs(pk)) // Use may have verifying keys for other keys
	return proving.Load(ctx, e, chosen, func(ctx context.Context, e *engine.Engine) (scheme, error) {
		return b.load(ctx, e, ccs, s, pk)
	})
}

// Prover proves statements of one circuit with one key, whose points and
// polynomials it keeps resident in an engine. It is safe for concurrent use; proofs
// made at the same time share what is resident, and the engine.
type Prover struct {
	key *residentKey
	ccs constraint.ConstraintSystem
}

// NewProver loads the key's points into the engine; a nil engine is one in this
// process. The polynomials follow with the first proof. The constraint system and
// the key must not change until Close. A key that is not for the constraint system
// is backend.ErrInvalidInput.
func NewProver(engine *engine.Engine, ccs constraint.ConstraintSystem, pk ProvingKey, opts ...Option) (*Prover, error) {
	o := optionsOf(opts)
	b, s, err := bindingOf(ccs)
	if err != nil {
		return nil, err
	}
	if err := b.check(ccs, s, pk); err != nil {
		return nil, err
	}
	if _, err := o.For(b.belongs(pk)); err != nil {
		return nil, err
	}
	k, err := loadKey(context.Background(), engine, o, b, ccs, s, pk)
	if err != nil {
		return nil, err
	}
	return &Prover{k, ccs}, nil
}

// Prove returns a proof for a full witness. Options add to those of NewProver. If the
// witness does not satisfy the circuit, the error is gnark's. Other errors wrap a sentinel
// of package backend, or are the context's.
//
// When the context ends, Prove returns within some milliseconds, also in the middle of
// transforms and MSMs. An MSM in this process runs on behind the call. gnark's solver,
// which is asked when ours cannot tell, does not look at the context.
func (p *Prover) Prove(ctx context.Context, w witness.Witness, opts ...gnark.ProverOption) (Proof, error) {
	return p.key.Prove(ctx, p.ccs, w, opts)
}

// ProveAll yields the proof of each full witness, or its error, in the order of the
// witnesses. It works at inFlight of them at a time, at least one; a proof that waits to
// be yielded counts. With two, this process solves for one while the backend proves the
// one before. A witness that fails ends nothing. When ctx ends, the last error says so for
// all that are left.
//
// It ranges over witnesses in a goroutine of its own. Leaving the loop over the proofs
// cancels those in flight, and waits for them and until witnesses yields or ends.
func (p *Prover) ProveAll(ctx context.Context, witnesses iter.Seq[witness.Witness], inFlight int,
	opts ...gnark.ProverOption) iter.Seq2[Proof, error] {
	return p.key.ProveAll(ctx, p.ccs, witnesses, inFlight, opts)
}

// Close frees what is resident after the proofs in flight. Closing twice is no
// error.
func (p *Prover) Close() error { return p.key.Close() }
