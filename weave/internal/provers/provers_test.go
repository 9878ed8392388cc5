package provers

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/groth16"
	groth16_bn254 "github.com/consensys/gnark/backend/groth16/bn254"
	"github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/inuse"
	"github.com/pippin-zk/pippin/weave/internal/hook"
)

// power says that Y is X to the power of 2^rounds.
type power struct {
	X      frontend.Variable
	Y      frontend.Variable `gnark:",public"`
	rounds int
}

func (c *power) Define(api frontend.API) error {
	x := c.X
	for range c.rounds {
		x = api.Mul(x, x)
	}
	api.AssertIsEqual(x, c.Y)
	return nil
}

const rounds = 20

func compile(t *testing.T, rounds int, builder frontend.NewBuilder) constraint.ConstraintSystem {
	t.Helper()
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), builder, &power{rounds: rounds})
	if err != nil {
		t.Fatal(err)
	}
	return ccs
}

func witnessOf(t *testing.T, x, y int) (w, public witness.Witness) {
	t.Helper()
	w, err := frontend.NewWitness(&power{X: x, Y: y}, ecc.BN254.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	if public, err = w.Public(); err != nil {
		t.Fatal(err)
	}
	return w, public
}

// runtime makes a runtime of the environment, and returns what it has traced.
func runtime(t *testing.T, env ...string) (*hook.Runtime, func() string) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	for _, e := range append([]string{"PIPPIN_BACKEND=cpu", "PIPPIN_WEAVE_THRESHOLD=0", "PIPPIN_WEAVE_TRACE=" + trace}, env...) {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	r := FromEnvironment()
	t.Cleanup(func() {
		inuse.Set(nil)
		r.Close()
	})
	return r, func() string {
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// TestGroth16: the hooks make keys that gnark verifies with and proofs that it accepts, and each is traced.
func TestGroth16(t *testing.T) {
	r, trace := runtime(t)
	ccs := compile(t, rounds, r1cs.NewBuilder)
	pk, vk, err := SetupGroth16(r)(ccs)
	if err != nil || pk == nil {
		t.Fatal(err)
	}
	w, public := witnessOf(t, 1, 1)
	prove := ProveGroth16(r)
	for range 2 {
		proof, err := prove(ccs, pk, w, nil)
		if err != nil || proof == nil {
			t.Fatal(proof, err)
		}
		if err := groth16.Verify(proof, vk, public); err != nil {
			t.Error(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(trace()), "\n")
	wants := []string{
		`{"call":"groth16.Setup","curve":"bn254","constraints":21,"backend":"cpu","ms"`,
		`{"call":"groth16.Prove","curve":"bn254","constraints":21,"backend":"cpu","bases":"loaded"`,
		`{"call":"groth16.Prove","curve":"bn254","constraints":21,"backend":"cpu","bases":"resident"`,
	}
	for i, want := range wants {
		if len(lines) != len(wants) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("%q, want %q", lines, wants)
		}
	}
}

// TestPlonk does what TestGroth16 does.
func TestPlonk(t *testing.T) {
	r, _ := runtime(t)
	ccs := compile(t, rounds, scs.NewBuilder)
	srs, lagrange, err := unsafekzg.NewSRS(ccs)
	if err != nil {
		t.Fatal(err)
	}
	pk, vk, err := SetupPlonk(r)(ccs, srs, lagrange)
	if err != nil || pk == nil {
		t.Fatal(err)
	}
	w, public := witnessOf(t, 1, 1)
	proof, err := ProvePlonk(r)(ccs, pk, w, nil)
	if err != nil || proof == nil {
		t.Fatal(proof, err)
	}
	if err := plonk.Verify(proof, vk, public); err != nil {
		t.Error(err)
	}
}

// TestLeftToGnark: what is below the threshold, of another curve or not for pippin is gnark's, in a strict runtime too; a
// wrong witness is an error of both.
func TestLeftToGnark(t *testing.T) {
	r, _ := runtime(t, "PIPPIN_WEAVE_THRESHOLD=22", "PIPPIN_WEAVE_STRICT=1")
	small, ccs, larger := compile(t, rounds, r1cs.NewBuilder), compile(t, rounds+1, r1cs.NewBuilder), compile(t, 2*rounds, r1cs.NewBuilder)
	keys := func(ccs constraint.ConstraintSystem) groth16.ProvingKey {
		pk, _, err := groth16.Setup(ccs)
		if err != nil {
			t.Fatal(err)
		}
		return pk
	}
	pk := keys(ccs)
	right, _ := witnessOf(t, 1, 1)
	wrong, _ := witnessOf(t, 2, 1)
	prove := ProveGroth16(r)
	for name, c := range map[string]struct {
		ccs  constraint.ConstraintSystem
		pk   groth16.ProvingKey
		w    witness.Witness
		made bool
		err  bool
	}{
		"a proof":          {ccs, pk, right, true, false},
		"below":            {small, keys(small), right, false, false},
		"another key":      {larger, pk, right, false, false},
		"no key":           {ccs, nil, right, false, false},
		"no system":        {nil, pk, right, false, false},
		"a wrong witness":  {ccs, pk, wrong, false, true},
		"without provers":  {other{ccs}, pk, right, false, false},
		"a smaller system": {small, pk, wrong, false, false},
	} {
		proof, err := prove(c.ccs, c.pk, c.w, nil)
		if (proof != nil) != c.made || (err != nil) != c.err {
			t.Errorf("%s: %v, %v", name, proof, err)
		}
	}
	if pk, vk, err := SetupGroth16(r)(other{ccs}); pk != nil || vk != nil || err != nil {
		t.Errorf("keys without provers: %v, %v, %v", pk, vk, err)
	}
}

// other is a constraint system of a curve without provers.
type other struct{ constraint.ConstraintSystem }

func (other) CurveID() ecc.ID { return ecc.BW6_633 }

// TestNoBackend: where no backend opens, gnark computes, or a strict call fails.
func TestNoBackend(t *testing.T) {
	ccs := compile(t, rounds, r1cs.NewBuilder)
	for _, strict := range []string{"0", "1"} {
		r, _ := runtime(t, "PIPPIN_BACKEND=plugin:nobody-has-this", "PIPPIN_WEAVE_STRICT="+strict)
		if pk, vk, err := SetupGroth16(r)(ccs); pk != nil || vk != nil || (err != nil) != (strict == "1") {
			t.Errorf("strict %s: %v, %v, %v", strict, pk, vk, err)
		}
		same, n, err := ReadGroth16[groth16_bn254.ProvingKey](r, ecc.BN254)(new(groth16_bn254.ProvingKey), bytes.NewReader(make([]byte, 100)))
		if n != 0 || (err != nil) != (strict == "1") || (same == nil) != (strict == "1") {
			t.Errorf("strict %s: %v, %d, %v", strict, same, n, err)
		}
	}
}

// TestFailures: what a backend could not do is gnark's to do, or a strict call's error; other errors are the call's.
func TestFailures(t *testing.T) {
	gnarks := errors.New("gnark's")
	for _, strict := range []string{"0", "1"} {
		r, _ := runtime(t, "PIPPIN_WEAVE_STRICT="+strict)
		for _, c := range []struct {
			err   error
			fails bool
		}{
			{backend.ErrGone, strict == "1"}, {backend.ErrUnsupported, strict == "1"}, {backend.ErrOutOfMemory, strict == "1"},
			{backend.ErrInvalidInput, false}, {gnarks, true},
		} {
			done, err := r.Ask("x", backend.BN254, 1, func(context.Context, *engine.Engine) error { return c.err })
			if done || (err != nil) != c.fails {
				t.Errorf("strict %s, %v: %v, %v", strict, c.err, done, err)
			}
		}
	}
}

// TestUnnamed: without a backend's name proofs are gnark's.
func TestUnnamed(t *testing.T) {
	if r, _ := runtime(t, "PIPPIN_BACKEND="); r.Proves() {
		t.Error("proofs are asked for")
	}
	if r, _ := runtime(t); !r.Proves() {
		t.Error("proofs are not asked for")
	}
}

// TestEngine: the provers' engine is the runtime's, unless the program has given them one.
func TestEngine(t *testing.T) {
	ccs := compile(t, rounds, r1cs.NewBuilder)
	r, _ := runtime(t)
	if _, _, err := SetupGroth16(r)(ccs); err != nil || inuse.Engine() == nil {
		t.Errorf("%v, %v", inuse.Engine(), err)
	}
	r, _ = runtime(t)
	own := new(engine.Engine)
	inuse.Set(own)
	if _, _, err := SetupGroth16(r)(ccs); err != nil || inuse.Engine() != own {
		t.Errorf("%v, %v", inuse.Engine(), err)
	}
}

// TestRead: a key is read to its last byte and no further, into the key that was given. One of few constraints, and what is
// too short for a key, is gnark's to read, all of it. A damaged one is refused.
func TestRead(t *testing.T) {
	r, trace := runtime(t, "PIPPIN_WEAVE_THRESHOLD=32")
	read := ReadGroth16[groth16_bn254.ProvingKey](r, ecc.BN254)
	file := func(rounds int) []byte {
		pk, _, err := groth16.Setup(compile(t, rounds, r1cs.NewBuilder))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := pk.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	key, small := file(rounds), file(3)

	pk, from := new(groth16_bn254.ProvingKey), bytes.NewBuffer(append(bytes.Clone(key), "behind"...))
	same, n, err := read(pk, from)
	if same != nil || n != int64(len(key)) || err != nil || from.String() != "behind" {
		t.Fatalf("%d of %d bytes, %v, left %q", n, len(key), err, from.String())
	}
	var again bytes.Buffer
	if _, err := pk.WriteTo(&again); err != nil || !bytes.Equal(again.Bytes(), key) {
		t.Errorf("another key, %v", err)
	}
	if want := `{"call":"groth16.ReadFrom","curve":"bn254","constraints":32,"backend":"cpu","ms"`; !strings.HasPrefix(trace(), want) {
		t.Errorf("%s, want %s", trace(), want)
	}
	for _, text := range [][]byte{small, key[:7], nil, bytes.Repeat([]byte{255}, 100)} {
		same, n, err := read(new(groth16_bn254.ProvingKey), bytes.NewReader(text))
		if same == nil || n != 0 || err != nil {
			t.Errorf("%d bytes: %v, %d, %v", len(text), same, n, err)
			continue
		}
		if all, err := io.ReadAll(same); !bytes.Equal(all, text) || err != nil {
			t.Errorf("%d of %d bytes are left, %v", len(all), len(text), err)
		}
	}
	refused := func(name string, same io.Reader, _ int64, err error) {
		t.Helper()
		if same != nil || !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v, %v", name, same, err)
		}
	}
	for name, text := range map[string][]byte{
		"cut off": key[:len(key)-1], "another domain": append(bytes.Clone(key[:8]), make([]byte, 1000)...),
	} {
		same, n, err := read(new(groth16_bn254.ProvingKey), bytes.NewReader(text))
		refused(name, same, n, err)
	}
	same, n, err = ReadGroth16[struct{}](r, ecc.BN254)(new(struct{}), bytes.NewReader(key))
	refused("another curve", same, n, err)
}

// TestNoLoop: pippin's provers call nothing of gnark's that asks them first.
func TestNoLoop(t *testing.T) {
	gnarks := regexp.MustCompile(`"github.com/consensys/gnark/backend/(groth16|plonk)(/[\w-]+)?"`)
	files := 0
	for _, dir := range []string{"groth16", "plonk", "internal/*"} {
		names, err := filepath.Glob(filepath.Join("..", "..", "..", "prover", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			uses := slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return gnarks.MatchString(i.Path.Value) })
			if !uses || strings.HasSuffix(name, "_test.go") {
				continue
			}
			files++
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if of, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{
					"stock.Prove", "stock.Setup", "groth16.Prove", "groth16.Setup", "plonk.Prove", "plonk.Setup", "pk.ReadFrom",
				}, of.Name+"."+sel.Sel.Name) {
					t.Errorf("%s calls %s.%s", name, of.Name, sel.Sel.Name)
				}
				return true
			})
		}
	}
	if files < 10 {
		t.Errorf("%d files use gnark's packages", files)
	}
}
