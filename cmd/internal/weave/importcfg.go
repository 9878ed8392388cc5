package weave

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// importcfg is the file that tells the compiler and the linker which archive
// holds which package.
type importcfg struct {
	text  string
	files map[string]string // by import path
	paths []string          // in order
}

func readImportcfg(path string) (*importcfg, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &importcfg{text: string(b), files: map[string]string{}}
	for line := range strings.Lines(c.text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "packagefile ")
		if !ok {
			continue
		}
		p, file, ok := strings.Cut(rest, "=")
		if !ok {
			return nil, fmt.Errorf("%s: malformed line %q", path, line)
		}
		c.files[p] = file
		c.paths = append(c.paths, p)
	}
	return c, nil
}

// has reports whether every path is there.
func (c *importcfg) has(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return c.files[p] == "" })
}

// add adds a package.
func (c *importcfg) add(path, file string) {
	if c.files[path] != "" {
		return
	}
	if c.text != "" && !strings.HasSuffix(c.text, "\n") {
		c.text += "\n"
	}
	c.text += "packagefile " + path + "=" + file + "\n"
	c.files[path] = file
	c.paths = append(c.paths, path)
}

// anyMarked reports whether one of the archives is marked.
func (c *importcfg) anyMarked() (bool, error) {
	for _, p := range c.paths {
		if m, err := marked(c.files[p]); m || err != nil {
			return m, err
		}
	}
	return false, nil
}
