package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	measured "github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

// The records of real programs: what builds and proves, and what proofs took in turns.
const (
	realFile  = "bench/results/xeon2/real-programs.jsonl"
	turnsFile = "bench/results/xeon2/turns-real-programs.jsonl"
)

// subject is what each line of these records is of: by which pippin, and which program in which form.
type subject struct {
	Date    string `json:"date"`
	Commit  string `json:"commit"` // of pippin
	Go      string `json:"go"`
	Machine string `json:"machine"`
	Backend string `json:"backend"`
	Program string `json:"program"`
	At      string `json:"at"` // its commit or version
	Form    string `json:"form"`
}

// realLine is the line of the record for a program in a form.
type realLine struct {
	subject
	Gnark       string  `json:"gnark,omitempty"`
	Fork        string  `json:"fork,omitempty"` // what its go.mod replaces gnark by
	GnarkCrypto string  `json:"gnark_crypto"`
	What        string  `json:"what"`
	Built       bool    `json:"built"`
	Passed      bool    `json:"passed"`
	Tests       int     `json:"tests"`            // that passed, skipped ones left out
	Proofs      int     `json:"proofs,omitempty"` // whole, by the backend
	Setups      int     `json:"setups,omitempty"`
	Reads       int     `json:"reads,omitempty"` // of proving keys
	MSMs        int     `json:"msms,omitempty"`
	Lines       int     `json:"lines,omitempty"` // of source changed
	Added       int     `json:"added,omitempty"` // lines of files added
	Note        string  `json:"note,omitempty"`  // what a build said of provers
	Error       string  `json:"error,omitempty"`
	Seconds     float64 `json:"seconds"` // builds included
}

