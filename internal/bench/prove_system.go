package bench

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/consensys/gnark-crypto/ecc"
	stockgroth16 "github.com/consensys/gnark/backend/groth16"
	stockplonk "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// System is a proof system.
type System string

const (
	Groth16 System = "groth16"
	PLONK   System = "plonk"
)

// Systems are the systems there are.
func Systems() []System { return []System{Groth16, PLONK} }

// ParseSystem checks the name of a system.
func ParseSystem(s string) (System, error) {
	if y := System(strings.ToLower(s)); slices.Contains(Systems(), y) {
		return y, nil
	}
	return "", fmt.Errorf("%w: unknown proof system %q (groth16, plonk)", backend.ErrInvalidInput, s)
}

// keys are the keys of a circuit in one system, and what is done with them.
type keys interface {
	builder() frontend.NewBuilder
	// empty is a constraint system to be read.
	empty() constraint.ConstraintSystem
	setUp(constraint.ConstraintSystem) error
	files() []keyFile
	// stock is gnark's prover.
	stock(constraint.ConstraintSystem, witness.Witness) (any, error)
	verify(proof any, public witness.Witness) error
	// prover loads the keys into an engine.
	prover(*engine.Engine, constraint.ConstraintSystem, Merge) (proverOn, error)
	// transforms is those of one proof; nil when they are not done by themselves.
	transforms() (func(), error)
}

// proverOn is a prover on a backend.
type proverOn interface {
	prove(context.Context, witness.Witness) (any, error)
	// proveAll proves a witness several times, in flight together.
	proveAll(ctx context.Context, w witness.Witness, times, inFlight int) iter.Seq2[any, error]
	Close() error
}

func newKeys(s System, curve ecc.ID) keys {
	if s == PLONK {
		return &plonkKeys{curve, stockplonk.NewProvingKey(curve), stockplonk.NewVerifyingKey(curve)}
	}
	return &groth16Keys{curve, stockgroth16.NewProvingKey(curve), stockgroth16.NewVerifyingKey(curve)}
}

func written(f func(io.Writer) (int64, error)) func(io.Writer) error {
	return func(w io.Writer) error { _, err := f(w); return err }
}

func readBy(f func(io.Reader) (int64, error)) func(io.Reader) error {
	return func(r io.Reader) error { _, err := f(r); return err }
}

type groth16Keys struct {
	curve ecc.ID
	pk    stockgroth16.ProvingKey
	vk    stockgroth16.VerifyingKey
}

func (*groth16Keys) builder() frontend.NewBuilder         { return r1cs.NewBuilder }
func (k *groth16Keys) empty() constraint.ConstraintSystem { return stockgroth16.NewCS(k.curve) }

func (k *groth16Keys) setUp(ccs constraint.ConstraintSystem) (err error) {
	k.pk, k.vk, err = stockgroth16.Setup(ccs)
	return err
}

func (k *groth16Keys) files() []keyFile {
	return []keyFile{
		{"proving", k.pk.WriteDump, k.pk.ReadDump},
		{"verifying", written(k.vk.WriteRawTo), readBy(k.vk.UnsafeReadFrom)},
	}
}

func (k *groth16Keys) stock(ccs constraint.ConstraintSystem, w witness.Witness) (any, error) {
	return stockgroth16.Prove(ccs, k.pk, w)
}

func (k *groth16Keys) verify(proof any, public witness.Witness) error {
	return stockgroth16.Verify(proof.(stockgroth16.Proof), k.vk, public)
}

func (k *groth16Keys) transforms() (func(), error) { return transformsOf(k.pk) }

func (k *groth16Keys) prover(e *engine.Engine, ccs constraint.ConstraintSystem, m Merge) (proverOn, error) {
	p, err := groth16.NewProver(e, ccs, k.pk, m.options()...)
	return groth16On{p}, err
}

type groth16On struct{ *groth16.Prover }

func (p groth16On) prove(ctx context.Context, w witness.Witness) (any, error) { return p.Prove(ctx, w) }

func (p groth16On) proveAll(ctx context.Context, w witness.Witness, times, inFlight int) iter.Seq2[any, error] {
	return untyped(p.ProveAll(ctx, repeated(w, times), inFlight))
}

type plonkKeys struct {
	curve ecc.ID
	pk    stockplonk.ProvingKey
	vk    stockplonk.VerifyingKey
}

func (*plonkKeys) builder() frontend.NewBuilder         { return scs.NewBuilder }
func (k *plonkKeys) empty() constraint.ConstraintSystem { return stockplonk.NewCS(k.curve) }

// setUp takes a setup whose secret is known.
func (k *plonkKeys) setUp(ccs constraint.ConstraintSystem) error {
	canonical, lagrange, err := unsafekzg.NewSRS(ccs)
	if err != nil {
		return err
	}
	k.pk, k.vk, err = stockplonk.Setup(ccs, canonical, lagrange)
	return err
}

func (k *plonkKeys) files() []keyFile {
	return []keyFile{
		{"proving", written(k.pk.WriteRawTo), readBy(k.pk.UnsafeReadFrom)},
		{"verifying", written(k.vk.WriteRawTo), readBy(k.vk.UnsafeReadFrom)},
	}
}

func (k *plonkKeys) stock(ccs constraint.ConstraintSystem, w witness.Witness) (any, error) {
	return stockplonk.Prove(ccs, k.pk, w)
}

func (k *plonkKeys) verify(proof any, public witness.Witness) error {
	return stockplonk.Verify(proof.(stockplonk.Proof), k.vk, public)
}

func (*plonkKeys) transforms() (func(), error) { return nil, nil }

func (k *plonkKeys) prover(e *engine.Engine, ccs constraint.ConstraintSystem, _ Merge) (proverOn, error) {
	p, err := plonk.NewProver(e, ccs, k.pk)
	return plonkOn{p}, err
}

type plonkOn struct{ *plonk.Prover }

func (p plonkOn) prove(ctx context.Context, w witness.Witness) (any, error) { return p.Prove(ctx, w) }

func (p plonkOn) proveAll(ctx context.Context, w witness.Witness, times, inFlight int) iter.Seq2[any, error] {
	return untyped(p.ProveAll(ctx, repeated(w, times), inFlight))
}

func repeated(w witness.Witness, times int) iter.Seq[witness.Witness] {
	return slices.Values(slices.Repeat([]witness.Witness{w}, times))
}

func untyped[P any](proofs iter.Seq2[P, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for p, err := range proofs {
			if !yield(p, err) {
				return
			}
		}
	}
}
