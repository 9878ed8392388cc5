package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

var (
	all    = flag.Bool("mutants.all", false, "try every mutant, not a few")
	only   = flag.String("mutants.only", "", "try the mutants whose file, text or test this pattern finds")
	record = flag.String("mutants.record", "", "file for a line of JSON about each mutant; those that it has are not tried again")
	atOnce = flag.Int("mutants.at-once", 2, "how many are tried at the same time")
	commit = flag.String("mutants.commit", "", "pippin's commit, for the record")
)

// sampled is how many mutants a run tries that is not told otherwise. Which ones changes
// whenever one of the files does.
const sampled = 2

// limit is how long the test of a mutant may take: a test that hangs says nothing.
const limit = 2 * time.Minute

const root = "../.."

// mutant is a fault: old, which its file has once, becomes new, and then test must fail, a
// test of the same package.
type mutant struct {
	file, old, new, test string
}

func (m mutant) String() string { return fmt.Sprintf("%s: %q instead of %q", m.file, m.new, m.old) }

// folder returns the package that is tested, from the root.
func (m mutant) folder() string { return path.Dir(m.file) }

// apply returns the text of the file with the fault in it.
func (m mutant) apply() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("the old text occurs %d times", n)
	}
	mutated := bytes.Replace(text, []byte(m.old), []byte(m.new), 1)
	if _, err := parser.ParseFile(token.NewFileSet(), m.file, mutated, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	return mutated, nil
}

// TestMutantsApply: every mutant still changes a line, and its test is there.
func TestMutantsApply(t *testing.T) {
	if len(mutants) < 150 {
		t.Errorf("%d mutants", len(mutants))
	}
	seen := map[string]bool{}
	tests := map[string][]string{} // by folder
	for _, m := range mutants {
		if _, err := m.apply(); err != nil {
			t.Errorf("%v: %v", m, err)
		}
		if seen[m.String()] || m.old == m.new {
			t.Errorf("%v: twice, or no change", m)
		}
		seen[m.String()] = true
		if tests[m.folder()] == nil {
			tests[m.folder()] = testsOf(t, m.folder())
		}
		if !slices.Contains(tests[m.folder()], m.test) {
			t.Errorf("%v: %s has no %s", m, m.folder(), m.test)
		}
	}
}

// testsOf returns the names of the tests in a folder.
func testsOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
			names = append(names, string(match[1]))
		}
	}
	return names
}

