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
	b, err := t.linked(filepath.Dir(cfgFile), cfg)
	if err != nil {
		return err
	}
	differ, err := cfg.differ(b)
	if err != nil {
		return err
	}
	if len(differ) > 0 {
		return fmt.Errorf("%w: the program and pippin were compiled with different builds of %s. "+
			"Tests of packages that pippin is made of cannot be woven, nor builds that instrument them (-coverpkg). "+
			"If a flag of the go command is the cause, put it into GOFLAGS", ErrRefused, shorten(differ))
	}
	for _, p := range b.Packages {
		cfg.add(p.Path, p.File)
	}
	at := filepath.Join(filepath.Dir(cfgFile), "pippin", "importcfg.link")
	if err := write(at, []byte(cfg.text)); err != nil {
		return err
	}
	t.setFlag("-importcfg", at)
	return nil
}

// linked returns the packages that a program is linked with: with the provers if it can call gnark's, and
// they can be built with its gnark. Otherwise its MSMs alone are redirected, and a line says why.
func (t *tool) linked(step string, cfg *importcfg) (*built, error) {
	if cfg.proves() {
		b, err := t.shared(step, provers)
		if err != nil {
			return nil, err
		}
		differ, err := cfg.differ(b)
		switch {
		case err != nil:
			return nil, err
		case b.Without != "":
		case len(differ) == 0:
			return b, nil
		default:
			t.saysWithout(fmt.Sprintf("they and the program were compiled with different builds of %s", shorten(differ)))
		}
	}
	return t.shared(step, msmsAlone)
}

// saysWithout tells the user why a program's provers stay gnark's, in one line: a compiler may have said much.
func (t *tool) saysWithout(why string) {
	const most = 500
	if len(why) > most {
		why = why[:most] + " ..."
	}
	fmt.Fprintf(t.Stderr, "msm weave: MSMs are woven, the provers stay gnark's: %s\n", why)
}

// differ returns the packages that a program and b have in different builds.
func (c *importcfg) differ(b *built) (paths []string, err error) {
	for _, p := range b.Packages {
		if !c.has(p.Path) {
			continue
		}
		id, err := buildID(c.files[p.Path])
		if err != nil {
			return nil, err
		}
		if contentID(id) != contentID(p.BuildID) {
			paths = append(paths, p.Path)
		}
	}
	return paths, nil
}

// shorten lists at most three of many.
func shorten(list []string) string {
	if len(list) > 3 {
		return fmt.Sprintf("%s and %d more packages", strings.Join(list[:3], ", "), len(list)-3)
	}
	return strings.Join(list, ", ")
}
