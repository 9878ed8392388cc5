// Command groth16msm proves a real statement with Groth16 on BN254 and runs
// every MSM of the proof on the backends named. The answers are compared with
// gnark-crypto's, and gnark's own verifier judges the proofs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/backend/groth16"
	groth16bn254 "github.com/consensys/gnark/backend/groth16/bn254"
	"github.com/consensys/gnark/backend/witness"
	cs "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/examples/internal/demo"
)

func main() {
	circuit := flag.String("circuit", "sha256", "what to prove: sha256 or ecdsa")
	backends := flag.String("backend", demo.Backends(), "backends to run on, separated by commas")
	plugins := flag.String("plugins", "", "folder with the plugins (default: the CPU plugin is built with the go command)")
	flag.Parse()
	logger.Disable()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *circuit, strings.Split(*backends, ","), *plugins); err != nil {
		fmt.Fprintln(os.Stderr, "groth16msm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, circuit string, backends []string, plugins string) error {
	what, err := newStatement(circuit)
	if err != nil {
		return err
	}
	dirs, remove, err := demo.PluginDirs(ctx, plugins, backends)
	if err != nil {
		return err
	}
	defer remove()

	t, err := prepare(w, what)
	if err != nil {
		return err
	}
	open := pippin.Opener(pippin.Options{PluginDirs: dirs})
	for _, name := range backends {
		if err := t.run(ctx, w, open, name); err != nil {
			return fmt.Errorf("backend %s: %w", name, err)
		}
	}
	return nil
}

// A task is a statement that is ready to be proved.
type task struct {
	system *cs.R1CS
	pk     *groth16bn254.ProvingKey
	vk     groth16.VerifyingKey
	full   witness.Witness
	public witness.Witness
}

// prepare compiles the circuit and makes its keys.
func prepare(w io.Writer, s statement) (*task, error) {
	start := time.Now()
	field := ecc.BN254.ScalarField()
	compiled, err := frontend.Compile(field, r1cs.NewBuilder, s.circuit)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "%s: %d constraints; making the keys ...", s.title, compiled.GetNbConstraints())
	pk, vk, err := groth16.Setup(compiled)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, " done after %v\n", time.Since(start).Round(time.Millisecond))

	t := &task{vk: vk}
	var isR1CS, isBN254 bool
	t.system, isR1CS = compiled.(*cs.R1CS)
	t.pk, isBN254 = pk.(*groth16bn254.ProvingKey)
	if !isR1CS || !isBN254 {
		return nil, errors.New("gnark made a system or key for another curve than BN254")
	}
	if t.full, err = frontend.NewWitness(s.assignment, field); err != nil {
		return nil, err
	}
	t.public, err = t.full.Public()
	return t, err
}

// run proves the statement on one backend and checks everything.
func (t *task) run(ctx context.Context, w io.Writer, open engine.Opener, name string) (err error) {
	e, err := pippin.New(ctx, engine.Config{
		Backend:   name,
		Fallbacks: []string{engine.NoFallback}, // so that it is this backend that answers
		Open:      open,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	key, err := loadKey(ctx, e, t.pk)
	if err != nil {
		return err
	}
	defer key.close()

	// Fixed so that every backend must make the same proof.
	r, s := fr.NewElement(0xb11d), fr.NewElement(0x5eed)
	got, err := prove(ctx, e, key, t.system, t.pk, t.full, r, s)
	if err != nil {
		return err
	}
	want, err := onGnarkCrypto(t.pk, got.solved)
	if err != nil {
		return err
	}
	if wrong := got.sums.different(want); len(wrong) > 0 {
		return fmt.Errorf("differs from gnark-crypto in %s", strings.Join(wrong, ", "))
	}
	if err := groth16.Verify(got.proof, t.vk, t.public); err != nil {
		return fmt.Errorf("gnark's verifier refuses the proof: %w", err)
	}
	fmt.Fprintf(w, "%s: solved in %v, %s in %v\n  all MSMs equal gnark-crypto's, gnark's verifier accepts the proof\n",
		name, got.solve.Round(time.Millisecond), t.sizes(), got.msms.Round(time.Millisecond))
	return nil
}

// sizes lists the MSMs of the batch.
func (t *task) sizes() string {
	s := fmt.Sprintf("A %d, B1 and B2 %d, K %d, Z %d", len(t.pk.G1.A), len(t.pk.G1.B), len(t.pk.G1.K), len(t.pk.G1.Z))
	for i := range t.pk.CommitmentKeys {
		s += fmt.Sprintf(", Pedersen %d", len(t.pk.CommitmentKeys[i].Basis))
	}
	return s
}
