// Command snippets runs a block of code of a document, with what a reader's program has.
// TestSnippetsRun builds it from this file and from the documents.
package main

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"os"
	"strings"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bn254kzg "github.com/consensys/gnark-crypto/ecc/bn254/kzg"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"
	"github.com/consensys/gnark/test/unsafekzg"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/groth16/mpcsetup"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// given has the values of a reader's program by their names, taken by takes.
var given = map[string]any{}

// runs are the blocks by their names; the files of documents add theirs.
var runs = map[string]func() error{}

func takes[T any](name string) T {
	v, _ := given[name].(T)
	return v
}

type square struct{ X, Y frontend.Variable }

func (c *square) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.X, c.X), c.Y)
	api.AssertIsEqual(api.Mul(c.X, c.Y), api.Mul(c.Y, c.X))
	return nil
}

func main() {
	logger.Disable()
	name, system := os.Args[1], os.Args[2]
	if err := fill(system); err != nil {
		fmt.Fprintln(os.Stderr, "what a reader has:", err)
		os.Exit(2)
	}
	if err := runs[name](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fill makes the values; system is the proof system of ccs, and what the file has.
func fill(system string) error {
	ctx := context.Background()
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu"})
	if err != nil {
		return err
	}
	field := ecc.BN254.ScalarField()
	ccs, err := frontend.Compile(field, r1cs.NewBuilder, &square{})
	if err != nil {
		return err
	}
	pk, vk, err := groth16.Setup(ccs)
	if err != nil {
		return err
	}
	witness, err := frontend.NewWitness(&square{X: 3, Y: 9}, field)
	if err != nil {
		return err
	}
	proof, err := groth16.Prove(ccs, pk, witness)
	if err != nil {
		return err
	}
	gates, err := frontend.Compile(field, scs.NewBuilder, &square{})
	if err != nil {
		return err
	}
	canonical, lagrange, err := unsafekzg.NewSRS(gates)
	if err != nil {
		return err
	}
	plonkKey, _, err := plonk.Setup(gates, canonical, lagrange)
	if err != nil {
		return err
	}
	srs, err := bn254kzg.NewSRS(4096, big.NewInt(5))
	if err != nil {
		return err
	}
	var file bytes.Buffer
	switch system {
	case "plonk":
		_, err = plonkKey.WriteRawTo(&file)
	case "srs":
		_, err = srs.WriteTo(&file)
	default:
		_, err = pk.WriteRawTo(&file)
	}
	if err != nil {
		return err
	}
	on, err := os.CreateTemp("", "snippet-")
	if err != nil {
		return err
	}
	if err := os.Remove(on.Name()); err != nil {
		return err
	}
	if _, err := on.Write(file.Bytes()); err != nil {
		return err
	}
	if _, err := on.Seek(0, 0); err != nil {
		return err
	}
	scalars := make(fr.Vector, 4096)
	scalars.MustSetRandom()
	_, _, g, _ := bn254.Generators()
	var last bytes.Buffer
	phase1 := mpcsetup.BN254.NewPhase1(8)
	if _, err := phase1.WriteTo(&last); err != nil {
		return err
	}
	given = map[string]any{
		"ctx": ctx, "e": e, "ccs": ccs, "pk": pk, "vk": vk, "witness": witness, "gnarkProof": proof, "plonkKey": plonkKey,
		"points": bn254.BatchScalarMultiplicationG1(&g, scalars), "scalars": []fr.Element(scalars), "polynomial": []fr.Element(scalars),
		"srs": srs, "file": on, "exporter": tracetest.NewInMemoryExporter(), "last": &last, "next": new(strings.Builder),
		"progress": func(int, int) {},
	}
	if system == "plonk" {
		given["ccs"] = gates
	}
	return nil
}
