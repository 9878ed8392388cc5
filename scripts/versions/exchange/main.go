// Command exchange writes what a version of gnark writes, or reads what another one wrote and
// proves with it. Command versions builds it with each version.
//
//	exchange write FOLDER    keys, systems, a witness and proofs of a circuit on four curves
//	exchange read FOLDER     a line of JSON for each kind of file: {"what": "groth16 key", "error": ""}
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/consensys/gnark-crypto/ecc"
	stock16 "github.com/consensys/gnark/backend/groth16"
	stockplonk "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"
	"github.com/consensys/gnark/std/lookup/logderivlookup"
	"github.com/consensys/gnark/std/rangecheck"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// circuit has hints, a lookup table, range checks and, on all of them, a commitment.
type circuit struct {
	X   [20]frontend.Variable
	Sum frontend.Variable `gnark:",public"`
}

func (c *circuit) Define(api frontend.API) error {
	checker, table := rangecheck.New(api), logderivlookup.New(api)
	for i := range 64 {
		table.Insert(i * i)
	}
	sum := frontend.Variable(0)
	for _, x := range c.X {
		checker.Check(x, 6)
		sum = api.Add(sum, table.Lookup(x)[0])
	}
	api.AssertIsEqual(api.Add(sum, api.IsZero(c.X[0])), c.Sum)
	return nil
}

func assignment() *circuit {
	c, sum := &circuit{}, 1
	for i := range c.X {
		x := 3 * i % 64
		c.X[i] = x
		sum += x * x
	}
	c.Sum = sum
	return c
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "exchange: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	logger.Disable()
	switch {
	case len(args) == 2 && args[0] == "write":
		for _, c := range backend.Curves() {
			if err := write(args[1], curves.ID(c)); err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
		}
		return nil
	case len(args) == 2 && args[0] == "read":
		return readAll(args[1])
	}
	return errors.New("say write or read, and a folder")
}

