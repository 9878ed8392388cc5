// Package tree is the repository for programs below scripts: where it is, and how the go
// command builds with -tags cuda in it.
package tree

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Root returns the folder of the repository.
func Root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/pippin-zk/pippin").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w; begin in the repository", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Command returns a command that runs in the repository and prints where this program does.
func Command(root string, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stdout, os.Stderr
	return cmd
}

// CUDA returns an environment in which -tags cuda compiles, by scripts/cuda-env.
func CUDA(root string, env []string) ([]string, error) {
	cmd := exec.Command("bash", "-c", `exports=$(scripts/cuda-env) && eval "$exports" && env -0`)
	cmd.Dir, cmd.Env, cmd.Stderr = root, env, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("scripts/cuda-env: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// Commit returns the commit that is checked out.
func Commit(root string) (string, error) {
	out, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("git rev-parse: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
