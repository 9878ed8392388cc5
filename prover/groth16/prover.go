package groth16

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// Merging says whether equal elements are merged before an MSM. The answer is
// the same with and without.
type Merging = resident.Merging

const (
	// MergeAuto merges where an estimate of the share of equal elements says
	// that it pays.
	MergeAuto = resident.Auto
	// MergeAlways merges wherever two elements are equal.
	MergeAlways = resident.Always
	// MergeNever merges nothing.
	MergeNever = resident.Never
)

// ErrNotVerified is wrapped by the error of a Prove whose proof did not verify
// (see WithVerify) even when it had been made again.
var ErrNotVerified = errors.New("the proof does not verify")

// Event reports that a proof was made again, see WithVerify.
type Event struct {
	Time time.Time
	// Backend is the engine's backend when the refused proof was begun.
	Backend string
	// Err is why the first proof was refused.
	Err error
}

// String is one line for people.
func (ev Event) String() string {
	return fmt.Sprintf("a proof made on backend %q is refused and made again in this process: %v", ev.Backend, ev.Err)
}

// Option configures a Prover.
type Option func(*options)

type options struct {
	prover       []gnark.ProverOption
	mergeBases   Merging
	mergeScalars Merging
	verify       []*verification
	onEvent      func(Event)
	overlap      overlap
}

// WithProverOptions has gnark's options apply to every proof, before those
// that the call gives.
func WithProverOptions(opts ...gnark.ProverOption) Option {
	return func(o *options) { o.prover = append(o.prover, opts...) }
}

// MergeBases says whether equal points of a key are loaded once, their scalars
// added up for each proof. It is exact, speeds up every backend, and needs
// memory for the points that remain. Auto (the default) merges a slice of
// points when at least an eighth of them would go.
func MergeBases(m Merging) Option { return func(o *options) { o.mergeBases = m } }

// MergeScalars says whether the points of equal scalars are added up by this
// process before an MSM. It is exact. Auto (the default) does so when at
// least an eighth of the scalars would go and this process computes the MSMs:
// another backend would have to be sent the sums.
func MergeScalars(m Merging) Option { return func(o *options) { o.mergeScalars = m } }

// WithVerify has every proof made with the verifying key's proving key verified
// before it is returned. One that does not verify is made again with MSMs in
// this process and new randomness, and reported to OnEvent. The options must be
// those that verifiers of the proofs use.
//
// Given several times it is for several keys, as Use needs it: proofs with
// other keys are not verified then. NewProver refuses verifying keys none of
// which is its proving key's (backend.ErrInvalidInput).
func WithVerify(vk VerifyingKey, opts ...gnark.VerifierOption) Option {
	cfg, err := gnark.NewVerifierConfig(opts...)
	v := &verification{vk, opts, err == nil && cfg.HashToFieldFn != nil} // an error shows in check
	return func(o *options) { o.verify = append(o.verify, v) }
}

// verification is how proofs are verified.
type verification struct {
	vk     VerifyingKey
	opts   []gnark.VerifierOption
	hashed bool // by a hash function that the user gave
}

func (v *verification) check(p Proof, w witness.Witness) error {
	public, err := w.Public()
	if err != nil {
		return err
	}
	if v.hashed {
		hashing.Lock()
		defer hashing.Unlock()
	}
	return stock.Verify(p, v.vk, public, v.opts...)
}

// hashing is held around hash functions that the user gave: options of several
// Provers, of the prover and of the verifier, may have one and the same.
var hashing sync.Mutex

// OnEvent has f called with every event. Calls may be concurrent.
func OnEvent(f func(Event)) Option { return func(o *options) { o.onEvent = f } }

// scheme is a key in an engine, its types hidden.
type scheme interface {
	// prove solves and proves; a nil challenge is gnark's own.
	prove(context.Context, constraint.ConstraintSystem, witness.Witness, []solver.Option, challenge) (Proof, error)
	// in is the key in another engine.
	in(context.Context, *msm.Engine) (scheme, error)
	close() error
}

// residentKey is a key in an engine and how it is used. It knows no constraint
// system: all that the key is for may share it.
type residentKey struct {
	engine *msm.Engine
	end    func() error // of an engine of its own
	opts   options
	verify *verification // nil when proofs are not verified
	scheme scheme

	mu     sync.Mutex
	calls  sync.WaitGroup // none begins after closed
	closed bool
}

// loadKey loads a key for constraint systems of a shape. It keeps the key's
// points, but not the key: that could not become garbage then.
func loadKey(ctx context.Context, engine *msm.Engine, o options, b binding, s shape, pk ProvingKey) (_ *residentKey, err error) {
	k := &residentKey{opts: o, verify: o.verificationFor(b, pk)}
	if k.engine, k.end, err = resident.Or(ctx, engine); err != nil {
		return nil, err
	}
	if k.scheme, err = b.load(ctx, k.engine, &k.opts, s, pk); err != nil {
		return nil, errors.Join(err, k.end())
	}
	return k, nil
}

