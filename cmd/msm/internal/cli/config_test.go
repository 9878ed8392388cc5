package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestConfig: the command line goes before the environment, that before the file; what no
// flag has is a mistake; and what has changed in the file is there after SIGHUP.
func TestConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "work.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"PIPPIN_TEST_B_B": "environment", "PIPPIN_TEST_C": "environment"}
	var a1, b, c1 string
	var list []string
	var n int
	build := func(run func(*cobra.Command, []string) error) *cobra.Command {
		a := &App{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(k string) string { return env[k] }}
		c := &cobra.Command{Use: "test", Annotations: map[string]string{ConfigName: "test"}, RunE: run, SilenceErrors: true, SilenceUsage: true}
		c.Flags().StringVar(&a1, "a", "default", "")
		c.Flags().StringVar(&b, "b-b", "default", "")
		c.Flags().StringVar(&c1, "c", "default", "")
		c.Flags().StringSliceVar(&list, "list", nil, "")
		c.Flags().IntVar(&n, "n", 1, "")
		a.Configurable(c)
		return c
	}
	write("a: file\nb-b: file\nc: file\nlist: [x, y]\nn: 7\n")
	runs := 0
	c := build(func(c *cobra.Command, _ []string) error {
		runs++
		switch runs {
		case 1:
			if a1 != "file" || b != "environment" || c1 != "line" || !slices.Equal(list, []string{"x", "y"}) || n != 7 {
				t.Error(a1, b, c1, list, n)
			}
			write("list: [z]\n")
			(*hangup.Load())()
			<-c.Context().Done()
			return context.Cause(c.Context())
		case 2:
			if a1 != "default" || b != "environment" || c1 != "line" || !slices.Equal(list, []string{"z"}) || n != 1 {
				t.Error(a1, b, c1, list, n)
			}
		}
		return nil
	})
	c.SetArgs([]string{"--config", file, "--c", "line"})
	if err := c.ExecuteContext(t.Context()); err != nil || runs != 2 || hangup.Load() != nil {
		t.Error(err, runs)
	}
	for text, want := range map[string]string{"nn: 1\n": "no flag --nn", "n: x\n": "--n",
		"a: {b: c}\n": "neither a value nor a list", "a: [": "yaml"} {
		write(text)
		c := build(func(*cobra.Command, []string) error { t.Error("it ran"); return nil })
		c.SetArgs([]string{"--config", file})
		if err := c.ExecuteContext(t.Context()); !isUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestConfigOfOthers: a file of flags to which another user can write is refused before the command
// runs, in one line that says what helps, whether the command line or the environment names it.
func TestConfigOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not who may write there")
	}
	file := filepath.Join(t.TempDir(), "up.yaml")
	if err := errors.Join(os.WriteFile(file, []byte("n: 7\n"), 0o600), os.Chmod(file, 0o602)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--config", file}, nil} {
		a := &App{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(k string) string {
			return map[string]string{"PIPPIN_TEST_CONFIG": file}[k]
		}}
		ran := 0
		c := &cobra.Command{Use: "test", Annotations: map[string]string{ConfigName: "test"}, SilenceErrors: true, SilenceUsage: true,
			RunE: func(*cobra.Command, []string) error { ran++; return nil }}
		n := c.Flags().Int("n", 1, "")
		a.Configurable(c)
		c.SetArgs(args)
		err := c.ExecuteContext(t.Context())
		if !isUsage(err) || ran != 0 || *n != 1 || !strings.Contains(err.Error(), "chmod go-w "+file) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, ran %d times, n is %d", args, err, ran, *n)
		}
	}
}
