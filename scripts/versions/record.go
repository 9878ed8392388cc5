package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	measured "github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

const file = "bench/results/versions.jsonl"

// head is the first line of the record.
type head struct {
	Date    string `json:"date"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	Machine string `json:"machine"`
	Short   bool   `json:"short"` // the tests ran with -short
}

// line is what a pair was tested for, or what of another's files it read.
type line struct {
	Gnark   string `json:"gnark"`
	Crypto  string `json:"crypto"`
	What    string `json:"what"`
	In      string `json:"in,omitempty"`
	Tests   int    `json:"tests,omitempty"`
	Skipped int    `json:"skipped,omitempty"`
	From    string `json:"from,omitempty"` // the gnark that wrote the files
	Error   string `json:"error,omitempty"`
}

// record tests all pairs, has them exchange files, and writes the record. What the record of the
// same commit has already is not tested again.
func record(root, work string, short ...string) error {
	if err := tree.Command(root, "git", "diff", "--quiet", "HEAD", "--", ":!"+file).Run(); err != nil {
		return errors.New("commit first: the record names the commit")
	}
	commit, err := tree.Commit(root)
	if err != nil {
		return err
	}
	m := measured.ThisMachine(commit)
	now := head{time.Now().UTC().Format(time.DateOnly), commit[:12], runtime.Version(),
		fmt.Sprintf("%d x %s", m.Cores, m.CPU), len(short) > 0}
	to := filepath.Join(root, file)
	was, lines, err := read(to)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if was.Commit != now.Commit || was.Short != now.Short {
		lines = nil
	}
	for _, p := range pairs {
		if err := p.kept(root, work); err != nil {
			return err
		}
		for _, t := range tests {
			if slices.ContainsFunc(lines, func(l line) bool { return l.Gnark == p.Gnark && l.In == t.in }) {
				continue
			}
			n, err := p.test(root, work, t, short...)
			if err != nil {
				return err
			}
			lines = append(lines, line{Gnark: p.Gnark, Crypto: p.Crypto, What: t.what, In: t.in, Tests: n.Tests, Skipped: n.Skipped})
			if err := write(to, now, lines); err != nil {
				return err
			}
		}
	}
	exchanged, err := exchange(root, work)
	if err != nil {
		return err
	}
	lines = slices.DeleteFunc(lines, func(l line) bool { return l.From != "" })
	return write(to, now, append(lines, exchanged...))
}

// read reads a record.
func read(file string) (h head, lines []line, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return h, nil, err
	}
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if err := json.Unmarshal(first, &h); err != nil {
		return h, nil, fmt.Errorf("%s: %w", file, err)
	}
	for text := range bytes.Lines(rest) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return h, nil, fmt.Errorf("%s: %w", file, err)
		}
		lines = append(lines, l)
	}
	return h, lines, nil
}

// write writes a record.
func write(file string, h head, lines []line) error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	if err := out.Encode(h); err != nil {
		return err
	}
	for _, l := range lines {
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// exchange has every pair write files and every pair read them.
func exchange(root, work string) (lines []line, err error) {
	for _, p := range pairs {
		if err := p.write(root, work); err != nil {
			return nil, fmt.Errorf("gnark %v: %w", p, err)
		}
	}
	for _, reader := range pairs {
		for _, writer := range pairs {
			fmt.Printf("== gnark %v reads what %v wrote\n", reader, writer)
			said, err := exec.Command(reader.program(work), "read", writer.files(work)).Output()
			if err != nil {
				return nil, fmt.Errorf("gnark %v reads what %v wrote: %w", reader, writer, err)
			}
			for text := range bytes.Lines(said) {
				l := line{Gnark: reader.Gnark, Crypto: reader.Crypto, From: writer.Gnark + " " + writer.Crypto}
				if err := json.Unmarshal(text, &l); err != nil {
					return nil, err
				}
				lines = append(lines, l)
			}
		}
	}
	return lines, nil
}

func (p pair) program(work string) string {
	return filepath.Join(work, "exchange-"+p.Gnark+"-"+p.Crypto)
}
func (p pair) files(work string) string { return filepath.Join(work, "files-"+p.Gnark+"-"+p.Crypto) }

// write builds the program that exchanges files, and has it write.
func (p pair) write(root, work string) error {
	flags, err := p.modules(root, work)
	if err != nil {
		return err
	}
	cmd := tree.Command(root, append(append([]string{"go", "build", "-o", p.program(work)}, flags...), "./scripts/versions/exchange")...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	if err := os.Mkdir(p.files(work), 0o700); err != nil {
		return err
	}
	return tree.Command(root, p.program(work), "write", p.files(work)).Run()
}

// tables returns the tables of a record.
func tables(record string) (string, error) {
	_, lines, err := read(record)
	if err != nil {
		return "", err
	}
	return tested(lines) + "\n" + exchanged(lines), nil
}

// supported is what docs/stability.md says that the provers work with.
func supported() string {
	var all []string
	for _, p := range pairs {
		all = append(all, p.String())
	}
	return "| gnark with gnark-crypto | " + strings.Join(all, ", ") + " |"
}

// tested returns how many tests each pair has passed.
func tested(lines []line) string {
	var columns []string
	for _, t := range tests {
		if len(columns) == 0 || columns[len(columns)-1] != t.what {
			columns = append(columns, t.what)
		}
	}
	count := map[line]int{}
	for _, l := range lines {
		if l.From == "" {
			count[line{Gnark: l.Gnark, Crypto: l.Crypto, What: l.What}] += l.Tests
		}
	}
	rows := [][]string{append([]string{"gnark", "gnark-crypto"}, columns...)}
	for _, p := range pairs {
		row := []string{p.Gnark, p.Crypto}
		for _, c := range columns {
			row = append(row, fmt.Sprint(count[line{Gnark: p.Gnark, Crypto: p.Crypto, What: c}]))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// exchanged returns what each version reads of what each wrote: "all", or what fails.
func exchanged(lines []line) string {
	fails := map[[2]string][]string{} // by reader and writer
	for _, l := range lines {
		if l.From != "" && l.Error != "" {
			key := [2]string{l.Gnark + " " + l.Crypto, l.From}
			fails[key] = append(fails[key], l.What)
		}
	}
	rows := [][]string{{"read by, of"}}
	for _, p := range pairs {
		rows[0] = append(rows[0], p.Gnark+" "+p.Crypto)
	}
	for _, reader := range pairs {
		name := reader.Gnark + " " + reader.Crypto
		row := []string{name}
		for _, writer := range rows[0][1:] {
			what := "all"
			if f := fails[[2]string{name, writer}]; len(f) > 0 {
				what = "not " + strings.Join(f, ", ")
			}
			row = append(row, what)
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// markdown returns a table; its first row is the head.
func markdown(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	return b.String()
}
