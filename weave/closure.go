package weave

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source is what go list says of a package.
type source struct {
	ImportPath, Dir string
	Standard        bool

	GoFiles, CgoFiles, CFiles, CXXFiles, HFiles, SFiles, SysoFiles, EmbedFiles []string
}

// closure is a digest of the sources that weave/auto is compiled from, Go's own
// left out, and the flags of the go command. Where there is no weave/auto, it
// is empty: then only programs without curves can be built.
func (t *tool) closure() (digest string, flags []string) {
	flags, dir, err := t.outer()
	if err != nil {
		return "", nil
	}
	cmd := t.list(dir, slices.Concat([]string{"-deps", "-json=ImportPath,Dir,Standard,GoFiles,CgoFiles,CFiles,CXXFiles,HFiles,SFiles,SysoFiles,EmbedFiles"},
		flags, []string{"--", autoPackage}))
	cmd.Stderr = nil
	out, err := cmd.Output()
	if err != nil {
		return "", flags
	}
	replaced, err := overlay(flags, dir)
	if err != nil {
		return "", flags
	}
	h := sha256.New()
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var s source
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), flags
		} else if err != nil {
			return "", flags
		}
		if s.Standard {
			continue
		}
		for _, name := range slices.Concat(s.GoFiles, s.CgoFiles, s.CFiles, s.CXXFiles, s.HFiles, s.SFiles, s.SysoFiles, s.EmbedFiles) {
			at := filepath.Join(s.Dir, name)
			if other, ok := replaced[at]; ok {
				at = other
			}
			b, err := os.ReadFile(at)
			if err != nil {
				return "", flags
			}
			fmt.Fprintf(h, "%s %s %d\n", s.ImportPath, name, len(b))
			h.Write(b)
		}
	}
}

// overlay is the files that the flag -overlay puts others in the place of.
func overlay(flags []string, dir string) (map[string]string, error) {
	for _, f := range slices.Backward(flags) {
		path, ok := strings.CutPrefix(f, "-overlay=")
		if !ok {
			continue
		}
		absolute := func(path string) string {
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			return filepath.Clean(path)
		}
		b, err := os.ReadFile(absolute(path))
		if err != nil {
			return nil, err
		}
		var o struct{ Replace map[string]string }
		if err := json.Unmarshal(b, &o); err != nil {
			return nil, err
		}
		replaced := map[string]string{}
		for from, to := range o.Replace {
			replaced[absolute(from)] = absolute(to)
		}
		return replaced, nil
	}
	return nil, nil
}

// list is the command "go list" as the go command that runs this program would
// run it in its folder.
func (t *tool) list(dir string, args []string) *exec.Cmd {
	cmd := t.command(t.goCommand(), append([]string{"list"}, args...)...)
	cmd.Env = slices.DeleteFunc(slices.Clone(t.Env), func(e string) bool {
		return strings.HasPrefix(e, "TOOLEXEC_IMPORTPATH=") || e == "GOROOT=" || strings.HasPrefix(e, "PWD=")
	})
	if cmd.Dir = dir; dir != "" {
		cmd.Env = append(cmd.Env, "PWD="+dir)
	}
	return cmd
}
