package probe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// parts returns the files of the host's probe beside main.cu.
func parts(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "part_*.cu")) }

// compiler returns the host's C++ compiler, or "" if there is none.
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

// Flags of the host's probe. In short, every operation on a few arguments, and
// undefined behaviour traps; in full, all arguments with both sanitizers, where
// the compiler takes half the time without inlining, since every function is
// instrumented once.
var (
	inShort = []string{"-O0", "-DPIPPIN_PROBE_SHORT", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"}
	inFull  = []string{"-O1", "-g0", "-fno-inline", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
)

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

// buildHost builds the probe with these flags in dir and returns its path.
func buildHost(cxx, dir string, flags []string) (string, error) {
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
		g.Go(func() error { return compile(cxx, s, objects[i], flags...) })
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "probe")
	return path, command(cxx, append(append(slices.Clone(flags), "-o", path), objects...)...)
}
