package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublicPackagesHaveExamples: a package that programs import shows how, in code that
// the tests run.
func TestPublicPackagesHaveExamples(t *testing.T) {
	for _, p := range []string{
		".", "arith", "backend", "backend/cpu", "engine", "fixtures", "msm", "observe/metrics", "observe/tracing", "plugin", "vector",
		"prover/groth16", "prover/kzg", "prover/pedersen", "prover/plonk",
	} {
		paths, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(p), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, example, ok := strings.Cut(string(text), "\nfunc Example")
			found = found || ok && strings.Contains(example, "\t// Output:")
		}
		if !found {
			t.Errorf("%s has no example with its output", p)
		}
	}
}
