package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// longest is how many characters a line has at most; a tab is one.
const longest = 140

// unwrapped are files and folders whose lines are not wrapped yet. None may be added: the list
// becomes shorter until it goes.
var unwrapped = []string{
	"backend/cpu/field.go",
	"backend/cpu/internal/local/local_test.go",
	"backend/cpu/points.go",
	"backend/cuda/backend.go",
	"backend/cuda/internal/msm/multiples_test.go",
	"backend/cuda/internal/msm/prepared_test.go",
	"backend/cuda/internal/point/point_test.go",
	"backend/cuda/internal/vector/program.go",
	"backend/cuda/internal/vector/steps.go",
	"backend/cuda/internal/vector/vector_test.go",
	"backend/cuda/place_test.go",
	"backend/cuda/points_test.go",
	"backend/cuda/sanitize_test.go",
	"backend/number_rules.go",
	"cluster/",
	"cmd/msm/*.go",
	"cmd/msm/internal/bench/",
	"cmd/msm/internal/report/",
	"cmd/msm/internal/tuning/tuning_test.go",
	"engine/",
	"fixtures/layout_test.go",
	"internal/layout/check.go",
	"internal/proofsystem/scheme.go",
	"internal/record/stats_test.go",
	"kernels/grid/msm_test.go",
	"msm/bases.go",
	"msm/dropin.go",
	"plugin/internal/attack/attacks_linux_test.go",
	"plugin/internal/tenancy/room_test.go",
	"plugin/internal/tenancy/tenancy_test.go",
	"plugin/internal/wire/",
	"plugin/serve/",
	"plugin/start_test.go",
	"prover/groth16/mpcsetup/ceremony.go",
	"prover/groth16/mpcsetup/circuit.go",
	"prover/groth16/mpcsetup/phase1.go",
	"prover/groth16/setup.go",
	"prover/internal/assignment/assignment.go",
	"prover/internal/assignment/assignment_test.go",
	"prover/internal/assignment/random_test.go",
	"prover/internal/group/domain.go",
	"prover/internal/solve/times_test.go",
	"prover/kzg/",
	"prover/pedersen/pedersen_test.go",
	"prover/plonk/accelerator.go",
	"vector/field.go",
	"vector/vector_test.go",
}

// address finds what cannot be wrapped.
var address = regexp.MustCompile(`\S+://\S+`)

// compiled are the folders of sources whose text is in the digest of the compiled kernels: their
// lines are wrapped when the kernels are compiled next.
var compiled = []string{"kernels/block/", "kernels/grid/", "kernels/thread/", "kernels/warp/"}

// made finds the line that says that a file was generated, which may come after a comment.
var made = regexp.MustCompile(`(?m)^(?://|/\*|#) Code generated `)

// TestLinesAreShort: no line that somebody wrote, of Go, CUDA or a script, is longer than a
// reader's window. Excepted are generated files, testdata, addresses, directives of the go
// command and, for now, what is compiled for cards.
func TestLinesAreShort(t *testing.T) {
	long := make(map[string]int)
	for file, text := range written(t) {
		if path.Ext(file) != ".go" && slices.ContainsFunc(compiled, func(at string) bool { return isAt(file, at) }) {
			continue
		}
		for n, line := range strings.Split(text, "\n") {
			have := utf8.RuneCountInString(address.ReplaceAllString(line, ""))
			if have <= longest || strings.HasPrefix(line, "//go:") {
				continue
			}
			long[file]++
			if !slices.ContainsFunc(unwrapped, func(at string) bool { return isAt(file, at) }) {
				t.Errorf("%s:%d has %d characters, %d at most should be in a line", file, n+1, have, longest)
			}
		}
	}
	for _, at := range unwrapped {
		found := false
		for file := range long {
			found = found || isAt(file, at)
		}
		if !found {
			t.Errorf("%s has no long line any more: take it off the list", at)
		}
	}
}

// isAt reports whether a path is below a folder, which ends in a slash, or one of a pattern.
func isAt(file, at string) bool {
	if strings.HasSuffix(at, "/") {
		return strings.HasPrefix(file, at)
	}
	ok, err := path.Match(at, file)
	return ok && err == nil
}

// written returns what somebody wrote: sources, and scripts, whose names may have no ending.
func written(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci" && path != root
		if d.IsDir() && (hidden || slices.Contains([]string{"bin", "dist", "testdata"}, d.Name())) {
			return filepath.SkipDir
		}
		ending := filepath.Ext(rel)
		if d.IsDir() || !slices.Contains([]string{".go", ".cu", ".cuh", ".cc", ".c", ".h", ".sh", ""}, ending) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if ending == "" && !strings.HasPrefix(string(text), "#!") || made.Match(text[:min(len(text), 1000)]) {
			return nil
		}
		all[rel] = string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 500 {
		t.Fatalf("only %d files are looked at", len(all))
	}
	return all
}
