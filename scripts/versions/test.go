package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

// pair is versions of gnark and of gnark-crypto that stand in a program's go.mod together.
type pair struct{ Gnark, Crypto string }

func (p pair) String() string { return p.Gnark + " with " + p.Crypto }

// pairs are the minor versions that were released. v0.16.3 with v0.21.0 is what go test work tests.
var pairs = []pair{
	{"v0.13.0", "v0.18.0"}, // what go.mod asks for
	{"v0.14.0", "v0.19.2"},
	{"v0.15.0", "v0.20.1"},
	{"v0.16.0", "v0.21.0"},
	{"v0.16.3", "v0.22.0"},
}

// quick are the pairs of CI.
var quick = []pair{pairs[0], pairs[1], pairs[len(pairs)-1]}

// tests are what compares with gnark: the rows of the table.
var tests = []test{
	{"solver", "./prover/internal/assignment", "."},
	{"solver", "./prover/internal/versions", "."},
	{"Groth16", "./prover/groth16", proofs + "|TestDummyKeys"},
	{"PLONK", "./prover/plonk", proofs + "|TestKeysBeforeVersions"},
	{"commitments", "./prover/kzg", "Gnark|TestOpenings"},
	{"commitments", "./prover/pedersen", "."},
	{"ceremony", "./prover/groth16/mpcsetup", "."},
}

const proofs = "TestProofEqualsStock|TestOptions|TestSetupIsGnarks|TestReadProvingKey|TestVerify|TestErrorsAreGnarks"

// test is some tests of a package.
type test struct{ what, in, run string }

// inCI are the tests that short runs.
var inCI = tests[:4]

// short tests the pairs of CI.
func short(root, work string) error {
	for _, p := range quick {
		if err := p.kept(root, work); err != nil {
			return err
		}
		for _, t := range inCI {
			if _, err := p.test(root, work, t, "-short"); err != nil {
				return err
			}
		}
	}
	return nil
}

// one runs go test with a pair.
func one(root, work string, p pair, args []string) error {
	if len(args) == 0 {
		args = []string{"./prover/..."}
	}
	flags, err := p.modules(root, work)
	if err != nil {
		return err
	}
	cmd := tree.Command(root, slices.Concat([]string{"go", "test"}, flags, args)...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	return cmd.Run()
}

// modules writes a go.mod that asks for the pair, and returns the flags that take it.
func (p pair) modules(root, work string) (flags []string, err error) {
	mod := filepath.Join(work, p.Gnark+"-"+p.Crypto+".mod")
	flags = []string{"-mod=mod", "-modfile=" + mod}
	if _, err := os.Stat(mod); err == nil {
		return flags, nil
	}
	for from, to := range map[string]string{"go.mod": mod, "go.sum": strings.TrimSuffix(mod, ".mod") + ".sum"} {
		text, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return nil, err
		}
	}
	cmd := tree.Command(root, "go", "mod", "edit", "-require="+gnark+"@"+p.Gnark, "-require="+crypto+"@"+p.Crypto, mod)
	return flags, cmd.Run()
}

// passed counts tests, with those below them.
type passed struct{ Tests, Skipped int }

// test runs tests with a pair, and returns how many passed. A test that fails, and tests of which
// none ran, are errors.
func (p pair) test(root, work string, t test, short ...string) (passed, error) {
	fmt.Printf("== gnark %v: %s %s\n", p, t.in, strings.Join(short, " "))
	flags, err := p.modules(root, work)
	if err != nil {
		return passed{}, err
	}
	args := []string{"go", "test", "-json", "-count=1", "-timeout", "60m", "-run", t.run}
	cmd := tree.Command(root, slices.Concat(args, flags, short, []string{t.in})...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		return passed{}, err
	}
	if err := cmd.Start(); err != nil {
		return passed{}, err
	}
	n, failed, err := counted(out)
	err = errors.Join(err, cmd.Wait())
	if err != nil || n.Tests == 0 {
		return n, fmt.Errorf("gnark %v: %s: %w\n%s", p, t.in, cmp.Or(err, errors.New("no test ran")), failed)
	}
	return n, nil
}

// counted reads what go test -json says, and returns what failed tests said.
func counted(from io.Reader) (n passed, failed string, err error) {
	said := map[string]string{} // by test
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ Action, Test, Output, ImportPath string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return n, failed, fmt.Errorf("go test -json: %w", err)
		}
		of := event.Test
		switch event.Action {
		case "pass":
			if of != "" {
				n.Tests++
			}
		case "skip":
			if of != "" {
				n.Skipped++
			}
		case "output", "build-output":
			said[of] += event.Output
		case "fail", "build-fail":
			failed += said[of]
		}
	}
	return n, failed, lines.Err()
}