// verificationFor is the one for a proving key's proofs, nil when there is
// none.
func (o *options) verificationFor(b binding, pk ProvingKey) *verification {
	i := slices.IndexFunc(o.verify, func(v *verification) bool { return b.belongs(v.vk, pk) })
	if i < 0 {
		return nil
	}
	return o.verify[i]
}

func (k *residentKey) prove(ctx context.Context, ccs constraint.ConstraintSystem, w witness.Witness, opts []gnark.ProverOption) (Proof, error) {
	if !k.begin() {
		return nil, fmt.Errorf("groth16 prover: %w", backend.ErrClosed)
	}
	defer k.calls.Done()
	cfg, err := gnark.NewProverConfig(append(slices.Clone(k.opts.prover), opts...)...)
	if err != nil {
		return nil, fmt.Errorf("prover options: %w", err)
	}
	var hashed challenge
	if cfg.HashToFieldFn != nil {
		hashed = challengeBy(cfg.HashToFieldFn, &hashing)
	}
	on := k.engine.Backend()
	proof, err := k.scheme.prove(ctx, ccs, w, cfg.SolverOpts, hashed)
	if err != nil || k.verify == nil {
		return proof, err
	}
	refused := k.verify.check(proof, w)
	if refused == nil {
		return proof, nil
	}
	if k.opts.onEvent != nil {
		k.opts.onEvent(Event{time.Now(), on, refused})
	}
	if proof, err = k.again(ctx, ccs, w, cfg.SolverOpts, hashed); err != nil {
		return nil, fmt.Errorf("proving again in this process: %w (the first proof: %w)", err, refused)
	}
	if err := k.verify.check(proof, w); err != nil {
		return nil, fmt.Errorf("%w, not when it is made again in this process either: %w (are the verifier's options the prover's?)", ErrNotVerified, err)
	}
	return proof, nil
}

// again proves with MSMs in this process.
func (k *residentKey) again(ctx context.Context, ccs constraint.ConstraintSystem, w witness.Witness, opts []solver.Option, hashed challenge) (Proof, error) {
	e, err := resident.InProcess(ctx)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	s, err := k.scheme.in(ctx, e)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.prove(ctx, ccs, w, opts, hashed)
}

// begin enters a call, unless the key is closed.
func (k *residentKey) begin() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	k.calls.Add(1)
	return true
}

func (k *residentKey) isClosed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closed
}

// close frees the points after the proofs in flight.
func (k *residentKey) close() error {
	k.mu.Lock()
	was := k.closed
	k.closed = true
	k.mu.Unlock()
	k.calls.Wait()
	if was {
		return nil
	}
	return errors.Join(k.scheme.close(), k.end())
}

// Prover proves statements of one circuit with one key, whose points it keeps
// resident in an engine. It is safe for concurrent use; proofs made at the
// same time share nothing but the points, and the engine.
type Prover struct {
	key *residentKey
	ccs constraint.ConstraintSystem
}

// NewProver loads the key's points into the engine; a nil engine is one in this
// process. The constraint system and the key must not change until Close. A key
// that is not for the constraint system is backend.ErrInvalidInput.
func NewProver(engine *msm.Engine, ccs constraint.ConstraintSystem, pk ProvingKey, opts ...Option) (*Prover, error) {
	var o options
	for _, set := range opts {
		set(&o)
	}
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
	if len(o.verify) > 0 && o.verificationFor(b, pk) == nil {
		return nil, fmt.Errorf("%w: WithVerify: the verifying key is not the proving key's", backend.ErrInvalidInput)
	}
	k, err := loadKey(context.Background(), engine, o, b, s, pk)
	if err != nil {
		return nil, err
	}
	return &Prover{k, ccs}, nil
}

// Prove is a proof for a full witness. Options add to those of NewProver. A
// witness that does not satisfy the circuit is gnark's error; other errors
// wrap a sentinel of package backend, or are the context's.
//
// The context is looked at between the steps and within MSMs, not while
// gnark's solver runs.
func (p *Prover) Prove(ctx context.Context, w witness.Witness, opts ...gnark.ProverOption) (Proof, error) {
	return p.key.prove(ctx, p.ccs, w, opts)
}

// Close frees the key's points after the proofs in flight. Closing twice is no
// error.
func (p *Prover) Close() error { return p.key.close() }

// errWitness is the error of a witness over another field.
func errWitness(w witness.Witness) error {
	if w == nil {
		return fmt.Errorf("%w: %w: none given", backend.ErrInvalidInput, witness.ErrInvalidWitness)
	}
	return fmt.Errorf("%w: %w: it is over another curve's field (%T)", backend.ErrInvalidInput, witness.ErrInvalidWitness, w.Vector())
}
