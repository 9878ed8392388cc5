package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

// programs are the tests that are compiled, by package.
var programs = []struct{ name, in string }{
	{"cuda", "./backend/cuda"},
	{"msm", "./backend/cuda/internal/msm"},
	{"grid", "./kernels/grid"},
}

// build makes a folder with the tests, this program, the kernels' manifest and the commit.
func build(args []string) error {
	root, err := tree.Root()
	if err != nil {
		return err
	}
	folder := filepath.Join(root, ".cache/card")
	if len(args) > 0 {
		folder = args[0]
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	env, err := tree.CUDA(root, os.Environ())
	if err != nil {
		return err
	}
	for _, p := range programs {
		out := filepath.Join(folder, p.name+".test")
		if err := compile(root, env, "test", "-c", "-tags", "cuda", "-o", out, p.in); err != nil {
			return err
		}
	}
	static := slices.Concat(env, []string{"CGO_ENABLED=0"})
	if err := compile(root, static, "build", "-o", filepath.Join(folder, "card"), "./scripts/card"); err != nil {
		return err
	}
	// For its digest, the same for all architectures.
	text, err := os.ReadFile(filepath.Join(root, "kernels/fatbin/sm_90/manifest.json"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "manifest.json"), text, 0o644); err != nil {
		return err
	}
	commit, err := tree.Commit(root)
	if err != nil {
		commit = "unknown"
	}
	fmt.Println(folder)
	return os.WriteFile(filepath.Join(folder, "commit"), []byte(commit+"\n"), 0o644)
}

// compile runs the go command with the flags that all programs have.
func compile(root string, env []string, verb string, args ...string) error {
	cmd := tree.Command(root, append([]string{"go", verb, "-trimpath", "-ldflags=-s -w"}, args...)...)
	cmd.Env = env
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s %v: %w", verb, args, err)
	}
	return nil
}
