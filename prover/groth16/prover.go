package groth16

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

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
// (see WithVerify) even when gnark had made it.
var ErrNotVerified = errors.New("the proof does not verify")

// Event reports that a proof was made again, see WithVerify.
type Event struct {
	Time time.Time
	// Backend is the engine's backend when the proof had been made; "" is
	// this process.
	Backend string
	// Err is why the first proof was refused.
	Err error
}

// String is one line for people.
func (ev Event) String() string {
	return fmt.Sprintf("a proof made on backend %q was refused and made again by gnark: %v", ev.Backend, ev.Err)
}

// Option configures a Prover.
type Option func(*options)

type options struct {
	prover       []gnark.ProverOption
	mergeBases   Merging
	mergeScalars Merging
	verify       func(Proof, witness.Witness) error
	hashed       bool // verify uses a hash function that the user gave
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

// WithVerify has every proof verified before it is returned. One that does not
// verify is made again by gnark in this process, with new randomness, and
// reported to OnEvent. The options must be those that verifiers of the proofs
// use.
func WithVerify(vk VerifyingKey, opts ...gnark.VerifierOption) Option {
	return func(o *options) {
		cfg, err := gnark.NewVerifierConfig(opts...)
		o.hashed = err == nil && cfg.HashToFieldFn != nil // an error shows in verify
		o.verify = func(p Proof, w witness.Witness) error {
			public, err := w.Public()
			if err != nil {
				return err
			}
			return stock.Verify(p, vk, public, opts...)
		}
	}
}

// OnEvent has f called with every event. Calls may be concurrent.
func OnEvent(f func(Event)) Option { return func(o *options) { o.onEvent = f } }

// scheme is a prover whose types are hidden.
type scheme interface {
	prove(context.Context, witness.Witness, *hasher) (Proof, error)
	close() error
}

// Prover proves statements of one circuit with one key, whose points it keeps
// resident in an engine. It is safe for concurrent use; proofs made at the
// same time share nothing but the points, and the engine.
type Prover struct {
	engine *msm.Engine
	ccs    constraint.ConstraintSystem
	pk     ProvingKey // for WithVerify only
	opts   options
	scheme scheme
	hash   sync.Mutex // around a hash function given as an option

	mu     sync.Mutex
	calls  sync.WaitGroup // none begins after closed
	closed bool
}

// NewProver loads the key's points into the engine; a nil engine has gnark-crypto
// compute in this process. The constraint system and the key must not change
// until Close. A key that is not for the constraint system is
// backend.ErrInvalidInput.
func NewProver(engine *msm.Engine, ccs constraint.ConstraintSystem, pk ProvingKey, opts ...Option) (*Prover, error) {
	return newProver(context.Background(), engine, ccs, pk, opts)
}

func newProver(ctx context.Context, engine *msm.Engine, ccs constraint.ConstraintSystem, pk ProvingKey, opts []Option) (*Prover, error) {
	p := &Prover{engine: engine, ccs: ccs}
	for _, o := range opts {
		o(&p.opts)
	}
	if p.opts.verify != nil {
		p.pk = pk
	}
	b, err := bindingOf(pk)
	if err != nil {
		return nil, err
	}
	p.scheme, err = b.load(ctx, engine, &p.opts, ccs, pk)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Prove is a proof for a full witness. Options add to those of NewProver. A
// witness that does not satisfy the circuit is gnark's error; other errors
// wrap a sentinel of package backend, or are the context's.
//
// The context is looked at between the steps and within MSMs, not while
// gnark's solver runs.
func (p *Prover) Prove(ctx context.Context, w witness.Witness, opts ...gnark.ProverOption) (Proof, error) {
	if !p.begin() {
		return nil, fmt.Errorf("groth16 prover: %w", backend.ErrClosed)
	}
	defer p.calls.Done()
	all := append(p.opts.prover[:len(p.opts.prover):len(p.opts.prover)], opts...)
	cfg, err := gnark.NewProverConfig(all...)
	if err != nil {
		return nil, fmt.Errorf("prover options: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	on := ""
	if p.engine != nil {
		on = p.engine.Backend()
	}
	proof, err := p.scheme.prove(ctx, w, &hasher{&p.hash, cfg})
	if err != nil || p.opts.verify == nil {
		return proof, err
	}
	if cfg.HashToFieldFn != nil || p.opts.hashed {
		// Verifier and prover may have been given one and the same.
		p.hash.Lock()
		defer p.hash.Unlock()
	}
	refused := p.opts.verify(proof, w)
	if refused == nil {
		return proof, nil
	}
	if p.opts.onEvent != nil {
		p.opts.onEvent(Event{time.Now(), on, refused})
	}
	proof, err = stock.Prove(p.ccs, p.pk, w, all...)
	if err != nil {
		return nil, errors.Join(err, refused)
	}
	if err := p.opts.verify(proof, w); err != nil {
		return nil, fmt.Errorf("%w: by gnark neither: %w (is the verifying key the proving key's, and are the verifier's options the prover's?)", ErrNotVerified, err)
	}
	return proof, nil
}

// begin enters a call, unless the prover is closed.
func (p *Prover) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.calls.Add(1)
	return true
}

// Close frees the key's points after the proofs in flight. Closing twice is no
// error.
func (p *Prover) Close() error {
	p.mu.Lock()
	was := p.closed
	p.closed = true
	p.mu.Unlock()
	p.calls.Wait()
	if was {
		return nil
	}
	return p.scheme.close()
}

// errWitness is the error of a witness over another field.
func errWitness(w witness.Witness) error {
	if w == nil {
		return fmt.Errorf("%w: %w: none given", backend.ErrInvalidInput, witness.ErrInvalidWitness)
	}
	return fmt.Errorf("%w: %w: it is over another curve's field (%T)", backend.ErrInvalidInput, witness.ErrInvalidWitness, w.Vector())
}

func (p *Prover) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}
