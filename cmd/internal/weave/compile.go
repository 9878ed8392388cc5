package weave

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// inner reports whether this is the build of weave/auto that another run of this
// program began: no package main in it, and no build within the build.
func (t *tool) inner() bool { return t.getenv(innerVariable) != "" }

// lacking returns what the program's gnark lacks, as the run that began this build found it.
func (t *tool) lacking() []string {
	return strings.FieldsFunc(strings.TrimPrefix(t.getenv(innerVariable), innerBuild), func(r rune) bool { return r == ',' })
}

// compile runs the compiler, on other files where something is to be woven in.
func (t *tool) compile() error {
	pkg, cfgFile, output := t.flag("-p"), t.flag("-importcfg"), t.flag("-o")
	if pkg == "" || cfgFile == "" || output == "" || slices.Contains(t.args, "-std") {
		return nil // no package, or one of Go's own
	}
	cfg, err := readImportcfg(cfgFile)
	if err != nil {
		return err
	}
	isMarked := false
	curve, isKeys := keysOf(pkg)
	switch {
	case isCurve(pkg):
		isMarked = true
		err = t.replace(pkg, cfg, weaveCurve)
	case isKeys:
		err = t.replace(pkg, cfg, weaveKeys(curve))
	case pkg == cpuPackage:
		err = t.replace(pkg, cfg, weaveCPU)
	case pkg == autoPackage:
		err = t.replace(pkg, cfg, weaveAuto)
	case isScalars(pkg):
		err = t.replace(pkg, cfg, weaveVectors)
	case strings.HasPrefix(pkg, Module+"/"):
		if names := t.lacking(); len(names) > 0 {
			err = t.replace(pkg, cfg, weaveOlder(names))
		}
	}
	if sys, curve, ok := systemOf(pkg); ok {
		// A gnark that is not as expected stays as it is: its programs get MSMs alone.
		if err = t.replace(pkg, cfg, weaveSystem(sys, curve)); errors.Is(err, ErrRefused) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	if !isMarked {
		if isMarked, err = cfg.anyMarked(); err != nil {
			return err
		}
	}
	if !isMarked {
		return nil
	}
	program := pkg == "main" && !t.inner()
	if program {
		if err := t.importAuto(cfg, cfgFile); err != nil {
			return err
		}
	}
	if err := t.run(); err != nil {
		return err
	}
	if program {
		// The go command knows of no such import, and takes package main out of its
		// cache when weave/auto has become another.
		if err := unpin(output, autoPackage); err != nil {
			return err
		}
	}
	return mark(output)
}

// files returns the index of the first Go file among the arguments; files come last.
func (t *tool) files() int {
	i := len(t.args)
	for i > 0 && strings.HasSuffix(t.args[i-1], ".go") && !strings.HasPrefix(t.args[i-1], "-") {
		i--
	}
	return i
}

// scratch returns a folder for files of this compilation. The go command removes it
// in the end, and cuts its path off the names of files in what is compiled.
func (t *tool) scratch() string { return filepath.Join(filepath.Dir(t.flag("-o")), "pippin") }

// weaver changes the files of one package: replacements by the index in files,
// and the text of one more file, or "".
type weaver func(files []string, has func(paths ...string) bool) (changed map[int][]byte, added string, err error)

// replace puts changed copies of files in the place of the files of a package.
func (t *tool) replace(pkg string, cfg *importcfg, w weaver) error {
	first := t.files()
	changed, added, err := w(t.args[first:], cfg.has)
	if err != nil {
		return fmt.Errorf("%w: package %s: %w", ErrRefused, pkg, err)
	}
	for i, text := range changed {
		name := t.args[first+i]
		at := filepath.Join(t.scratch(), filepath.Base(name))
		if err := write(at, text); err != nil {
			return err
		}
		t.args[first+i] = at
	}
	return t.addFile(added)
}

// addFile adds a file to the package.
func (t *tool) addFile(text string) error {
	if text == "" {
		return nil
	}
	at := filepath.Join(t.scratch(), "pippin_woven.go")
	t.args = append(t.args, at)
	return write(at, []byte(text))
}

// importAuto makes package main import weave/auto.
func (t *tool) importAuto(cfg *importcfg, cfgFile string) error {
	c, err := t.shared(filepath.Dir(cfgFile), msmsAlone)
	if err != nil {
		return err
	}
	cfg.add(autoPackage, c.file(autoPackage))
	at := filepath.Join(t.scratch(), "importcfg")
	if err := write(at, []byte(cfg.text)); err != nil {
		return err
	}
	t.setFlag("-importcfg", at)
	return t.addFile(mainText)
}
