package cli

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/internal/record"
)

func (a *App) versionCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this program and of what it is made of",
		Args:  NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := OneOf("format", format, Formats...); err != nil {
				return err
			}
			v := versions()
			return TableOr(format, func(w io.Writer) error { _, err := fmt.Fprintln(w, v); return err },
				func(w io.Writer) error { return WriteJSON(w, v) })(a.Stdout)
		},
	}
	AddFormat(c, &format, Formats)
	return c
}

// version is what msm version writes as JSON.
type version struct {
	Version     string `json:"version"`
	Commit      string `json:"commit,omitempty"`
	GnarkCrypto string `json:"gnark_crypto"`
	Go          string `json:"go"`
	OS          string `json:"os"`
	Arch        string `json:"arch"`
}

func versions() version {
	m := record.ThisMachine("")
	return version{cmp.Or(build.This().Version, "(devel)"), m.Commit, m.GnarkCrypto, m.Go, m.OS, m.Arch}
}

// String returns one line, for the command and for the flag.
func (v version) String() string {
	return fmt.Sprintf("msm %s, commit %s, gnark-crypto %s, %s %s/%s", v.Version, cmp.Or(v.Commit, "unknown"),
		v.GnarkCrypto, v.Go, v.OS, v.Arch)
}
