package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	measured "github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

// turnLine is what a program's tests or benchmarks took in a form.
type turnLine struct {
	Program string    `json:"program"`
	Commit  string    `json:"commit"`
	Form    string    `json:"form"`
	What    string    `json:"what"`
	Count   int       `json:"count"`
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Max     float64   `json:"max_ms"`
	Samples []float64 `json:"samples_ms"`
}

// turns builds a program's test program in every form, has them take turns, and prints a line for each form and test.
func turns(root, name, backend string) error {
	found, err := named([]string{name})
	if err != nil {
		return err
	}
	p := found[0]
	if len(p.turns) == 0 {
		return fmt.Errorf("%s has nothing that is timed: realPrograms of scripts/woven/programs.go says what of a program is", name)
	}
	work, err := os.MkdirTemp("", "woven-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	bin, source := filepath.Join(work, "bin"), filepath.Join(work, "source")
	if err := buildCommands(root, bin); err != nil {
		return err
	}
	if err := p.fetch(source); err != nil {
		return err
	}
	env := environment(bin, backend, filepath.Join(work, "trace"))
	for _, step := range p.steps {
		if step[0] != "run" { // what makes keys, for all forms
			continue
		}
		if said, err := said(filepath.Join(source, p.folder), env, step); err != nil {
			return fmt.Errorf("go %s: %s", strings.Join(step, " "), reason(said, err))
		}
	}
	dirs := make(map[string]string)
	for _, form := range p.forms() {
		copied := filepath.Join(work, form)
		if err := os.CopyFS(copied, os.DirFS(source)); err != nil {
			return err
		}
		dir := filepath.Join(copied, p.folder)
		if err := p.prepare(&realLine{Form: form}, dir, root, env); err != nil {
			return err
		}
		args := goArgs(form, bin, []string{"test", p.turns[0]}, "-c", "-vet=off", "-o", filepath.Join(work, form+".test"))
		if said, err := said(dir, env, args); err != nil {
			return fmt.Errorf("%s: %s", form, reason(said, err))
		}
		dirs[form] = filepath.Join(dir, p.turns[0])
	}
	took := make(map[[2]string][]float64)
	for range timesRounds {
		for _, form := range p.forms() {
			cmd := exec.Command(filepath.Join(work, form+".test"), p.turns[1:]...)
			cmd.Dir, cmd.Env, cmd.Stderr = dirs[form], env, os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %s", form, reason(out, err))
			}
			for what, ms := range timesIn(out) {
				took[[2]string{what, form}] = append(took[[2]string{what, form}], ms)
			}
		}
	}
	if len(took) == 0 {
		return errors.New("nothing was timed")
	}
	return p.print(root, backend, took)
}

// print prints what the tests took as lines of a record.
func (p realProgram) print(root, backend string, took map[[2]string][]float64) error {
	commit, err := tree.Commit(root)
	if err != nil {
		return err
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	m := measured.ThisMachine(commit)
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]any{
		"date": time.Now().UTC().Format(time.DateOnly), "commit": commit[:12], "go": m.Go, "backend": backend,
		"machine": fmt.Sprintf("%d x %s", m.Cores, m.CPU), "load": strings.Fields(string(load))[:3],
	}); err != nil {
		return err
	}
	keys := make([][2]string, 0, len(took))
	for k := range took {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, k := range keys {
		sorted := slices.Sorted(slices.Values(took[k]))
		if err := out.Encode(turnLine{
			Program: p.name, Commit: p.commit, Form: k[1], What: k[0], Count: len(sorted),
			Min: sorted[0], Median: sorted[len(sorted)/2], Max: sorted[len(sorted)-1], Samples: took[k],
		}); err != nil {
			return err
		}
	}
	return nil
}

var timed = regexp.MustCompile(`(?m)^(?:--- PASS: (Test\S+) \(([0-9.]+)s\)|(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op.*)$`)

// timesIn returns the milliseconds of what a test program says that it has timed.
func timesIn(said []byte) map[string]float64 {
	found := make(map[string]float64)
	for _, m := range timed.FindAllSubmatch(said, -1) {
		for _, of := range []struct {
			name, number []byte
			unit         float64
		}{{m[1], m[2], 1000}, {m[3], m[4], 1e-6}} {
			if n, err := strconv.ParseFloat(string(of.number), 64); err == nil {
				found[string(of.name)] = n * of.unit
			}
		}
	}
	return found
}
