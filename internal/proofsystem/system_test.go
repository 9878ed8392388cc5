package proofsystem

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/kzg"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
)

// square says: I know a root of Y.
type square struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *square) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.X, c.X), c.Y)
	return nil
}

func srs(ccs constraint.ConstraintSystem) (canonical, lagrange kzg.SRS, err error) {
	return unsafekzg.NewSRS(ccs)
}

// statement is a constraint system of a scheme with its keys.
type statement struct {
	Scheme
	Keys
	ccs constraint.ConstraintSystem
}

func newStatement(t *testing.T, s System, c backend.Curve) statement {
	t.Helper()
	scheme, err := s.On(c)
	if err != nil {
		t.Fatal(err)
	}
	ccs, err := scheme.Compile(&square{})
	if err != nil {
		t.Fatal(err)
	}
	k := scheme.NewKeys()
	if err := k.SetUp(ccs, srs); err != nil {
		t.Fatal(err)
	}
	return statement{scheme, k, ccs}
}

func fullWitness(t *testing.T, c backend.Curve, x, y int) (full, public witness.Witness) {
	t.Helper()
	full, err := frontend.NewWitness(&square{X: x, Y: y}, c.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	if public, err = full.Public(); err != nil {
		t.Fatal(err)
	}
	return full, public
}

// each runs a test for every system and curve.
func each(t *testing.T, test func(*testing.T, System, backend.Curve)) {
	for _, s := range Systems() {
		for _, c := range backend.Curves() {
			t.Run(fmt.Sprintf("%s/%v", s, c), func(t *testing.T) { test(t, s, c) })
		}
	}
}

// TestSchemes proves with keys that were written and read, by gnark and by this module.
func TestSchemes(t *testing.T) {
	each(t, func(t *testing.T, s System, c backend.Curve) {
		made := newStatement(t, s, c)
		if system, curve, err := Of(made.ccs); system != s || curve != c || err != nil {
			t.Errorf("a constraint system of %s on %v: %v", system, curve, err)
		}
		k := made.NewKeys()
		for i, f := range made.Files() {
			var b bytes.Buffer
			if err := errors.Join(f.Write(&b), k.Files()[i].Read(&b)); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
		}
		full, public := fullWitness(t, c, 3, 9)
		_, wrong := fullWitness(t, c, 2, 4)
		var proofs []Proof
		proof, err := k.ProveByGnark(made.ccs, full)
		if err != nil {
			t.Fatal(err)
		}
		proofs = append(proofs, proof)
		p, err := k.NewProver(nil, made.ccs, Options{NoMerging: true})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if proof, err = p.Prove(t.Context(), full); err != nil {
			t.Fatal(err)
		}
		proofs = append(proofs, proof)
		next, stop := iter.Pull2(p.ProveAll(t.Context(), slices.Values([]witness.Witness{full, full}), 2))
		defer stop()
		if proof, err, _ = next(); err != nil {
			t.Fatal(err)
		}
		for i, p := range append(proofs, proof) {
			again := k.NewProof()
			var b bytes.Buffer
			if _, err := p.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			if _, err := again.ReadFrom(&b); err != nil {
				t.Fatal(err)
			}
			if err := k.Verify(again, public); err != nil {
				t.Errorf("proof %d: %v", i, err)
			}
			if k.Verify(again, wrong) == nil {
				t.Errorf("proof %d is of another statement", i)
			}
		}

		transforms, err := k.Transforms()
		if err != nil || (transforms == nil) != (s == PLONK) {
			t.Fatalf("transforms: %v", err)
		}
		if transforms != nil {
			transforms()
		}
		full, _ = fullWitness(t, c, 3, 10)
		_, err = p.Prove(t.Context(), full)
		if n, ok := Unsatisfied(fmt.Errorf("wrapped: %w", err)); !ok || n != 1 { // the second: the first defines the product
			t.Errorf("constraint %d, %v, of %v", n, ok, err)
		}
	})
	if _, ok := Unsatisfied(backend.ErrGone); ok {
		t.Error("a backend that is gone is no constraint")
	}
}

// TestSizes compares what a key says with what its constraint system says, which does
// not know the wires without points.
func TestSizes(t *testing.T) {
	each(t, func(t *testing.T, s System, c backend.Curve) {
		made := newStatement(t, s, c)
		var b bytes.Buffer
		if err := made.Files()[0].Write(&b); s == PLONK && err != nil {
			t.Fatal(err)
		}
		ofKey, err := made.Sizes()
		if err != nil {
			t.Fatal(err)
		}
		ofSystem, err := made.SizesOf(made.ccs)
		if err != nil {
			t.Fatal(err)
		}
		if len(ofKey.MSMs) != len(ofSystem.MSMs) || ofKey.KeyVectors != ofSystem.KeyVectors || ofKey.ProofVectors != ofSystem.ProofVectors {
			t.Fatalf("%+v, %+v", ofKey, ofSystem)
		}
		if (ofKey.KeyVectors > 0) != (s == PLONK) {
			t.Errorf("%d vectors", ofKey.KeyVectors)
		}
		for i, m := range ofKey.MSMs {
			most := ofSystem.MSMs[i]
			if m.Name != most.Name || m.Group != most.Group || m.Bases != most.Bases || m.Points == 0 {
				t.Errorf("%+v of the key, %+v of the constraint system", m, most)
			}
			// A PLONK key does not know how many rows are used.
			if s == Groth16 && m.Points > most.Points || s == PLONK && m.Points < most.Points {
				t.Errorf("%s: %d points of the key, %d of the constraint system", m.Name, m.Points, most.Points)
			}
		}
		other := Groth16
		if s == Groth16 {
			other = PLONK
		}
		wrong, err := other.On(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wrong.SizesOf(made.ccs); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("a constraint system of another kind: %v", err)
		}
	})
	// A key that was read from its owner's file says the same.
	made := newStatement(t, PLONK, backend.BN254)
	k := made.NewKeys()
	r, w := io.Pipe()
	go func() { w.CloseWithError(made.Files()[0].Write(w)) }()
	if err := k.ReadProving(r); err != nil {
		t.Fatal(err)
	}
	a, errA := k.Sizes()
	b, errB := made.Sizes()
	if errA != nil || errB != nil || !slices.Equal(a.MSMs, b.MSMs) {
		t.Errorf("%+v, %v; %+v, %v", a, errA, b, errB)
	}
}

// committing commits to two wires.
type committing struct {
	X, Y frontend.Variable
}

func (c *committing) Define(api frontend.API) error {
	hash, err := api.(frontend.Committer).Commit(c.X, c.Y)
	if err != nil {
		return err
	}
	api.AssertIsDifferent(hash, c.X)
	return nil
}

// TestSizesOfCommitments: what a circuit commits to by PLONK has bases of its own, two more than there are values.
func TestSizesOfCommitments(t *testing.T) {
	scheme, err := PLONK.On(backend.BN254)
	if err != nil {
		t.Fatal(err)
	}
	ccs, err := scheme.Compile(&committing{})
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := scheme.SizesOf(ccs)
	if err != nil {
		t.Fatal(err)
	}
	want := MSM{Name: "commitment 0", Group: backend.G1, Points: 4}
	if len(sizes.MSMs) != 10 || sizes.MSMs[0] != want {
		t.Errorf("%+v, want %+v and nine more", sizes.MSMs, want)
	}
}

// hinted is the backend cpu, and tells of bases that are loaded.
type hinted struct {
	backend.Backend
	loaded func(backend.Bases)
}

func (h hinted) Unwrap() backend.Backend { return h.Backend }

func (h hinted) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	h.loaded(b)
	return h.Backend.LoadBases(ctx, b)
}

