package circom

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/circom/internal/file"
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

// Event reports that a proof did not verify and was made again. Events of backends are
// engine.Event, from engine.Config.OnEvent.
type Event = proving.Event

// KeyOption configures a Key.
type KeyOption func(*keyOptions)

type keyOptions struct {
	ctx          context.Context
	engine       *engine.Engine
	chosen       bool // engine is the one to use
	unchecked    bool
	onEvent      func(Event)
	mergeBases   Merging
	mergeScalars Merging
}

// WithEngine loads a key into an engine other than that of Use; nil is that of pippin.Use, or one
// in this process.
func WithEngine(e *engine.Engine) KeyOption {
	return func(o *keyOptions) { o.engine, o.chosen = e, true }
}

// WithContext ends the reading and loading of a key with a context. Proofs have their own.
func WithContext(ctx context.Context) KeyOption { return func(o *keyOptions) { o.ctx = ctx } }

// WithoutPointChecks leaves out the check that every point is in its group. The verifying key is
// checked always. With a point outside, proofs may not verify. The check takes a processor up to 50
// microseconds a point in G2, and in G1 of BLS12-381, which is minutes for keys of a million wires on
// few processors. A GPU takes a small part of that.
func WithoutPointChecks() KeyOption { return func(o *keyOptions) { o.unchecked = true } }

// OnEvent calls f for every proof that did not verify and was made again. Calls may be concurrent.
func OnEvent(f func(Event)) KeyOption { return func(o *keyOptions) { o.onEvent = f } }

// MergeBases says whether equal points of a key are loaded once, and their scalars added up for
// each proof. MergeAuto, the default, does so if at least an eighth of the points would go and this
// process computes.
func MergeBases(m Merging) KeyOption { return func(o *keyOptions) { o.mergeBases = m } }

// MergeScalars says whether the points of equal values are added up before an MSM. MergeAuto, the
// default, does so if at least an eighth of the values would go and this process computes.
func MergeScalars(m Merging) KeyOption { return func(o *keyOptions) { o.mergeScalars = m } }

// used is the engine of Use.
var used struct {
	sync.Mutex
	engine *engine.Engine
}

// Use makes keys that are read from now on load into an engine; nil is that of pippin.Use, or one in
// this process for each key, as before the first Use. The caller closes the engine after the keys.
func Use(e *engine.Engine) {
	used.Lock()
	defer used.Unlock()
	used.engine = e
}

// usedEngine returns the engine of Use.
func usedEngine() *engine.Engine {
	used.Lock()
	defer used.Unlock()
	return used.engine
}

// Key is a proving key whose points stay resident in an engine, until Close. It is safe for
// concurrent use.
type Key struct {
	engine  *engine.Engine
	end     func() error // of an engine in this process
	scheme  scheme
	onEvent func(Event)

	curve                 backend.Curve
	wires, public, domain int

	calls proving.Calls
}

