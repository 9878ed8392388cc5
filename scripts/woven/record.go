package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	measured "github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

const file = "cmd/internal/weave/record.jsonl"

// head is the first line of the record.
type head struct {
	Date    string `json:"date"`
	Commit  string `json:"commit"`
	Sources string `json:"sources"` // a digest of what weaves and what is linked in
	Go      string `json:"go"`
	Machine string `json:"machine"`
	Backend string `json:"backend"`
}

// linked are what weaves and what is linked into programs, as git takes paths.
var linked = []string{
	"go.mod", "weave", "cmd/internal/weave", "msm", "engine", "plugin", ":(glob)backend/*.go", "backend/cpu",
	"internal/build", "internal/curves", "internal/eisenstein", "internal/extent", "internal/files", "internal/gf2", "internal/inuse",
	"internal/keyparts", "internal/known/sum", "internal/layout", "internal/opener", "internal/resident", "internal/trust",
	":(glob)prover/groth16/*.go", "prover/plonk", "prover/internal", "vector",
}

// notLinked finds tests, what only they link in, and the record.
var notLinked = regexp.MustCompile(`_test\.go$|plugin/internal/(fake|plugintest|testplugin)/|` + regexp.QuoteMeta(file) + `$`)

// sources returns the digest of what is linked in, as git has it.
func sources(root string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", root, "ls-files", "-s", "--"}, linked...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git ls-files: %w", err)
	}
	hash := sha256.New()
	for line := range bytes.Lines(out) {
		if !notLinked.Match(bytes.TrimSpace(line)) {
			hash.Write(line)
		}
	}
	return fmt.Sprintf("%x", hash.Sum(nil))[:32], nil
}

// check fails when the record is not of the sources that are checked out.
func check(root string) error {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	var h head
	if err := json.Unmarshal(first, &h); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	now, err := sources(root)
	if err != nil {
		return err
	}
	if h.Sources != now {
		return fmt.Errorf("what weaves or is linked in has changed since %s (%s): go run ./scripts/woven record before a release", file, first)
	}
	fmt.Printf("woven: %s is of these sources\n", file)
	return nil
}

// record runs everything and writes the record.
func record(root string) error {
	changed := []string{
		"git", "diff", "--quiet", "HEAD", "--", "go.mod",
		"weave", "cmd/internal/weave", "msm", "engine", "plugin", "backend", "internal", "prover", "vector",
	}
	if err := tree.Command(root, changed...).Run(); err != nil {
		return errors.New("commit first: the record names the commit")
	}
	h, err := headOf(root)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "woven-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, "record.jsonl")
	if err := add(made, h); err != nil {
		return err
	}
	for name, value := range map[string]string{"PIPPIN_WEAVE_RECORD": made, "PIPPIN_BACKEND": h.Backend} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	const tests = "^(TestVersionsOfGnarkCrypto|TestProvers)$"
	if err := tree.Command(root, "go", "run", "./scripts/long", "weave", "-run", tests).Run(); err != nil {
		return fmt.Errorf("scripts/long weave: %w", err)
	}
	if err := testAll(root); err != nil {
		return err
	}
	text, err := os.ReadFile(made)
	if err != nil {
		return err
	}
	os.Stdout.Write(text)
	return os.WriteFile(filepath.Join(root, file), text, 0o644)
}

func headOf(root string) (head, error) {
	digest, err := sources(root)
	if err != nil {
		return head{}, err
	}
	commit, err := tree.Commit(root)
	if err != nil {
		return head{}, err
	}
	m := measured.ThisMachine(commit)
	return head{
		Date: time.Now().UTC().Format(time.DateOnly), Commit: commit[:12], Sources: digest, Go: runtime.Version(),
		Machine: fmt.Sprintf("%d x %s", m.Cores, m.CPU), Backend: "plugin:cpu",
	}, nil
}
