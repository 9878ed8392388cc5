package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

// program is a module at a version, and arguments of go test.
type program struct {
	module string // with its version, or a folder
	args   []string
}

var programs = []program{
	{"github.com/crate-crypto/go-eth-kzg@v1.5.0", []string{"./..."}},
	{"github.com/ethereum/go-ethereum@v1.17.10", []string{"./crypto/kzg4844", "./core/vm"}},
	{"github.com/consensys/gnark@v0.14.0", []string{"./backend/groth16/...", "./backend/plonk/..."}},
	{"github.com/consensys/gnark@v0.15.0", []string{"./backend/groth16/...", "./backend/plonk/..."}},
	{"github.com/consensys/gnark@v0.16.3", []string{"./backend/groth16/...", "./backend/plonk/..."}},
}

func testAll(root string) error {
	for _, p := range programs {
		if err := p.test(root); err != nil {
			return err
		}
	}
	return nil
}

// woven is the line of the record for a program.
type woven struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	What     string `json:"what"`
	Packages int    `json:"packages"`
	MSMs     int    `json:"msms"`
	Provers  int    `json:"provers,omitempty"` // calls of Prove, Setup and ReadFrom
}

// test runs a program's tests, woven, and looks at who answered its MSMs.
func (p program) test(root string) error {
	work, err := os.MkdirTemp("", "woven-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	bin, source := filepath.Join(work, "bin"), filepath.Join(work, "program")
	if err := buildCommands(root, bin); err != nil {
		return err
	}
	if err := p.download(source); err != nil {
		return err
	}
	before, err := modules(source)
	if err != nil {
		return err
	}
	backend := cmp.Or(os.Getenv("PIPPIN_BACKEND"), "plugin:cpu")
	trace := filepath.Join(work, "trace")
	fmt.Println("==", p.module, strings.Join(p.args, " "))
	packages, failure := p.goTest(source, bin, []string{
		"PIPPIN_BACKEND=" + backend, "PIPPIN_PLUGIN_DIR=" + joined(bin, os.Getenv("PIPPIN_PLUGIN_DIR")),
		"PIPPIN_WEAVE_THRESHOLD=0", "PIPPIN_WEAVE_STRICT=1", "PIPPIN_WEAVE_TRACE=" + trace,
		"CGO_ENABLED=" + cmp.Or(os.Getenv("CGO_ENABLED"), "0"),
	})
	count, err := answered(trace, backend)
	if err != nil {
		return err
	}
	if failure != nil {
		return fmt.Errorf("%s: %w", p.module, failure)
	}
	after, err := modules(source)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		return fmt.Errorf("%s: go.mod or go.sum has changed", p.module)
	}
	module, version, err := p.name()
	if err != nil {
		return err
	}
	return add(os.Getenv("PIPPIN_WEAVE_RECORD"), woven{module, version, strings.Join(p.args, " "), packages, count.msms, count.provers()})
}

// buildCommands makes msm-weave and the CPU plugin, in a folder that nobody else can write.
func buildCommands(root, bin string) error {
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	cmd := tree.Command(root, "go", "build", "-o", bin+string(filepath.Separator), "./cmd/msm-weave", "./cmd/msm-backend-cpu")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return os.Chmod(filepath.Join(bin, "msm-backend-cpu"), 0o700)
}

// name returns the module's path and its version: a folder's is the commit that is checked out there.
func (p program) name() (module, version string, err error) {
	if module, version, ok := strings.Cut(p.module, "@"); ok {
		return module, version, nil
	}
	list := exec.Command("go", "list", "-m")
	list.Dir = p.module
	path, err := list.Output()
	if err != nil {
		return "", "", fmt.Errorf("go list: %w", err)
	}
	commit, err := tree.Commit(p.module)
	return strings.TrimSpace(string(path)), commit, err
}

// download copies a program's sources into a folder.
func (p program) download(to string) error {
	if !strings.Contains(p.module, "@") {
		return os.CopyFS(to, os.DirFS(p.module))
	}
	cmd := exec.Command("go", "mod", "download", "-json", p.module)
	cmd.Dir, cmd.Stderr = os.TempDir(), os.Stderr // outside of every module
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go mod download: %w", err)
	}
	var of struct{ Dir string }
	if err := json.Unmarshal(out, &of); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(of.Dir))
}

// modules returns what a program says of its modules.
func modules(source string) ([]byte, error) {
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(filepath.Join(source, "go.sum"))
	return append(mod, sum...), err
}

// joined returns a list of folders.
func joined(first, others string) string {
	if others == "" {
		return first
	}
	return first + string(os.PathListSeparator) + others
}

// goTest runs a program's tests and returns how many packages have passed.
func (p program) goTest(source, bin string, env []string) (packages int, err error) {
	weave := "-toolexec=" + filepath.Join(bin, "msm-weave")
	cmd := tree.Command(source, append([]string{"go", "test", "-count=1", "-timeout", "60m", weave}, p.args...)...)
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stdout = io.MultiWriter(os.Stdout, &said)
	cmd.Stderr = cmd.Stdout
	err = cmd.Run()
	for line := range strings.Lines(said.String()) {
		if strings.HasPrefix(line, "ok") {
			packages++
		}
	}
	return packages, err
}

// line is a line of what a woven program traces.
type line struct{ Call, Curve, Group, Backend, Bases string }

// answers is how many calls a backend has answered: MSMs, and calls of provers.
type answers struct{ msms, proofs, setups, reads int }

func (a answers) provers() int { return a.proofs + a.setups + a.reads }

// answered returns what a trace has, and prints where it was answered. Nothing, or a call that another backend answered, is
// an error.
func answered(trace, backend string) (answers, error) {
	var a answers
	text, err := os.ReadFile(trace)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return a, err
	}
	count, others := make(map[string]int), 0
	for text := range bytes.Lines(text) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return answers{}, fmt.Errorf("the trace: %w", err)
		}
		if l.Backend != backend {
			others++
		}
		switch _, call, _ := strings.Cut(l.Call, "."); call {
		case "Prove":
			a.proofs++
		case "Setup":
			a.setups++
		case "ReadFrom":
			a.reads++
		default:
			a.msms++
		}
		count[strings.Join(strings.Fields(strings.Join([]string{l.Call, l.Curve, l.Group, l.Backend, l.Bases}, " ")), " ")]++
	}
	if a == (answers{}) {
		return a, errors.New("the backend was not asked")
	}
	fmt.Println("Answered, by call (MSMs have none), curve, group, backend and where bases were:")
	for _, k := range slices.Sorted(maps.Keys(count)) {
		fmt.Printf("%7d %s\n", count[k], k)
	}
	if others > 0 {
		return a, fmt.Errorf("another backend than %s answered %d calls", backend, others)
	}
	return a, nil
}

// add adds a line to a file of JSON, if there is one.
func add(file string, line any) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(line), f.Close())
}
