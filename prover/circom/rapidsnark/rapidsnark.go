// Package rapidsnark has go-rapidsnark's functions and types on package circom: a program that
// proves circom's circuits with go-rapidsnark changes its imports and keeps its calls.
//
//	import (
//		prover "github.com/pippin-zk/pippin/prover/circom/rapidsnark"
//		"github.com/pippin-zk/pippin/prover/circom/rapidsnark" // for rapidsnark.Use
//	)
//
//	e, err := pippin.New(ctx, engine.Config{Backend: "cuda"})
//	rapidsnark.Use(e)
//	proof, err := prover.Groth16Prover(zkey, wtns) // as before
//
// The types of go-rapidsnark's package types and the function of its package verifier are here too.
// There is no cgo, calls at a time are safe, every proof is verified before it is returned, and
// BLS12-381 is a second curve.
//
// # Keys
//
// go-rapidsnark takes a key's bytes for each proof. Here the first call with a key loads it, and
// later calls find it: by the address of the bytes, which takes microseconds, else by a digest of
// them all. So a program that keeps its bytes in memory is served the fastest, and one that reads
// its file for each proof is right too. Keys stay within a limit (see Keep); those used last stay.
//
// Another key may be read into the same bytes: a sample of them tells. Changing single bytes of a
// key that was used may go unnoticed.
package rapidsnark

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/circom"
)

// ProofData is a proof in the form of proof.json.
type ProofData struct {
	A        []string   `json:"pi_a"`
	B        [][]string `json:"pi_b"`
	C        []string   `json:"pi_c"`
	Protocol string     `json:"protocol"`
}

// ZKProof is a proof with its public signals.
type ZKProof struct {
	Proof      *ProofData `json:"proof"`
	PubSignals []string   `json:"pub_signals"`
}

// Option configures Use.
type Option func(*options)

type options struct {
	limit int64
	key   []circom.KeyOption
}

// DefaultKeep is the limit of keys where Keep says none.
const DefaultKeep = 16 << 30

// Keep limits the keys that stay loaded to that many bytes of their files. The key of the last
// call stays, however large it is; with 0 no other does.
func Keep(bytes int64) Option { return func(o *options) { o.limit = bytes } }

// WithKeyOptions loads keys with options of package circom.
func WithKeyOptions(opts ...circom.KeyOption) Option {
	return func(o *options) { o.key = append(o.key, opts...) }
}

// Use makes proofs run on an engine from now on; nil is that of pippin.Use, or else one in this
// process, as before the first Use. Keys that are loaded are freed after the proofs in flight. The
// caller keeps the engine open while it is in use, and closes it.
func Use(e *engine.Engine, opts ...Option) {
	o := options{limit: DefaultKeep, key: []circom.KeyOption{circom.WithEngine(e)}}
	for _, set := range opts {
		set(&o)
	}
	kept.use(&o)
}

// kept has the keys that are loaded.
var kept = newKeys(options{limit: DefaultKeep}, func(zkey []byte, opts []circom.KeyOption) (resident, error) {
	return circom.ParseKey(zkey, opts...)
})

// Groth16Prover proves with the bytes of a .zkey and of a .wtns, which it does not change. Errors
// wrap a sentinel of package backend.
func Groth16Prover(zkey []byte, witness []byte) (proof *ZKProof, err error) {
	p, err := prove(zkey, witness)
	if err != nil {
		return nil, err
	}
	return proofOf(p)
}

// Groth16ProverRaw is Groth16Prover whose results are JSON in a line each, as rapidsnark writes
// them. A circuit without public signals has [], for which rapidsnark writes null.
func Groth16ProverRaw(zkey []byte, witness []byte) (proof string, publicInputs string, err error) {
	p, err := Groth16Prover(zkey, witness)
	if err != nil {
		return "", "", err
	}
	one, err := json.Marshal(p.Proof)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	two, err := json.Marshal(p.PubSignals)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	return string(one), string(two), nil
}

// VerifyGroth16 returns nil if a proof is right for its public signals, of which there must be as
// many as the key has. The key is the bytes of a verification_key.json.
func VerifyGroth16(zkProof ZKProof, verificationKey []byte) error {
	vk, err := circom.ParseVerifyingKey(verificationKey)
	if err != nil {
		return err
	}
	if zkProof.Proof == nil {
		return fmt.Errorf("%w: no proof", backend.ErrInvalidInput)
	}
	proof, err := json.Marshal(struct {
		*ProofData
		Curve string `json:"curve"`
	}{zkProof.Proof, vk.Curve.String()})
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	public, err := json.Marshal(zkProof.PubSignals)
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	p, err := circom.ParseProof(proof, public)
	if err != nil {
		return err
	}
	return vk.Verify(p)
}

func prove(zkey, witness []byte) (*circom.Proof, error) {
	w, err := circom.ParseWitness(witness)
	if err != nil {
		return nil, err
	}
	k, done, err := kept.of(zkey)
	if err != nil {
		return nil, err
	}
	defer done()
	return k.Prove(context.Background(), w)
}

// proofOf returns a proof in go-rapidsnark's type.
func proofOf(p *circom.Proof) (*ZKProof, error) {
	b, err := p.JSON()
	if err != nil {
		return nil, err
	}
	z := &ZKProof{Proof: new(ProofData), PubSignals: make([]string, len(p.Public))}
	if err := json.Unmarshal(b, z.Proof); err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	for i, v := range p.Public {
		z.PubSignals[i] = v.String()
	}
	return z, nil
}
