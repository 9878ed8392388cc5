package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// turnLine is what a program's test or benchmark took in a form.
type turnLine struct {
	subject
	Load    float64   `json:"load"` // of the machine, in the last minute of the turns
	What    string    `json:"what"`
	Count   int       `json:"count"`
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Max     float64   `json:"max_ms"`
	Samples []float64 `json:"samples_ms"`
}

// turns builds a program's test program in every form, has them take turns, and writes a line of a record for each.
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
		if err := p.prepare(&realLine{subject: subject{Form: form}}, dir, root, env); err != nil {
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
	lines, err := p.turnLines(root, backend, took)
	if err != nil {
		return err
	}
	return replaceLines(filepath.Join(root, turnsFile), p.name, lines)
}

// turnLines returns a line for each test and form.
func (p realProgram) turnLines(root, backend string, took map[[2]string][]float64) (lines []turnLine, err error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil, err
	}
	minute, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(minute, 64)
	if err != nil {
		return nil, err
	}
	for _, k := range slices.SortedFunc(maps.Keys(took), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		of, err := p.subject(root, backend, k[1])
		if err != nil {
			return nil, err
		}
		sorted := slices.Sorted(slices.Values(took[k]))
		lines = append(lines, turnLine{
			subject: of, Load: load, What: k[0], Count: len(sorted),
			Min: sorted[0], Median: sorted[len(sorted)/2], Max: sorted[len(sorted)-1], Samples: took[k],
		})
	}
	return lines, nil
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