// OpenKey reads snarkjs's proving key from a .zkey file and loads it. The file is not needed
// afterwards. A file that is damaged, or is of another proof system or of an unknown curve, is
// backend.ErrInvalidInput.
func OpenKey(path string, opts ...KeyOption) (*Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var k *Key
	if info.Mode().IsRegular() {
		k, err = LoadKey(f, info.Size(), opts...)
	} else {
		k, err = ReadKey(f, opts...)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// ReadKey does what OpenKey does, with what it reads until the end. That is in memory meanwhile.
func ReadKey(from io.Reader, opts ...KeyOption) (*Key, error) {
	b, err := file.ReadAll(from)
	if err != nil {
		return nil, err
	}
	return ParseKey(b, opts...)
}

// ParseKey does what OpenKey does, with the bytes of a file. They are not needed afterwards.
func ParseKey(b []byte, opts ...KeyOption) (*Key, error) {
	return LoadKey(bytes.NewReader(b), int64(len(b)), opts...)
}

// LoadKey does what OpenKey does, with a file of some size that somebody else has open. It reads
// parts of the file at the same time.
func LoadKey(from io.ReaderAt, size int64, opts ...KeyOption) (*Key, error) {
	o := keyOptions{ctx: context.Background()}
	for _, set := range opts {
		set(&o)
	}
	if !o.chosen {
		o.engine = usedEngine()
	}
	f, err := file.OpenKey(from, size)
	if err != nil {
		return nil, err
	}
	k := &Key{onEvent: o.onEvent, curve: f.Curve, wires: f.Wires, public: f.Public, domain: f.Domain}
	if k.engine, k.end, err = resident.Or(o.ctx, o.engine); err != nil {
		return nil, err
	}
	if k.scheme, err = bindings[k.Curve()].load(o.ctx, k.engine, &o, f); err != nil {
		return nil, errors.Join(err, k.end())
	}
	if !k.HasContribution() {
		k.engine.Config().Log.Warn("nobody has contributed to a circom key: whoever made it can prove what is false (snarkjs zkey contribute)")
	}
	return k, nil
}

// Curve returns the key's curve.
func (k *Key) Curve() ecc.ID { return curves.ID(k.curve) }

// NbWires returns the number of wires, wire 0 included: the length of a witness.
func (k *Key) NbWires() int { return k.wires }

// NbPublic returns the number of public signals, outputs included.
func (k *Key) NbPublic() int { return k.public }

// NbConstraints returns the number of constraints.
func (k *Key) NbConstraints() int { return k.scheme.constraints() }

// DomainSize returns the size of the domain over which the constraints are polynomials.
func (k *Key) DomainSize() int { return k.domain }

// HasContribution reports whether anybody has contributed to the key. Proofs with a key without
// contributions convince nobody: who made it can prove what is false.
func (k *Key) HasContribution() bool { return !k.scheme.fresh() }

// VerifyingKey returns the verifying key, which the caller may change.
func (k *Key) VerifyingKey() *VerifyingKey { return k.scheme.verifyingKey() }

// ProveOption configures a proof.
type ProveOption func(*proveOptions)

type proveOptions struct{ unverified bool }

// WithoutVerify returns a proof as it was computed, for callers who verify it elsewhere. With a
// witness that is not the circuit's the proof is wrong.
func WithoutVerify() ProveOption { return func(o *proveOptions) { o.unverified = true } }

// Prove returns a proof for a witness. It verifies the proof first, which takes some milliseconds.
// One that does not verify is reported to OnEvent and made again in this process, with new
// randomness, unless this process made it. If that does not help, the error wraps ErrNotVerified:
// the witness does not satisfy the circuit, or the key is wrong.
//
// A witness of another length or curve, or with a value that is not below r, is
// backend.ErrInvalidInput. When the context ends, Prove returns its error within some milliseconds.
// An MSM in this process runs on after the call.
func (k *Key) Prove(ctx context.Context, w Witness, opts ...ProveOption) (_ *Proof, err error) {
	var o proveOptions
	for _, set := range opts {
		set(&o)
	}
	if !k.calls.Begin() {
		return nil, fmt.Errorf("circom key: %w", backend.ErrClosed)
	}
	defer k.calls.End()
	if err := fits(k.Curve(), k.wires, w); err != nil {
		return nil, err
	}
	ctx, end := k.engine.Observe(ctx, engine.Phase{Kind: engine.PhaseProve})
	defer func() { end(err) }()
	on, here := k.engine.Backend(), k.engine.Info().InProcess
	p, err := k.scheme.prove(ctx, w.values)
	if err != nil || o.unverified {
		return p, err
	}
	wrong := k.scheme.verify(p)
	if wrong == nil {
		return p, nil
	}
	if here && k.engine.Backend() == on {
		return nil, fmt.Errorf("%w: is the witness this circuit's?", wrong)
	}
	if k.onEvent != nil {
		k.onEvent(Event{Time: time.Now(), Backend: on, Err: wrong})
	}
	if p, err = k.again(ctx, w.values); err != nil {
		return nil, fmt.Errorf("proving again in this process: %w (the first proof: %w)", err, wrong)
	}
	if err := k.scheme.verify(p); err != nil {
		return nil, fmt.Errorf("%w, not when it is made again in this process either: is the witness this circuit's?", err)
	}
	return p, nil
}

// again makes a proof in this process.
func (k *Key) again(ctx context.Context, values []byte) (*Proof, error) {
	e, err := resident.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	s, err := k.scheme.in(ctx, e)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.prove(ctx, values)
}

// Close waits for the proofs in flight and frees the key's points. Closing twice is no error.
func (k *Key) Close() error {
	if !k.calls.Close() {
		return nil
	}
	return errors.Join(k.scheme.Close(), k.end())
}
