package weave

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"
)

var errProfile = errors.New("package main is compiled with a profile that was not found beside it: " +
	"name it (-pgo=PATH/default.pgo), or do without (-pgo=off)")

// profile returns the default.pgo beside the package main of this step, or "". The go command compiles what that
// package needs with it, as if it were named; so the same packages are built for weave/auto when it is.
func (t *tool) profile(o outer) (string, error) {
	flags, err := t.goFlags(o)
	if err != nil {
		return "", err
	}
	if p := cmp.Or(o.value("pgo"), flags.value("pgo"), "auto"); p != "auto" {
		return "", nil
	}
	of, _, _ := strings.Cut(t.getenv("TOOLEXEC_IMPORTPATH"), " ")
	of = strings.TrimSuffix(of, ".test") // the program of a package's tests has the profile of the package
	asked := []string{of}
	if of == "command-line-arguments" {
		asked = o.packages // files
	}
	out, err := t.goList(o, append([]string{"-find", "-f", "{{.ImportPath}}\t{{.Dir}}", "--"}, asked...)...)
	if err == nil {
		for line := range strings.Lines(string(out)) {
			pkg, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if at := filepath.Join(dir, "default.pgo"); pkg == of && isFile(at) {
				return at, nil
			}
		}
	}
	if t.flag("-pgoprofile") != "" {
		return "", errProfile
	}
	return "", nil
}
