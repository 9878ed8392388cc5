package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	gnarkcs "github.com/consensys/gnark/frontend/cs"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"
	"github.com/consensys/gnark/std/math/emulated"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/examples/internal/demo"
)

func TestMain(m *testing.M) {
	logger.Disable()
	os.Exit(m.Run())
}

// small has as many Pedersen commitments as told, and wires whose points are
// at infinity.
type small struct {
	X, Y        frontend.Variable
	Z           frontend.Variable `gnark:",public"`
	commitments int
}

func (c *small) Define(api frontend.API) error {
	product := api.Mul(c.X, c.Y, c.Y)
	api.AssertIsEqual(product, c.Z)
	committer, ok := api.(frontend.Committer)
	if !ok {
		return fmt.Errorf("%T cannot commit", api)
	}
	for i := range c.commitments {
		challenge, err := committer.Commit(c.X, api.Add(c.Y, i), product)
		if err != nil {
			return err
		}
		api.AssertIsDifferent(api.Mul(challenge, c.X), 0)
	}
	return nil
}

func smallStatement(commitments int) statement {
	return statement{
		title:      fmt.Sprintf("x*y^2 with %d commitments", commitments),
		circuit:    &small{commitments: commitments},
		assignment: &small{X: 3, Y: 5, Z: 75},
	}
}

func mustPrepare(t *testing.T, s statement) *task {
	t.Helper()
	p, err := prepare(io.Discard, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func inProcess() engine.Opener { return pippin.Opener(pippin.Options{}) }

func TestSmallCircuits(t *testing.T) {
	for n := range 3 {
		t.Run(fmt.Sprintf("%d commitments", n), func(t *testing.T) {
			p := mustPrepare(t, smallStatement(n))
			if len(p.pk.CommitmentKeys) != n {
				t.Fatalf("the key has %d commitments, want %d", len(p.pk.CommitmentKeys), n)
			}
			if p.pk.NbInfinityA == 0 || p.pk.NbInfinityB == 0 {
				t.Fatal("the circuit should have points at infinity")
			}
			if err := p.run(t.Context(), io.Discard, inProcess(), demo.InProcess); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A proof with any of its MSMs changed must not pass, so that the verdict of
// the verifier means something.
func TestEveryMSMCounts(t *testing.T) {
	p := mustPrepare(t, smallStatement(1))
	e, err := pippin.New(t.Context(), engine.Config{Open: inProcess()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	key, err := loadKey(t.Context(), e, p.pk)
	if err != nil {
		t.Fatal(err)
	}
	defer key.close()
	r, s := fr.NewElement(7), fr.NewElement(11)
	right, err := prove(t.Context(), e, key, p.system, p.pk, p.full, r, s)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(m *sums) error {
		proof, err := assemble(p.pk, right.solved, m, r, s)
		if err != nil {
			t.Fatal(err)
		}
		return groth16.Verify(proof, p.vk, p.public)
	}
	if err := verify(right.sums); err != nil {
		t.Fatal(err)
	}
	g1, g2 := &p.pk.G1.Alpha, &p.pk.G2.Beta
	for name, change := range map[string]func(*sums){
		"A":                  func(m *sums) { m.a.Add(&m.a, g1) },
		"B1":                 func(m *sums) { m.b1.Add(&m.b1, g1) },
		"B2":                 func(m *sums) { m.b2.Add(&m.b2, g2) },
		"K":                  func(m *sums) { m.k.Add(&m.k, g1) },
		"Z":                  func(m *sums) { m.z.Add(&m.z, g1) },
		"proof of knowledge": func(m *sums) { m.knowledge[0].Add(&m.knowledge[0], g1) },
	} {
		wrong := *right.sums
		wrong.knowledge = slices.Clone(wrong.knowledge)
		change(&wrong)
		if got := wrong.different(right.sums); !slices.Equal(got, []string{name}) {
			t.Errorf("a changed %s is reported as %q", name, got)
		}
		if verify(&wrong) == nil {
			t.Errorf("the verifier accepts a changed %s", name)
		}
	}
}

func TestQuotientOfUnsatisfiedSystem(t *testing.T) {
	domain := fft.NewDomain(8)
	a, b, c := make(fr.Vector, 8), make(fr.Vector, 8), make(fr.Vector, 8)
	a.MustSetRandom()
	b.MustSetRandom()
	c.Mul(a, b)
	if _, err := quotient(domain, a, b, c); err != nil {
		t.Fatal(err)
	}
	one := fr.One()
	c[3].Add(&c[3], &one)
	if _, err := quotient(domain, a, b, c); err == nil {
		t.Fatal("a quotient was found where there is none")
	}
}

var circuit = flag.String("circuit", "sha256", "the circuit of TestRealCircuit: sha256, or ecdsa, which takes a minute")

func TestRealCircuit(t *testing.T) {
	s, err := newStatement(*circuit)
	if err != nil {
		t.Fatal(err)
	}
	p := mustPrepare(t, s)
	t.Run("in process", func(t *testing.T) { testReal(t, p, inProcess(), demo.InProcess) })
	t.Run("plugin", func(t *testing.T) {
		if why := demo.NoPlugins(); why != "" {
			t.Skip(why)
		}
		dir := t.TempDir()
		if err := demo.Build(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		testReal(t, p, pippin.Opener(pippin.Options{PluginDirs: []string{dir}}), demo.Plugin)
	})
}

func testReal(t *testing.T, p *task, open engine.Opener, name string) {
	var out bytes.Buffer
	if err := p.run(t.Context(), &out, open, name); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if !strings.Contains(out.String(), "accepts the proof") {
		t.Fatalf("no verdict in %q", out.String())
	}
}

// Both circuits hold for their assignment, and not when the public input is
// another one.
func TestStatements(t *testing.T) {
	challenge := solver.OverrideHint(solver.GetHintID(gnarkcs.Bsb22CommitmentComputePlaceholder),
		func(_ *big.Int, _, out []*big.Int) error { out[0].SetUint64(0xfeedface12345); return nil })
	for _, name := range []string{"sha256", "ecdsa"} {
		s, err := newStatement(name)
		if err != nil {
			t.Fatal(err)
		}
		system, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, s.circuit)
		if err != nil {
			t.Fatal(err)
		}
		solve := func() error {
			full, err := frontend.NewWitness(s.assignment, ecc.BN254.ScalarField())
			if err != nil {
				t.Fatal(err)
			}
			_, err = system.Solve(full, challenge)
			return err
		}
		if err := solve(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		switch a := s.assignment.(type) {
		case *preimage:
			a.Digest[7] = a.Digest[7].(uint32) ^ 1
		case *signed:
			a.Message = emulated.ValueOf[secp256k1Fr](1)
		}
		if solve() == nil {
			t.Errorf("%s: holds for another public input", name)
		}
	}
	if _, err := newStatement("md5"); err == nil {
		t.Error("an unknown circuit was accepted")
	}
}
