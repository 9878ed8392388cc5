package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

// What times measures: a program of one source, built in three ways.
const (
	timesConstraints = "65536"
	timesProofs      = "3" // of each process, after one that loads the key
	timesRounds      = 5
)

var (
	//go:embed testdata/times/main.go
	timesMain []byte
	//go:embed testdata/times/use.txt
	timesUse []byte
)

// way is a way to build the program, with its proofs' milliseconds.
type way struct {
	name  string
	build func(dir, bin, root string) error
	ms    []float64
}

var ways = []*way{
	{name: "stock", build: func(dir, _, _ string) error { return goIn(dir, "build", "-o", "program", ".") }},
	{name: "woven", build: func(dir, bin, _ string) error {
		return goIn(dir, "build", "-toolexec="+filepath.Join(bin, "msm-weave"), "-o", "program", ".")
	}},
	{name: "imported", build: func(dir, _, root string) error {
		text := bytes.Replace(timesMain, []byte("consensys/gnark/backend/groth16"), []byte("pippin-zk/pippin/prover/groth16"), 1)
		for name, text := range map[string][]byte{"main.go": text, "use.go": timesUse} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				return err
			}
		}
		for _, args := range [][]string{
			{"mod", "edit", "-replace=github.com/pippin-zk/pippin=" + root}, {"mod", "tidy"}, {"build", "-o", "program", "."},
		} {
			if err := goIn(dir, args...); err != nil {
				return err
			}
		}
		return nil
	}},
}

// times builds a program that proves with a version of gnark in three ways, has them take turns, and prints their proofs'
// times as a line of JSON.
func times(root, gnark, backend string) error {
	work, err := os.MkdirTemp("", "woven-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	bin := filepath.Join(work, "bin")
	if err := buildCommands(root, bin); err != nil {
		return err
	}
	for _, w := range ways {
		dir := filepath.Join(work, w.name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		module := "module example.com/times\n\ngo 1.26.0\n\nrequire github.com/consensys/gnark " + gnark + "\n"
		for name, text := range map[string][]byte{"main.go": timesMain, "go.mod": []byte(module)} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				return err
			}
		}
		if err := goIn(dir, "mod", "tidy"); err != nil {
			return err
		}
		if err := w.build(dir, bin, root); err != nil {
			return err
		}
	}
	for range timesRounds {
		for _, w := range ways {
			cmd := exec.Command(filepath.Join(work, w.name, "program"), timesConstraints, timesProofs)
			cmd.Env = append(os.Environ(), "PIPPIN_BACKEND="+backend, "PIPPIN_PLUGIN_DIR="+joined(bin, os.Getenv("PIPPIN_PLUGIN_DIR")),
				"PIPPIN_WEAVE_STRICT=1")
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			var ms []float64
			if err := json.Unmarshal(out, &ms); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			w.ms = append(w.ms, ms...)
			fmt.Fprintf(os.Stderr, "%-9s %v\n", w.name, ms)
		}
	}
	answer := map[string]any{"gnark": gnark, "backend": backend, "constraints": timesConstraints}
	for _, w := range ways {
		slices.Sort(w.ms)
		answer[w.name] = map[string]float64{"min_ms": w.ms[0], "median_ms": w.ms[len(w.ms)/2], "max_ms": w.ms[len(w.ms)-1]}
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

// goIn runs a go command in a folder, without a workspace.
func goIn(dir string, args ...string) error {
	cmd := tree.Command(dir, append([]string{"go"}, args...)...)
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
