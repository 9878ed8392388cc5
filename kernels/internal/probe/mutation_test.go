package probe

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

var onlyMutant = flag.String("probe.mutant", "", "try only the mutants of this function")

// sampled is how many parts the mutants are divided into; a run that is not full
// tries one part, which changes whenever a header does.
const sampled = 50

// seen is how many items show every mutant.
const seen = 200

const headers = "../../thread"

// TestMutants puts faults into copies of the headers and demands that the models
// see each of them. A fault whose place is gone is a failure.
func TestMutants(t *testing.T) {
	if os.Getenv("PIPPIN_PROBE") != "" {
		t.Skip("PIPPIN_PROBE is a finished program; mutants are built from source on a host")
	}
	cxx := needCompiler(t)
	main := filepath.Join(t.TempDir(), "main.o")
	if err := compile(cxx, "main.cu", main, "-O0", "-DPIPPIN_PROBE_PARTS=PART(mutant)"); err != nil {
		t.Fatal(err)
	}
	part := fingerprint(t) % sampled
	var g errgroup.Group
	g.SetLimit(2)
	tried := 0
	for i, m := range mutants {
		if *onlyMutant != "" && m.function != *onlyMutant ||
			*onlyMutant == "" && !*fullFlag && uint32(i)%sampled != part {
			continue
		}
		tried++
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		g.Go(func() error {
			if err := m.try(cxx, main, dir); err != nil {
				t.Errorf("mutant %d of %s in %s: %v", i, m.function, m.file, err)
			}
			return nil
		})
	}
	_ = g.Wait()
	t.Logf("tried %d of %d mutants", tried, len(mutants))
}

// fingerprint hashes the headers.
func fingerprint(t *testing.T) uint32 {
	h := fnv.New32a()
	for _, path := range thread(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = h.Write(text)
	}
	return h.Sum32()
}

func thread(t *testing.T) []string {
	paths, err := filepath.Glob(filepath.Join(headers, "*.cuh"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no headers in %s: %v", headers, err)
	}
	return paths
}

// apply returns the text of a header with the fault in it.
func (m mutant) apply(text string) (string, error) {
	at := strings.Index(text, m.at)
	if at < 0 {
		return "", fmt.Errorf("%q does not occur", m.at)
	}
	old := strings.Index(text[at:], m.old)
	if old < 0 {
		return "", fmt.Errorf("%q does not occur after %q", m.old, m.at)
	}
	return text[:at+old] + m.new + text[at+old+len(m.old):], nil
}

// try builds the mutant in dir with its entries alone and demands that one of
// them differs from its model. A crash or a hang is a difference too; a fault
// that does not compile shows nothing.
func (m mutant) try(cxx, main, dir string) error {
	text, err := os.ReadFile(filepath.Join(headers, m.file))
	if err != nil {
		return err
	}
	mutated, err := m.apply(string(text))
	if err != nil {
		return err
	}
	for _, folder := range []string{"thread", "curves", filepath.Join("internal", "probe")} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join("..", "..", folder))); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "thread", m.file), []byte(mutated), 0o600); err != nil {
		return err
	}
	source := filepath.Join(dir, "internal", "probe", "mutant.cu")
	if err := os.WriteFile(source, []byte(m.source()), 0o600); err != nil {
		return err
	}
	object, program := source+".o", filepath.Join(dir, "mutant")
	if err := compile(cxx, source, object, "-O0", "-Wno-error"); err != nil {
		return err
	}
	if err := command(cxx, "-o", program, main, object); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if m.survives(program) {
		return fmt.Errorf("%q instead of %q goes unseen by %s", m.new, m.old, m.needs())
	}
	return nil
}

// needs returns the mutant's entries, after the one that others take constants from.
func (m mutant) needs() []string {
	const constants = "edwards_constants/bls12_377_g1"
	if strings.HasPrefix(m.entries[0], "edwards_") && !slices.Contains(m.entries, constants) {
		return append([]string{constants}, m.entries...)
	}
	return m.entries
}

// source returns the part of a probe that has the mutant's entries.
func (m mutant) source() string {
	var lines []string
	include := "ops_mp.cuh"
	for _, e := range m.needs() {
		name, argument, _ := strings.Cut(e, "/")
		macro := "PROBE"
		if regexp.MustCompile(`^\d+$`).MatchString(argument) {
			macro = "PROBE_N"
		}
		lines = append(lines, fmt.Sprintf("%s(%s, %s)", macro, name, argument))
	}
	overFields := strings.HasPrefix(m.entries[0], "fe_") || strings.HasPrefix(m.entries[0], "field_")
	switch m.file {
	case "carry.cuh", "mont.cuh", "fixed.cuh":
		if overFields {
			include = "ops_field.cuh"
		} else if m.file != "carry.cuh" {
			include = "ops_mont.cuh"
		}
	case "field.cuh", "fp2.cuh":
		include = "ops_field.cuh"
	case "curve.cuh", "law.cuh", "edwards.cuh":
		include = "ops_curve.cuh"
	}
	return fmt.Sprintf("#include %q\nnamespace pippin::probe {\ntable mutant() { return {%s}; }\n}\n",
		include, strings.Join(lines, ", "))
}

// survives reports whether every entry of the program agrees with its model.
func (m mutant) survives(program string) bool {
	c, err := start(program)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.cmd.Process.Kill() })
	defer stop()
	args := newResolver()
	for _, e := range m.needs() {
		name, argument, _ := strings.Cut(e, "/")
		a, ok := args.arg(argument)
		if !ok {
			continue
		}
		for _, o := range allOps() {
			if o.name == name && o.run(c, a, items(&o, seen), *seedFlag) != nil {
				_ = c.close()
				return false
			}
		}
	}
	return c.close() == nil
}

// declaration finds the functions of the headers.
var declaration = regexp.MustCompile(`PIPPIN_HD (?:static |constexpr )*[\w:<>,+*& ]+?[ &*](\w+)\(`)

// byKernels are headers whose functions have no operations here yet:
// kernels/grid/number_test.go holds the kernels made of them against math/big.
var byKernels = []string{"binary.cuh", "sampled.cuh"}

// TestEveryFunctionHasAMutant reads the headers for functions.
func TestEveryFunctionHasAMutant(t *testing.T) {
	have := map[string]bool{}
	for _, m := range mutants {
		have[m.file+" "+m.function] = true
	}
	found := 0
	for _, path := range thread(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Base(path)
		if slices.Contains(byKernels, file) {
			continue
		}
		// The host's twin of the instructions is tested through them.
		source := regexp.MustCompile(`(?s)namespace twin \{.*?\}  // namespace twin`).ReplaceAllString(string(text), "")
		for _, match := range declaration.FindAllStringSubmatch(source, -1) {
			if match[1] == "name" {
				continue // a macro that makes functions
			}
			found++
			if !have[file+" "+match[1]] {
				t.Errorf("%s: %s has no mutant", file, match[1])
			}
		}
	}
	if found < 150 {
		t.Errorf("found only %d functions", found)
	}
	t.Logf("%d functions", found)
}
