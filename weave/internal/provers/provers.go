// Package provers is what gnark's Prove, Setup and ReadFrom of proving keys ask first in a woven program: they are
// answered by pippin's provers, on the engine of package hook.
package provers

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/kzg"
	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/inuse"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/plonk"
	"github.com/pippin-zk/pippin/weave/internal/hook"
)

// FromEnvironment makes the Runtime that the environment asks for, nil for none. Its engine is the provers'
// too, unless the program has given them another.
func FromEnvironment() *hook.Runtime {
	return hook.FromEnvironmentWith(func() backend.Backend { return cpu.New(cpu.Options{}) }, func(e *engine.Engine) {
		if inuse.Engine() == nil {
			inuse.Set(e)
		}
	})
}

// curveOf returns the curve of a constraint system, false for one without provers.
func curveOf(ccs constraint.ConstraintSystem) (backend.Curve, bool) {
	on, ok := ccs.(interface{ CurveID() ecc.ID })
	if !ok {
		return 0, false
	}
	return curves.WithID(on.CurveID())
}

// ProveGroth16 returns the hook of Groth16's Prove. The hooks of Prove and Setup answer neither a result nor an error
// where gnark is to compute.
func ProveGroth16(r *hook.Runtime) func(constraint.ConstraintSystem, groth16.ProvingKey, witness.Witness,
	[]gnark.ProverOption) (groth16.Proof, error) {
	return prove(r, "groth16.Prove", groth16.Prove)
}

// ProvePlonk returns the hook of PLONK's Prove.
func ProvePlonk(r *hook.Runtime) func(constraint.ConstraintSystem, plonk.ProvingKey, witness.Witness,
	[]gnark.ProverOption) (plonk.Proof, error) {
	return prove(r, "plonk.Prove", plonk.Prove)
}

func prove[K, P any](r *hook.Runtime, what string,
	by func(constraint.ConstraintSystem, K, witness.Witness, ...gnark.ProverOption) (P, error),
) func(constraint.ConstraintSystem, K, witness.Witness, []gnark.ProverOption) (P, error) {
	return func(ccs constraint.ConstraintSystem, pk K, w witness.Witness, opts []gnark.ProverOption) (proof P, err error) {
		err = ask(r, what, ccs, func(context.Context, *engine.Engine) error {
			made, err := by(ccs, pk, w, opts...)
			if err == nil {
				proof = made
			}
			return err
		})
		return proof, err
	}
}

// ask has the runtime ask for something of a constraint system.
func ask(r *hook.Runtime, what string, ccs constraint.ConstraintSystem, answer func(context.Context, *engine.Engine) error) error {
	curve, ok := curveOf(ccs)
	if !ok {
		return nil
	}
	_, err := r.Ask(what, curve, ccs.GetNbConstraints(), answer)
	return err
}

// SetupGroth16 returns the hook of Groth16's Setup.
func SetupGroth16(r *hook.Runtime) func(constraint.ConstraintSystem) (groth16.ProvingKey, groth16.VerifyingKey, error) {
	return func(ccs constraint.ConstraintSystem) (pk groth16.ProvingKey, vk groth16.VerifyingKey, err error) {
		err = ask(r, "groth16.Setup", ccs, func(ctx context.Context, e *engine.Engine) (err error) {
			pk, vk, err = groth16.SetupOn(ctx, e, ccs)
			return err
		})
		return pk, vk, err
	}
}

// SetupPlonk returns the hook of PLONK's Setup.
func SetupPlonk(r *hook.Runtime) func(_ constraint.ConstraintSystem, srs, srsLagrange kzg.SRS) (
	plonk.ProvingKey, plonk.VerifyingKey, error) {
	return func(ccs constraint.ConstraintSystem, srs, srsLagrange kzg.SRS) (pk plonk.ProvingKey, vk plonk.VerifyingKey, err error) {
		err = ask(r, "plonk.Setup", ccs, func(ctx context.Context, e *engine.Engine) (err error) {
			pk, vk, err = plonk.SetupOn(ctx, e, ccs, srs, srsLagrange)
			return err
		})
		return pk, vk, err
	}
}

// ReadGroth16 returns the hook of ReadFrom of the Groth16 proving keys K of a curve. The hooks of keys return a reader of
// the same bytes where gnark is to read them, and else nil and how many they have read.
func ReadGroth16[K any](r *hook.Runtime, curve ecc.ID) func(*K, io.Reader) (io.Reader, int64, error) {
	return read[K](r, "groth16.ReadFrom", curve, groth16.ReadProvingKey)
}

// ReadPlonk returns the hook of ReadFrom of the PLONK proving keys K of a curve.
func ReadPlonk[K any](r *hook.Runtime, curve ecc.ID) func(*K, io.Reader) (io.Reader, int64, error) {
	return read[K](r, "plonk.ReadFrom", curve, func(ctx context.Context, e *engine.Engine, from io.Reader) (plonk.ProvingKey, error) {
		return plonk.ReadProvingKey(ctx, e, curve, from)
	})
}

func read[K, I any](r *hook.Runtime, what string, curve ecc.ID,
	by func(context.Context, *engine.Engine, io.Reader) (I, error)) func(*K, io.Reader) (io.Reader, int64, error) {
	on, _ := curves.WithID(curve) // every curve that is woven is there
	return func(pk *K, from io.Reader) (io.Reader, int64, error) {
		head := make([]byte, headBytes)
		n, err := io.ReadFull(from, head)
		same := io.MultiReader(bytes.NewReader(head[:n]), from)
		size := domainOf(head)
		if err != nil || size > maxDomain {
			return same, 0, nil // gnark says what is wrong
		}
		counted := &counter{from: same}
		begun := false
		var failure error
		_, err = r.Ask(what, on, int(size), func(ctx context.Context, e *engine.Engine) error {
			begun = true
			var made I
			if made, failure = by(ctx, e, counted); failure != nil {
				return failure
			}
			k, ok := any(made).(*K)
			if !ok {
				failure = fmt.Errorf("%w: a proving key of type %T, not of %s", backend.ErrInvalidInput, made, curve)
				return failure
			}
			*pk = *k
			return nil
		})
		if !begun && err == nil {
			return same, 0, nil
		}
		if err == nil {
			err = failure
		}
		return nil, counted.n, err
	}
}

const (
	// headBytes is how many bytes of a key tell the size of its domain: that, or PLONK's marker and
	// version and that.
	headBytes = 3 * 8
	maxDomain = 1 << 32
)

// domainOf returns the size of a key's domain.
func domainOf(head []byte) uint64 {
	if size := binary.BigEndian.Uint64(head); size != 0 {
		return size
	}
	return binary.BigEndian.Uint64(head[2*8:])
}

// counter counts the bytes that are read.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}
