package weave

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// An archive, as the compiler writes one for each package: a magic line, then
// members with headers of 60 bytes of text, padded to even lengths. The linker
// passes over members that are no objects.
const (
	archiveMagic = "!<arch>\n"
	headerSize   = 60
	markName     = "pippin.weave"
)

var errArchive = errors.New("not a Go archive")

// marked reports whether an archive is marked.
func marked(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := magic(f); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	header := make([]byte, headerSize)
	for at := int64(len(archiveMagic)); ; {
		if _, err := f.ReadAt(header, at); errors.Is(err, io.EOF) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		if strings.TrimSpace(string(header[:16])) == markName {
			return true, nil
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(header[48:58])), 10, 64)
		if err != nil || size < 0 {
			return false, fmt.Errorf("%s: %w: bad header", path, errArchive)
		}
		at += headerSize + size + size&1
	}
}

func magic(f *os.File) error {
	m := make([]byte, len(archiveMagic))
	if _, err := f.ReadAt(m, 0); err != nil || string(m) != archiveMagic {
		return errArchive
	}
	return nil
}

// mark appends the member that marks an archive.
func mark(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if err = magic(f); err == nil {
		const content = "depends on woven code\n" // at least 8 bytes, or go tool pack fails
		_, err = fmt.Fprintf(f, "%-16s%-12d%-6d%-6d%-8o%-10d`\n%s", markName, 0, 0, 0, 0o644, len(content), content)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// unpin lets the linker take any build of a package that an archive imports. The
// compiler notes a fingerprint of each package that it read, and the linker refuses
// another; a fingerprint of zeros is one that the linker fills in. It is used for an
// import for its init function alone, which no build of the package can break. It
// changes eight bytes of the object in the archive, whose layout is that of
// cmd/internal/goobj.
func unpin(path, imported string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	start := bytes.Index(b, []byte(objectMagic))
	if start < 0 || bytes.Contains(b[start+1:], []byte(objectMagic)) {
		return fmt.Errorf("%s: %w of this version: it has not one object", path, errArchive)
	}
	object := b[start:]
	word := func(at int) int {
		if at < 0 || at+4 > len(object) {
			return -1
		}
		return int(binary.LittleEndian.Uint32(object[at:]))
	}
	const offsets, entry = 8 + 8 + 4, 8 + 8 // of the header; length and place of a path, fingerprint
	for at, end := word(offsets), word(offsets+4); at >= 0 && at+entry <= min(end, len(object)); at += entry {
		n, from := word(at), word(at+4)
		if n != len(imported) || from < 0 || from+n > len(object) || string(object[from:from+n]) != imported {
			continue
		}
		clear(object[at+8 : at+entry])
		return os.WriteFile(path, b, 0o666)
	}
	return fmt.Errorf("%s: %w of this version: it does not name %s", path, errArchive, imported)
}

// objectMagic begins an object of the compilers since Go 1.20.
const objectMagic = "\x00go120ld"

// buildID reads the build ID near the start of an archive.
func buildID(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r := bufio.NewReader(io.LimitReader(f, 4096))
	for {
		line, err := r.ReadBytes('\n')
		if quoted, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("build id ")); ok {
			return strconv.Unquote(string(quoted))
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w: no build ID", path, errArchive)
		}
	}
}

// contentID returns the part of a build ID that names what was made rather than
// what it was made of.
func contentID(id string) string {
	return id[strings.LastIndexByte(id, '/')+1:]
}
