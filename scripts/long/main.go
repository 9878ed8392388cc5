// Command long runs the tests that take long, as they are meant to be run, and those that
// measure. Each is go test with some flags, a row of the table below.
//
//	go run ./scripts/long                                  lists them
//	go run ./scripts/long NAME [-record FILE] [FLAGS]      runs one
//
// FLAGS are go test's and the test's, and win over those of the table.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pippin-zk/pippin/scripts/internal/tree"
)

func main() {
	if len(os.Args) < 2 {
		list(os.Stdout)
		return
	}
	i := slices.IndexFunc(tests, func(t test) bool { return t.name == os.Args[1] })
	if i < 0 {
		fmt.Fprintf(os.Stderr, "long: no test %q; these are there:\n", os.Args[1])
		list(os.Stderr)
		os.Exit(2)
	}
	if err := tests[i].run(os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "long: %s: %v\n", tests[i].name, err)
		os.Exit(1)
	}
}

// list writes the table.
func list(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\ttakes\twhat it does")
	for _, t := range tests {
		fmt.Fprintf(w, "%s\t%s\t%s\n", t.name, t.takes, t.what)
	}
	w.Flush()
}

// run runs a test with the flags that the user gives.
func (t *test) run(given []string) error {
	root, err := tree.Root()
	if err != nil {
		return err
	}
	given, err = t.recorded(given)
	if err != nil {
		return err
	}
	if t.first != nil {
		if err := tree.Command(root, t.first...).Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(t.first, " "), err)
		}
	}
	args := t.arguments()
	logs := ""
	if t.keepsLogs {
		if logs, err = os.MkdirTemp("", "long-"); err != nil {
			return err
		}
		args = append(args, "-artifacts", "-outputdir", logs)
	}
	if t.commit != "" {
		commit, err := tree.Commit(root)
		if err != nil {
			return err
		}
		args = append(args, t.commit, commit)
	}
	cmd := tree.Command(root, slices.Concat(args, given)...)
	cmd.Env = append(os.Environ(), t.env...)
	if t.cuda {
		cmd.Env, err = tree.CUDA(root, cmd.Env)
		if err != nil {
			return err
		}
	}
	if err := cmd.Run(); err != nil {
		if logs != "" {
			return fmt.Errorf("%w; what everybody said is in %s", err, logs)
		}
		return err
	}
	if logs != "" {
		return os.RemoveAll(logs)
	}
	return nil
}

// arguments returns the command, without what the user adds. Flags that go test does not know
// come after the package.
func (t *test) arguments() []string {
	args := []string{"go", "test", "-count=1"}
	if t.fake {
		args = []string{"scripts/test-cuda-fake"}
	}
	args = append(args, "-timeout", t.timeout, "-run", t.tests)
	args = append(args, strings.Fields(t.build)...)
	args = append(args, strings.Fields(t.in)...)
	return append(args, strings.Fields(t.flags)...)
}

// recorded returns flags in which -record has the test's own name and a path that is the same
// in every folder.
func (t *test) recorded(given []string) ([]string, error) {
	i := slices.Index(given, "-record")
	if i < 0 {
		return given, nil
	}
	if t.record == "" {
		return nil, fmt.Errorf("this test makes no record")
	}
	if i+1 == len(given) {
		return nil, fmt.Errorf("-record needs a file")
	}
	file, err := filepath.Abs(given[i+1])
	if err != nil {
		return nil, err
	}
	return slices.Concat(given[:i], []string{t.record, file}, given[i+2:]), nil
}