// TestUniform compares the bases whose scalars look random, as provers say, with those that Sizes names.
func TestUniform(t *testing.T) {
	each(t, func(t *testing.T, s System, c backend.Curve) {
		made := newStatement(t, s, c)
		sizes, err := made.SizesOf(made.ccs)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]MSM{} // by bases, the longest
		for _, m := range sizes.MSMs {
			if name := cmp.Or(m.Bases, m.Name); m.Uniform && m.Points > want[name].Points {
				want[name] = m
			}
		}
		var mu sync.Mutex
		others := 0
		e, err := engine.New(t.Context(), engine.Config{Backend: "cpu", Open: func(context.Context, string) (backend.Backend, error) {
			return hinted{cpu.New(cpu.Options{}), func(b backend.Bases) {
				mu.Lock()
				defer mu.Unlock()
				if !b.Hints.Uniform {
					others++
					return
				}
				for name, m := range want {
					if m.Group == b.Group && m.Points <= b.Count && b.Count <= m.Points+1 {
						delete(want, name)
						return
					}
				}
				t.Errorf("%d bases of %v that no MSM has", b.Count, b.Group)
			}}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		p, err := made.NewProver(e, made.ccs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		full, _ := fullWitness(t, c, 3, 9)
		if _, err := p.Prove(t.Context(), full); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(want) > 0 || others == 0 {
			t.Errorf("%d others were loaded, and not %+v", others, want)
		}
	})
}

func TestRefuses(t *testing.T) {
	if s, err := Parse("PLONK"); s != PLONK || err != nil {
		t.Error(s, err)
	}
	if _, err := Parse("stark"); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
	for _, err := range []error{second(System("stark").On(backend.BN254)), second(Groth16.On(0))} {
		if !errors.Is(err, backend.ErrUnsupported) {
			t.Error(err)
		}
	}
	groth, plonk := newStatement(t, Groth16, backend.BN254), newStatement(t, PLONK, backend.BN254)
	full, public := fullWitness(t, backend.BN254, 3, 9)
	proof, err := groth.ProveByGnark(groth.ccs, full)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []statement{plonk, newStatement(t, Groth16, backend.BLS12381)} {
		if err := other.Verify(proof, public); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("a proof of another system or curve: %v", err)
		}
	}
	if _, err := plonk.NewProver(nil, groth.ccs, Options{}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
	if k := plonk.NewKeys(); second(k.Sizes()) == nil {
		t.Error("the sizes of an empty key")
	}
}

func second[T any](_ T, err error) error { return err }
