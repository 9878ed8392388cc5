package weave

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"
)

var errProfile = errors.New("package main has a default.pgo: name it (-pgo=PATH/default.pgo), or do without (-pgo=off)")

// checkProfiles refuses programs with a profile that the go command finds by
// itself, beside package main: for that, it compiles dependencies in a way that
// cannot be asked for.
func (t *tool) checkProfiles(o outer) error {
	inherited := outer{flags: strings.Fields(t.getenv("GOFLAGS"))}
	if p := cmp.Or(o.value("pgo"), inherited.value("pgo"), "auto"); p != "auto" {
		return nil
	}
	flags := append(o.flags[:len(o.flags):len(o.flags)], "-find", "-f", "{{if eq .Name \"main\"}}{{.Dir}}{{end}}", "--")
	out, err := t.goList(outer{dir: o.dir, flags: flags}, o.packages...)
	if err != nil {
		return nil // the go command will say so, or foundProfile sees it later
	}
	for dir := range strings.Lines(string(out)) {
		if dir = strings.TrimSpace(dir); dir != "" && isFile(filepath.Join(dir, "default.pgo")) && t.hasCurves(o, dir) {
			return errProfile
		}
	}
	return nil
}

// hasCurves reports whether the package in a folder depends on one of a curve.
func (t *tool) hasCurves(o outer, dir string) bool {
	out, err := t.goList(o, "-deps", "-f", "{{.ImportPath}}", "--", dir)
	if err != nil {
		return false
	}
	for pkg := range strings.Lines(string(out)) {
		if isCurve(strings.TrimSpace(pkg)) {
			return true
		}
	}
	return false
}

// foundProfile reports whether the compiler was given such a profile.
func (t *tool) foundProfile(o outer) bool {
	return t.flag("-pgoprofile") != "" && cmp.Or(o.value("pgo"), "auto") == "auto"
}
