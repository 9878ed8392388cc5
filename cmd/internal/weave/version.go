package weave

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

// sources is the code that decides what woven packages look like. Its digest
// stands for this package in the build cache: two programs with the same
// sources weave the same, whatever else is in them.
//
//go:embed archive.go build.go closure.go compile.go flags.go gnark.go importcfg.go link.go modules.go older.go profile.go source.go text.go version.go weave.go
var sources embed.FS

// digest names this weaver: its sources, the compiler they were built with and
// the options it runs with.
func digest(options []string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "pippin weave\n%s\n%q\n", runtime.Version(), options)
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := sources.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(b), b)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:32], err
}

// version answers -V=full, which the go command makes part of the identity of
// everything that the tool makes. The weaver's digest is part of the compiler's, so
// that woven and stock packages never take each other's place in the build cache.
// The linker's has a digest of the sources behind weave/auto too, with the provers and
// without, or why there are none, and the flags by which they are compiled: a program is
// linked again when they have changed, which the go command knows nothing of.
func (t *tool) version() error {
	t.ran = true
	d, err := digest(t.Self[1:])
	if err != nil {
		return err
	}
	cmd := t.command(t.path, t.args...)
	line, err := cmd.Output()
	if err != nil {
		return err
	}
	parts := []string{d}
	switch c, err := t.closure(); {
	case errors.Is(err, errNoCurves):
	case err != nil:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case t.name == "link":
		sources, err := c.digest()
		if err != nil {
			return err
		}
		provers, err := t.proversDigest(c)
		if err != nil {
			return err
		}
		parts = append(append(parts, sources, provers), c.flags...)
	}
	d = hex.EncodeToString(sha256sum(parts...))[:32]
	// Development versions of Go take the last field's build ID only, releases
	// the whole line.
	line = bytes.TrimSpace(line)
	id := hex.EncodeToString(sha256sum(string(line), d))[:32]
	_, err = fmt.Fprintf(t.Stdout, "%s +pippin-weave-%s buildID=_/_/_/%s\n", line, d, id)
	return err
}

// proversDigest returns a digest of the provers' sources as a program is linked with them, or why it is not.
func (t *tool) proversDigest(c *closure) (string, error) {
	whole, err := t.withProvers(c)
	if err != nil {
		return err.Error(), nil
	}
	return whole.digest()
}

func sha256sum(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s\n", len(p), p)
	}
	return h.Sum(nil)
}
