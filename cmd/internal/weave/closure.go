package weave

import (
	"bytes"
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

	"golang.org/x/mod/semver"
)

// source is what go list says of a package.
type source struct {
	ImportPath, Dir string
	Standard        bool
	Module          listedModule

	GoFiles, CgoFiles, CFiles, CXXFiles, HFiles, SFiles, SysoFiles, EmbedFiles []string
}

// listedModule is what go list says of a module.
type listedModule struct {
	Path, Version, GoVersion string
	Replace                  *struct{ Version string }
}

// closure is weave/auto and what it needs, as the program's build finds them.
type closure struct {
	outer          // whose flags name a file of modules with pippin where the program's own have none
	program  outer // as it is
	packages []source
	lacks    []string // what pippin's sources have to do without
}

// closure finds weave/auto in the modules of the build that is going on, or
// else in those modules with pippin's beside them. The error is errNoCurves
// where the program has none.
func (t *tool) closure() (*closure, error) {
	o, err := t.outer()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(o.packages, func(p string) bool { return strings.Contains(p, "@") }) {
		return nil, errors.New("PACKAGE@VERSION is built by a go.mod of its own: get the module's sources, and build there")
	}
	c := &closure{outer: o, program: o}
	c.packages, err = t.sources(o)
	if err == nil {
		return c, c.check()
	}
	file, ok, moduleErr := t.modulesWithPippin(o)
	switch {
	case moduleErr != nil:
		return nil, moduleErr
	case !ok:
		return nil, fmt.Errorf("%w. A woven program is linked with that package, which the program's module "+
			"has to provide: go get %s", err, autoPackage)
	}
	c.flags = append(o.without("mod", "modfile"), "-mod=readonly", "-modfile="+file)
	if c.packages, err = t.sources(c.outer); err != nil {
		return nil, err
	}
	return c, c.check()
}

// sources lists weave/auto and what it needs.
func (t *tool) sources(o outer) (list []source, err error) {
	out, err := t.goList(o, "-deps",
		"-json=ImportPath,Dir,Standard,Module,GoFiles,CgoFiles,CFiles,CXXFiles,HFiles,SFiles,SysoFiles,EmbedFiles", "--", autoPackage)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var s source
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		if !s.Standard {
			list = append(list, s)
		}
	}
}

// The versions of gnark-crypto that programs were woven with, the first and the
// last: scripts/long weave has those between. One of a later minor version than the
// last is refused until it has been tried.
const (
	oldestVersion = "v0.12.1"
	newestVersion = "v0.22.0"
)

// checkVersion refuses a gnark-crypto that nobody has woven a program with. One that
// the program puts in the place of a version may be of any.
func (s *source) checkVersion() error {
	m := s.Module
	version := m.Version
	if m.Replace != nil {
		version = m.Replace.Version
	}
	nearest := newestVersion
	switch {
	case version == "":
		return nil
	case semver.Compare(version, oldestVersion) < 0:
		nearest = oldestVersion
	case semver.Compare(semver.MajorMinor(version), semver.MajorMinor(newestVersion)) <= 0:
		return nil
	}
	return fmt.Errorf("the program has gnark-crypto %s, and programs are woven with %s to %s: go get %s@%s",
		version, oldestVersion, semver.MajorMinor(newestVersion), m.Path, nearest)
}

// leastGo is the version of the language that woven sources need.
const leastGo = "1.18"

// check refuses what cannot be woven, before anything is compiled: another
// pippin than this program is of, and packages of curves that are not as
// expected.
func (c *closure) check() error {
	for _, s := range c.packages {
		if s.ImportPath == autoPackage {
			if err := fits(filepath.Join(s.Dir, "..", "..")); err != nil {
				return err
			}
		}
		if !isCurve(s.ImportPath) {
			continue
		}
		if err := s.checkVersion(); err != nil {
			return err
		}
		// What is woven into a package is compiled as the rest of it is.
		if m := s.Module; m.GoVersion != "" && semver.Compare("v"+m.GoVersion, "v"+leastGo) < 0 {
			return fmt.Errorf("%s %s is for Go %s, and what is woven into it needs %s: a later version is needed, such as go get %s@latest",
				m.Path, m.Version, m.GoVersion, leastGo, m.Path)
		}
		if _, _, err := weaveCurve(s.files(), func(...string) bool { return true }); err != nil {
			return fmt.Errorf("package %s: %w", s.ImportPath, err)
		}
	}
	return nil
}

// digest returns a digest of all sources, Go's own left out.
func (c *closure) digest() (string, error) {
	replaced, err := c.overlay()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, s := range c.packages {
		for _, name := range slices.Concat(s.GoFiles, s.CgoFiles, s.CFiles, s.CXXFiles, s.HFiles, s.SFiles, s.SysoFiles, s.EmbedFiles) {
			at := filepath.Join(s.Dir, name)
			if other, ok := replaced[at]; ok {
				at = other
			}
			b, err := os.ReadFile(at)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s %s %d\n", s.ImportPath, name, len(b))
			h.Write(b)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// overlay returns the files that the flag -overlay puts others in the place of.
func (o *outer) overlay() (map[string]string, error) {
	path := o.value("overlay")
	if path == "" {
		return nil, nil
	}
	absolute := func(path string) string {
		if !filepath.IsAbs(path) {
			path = filepath.Join(o.dir, path)
		}
		return filepath.Clean(path)
	}
	b, err := os.ReadFile(absolute(path))
	if err != nil {
		return nil, err
	}
	var file struct{ Replace map[string]string }
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, err
	}
	replaced := map[string]string{}
	for from, to := range file.Replace {
		replaced[absolute(from)] = absolute(to)
	}
	return replaced, nil
}

// goList returns the output of "go list" with the flags of the go command that runs
// this program, in its folder.
func (t *tool) goList(o outer, args ...string) ([]byte, error) {
	return t.goOutput(o.dir, slices.Concat([]string{"list"}, o.flags, args)...)
}

// goOutput returns the output of a go command in a folder. Its error says what the
// command said.
func (t *tool) goOutput(dir string, args ...string) ([]byte, error) {
	cmd := t.goIn(dir, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if message := strings.Join(strings.Fields(stderr.String()), " "); message != "" {
			return nil, errors.New(message)
		}
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return out, nil
}

// goIn returns a go command, run in a folder as its user would.
func (t *tool) goIn(dir string, args ...string) *exec.Cmd {
	cmd := t.command(t.goCommand(), args...)
	cmd.Env = slices.DeleteFunc(slices.Clone(t.Env), func(e string) bool {
		return strings.HasPrefix(e, "TOOLEXEC_IMPORTPATH=") || e == "GOROOT=" || strings.HasPrefix(e, "PWD=")
	})
	if cmd.Dir = dir; dir != "" {
		cmd.Env = append(cmd.Env, "PWD="+dir)
	}
	return cmd
}
