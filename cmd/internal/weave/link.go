package weave

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// link runs the linker, with the packages that weave/auto needs when package
// main was woven.
func (t *tool) link() error {
	cfgFile := t.flag("-importcfg")
	if cfgFile == "" || t.inner() {
		return nil
	}
	// The archive of package main comes last.
	if woven, err := marked(t.args[len(t.args)-1]); !woven || err != nil {
		return err
	}
	if mode := t.flag("-buildmode"); mode == "plugin" || mode == "shared" || slices.Contains(t.args, "-linkshared") {
		return fmt.Errorf("%w: programs in parts, with -buildmode=plugin, -buildmode=shared or -linkshared", ErrRefused)
	}
	cfg, err := readImportcfg(cfgFile)
	if err != nil {
		return err
	}
	c, err := t.shared(filepath.Dir(cfgFile))
	if err != nil {
		return err
	}
	var differ []string
	for _, p := range c.Packages {
		if !cfg.has(p.Path) {
			cfg.add(p.Path, p.File)
			continue
		}
		id, err := buildID(cfg.files[p.Path])
		if err != nil {
			return err
		}
		if contentID(id) != contentID(p.BuildID) {
			differ = append(differ, p.Path)
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("%w: the program and pippin were compiled with different builds of %s. "+
			"Tests of packages that pippin is made of cannot be woven, nor builds that instrument them (-coverpkg). "+
			"If a flag of the go command is the cause, put it into GOFLAGS", ErrRefused, shorten(differ))
	}
	at := filepath.Join(filepath.Dir(cfgFile), "pippin", "importcfg.link")
	if err := write(at, []byte(cfg.text)); err != nil {
		return err
	}
	t.setFlag("-importcfg", at)
	return nil
}

// shorten lists at most three of many.
func shorten(list []string) string {
	if len(list) > 3 {
		return fmt.Sprintf("%s and %d more packages", strings.Join(list[:3], ", "), len(list)-3)
	}
	return strings.Join(list, ", ")
}
