package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/internal/weave"
	// Woven programs are linked with this package. Imported here, whatever it
	// needs is in a module's go.sum where msm is a tool of the module.
	_ "github.com/pippin-zk/pippin/weave/auto"
)

func (a *App) weaveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "weave TOOL [ARGUMENT...]",
		Short: "Build programs whose MSMs ask pippin first: go build -toolexec=\"msm weave\" ./...",
		Long: `Run a tool of the Go toolchain and have gnark-crypto's MultiExp ask pippin in what
it compiles. To be used by the go command, in any module:

	go build -toolexec="msm weave" ./...

docs/howto/weave.md says what the program does then. The exit status is the tool's,
or 1 when the tool could not be run or what it compiles not be woven.`,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
				return c.Help()
			}
			// The go command names a tool by its path. A person may type "msm weave go build".
			if !filepath.IsAbs(args[0]) {
				return usageError{fmt.Errorf("%q is the path of no tool of the Go toolchain: the go command calls weave, "+
					"as in go build -toolexec=\"msm weave\"", args[0])}
			}
			return a.weave(args)
		},
	}
	// It parses no flags: all of them are the tool's.
	c.SetUsageTemplate("Usage:\n  msm {{.Use}}\n")
	return c
}

func (a *App) weave(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	status, err := weave.Run(args, weave.Options{
		Self: []string{self, "weave"}, Stdin: os.Stdin, Stdout: a.Stdout, Stderr: a.Stderr, Env: os.Environ(),
	})
	if err == nil && status != 0 {
		os.Exit(status) // the tool has said what is wrong
	}
	return err
}
