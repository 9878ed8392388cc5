// Command card runs tests of the kernels on a machine with a GPU, which needs neither Go nor
// the repository, and writes records for bench/results.
//
//	go run ./scripts/card build [FOLDER]                        makes what that machine needs
//	FOLDER/card sanitize [-seconds S] [-all S] RESULTS [PARTS]
//	FOLDER/card difference [-seed N] [-within S] RESULTS [CASES]
//
// build needs Go, a C compiler and what scripts/cuda-env needs. FOLDER (.cache/card without
// one) may be carried to another machine.
//
// sanitize has NVIDIA's compute-sanitizer look at the kernels: memcheck, racecheck, initcheck
// and synccheck while MSMs, points, vectors and numbers of every curve, group and width are
// computed and compared with known answers or the backend cpu's, and while kernels are
// launched one by one. PARTS, a regular expression, takes some of the parts, such as phases or
// bn254. The record is RESULTS/DATE-GPU-sanitize.json.
//
// difference compares 100,000 small random cases, or as many as CASES says, with gnark-crypto
// and math/big: MSMs, programs over vectors and points of all curves and groups, and operations
// on numbers, as many of each. The record is RESULTS/DATE-GPU-difference.json.
//
// The exit status is 1 when a tool found something, an answer was wrong or did not come, or
// there were fewer cases.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "card: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say build, sanitize or difference")
	}
	if args[0] == "build" {
		return build(args[1:])
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b, err := openBuild(filepath.Dir(self))
	if err != nil {
		return err
	}
	switch args[0] {
	case "sanitize":
		return b.sanitize(args[1:])
	case "difference":
		return b.difference(args[1:])
	}
	return fmt.Errorf("%q is neither build, sanitize nor difference", args[0])
}

// built is a folder that build made.
type built struct {
	folder   string
	commit   string
	manifest manifest
}

// manifest is what is read of the kernels' manifest.
type manifest struct {
	Digest   string `json:"digest"`
	Compiler string `json:"compiler"`
}

func openBuild(folder string) (*built, error) {
	if _, err := os.Stat(filepath.Join(folder, "cuda.test")); err != nil {
		return nil, fmt.Errorf("%w: go run ./scripts/card build makes the folder, and its card runs this", err)
	}
	b := &built{folder: folder}
	commit, err := os.ReadFile(filepath.Join(folder, "commit"))
	if err != nil {
		return nil, err
	}
	b.commit = strings.TrimSpace(string(commit))
	text, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		return nil, err
	}
	return b, json.Unmarshal(text, &b.manifest)
}

// machine is what a record says of the card and the programs.
type machine struct {
	GPU        string `json:"gpu"`
	Driver     string `json:"driver"`
	Memory     string `json:"memory"`
	Sanitizer  string `json:"compute_sanitizer,omitempty"`
	Processors int    `json:"processors"`
	Kernels    string `json:"kernels"`
	Compiler   string `json:"kernel_compiler"`
	Commit     string `json:"commit"`
	Time       string `json:"time"`
}

// thisMachine asks nvidia-smi for the first card.
func (b *built) thisMachine() (machine, error) {
	out, err := exec.Command("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader").Output()
	if err != nil {
		return machine{}, fmt.Errorf("nvidia-smi: %w", err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	of := strings.Split(first, ", ")
	if len(of) != 3 {
		return machine{}, fmt.Errorf("nvidia-smi says %q", first)
	}
	return machine{
		GPU: of[0], Driver: of[1], Memory: of[2], Processors: processors(),
		Kernels: b.manifest.Digest, Compiler: b.manifest.Compiler, Commit: b.commit, Time: time.Now().UTC().Format(time.RFC3339),
	}, nil
}

var notInName = regexp.MustCompile(`[^a-z0-9]`)

// write writes a record of this machine, and prints where.
func write(results, kind string, m machine, record any) error {
	words := strings.Fields(m.GPU)
	gpu := notInName.ReplaceAllString(strings.ToLower(words[len(words)-1]), "")
	name := filepath.Join(results, fmt.Sprintf("%s-%s-%s.json", time.Now().UTC().Format(time.DateOnly), gpu, kind))
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	fmt.Println(name)
	return os.WriteFile(name, append(text, '\n'), 0o644)
}
