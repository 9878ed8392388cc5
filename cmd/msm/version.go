package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/internal/record"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this program and of what it is made of",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.stdout, versionText())
			return err
		},
	}
}

// versionText is one line for the command and for the flag.
func versionText() string {
	version, commit := "(devel)", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	m := record.ThisMachine("")
	if m.Commit != "" {
		commit = m.Commit
	}
	return fmt.Sprintf("msm %s, commit %s, gnark-crypto %s, %s %s/%s", version, commit, m.GnarkCrypto, m.Go, m.OS, m.Arch)
}
