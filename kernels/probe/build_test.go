package probe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// parts are the files of the host's probe beside main.cu.
func parts(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "part_*.cu")) }

// compiler is the C++ compiler of the host, "" when there is none.
func compiler() string {
	name := os.Getenv("CXX")
	if name == "" {
		name = "g++"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// sanitized are the flags of the host's probe. Without inlining the compiler takes
// half the time, since every function is instrumented once.
var sanitized = []string{"-O1", "-g0", "-fno-inline", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}

// compile makes an object of a source. Warnings are errors: the headers must be
// clean for every compiler that meets them.
func compile(cxx, source, object string, flags ...string) error {
	args := append([]string{"-x", "c++", "-std=c++20", "-Wall", "-Wextra", "-Werror"}, flags...)
	return command(cxx, append(args, "-c", "-o", object, source)...)
}

func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// buildHost builds the probe with sanitizers in dir and returns its path.
func buildHost(cxx, dir string) (string, error) {
	sources, err := parts(".")
	if err != nil {
		return "", err
	}
	sources = append(sources, "main.cu")
	objects := make([]string, len(sources))
	var g errgroup.Group
	g.SetLimit(2)
	for i, s := range sources {
		objects[i] = filepath.Join(dir, s+".o")
		g.Go(func() error { return compile(cxx, s, objects[i], sanitized...) })
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "probe")
	return path, command(cxx, append(append(sanitized, "-o", path), objects...)...)
}
