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
}

// line is what a pair was tested for, or what of another's files it read.
type line struct {
	Gnark   string `json:"gnark"`
	Crypto  string `json:"crypto"`
	What    string `json:"what"`
	Tests   int    `json:"tests,omitempty"`
	Skipped int    `json:"skipped,omitempty"`
	From    string `json:"from,omitempty"` // the gnark that wrote the files
	Error   string `json:"error,omitempty"`
}

// record tests all pairs, has them exchange files, and writes the record.
func record(root, work string) error {
	if err := tree.Command(root, "git", "diff", "--quiet", "HEAD").Run(); err != nil {
		return errors.New("commit first: the record names the commit")
	}
	commit, err := tree.Commit(root)
	if err != nil {
		return err
	}
	m := measured.ThisMachine(commit)
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	if err := out.Encode(head{time.Now().UTC().Format(time.DateOnly), commit[:12], runtime.Version(),
		fmt.Sprintf("%d x %s", m.Cores, m.CPU)}); err != nil {
		return err
	}
	for _, p := range pairs {
		for _, t := range tests {
			n, err := p.test(root, work, t)
			if err != nil {
				return err
			}
			if err := out.Encode(line{Gnark: p.Gnark, Crypto: p.Crypto, What: t.what, Tests: n.Tests, Skipped: n.Skipped}); err != nil {
				return err
			}
		}
	}
	lines, err := exchange(root, work)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(root, file), text.Bytes(), 0o644)
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
	text, err := os.ReadFile(record)
	if err != nil {
		return "", err
	}
	var lines []line
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	for text := range bytes.Lines(rest) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return "", fmt.Errorf("%s: %w", record, err)
		}
		lines = append(lines, l)
	}
	return tested(lines) + "\n" + exchanged(lines), nil
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
