package weave

import (
	"bufio"
	"bytes"
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

// marked tells whether an archive is marked.
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

// contentID is the part of a build ID that names what was made rather than
// what it was made of.
func contentID(id string) string {
	return id[strings.LastIndexByte(id, '/')+1:]
}
