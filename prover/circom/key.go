package circom

import (
	"context"
	"errors"
	"io"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/engine"
)

// KeyOption configures a key.
type KeyOption func(*keyOptions)

type keyOptions struct{}

// WithEngine loads the key into an engine other than that of Use; nil is one in this process.
func WithEngine(e *engine.Engine) KeyOption { return func(*keyOptions) {} }

// WithoutPointChecks takes the key's points without a look at their groups.
func WithoutPointChecks() KeyOption { return func(*keyOptions) {} }

// WithContext ends the reading and loading of a key with a context.
func WithContext(ctx context.Context) KeyOption { return func(*keyOptions) {} }

// ProveOption configures a proof.
type ProveOption func(*proveOptions)

type proveOptions struct{}

// WithoutVerify returns a proof that was not verified.
func WithoutVerify() ProveOption { return func(*proveOptions) {} }

// Use makes keys that are read from now on load into an engine; nil is one in this process.
func Use(e *engine.Engine) {}

// Key is a proving key, resident in an engine. It is safe for concurrent use.
type Key struct{}

// OpenKey reads a .zkey file and loads the key.
func OpenKey(path string, opts ...KeyOption) (*Key, error) { return nil, errors.New("to do") }

// ReadKey reads a .zkey file until its end, and loads the key.
func ReadKey(from io.Reader, opts ...KeyOption) (*Key, error) { return nil, errors.New("to do") }

// ParseKey loads the key of a .zkey file's bytes, which it needs no more afterwards.
func ParseKey(b []byte, opts ...KeyOption) (*Key, error) { return nil, errors.New("to do") }

// Close waits for the proofs in flight and frees the key's points.
func (k *Key) Close() error { return nil }

// Curve returns the key's curve.
func (k *Key) Curve() ecc.ID { return ecc.UNKNOWN }

// NbWires returns the number of wires, the constant 1 included: the length of a witness.
func (k *Key) NbWires() int { return 0 }

// NbPublic returns the number of public signals.
func (k *Key) NbPublic() int { return 0 }

// NbConstraints returns the number of constraints.
func (k *Key) NbConstraints() int { return 0 }

// DomainSize returns the size of the key's domain, a power of two.
func (k *Key) DomainSize() int { return 0 }

// VerifyingKey returns the verifying key. The caller may change it.
func (k *Key) VerifyingKey() *VerifyingKey { return nil }

// Prove proves.
func (k *Key) Prove(ctx context.Context, w Witness, opts ...ProveOption) (*Proof, error) {
	return nil, errors.New("to do")
}