// write makes everything with gnark itself.
func write(folder string, curve ecc.ID) error {
	field := curve.ScalarField()
	w, err := frontend.NewWitness(assignment(), field)
	if err != nil {
		return err
	}
	r, err := frontend.Compile(field, r1cs.NewBuilder, &circuit{})
	if err != nil {
		return err
	}
	pk, vk, err := stock16.Setup(r)
	if err != nil {
		return err
	}
	proof, err := stock16.Prove(r, pk, w)
	if err != nil {
		return err
	}
	s, err := frontend.Compile(field, scs.NewBuilder, &circuit{})
	if err != nil {
		return err
	}
	srs, lagrange, err := unsafekzg.NewSRS(s)
	if err != nil {
		return err
	}
	ppk, pvk, err := stockplonk.Setup(s, srs, lagrange)
	if err != nil {
		return err
	}
	pproof, err := stockplonk.Prove(s, ppk, w)
	if err != nil {
		return err
	}
	for name, from := range map[string]io.WriterTo{
		"witness": w, "r1cs": r, "pk16": pk, "vk16": vk, "proof16": proof,
		"scs": s, "pkplonk": ppk, "vkplonk": pvk, "proofplonk": pproof,
	} {
		var b bytes.Buffer
		if _, err := from.WriteTo(&b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, curve.String()+"."+name), b.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// result is what became of a kind of file.
type result struct {
	What  string `json:"what"`
	Error string `json:"error"`
}

// readAll reads everything on all curves. The first error of a kind is the one that it has.
func readAll(folder string) error {
	out := json.NewEncoder(os.Stdout)
	for _, k := range kinds {
		var failed error
		for _, c := range backend.Curves() {
			if err := guarded(func() error { return k.read(&files{folder, curves.ID(c)}) }); err != nil && failed == nil {
				failed = fmt.Errorf("%s: %w", c, err)
			}
		}
		r := result{What: k.what}
		if failed != nil {
			r.Error = failed.Error()
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// files are those of a curve that a version wrote.
type files struct {
	folder string
	curve  ecc.ID
}

func (f *files) open(name string) (*bytes.Reader, error) {
	b, err := os.ReadFile(filepath.Join(f.folder, f.curve.String()+"."+name))
	return bytes.NewReader(b), err
}

// into reads a file into what gnark made for it, to its end.
func into[T io.ReaderFrom](f *files, name string, to T) (T, error) {
	r, err := f.open(name)
	if err != nil {
		return to, err
	}
	if _, err := to.ReadFrom(r); err != nil {
		return to, fmt.Errorf("%s: %w", name, err)
	}
	if r.Len() > 0 {
		return to, fmt.Errorf("%s: %d bytes are left", name, r.Len())
	}
	return to, nil
}

func (f *files) witness() (witness.Witness, witness.Witness, error) {
	w, err := witness.New(f.curve.ScalarField())
	if err != nil {
		return nil, nil, err
	}
	if w, err = into(f, "witness", w); err != nil {
		return nil, nil, err
	}
	public, err := w.Public()
	return w, public, err
}

// kinds are what is read, and how it is shown to be right.
var kinds = []struct {
	what string
	read func(*files) error
}{
	{"witnesses", func(f *files) error { _, _, err := f.witness(); return err }},
	{"Groth16's keys", (*files).keys16},
	{"Groth16's systems", (*files).systems16},
	{"PLONK's keys", (*files).keysPLONK},
	{"PLONK's systems", (*files).systemsPLONK},
	{"Groth16's proofs", (*files).proofs16},
	{"PLONK's proofs", (*files).proofsPLONK},
}

// key16 reads a key by the engine, and compares it with what gnark reads.
func (f *files) key16() (stock16.ProvingKey, error) {
	r, err := f.open("pk16")
	if err != nil {
		return nil, err
	}
	ours, err := groth16.ReadProvingKey(context.Background(), nil, r)
	if err != nil {
		return nil, err
	}
	gnarks, err := into(f, "pk16", stock16.NewProvingKey(f.curve))
	if err != nil {
		return nil, err
	}
	return ours, same(ours, gnarks)
}

func (f *files) keys16() error { _, err := f.key16(); return err }

func (f *files) keyPLONK() (stockplonk.ProvingKey, error) {
	r, err := f.open("pkplonk")
	if err != nil {
		return nil, err
	}
	ours, err := plonk.ReadProvingKey(context.Background(), nil, f.curve, r)
	if err != nil {
		return nil, err
	}
	gnarks, err := into(f, "pkplonk", stockplonk.NewProvingKey(f.curve))
	if err != nil {
		return nil, err
	}
	return ours, same(ours, gnarks)
}

func (f *files) keysPLONK() error { _, err := f.keyPLONK(); return err }

// same compares what this version writes of two keys.
func same(a, b io.WriterTo) error {
	var left, right bytes.Buffer
	if _, err := a.WriteTo(&left); err != nil {
		return err
	}
	if _, err := b.WriteTo(&right); err != nil {
		return err
	}
	if !bytes.Equal(left.Bytes(), right.Bytes()) {
		return errors.New("gnark reads another key")
	}
	return nil
}

// systems16 proves with the system, the key and the witness of the other version, and verifies
// with its key.
func (f *files) systems16() error {
	w, public, err := f.witness()
	if err != nil {
		return err
	}
	var sys constraint.ConstraintSystem
	if sys, err = into(f, "r1cs", stock16.NewCS(f.curve)); err != nil {
		return err
	}
	pk, err := f.key16()
	if err != nil {
		return err
	}
	proof, err := groth16.Prove(sys, pk, w)
	if err != nil {
		return err
	}
	vk, err := into(f, "vk16", stock16.NewVerifyingKey(f.curve))
	if err != nil {
		return err
	}
	return stock16.Verify(proof, vk, public)
}

func (f *files) systemsPLONK() error {
	w, public, err := f.witness()
	if err != nil {
		return err
	}
	var sys constraint.ConstraintSystem
	if sys, err = into(f, "scs", stockplonk.NewCS(f.curve)); err != nil {
		return err
	}
	pk, err := f.keyPLONK()
	if err != nil {
		return err
	}
	proof, err := plonk.Prove(sys, pk, w)
	if err != nil {
		return err
	}
	vk, err := into(f, "vkplonk", stockplonk.NewVerifyingKey(f.curve))
	if err != nil {
		return err
	}
	return stockplonk.Verify(proof, vk, public)
}

// proofs16 verifies the other version's proof.
func (f *files) proofs16() error {
	_, public, err := f.witness()
	if err != nil {
		return err
	}
	vk, err := into(f, "vk16", stock16.NewVerifyingKey(f.curve))
	if err != nil {
		return err
	}
	proof, err := into(f, "proof16", stock16.NewProof(f.curve))
	if err != nil {
		return err
	}
	return stock16.Verify(proof, vk, public)
}

func (f *files) proofsPLONK() error {
	_, public, err := f.witness()
	if err != nil {
		return err
	}
	vk, err := into(f, "vkplonk", stockplonk.NewVerifyingKey(f.curve))
	if err != nil {
		return err
	}
	proof, err := into(f, "proofplonk", stockplonk.NewProof(f.curve))
	if err != nil {
		return err
	}
	return stockplonk.Verify(proof, vk, public)
}
