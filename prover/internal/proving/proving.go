// Package proving has what both provers do around a proof: options, checks of keys and
// witnesses, calls at the same time, verification before a proof is returned.
package proving

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/inuse"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/prover/internal/solve"
	"github.com/pippin-zk/pippin/prover/internal/versions"
)

// ErrNotVerified is wrapped by the error of a proof that did not verify even when
// it had been made again.
var ErrNotVerified = errors.New("the proof does not verify")

// Event reports that a proof was made again because it did not verify.
type Event struct {
	Time time.Time
	// Backend is the engine's backend when the refused proof was begun.
	Backend string
	// Err is why the first proof was refused.
	Err error
}

// String returns one line for people.
func (ev Event) String() string {
	return fmt.Sprintf("a proof made on backend %q is refused and made again in this process: %v", ev.Backend, ev.Err)
}

// Options are what both provers have.
type Options[P any] struct {
	Prover  []gnark.ProverOption // of every proof, before those of a call
	Verify  Check[P]             // nil when proofs are not verified
	OnEvent func(Event)          // nil when nobody wants to know
}

// Settings are the options that a user gave, VK being gnark's verifying key.
type Settings[P, VK any] struct {
	Options[P]
	verifications []verification[P, VK]
}

// verification is how proofs are verified that a verifying key is for.
type verification[P, VK any] struct {
	vk    VK
	check Check[P]
}

// VerifyBy adds a verifying key: proofs that it is for are verified. The options of verify
// can only be hash functions.
func (s *Settings[P, VK]) VerifyBy(vk VK, verify func(p P, public witness.Witness) error, opts []gnark.VerifierOption) {
	s.verifications = append(s.verifications, verification[P, VK]{vk, checkBy(verify, opts)})
}

// For returns the options for the proofs of a proving key; belongs reports whether a
// verifying key is for them. If there are verifying keys and none is, For returns an
// error too.
func (s *Settings[P, VK]) For(belongs func(VK) bool) (Options[P], error) {
	o := s.Options
	for _, v := range s.verifications {
		if belongs(v.vk) {
			o.Verify = v.check
			return o, nil
		}
	}
	if len(s.verifications) > 0 {
		return o, fmt.Errorf("%w: WithVerify: the verifying key is not the proving key's", backend.ErrInvalidInput)
	}
	return o, nil
}

// Check is nil for a proof of the public part of a witness.
type Check[P any] func(P, witness.Witness) error

// checkBy returns a check by a verifier.
func checkBy[P any](verify func(p P, public witness.Witness) error, opts []gnark.VerifierOption) Check[P] {
	return func(p P, w witness.Witness) error {
		public, err := w.Public()
		if err != nil {
			return err
		}
		if len(opts) > 0 {
			solve.Hashing.Lock()
			defer solve.Hashing.Unlock()
		}
		return verify(p, public)
	}
}

// Scheme is a key in an engine, its types hidden.
type Scheme[P any] interface {
	// Prove solves and proves.
	Prove(context.Context, constraint.ConstraintSystem, witness.Witness, *gnark.ProverConfig) (P, error)
	// In is the key in another engine.
	In(context.Context, *engine.Engine) (Scheme[P], error)
	// CheckKey returns backend.ErrInvalidInput that names what is wrong with the key's points, nil if
	// they may be right. The engine computes that; it takes as long as some proofs.
	CheckKey(context.Context) error
	Close() error
}

// Streamer is a scheme that proves many statements faster than one by one.
type Streamer[P any] interface {
	Scheme[P]
	// Stream returns the scheme for the proofs of a stream that ends with ctx, or nil when
	// they are no faster.
	Stream(ctx context.Context) Scheme[P]
}

// configOf returns what gnark makes of options. Of the one for icicle it says what to do instead: as an
// error from gnark v0.15 on, whose own error names another package, before as a warning, once.
func configOf(opts []gnark.ProverOption) (gnark.ProverConfig, error) {
	const instead = "leave out WithIcicleAcceleration: what pippin.Use opens computes (docs/howto/from-icicle-gnark.md)"
	cfg, err := gnark.NewProverConfig(opts...)
	if err != nil && versions.AsksForIcicle(opts) {
		return cfg, fmt.Errorf("%w: %s", backend.ErrInvalidInput, instead)
	}
	warnIcicle.Do(func() {
		if versions.AsksForIcicle(opts) {
			log := logger.Logger()
			log.Warn().Msg(instead)
		}
	})
	return cfg, err
}

var warnIcicle, warnHere sync.Once

// Key is a key in an engine, with the options for its proofs. Safe for concurrent use.
type Key[P any] struct {
	engine *engine.Engine
	end    func() error // of an engine of its own
	opts   Options[P]
	scheme Scheme[P]

	calls Calls
}

// errNoEngine is why this process computes a proof while an engine computes elsewhere.
var errNoEngine = errors.New("this process computes a proof, since its prover was given no engine, " +
	"while one is open: pippin.Use gives it to all provers, Use of a prover's package to that one")

// Load loads a key into an engine; a nil engine is that of pippin.Use, or one in this process. Of
// the latter a line of the log and an event of the engine say, once, if there is one that computes elsewhere.
func Load[P any](ctx context.Context, engine *engine.Engine, o Options[P],
	load func(context.Context, *engine.Engine) (Scheme[P], error)) (_ *Key[P], err error) {
	if other := inuse.Elsewhere(); engine == nil && inuse.Engine() == nil && other != nil {
		warnHere.Do(func() {
			log := logger.Logger()
			log.Warn().Str("engine", other.Backend()).Msg(errNoEngine.Error())
			other.Bypassed(errNoEngine)
		})
	}
	k := &Key[P]{opts: o}
	if k.engine, k.end, err = resident.Or(ctx, engine); err != nil {
		return nil, err
	}
	if k.scheme, err = load(ctx, k.engine); err != nil {
		return nil, errors.Join(err, k.end())
	}
	return k, nil
}