// realAll runs the named programs, or all, in every form. Their lines take the place of earlier ones in the record.
func realAll(root, backend string, names []string) error {
	work, err := os.MkdirTemp("", "woven-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	bin := filepath.Join(work, "bin")
	if err := buildCommands(root, bin); err != nil {
		return err
	}
	programs, err := named(names)
	if err != nil {
		return err
	}
	for _, p := range programs {
		lines, err := p.run(root, bin, work, backend)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := replaceLines(filepath.Join(root, realFile), p.name, lines); err != nil {
			return err
		}
	}
	return nil
}

// subject returns what a line is of.
func (p realProgram) subject(root, backend, form string) (subject, error) {
	commit, err := tree.Commit(root)
	if err != nil {
		return subject{}, err
	}
	m := measured.ThisMachine(commit)
	return subject{
		Date: time.Now().UTC().Format(time.DateOnly), Commit: commit[:12], Go: m.Go, Machine: fmt.Sprintf("%d x %s", m.Cores, m.CPU),
		Backend: backend, Program: p.name, At: p.commit, Form: form,
	}, nil
}

// replaceLines puts a program's lines in the place of those that a record has of it, or at its end.
func replaceLines[L any](record, name string, lines []L) error {
	old, err := os.ReadFile(record)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var before, after, now bytes.Buffer
	to := &before
	for line := range bytes.Lines(old) {
		var s subject
		if err := json.Unmarshal(line, &s); err != nil {
			return fmt.Errorf("%s: %w", record, err)
		}
		if s.Program == name {
			to = &after
			continue
		}
		to.Write(line)
	}
	for _, l := range lines {
		if err := json.NewEncoder(&now).Encode(l); err != nil {
			return err
		}
	}
	return os.WriteFile(record, slices.Concat(before.Bytes(), now.Bytes(), after.Bytes()), 0o644)
}

// named returns the programs of these names, all for none.
func named(names []string) ([]realProgram, error) {
	if len(names) == 0 {
		return realPrograms, nil
	}
	var found []realProgram
	for _, name := range names {
		i := slices.IndexFunc(realPrograms, func(p realProgram) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no program is called %q; realPrograms of scripts/woven/programs.go has them", name)
		}
		found = append(found, realPrograms[i])
	}
	return found, nil
}

// run takes a program through its forms. An error is one of fetching or preparing; what fails in the program is in a line.
func (p realProgram) run(root, bin, work, backend string) ([]realLine, error) {
	source := filepath.Join(work, p.name)
	if err := p.fetch(source); err != nil {
		return nil, err
	}
	if p.unfork {
		if err := goIn(filepath.Join(source, p.folder), "mod", "edit", "-dropreplace=github.com/consensys/gnark"); err != nil {
			return nil, err
		}
		if err := goIn(filepath.Join(source, p.folder), "mod", "tidy"); err != nil {
			return nil, err
		}
	}
	gnark, fork, err := moduleIn(filepath.Join(source, p.folder), "github.com/consensys/gnark")
	if err != nil {
		return nil, err
	}
	crypto, _, err := moduleIn(filepath.Join(source, p.folder), "github.com/consensys/gnark-crypto")
	if err != nil {
		return nil, err
	}
	var lines []realLine
	for _, form := range p.forms() {
		fmt.Println("==", p.name, form)
		of, err := p.subject(root, backend, form)
		if err != nil {
			return nil, err
		}
		l := realLine{subject: of, Gnark: gnark, Fork: fork, GnarkCrypto: crypto, What: p.what()}
		copied := filepath.Join(work, p.name+"-"+form)
		if err := os.CopyFS(copied, os.DirFS(source)); err != nil {
			return nil, err
		}
		start := time.Now()
		err = p.form(&l, filepath.Join(copied, p.folder), root, bin, backend)
		l.Seconds = float64(time.Since(start).Round(time.Second/10)) / float64(time.Second)
		if err != nil {
			l.Error = err.Error()
		}
		l.Passed = err == nil
		if err := json.NewEncoder(os.Stdout).Encode(l); err != nil {
			return nil, err
		}
		lines = append(lines, l)
		if err := os.RemoveAll(copied); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// forms are those that a program may have: its imports are changed where its gnark is one that the library compiles with.
func (p realProgram) forms() []string {
	if len(p.use) == 0 {
		return []string{"stock", "woven"}
	}
	return []string{"stock", "woven", "imported"}
}

// fetch makes a folder of the program at its commit. Files that no step needs may be left out.
func (p realProgram) fetch(to string) error {
	if p.module != "" {
		return program{module: p.module + "@" + p.commit}.download(to)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	patterns := []string{"/" + cmp.Or(p.folder, "*")}
	for _, a := range p.also {
		patterns = append(patterns, "/"+a)
	}
	for _, w := range p.without {
		patterns = append(patterns, "!/"+w)
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"remote", "add", "origin", "https://github.com/" + p.source},
		append([]string{"sparse-checkout", "set", "--no-cone"}, patterns...),
		{"fetch", "-q", "--depth=1", "--filter=blob:none", "origin", p.commit},
		{"checkout", "-q", "FETCH_HEAD"},
	} {
		if err := tree.Command(to, append([]string{"git"}, args...)...).Run(); err != nil {
			return fmt.Errorf("git %s: %w", args[0], err)
		}
	}
	for _, name := range p.empty {
		if err := os.WriteFile(filepath.Join(to, name), nil, 0o600); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(to, ".git"))
}

// moduleIn returns the version of a module that a program has, none for a program without it, and what replaces it.
func moduleIn(dir, module string) (version, replaced string, err error) {
	cmd := exec.Command("go", "list", "-m", "-json", "all")
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("go list -m all: %w", err)
	}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct {
			Path, Version string
			Replace       *struct{ Path, Version string }
		}
		if err := in.Decode(&m); errors.Is(err, io.EOF) {
			return "", "", nil
		} else if err != nil {
			return "", "", err
		}
		if m.Path != module {
			continue
		}
		if m.Replace != nil {
			replaced = strings.TrimSpace(m.Replace.Path + " " + m.Replace.Version)
		}
		return m.Version, replaced, nil
	}
}

// environment is what a program's commands run in.
func environment(bin, backend, trace string) []string {
	return append(os.Environ(), "GOWORK=off", "CGO_ENABLED=1", "PIPPIN_PLUGIN_DIR="+joined(bin, os.Getenv("PIPPIN_PLUGIN_DIR")),
		"PIPPIN_WEAVE_THRESHOLD=0", "PIPPIN_WEAVE_STRICT=1", "PIPPIN_WEAVE_TRACE="+trace, "PIPPIN_BACKEND="+backend)
}

// prepare makes a form of a program out of its sources.
func (p realProgram) prepare(l *realLine, dir, root string, env []string) error {
	for to, from := range p.drivers {
		if _, err := put(filepath.Join(dir, to), from, filepath.Base(filepath.Dir(to))); err != nil {
			return err
		}
	}
	if l.Form == "imported" {
		return p.importProvers(l, dir, root, env)
	}
	return nil
}

// goArgs are those of the go command for a step, with the flags given, in a form.
func goArgs(form, bin string, step []string, flags ...string) []string {
	if form == "woven" {
		flags = append(flags, "-toolexec="+filepath.Join(bin, "msm-weave"))
	}
	return slices.Concat(step[:1], flags, step[1:])
}

// form builds and runs a program in a form.
func (p realProgram) form(l *realLine, dir, root, bin, backend string) error {
	trace := filepath.Join(filepath.Dir(bin), p.name+"-"+l.Form+".trace")
	env := append(environment(bin, backend, trace), p.env...)
	if err := p.prepare(l, dir, root, env); err != nil {
		return err
	}
	flags := map[string][]string{
		"test": {"-count=1", "-v", "-vet=off", "-timeout=60m"}, "build": {"-o", filepath.Join(dir, "built-by-woven")},
	}
	for i, step := range slices.Concat(p.builds, p.steps) {
		said, err := said(dir, env, goArgs(l.Form, bin, step, flags[step[0]]...))
		l.Tests += len(passed.FindAll(said, -1))
		if note := partly.Find(said); note != nil {
			l.Note = somewhere(string(note), root, bin)
		}
		if err != nil {
			return fmt.Errorf("go %s: %s", strings.Join(step, " "), somewhere(reason(said, err), root, bin))
		}
		l.Built = l.Built || i >= len(p.builds)-1
	}
	if l.Form == "stock" {
		return nil
	}
	count, err := answered(trace, backend)
	l.Proofs, l.Setups, l.Reads, l.MSMs = count.proofs, count.setups, count.reads, count.msms
	return err
}

// somewhere returns a line of output without the folders of this machine.
func somewhere(line, root, bin string) string {
	return strings.NewReplacer(root, "pippin", filepath.Dir(bin), "work").Replace(line)
}

var (
	passed = regexp.MustCompile(`(?m)^--- PASS: `)
	partly = regexp.MustCompile(`(?m)^msm weave: .*stay gnark's.*$`)
	worded = regexp.MustCompile(`(?m)^.*(msm[ -]weave: |panic: |error: |Error: |--- FAIL|undefined: |cannot use|\.go:\d+:\d+: ).*$`)
)

// said runs a go command, and returns what it printed.
func said(dir string, env, args []string) ([]byte, error) {
	fmt.Println("go", strings.Join(args, " "))
	var said bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout = io.MultiWriter(os.Stdout, &said)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	return said.Bytes(), err
}

// reason returns the line of a failed command's output that says most.
func reason(said []byte, err error) string {
	for _, line := range worded.FindAll(said, -1) {
		if !partly.Match(line) {
			return string(bytes.TrimSpace(line))
		}
	}
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	return fmt.Sprintf("%v: %s", err, lines[len(lines)-1])
}

// importProvers changes a program's imports of gnark's provers to pippin's, and adds a file that says what computes.
func (p realProgram) importProvers(l *realLine, dir, root string, env []string) error {
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed, n := imported(text)
		if n == 0 {
			return nil
		}
		l.Lines += n
		return os.WriteFile(path, changed, 0o600)
	}); err != nil {
		return err
	}
	for folder, pkg := range p.use {
		lines, err := put(filepath.Join(dir, folder, "use_pippin.go"), "use.txt", pkg)
		if err != nil {
			return err
		}
		l.Added += lines
	}
	before, _, err := moduleIn(dir, "github.com/consensys/gnark")
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "edit", "-replace=github.com/pippin-zk/pippin=" + root}, {"mod", "tidy"}} {
		if said, err := said(dir, env, args); err != nil {
			return fmt.Errorf("go %s: %s", strings.Join(args, " "), reason(said, err))
		}
	}
	now, _, err := moduleIn(dir, "github.com/consensys/gnark")
	if err == nil && now != before {
		err = fmt.Errorf("go mod tidy has raised gnark from %s to %s", before, now)
	}
	return err
}

// put writes a file of testdata/real into a program, as one of a package, and returns how many lines it has.
func put(to, name, pkg string) (lines int, err error) {
	text, err := realTexts.ReadFile("testdata/real/" + name)
	if err != nil {
		return 0, err
	}
	text = bytes.Replace(text, []byte("package main"), []byte("package "+pkg), 1)
	return bytes.Count(text, []byte("\n")), os.WriteFile(to, text, 0o600)
}

var gnarkImport = regexp.MustCompile(`(?m)^((?:import)?[\t ]*(?:[a-zA-Z_0-9]+ )?)"github\.com/consensys/gnark/backend/(groth16|plonk)"`)

// imported returns a file with pippin's provers in place of gnark's, and how many lines differ.
func imported(text []byte) ([]byte, int) {
	n := len(gnarkImport.FindAll(text, -1))
	return gnarkImport.ReplaceAll(text, []byte(`$1"github.com/pippin-zk/pippin/prover/$2"`)), n
}