// TestMutants plants faults and demands that their tests fail, and say why.
func TestMutants(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command, which compiles the mutants")
	}
	if runtime.GOOS != "linux" {
		t.Skip("most of the tests need Linux")
	}
	if testing.Short() && !*all && *only == "" {
		t.Skip("compiling mutants takes long")
	}
	chosen, err := choose()
	if err != nil {
		t.Fatal(err)
	}
	out, err := open(*record)
	if err != nil {
		t.Fatal(err)
	}
	defer out.to.Close()
	chosen = slices.DeleteFunc(slices.Clone(chosen), out.has)
	if *all || *only != "" {
		whole(t, chosen)
	}
	var g errgroup.Group
	g.SetLimit(*atOnce)
	for _, m := range chosen {
		dir := t.TempDir()
		g.Go(func() error {
			began := time.Now()
			err := m.try(dir)
			if err != nil {
				t.Errorf("%v: %v", m, err)
			}
			took := time.Since(began)
			t.Logf("%5.1f s  %v", took.Seconds(), m)
			return out.add(m, err == nil, took)
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("tried %d of %d mutants", len(chosen), len(mutants))
}

// choose returns the mutants that are tried.
func choose() (chosen []mutant, err error) {
	if *only != "" {
		wanted, err := regexp.Compile(*only)
		for _, m := range mutants {
			if err == nil && wanted.MatchString(m.String()+" "+m.test) {
				chosen = append(chosen, m)
			}
		}
		return chosen, err
	}
	if *all {
		return mutants, nil
	}
	h := fnv.New32a()
	for _, m := range mutants {
		text, err := m.apply()
		if err != nil {
			return nil, err
		}
		h.Write(text)
	}
	first := int(h.Sum32() % uint32(len(mutants)))
	for k := range sampled { // far apart, so that few are of a package that compiles slowly
		chosen = append(chosen, mutants[(first+k*len(mutants)/sampled)%len(mutants)])
	}
	return chosen, nil
}

// whole wants the tests to pass without a fault. Otherwise they show nothing.
func whole(t *testing.T, of []mutant) {
	t.Helper()
	tests := map[string][]string{} // by folder
	for _, m := range of {
		if !slices.Contains(tests[m.folder()], m.test) {
			tests[m.folder()] = append(tests[m.folder()], m.test)
		}
	}
	for folder, names := range tests {
		if out, err := gotest(folder, strings.Join(names, "|")); err != nil {
			t.Fatalf("without a fault, %s: %v\n%s", folder, err, tail(out))
		}
	}
}

// try has the mutant's test run with the fault in it. An error is a fault that was not
// found, or not told.
func (m mutant) try(dir string) error {
	text, err := m.apply()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, path.Base(m.file))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return err
	}
	text, err = json.Marshal(map[string]any{"Replace": map[string]string{original: file}})
	if err != nil {
		return err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return err
	}
	out, err := gotest(m.folder(), m.test, "-overlay", overlay)
	switch {
	case err == nil:
		return fmt.Errorf("goes unseen by %s", m.test)
	case !errors.As(err, new(*exec.ExitError)):
		return err
	case bytes.Contains(out, []byte("panic: test timed out")):
		return fmt.Errorf("%s hangs and does not say why", m.test)
	case !bytes.Contains(out, []byte("--- FAIL: "+m.test)) && !crash.Match(out):
		return fmt.Errorf("%s does not run: %v\n%s", m.test, err, tail(out))
	}
	return nil
}

// crash finds the end of a test that was ended by its mutant: that is seen too.
var crash = regexp.MustCompile(`(?m)^(panic|fatal error): `)

// gotest runs tests of a package.
func gotest(folder, tests string, flags ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*limit) // compiling included
	defer cancel()
	args := append([]string{"test", "-count=1", "-vet=off", "-timeout", limit.String(), "-run", "^(" + tests + ")$"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+folder)...)
	cmd.Dir = root
	return cmd.CombinedOutput()
}

// tail returns the end of a test's output.
func tail(out []byte) []byte { return out[max(0, len(out)-2000):] }

// line is what the record has of a mutant.
type line struct {
	Date    string  `json:"date"`
	Commit  string  `json:"commit"`
	File    string  `json:"file"`
	Old     string  `json:"old"`
	New     string  `json:"new"`
	Package string  `json:"package"`
	Test    string  `json:"test"`
	Caught  bool    `json:"caught"`
	Seconds float64 `json:"seconds"`
}

func (l line) mutant() mutant { return mutant{l.File, l.Old, l.New, l.Test} }

// lines are the record.
type lines struct {
	mu  sync.Mutex
	to  *os.File // nil for none
	all []line   // mutants that were caught
}

// open goes on with a record. Mutants that were not caught are left out of it, to be tried
// again, and so are those that the table has no more.
func open(name string) (*lines, error) {
	l := &lines{}
	if name == "" {
		return l, nil
	}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var one line
		if err := dec.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if one.Caught && slices.Contains(mutants, one.mutant()) {
			l.all = append(l.all, one)
		}
	}
	if l.to, err = os.Create(name); err != nil {
		return nil, err
	}
	for _, one := range l.all {
		if err := l.write(one); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// has reports whether a mutant was caught.
func (l *lines) has(m mutant) bool {
	return slices.ContainsFunc(l.all, func(one line) bool { return one.mutant() == m })
}

func (l *lines) add(m mutant, caught bool, took time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to == nil {
		return nil
	}
	date := time.Now().UTC().Format(time.RFC3339)
	return l.write(line{date, *commit, m.file, m.old, m.new, m.folder(), m.test, caught, float64(took.Milliseconds()/100) / 10})
}

func (l *lines) write(one line) error {
	lines := json.NewEncoder(l.to)
	lines.SetEscapeHTML(false)
	return lines.Encode(one)
}