// Prove proves with the key that find returns, once more when that was closed in
// between.
func Prove[P any](find func(context.Context) (*Key[P], error), ccs constraint.ConstraintSystem,
	w witness.Witness, opts []gnark.ProverOption) (P, error) {
	ctx := context.Background()
	for {
		k, err := find(ctx)
		if err != nil {
			var none P
			return none, err
		}
		proof, err := k.Prove(ctx, ccs, w, opts)
		if !errors.Is(err, backend.ErrClosed) || !k.Closed() {
			return proof, err
		}
	}
}

// Prove returns a proof, verified if that is wanted. A proof that does not verify is made
// again in this process.
func (k *Key[P]) Prove(ctx context.Context, ccs constraint.ConstraintSystem, w witness.Witness,
	opts []gnark.ProverOption) (proof P, err error) {
	return k.prove(ctx, k.scheme, ccs, w, opts)
}

func (k *Key[P]) prove(ctx context.Context, by Scheme[P], ccs constraint.ConstraintSystem,
	w witness.Witness, opts []gnark.ProverOption) (proof P, err error) {
	var none P
	if !k.calls.Begin() {
		return none, fmt.Errorf("prover: %w", backend.ErrClosed)
	}
	defer k.calls.End()
	ctx, end := k.engine.Observe(ctx, engine.Phase{Kind: engine.PhaseProve})
	defer func() { end(err) }()
	cfg, err := configOf(append(slices.Clone(k.opts.Prover), opts...))
	if err != nil {
		return none, fmt.Errorf("prover options: %w", err)
	}
	on := k.engine.Backend()
	proof, err = by.Prove(ctx, ccs, w, &cfg)
	if err != nil || k.opts.Verify == nil {
		return proof, err
	}
	refused := k.opts.Verify(proof, w)
	if refused == nil {
		return proof, nil
	}
	if k.opts.OnEvent != nil {
		k.opts.OnEvent(Event{time.Now(), on, refused})
	}
	if proof, err = k.again(ctx, ccs, w, &cfg); err != nil {
		return none, fmt.Errorf("proving again in this process: %w (the first proof: %w)", err, refused)
	}
	if err := k.opts.Verify(proof, w); err != nil {
		return none, k.notVerified(ctx, err)
	}
	return proof, nil
}

// notVerified returns the error of a proof that was refused again, and says whether the key is why.
func (k *Key[P]) notVerified(ctx context.Context, refused error) error {
	why := "are the verifier's options the prover's?"
	if err := k.here(ctx, func(s Scheme[P]) error { return s.CheckKey(ctx) }); errors.Is(err, backend.ErrInvalidInput) {
		why = fmt.Sprintf("the proving key: %v; msm key check finds points that are wrong in a key's file", err)
	}
	return fmt.Errorf("%w, not when it is made again in this process either: %w (%s)", ErrNotVerified, refused, why)
}

// ProveAll yields the proof of each witness, or its error, in the order of the
// witnesses, with at most inFlight of them worked at or waiting to be yielded. When
// ctx ends it says so once for all that are left.
func (k *Key[P]) ProveAll(ctx context.Context, ccs constraint.ConstraintSystem,
	witnesses iter.Seq[witness.Witness], inFlight int, opts []gnark.ProverOption) iter.Seq2[P, error] {
	type result struct {
		proof P
		err   error
	}
	return func(yield func(P, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var all sync.WaitGroup
		var cut bool // before the last witness
		defer all.Wait()
		defer cancel()
		by := k.scheme
		if s, ok := by.(Streamer[P]); ok && inFlight > 1 {
			if stream := s.Stream(ctx); stream != nil {
				by = stream
			}
		}
		turns := make(chan struct{}, max(1, inFlight))
		results := make(chan chan result, cap(turns))
		all.Go(func() {
			defer close(results)
			for w := range witnesses {
				select {
				case turns <- struct{}{}:
				case <-ctx.Done():
					cut = true
					return
				}
				r := make(chan result, 1)
				results <- r // there is room for as many as have a turn
				all.Go(func() {
					proof, err := k.prove(ctx, by, ccs, w, opts)
					r <- result{proof, err}
				})
			}
		})
		for r := range results {
			r := <-r
			<-turns
			if !yield(r.proof, r.err) {
				return
			}
		}
		if cut {
			var none P
			yield(none, backend.Ended(ctx))
		}
	}
}

// again makes a proof again, in this process.
func (k *Key[P]) again(ctx context.Context, ccs constraint.ConstraintSystem, w witness.Witness,
	cfg *gnark.ProverConfig) (proof P, err error) {
	err = k.here(ctx, func(s Scheme[P]) (err error) {
		proof, err = s.Prove(ctx, ccs, w, cfg)
		return err
	})
	return proof, err
}

// here calls do with the key in an engine in this process.
func (k *Key[P]) here(ctx context.Context, do func(Scheme[P]) error) error {
	e, err := resident.Open(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	s, err := k.scheme.In(ctx, e)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

// Closed reports whether Close was called.
func (k *Key[P]) Closed() bool { return k.calls.Closed() }

// Close frees what is resident after the proofs in flight. Closing twice is no
// error.
func (k *Key[P]) Close() error {
	if !k.calls.Close() {
		return nil
	}
	return errors.Join(k.scheme.Close(), k.end())
}
