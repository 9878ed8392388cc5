package weave

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// innerVariable is set in the environment of the build of weave/auto: to innerBuild, and then the names that
// the program's gnark lacks, each after a comma. What gnark lacks is a matter of its sources, which the build
// cache knows a package by.
const (
	innerVariable = "PIPPIN_WEAVE_INNER"
	innerBuild    = "1"
)

// form says what a program is linked with.
type form string

const (
	msmsAlone form = "msms"
	provers   form = "provers"
)

// built is what the go command made for weave/auto. Only its error is set when
// it could not be made, so that one build asks once, or why there are no provers.
type built struct {
	Packages []builtPackage
	Error    string `json:",omitempty"`
	Without  string `json:",omitempty"`
}

type builtPackage struct{ Path, File, BuildID string }

func (b *built) file(path string) string {
	for _, p := range b.Packages {
		if p.Path == path {
			return p.File
		}
	}
	return ""
}

// shared calls build for all steps of one run of the go command: the first to come
// asks, the others read its answer in the build's temporary folder, in which
// every step has a folder of its own.
func (t *tool) shared(step string, f form) (*built, error) {
	o, err := t.outer()
	if err != nil {
		return nil, err
	}
	profile, err := t.profile(o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	name := fmt.Sprintf("pippin-weave-%s-%x.json", f, sha256sum(profile)[:4])
	at := filepath.Join(filepath.Dir(filepath.Clean(step)), name)
	unlock, err := lock(at + ".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	b := new(built)
	if text, err := os.ReadFile(at); err == nil {
		if err := json.Unmarshal(text, b); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	} else {
		if b, err = t.build(f, profile); err != nil {
			b = &built{Error: err.Error()}
		}
		if b.Without != "" {
			t.saysWithout(b.Without)
		}
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(at, text, 0o666); err != nil {
			return nil, err
		}
	}
	if b.Error != "" {
		return nil, fmt.Errorf("%w: %s", ErrRefused, b.Error)
	}
	return b, nil
}

// build lets the go command that runs this program build weave/auto in the same
// module, with the same flags and through this program, and lists what it needs.
func (t *tool) build(f form, profile string) (*built, error) {
	c, err := t.closure()
	if err != nil {
		return nil, err
	}
	if profile != "" {
		c.flags = append(c.without("pgo"), "-pgo="+profile)
	}
	if f == msmsAlone {
		return t.buildClosure(c)
	}
	whole, err := t.withProvers(c)
	if err != nil {
		return &built{Without: err.Error()}, nil
	}
	b, err := t.buildClosure(whole)
	if err != nil {
		return &built{Without: err.Error()}, nil
	}
	return b, nil
}

// buildClosure has weave/auto built with what it needs.
func (t *tool) buildClosure(c *closure) (*built, error) {
	args := slices.Concat([]string{"list"}, c.flags,
		[]string{"-deps", "-export", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.BuildID}}", "-toolexec=" + quote(t.Self), "--", autoPackage})
	inner := *t
	inner.Env = append(slices.Clone(t.Env), innerVariable+"="+strings.Join(append([]string{innerBuild}, c.lacks...), ","))
	out, err := inner.goOutput(c.dir, args...)
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", autoPackage, err)
	}
	b := new(built)
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			return nil, fmt.Errorf("go list: unexpected line %q", line)
		}
		if f[1] != "" { // package unsafe has no archive
			b.Packages = append(b.Packages, builtPackage{f[0], f[1], f[2]})
		}
	}
	if b.file(autoPackage) == "" {
		return nil, fmt.Errorf("go list did not build %s", autoPackage)
	}
	return b, nil
}

// goCommand returns the go command beside the tool, or the one in PATH.
func (t *tool) goCommand() string {
	root := filepath.Join(filepath.Dir(t.path), "..", "..", "..", "bin")
	for _, name := range []string{"go", "go.exe"} {
		if at := filepath.Join(root, name); isFile(at) {
			return at
		}
	}
	return "go"
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// quote makes a command line that the go command splits into the same words.
func quote(words []string) string {
	var q []string
	for _, w := range words {
		switch {
		case !strings.ContainsAny(w, " \t'\""):
		case !strings.Contains(w, "'"):
			w = "'" + w + "'"
		default:
			w = `"` + w + `"`
		}
		q = append(q, w)
	}
	return strings.Join(q, " ")
}
