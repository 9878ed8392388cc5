package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// longest is how many characters a line has at most; a tab is one.
const longest = 140

// address finds what cannot be wrapped, and data a line of JSON in a test.
var (
	address = regexp.MustCompile(`\S+://\S+`)
	data    = regexp.MustCompile("(^|`)\\s*(\\{\"|\"[a-z_]+\": )")
)

// made finds the line that says that a file was generated, which may come after a comment.
var made = regexp.MustCompile(`(?m)^(?://|/\*|#) Code generated `)

// TestLinesAreShort: no line that somebody wrote, of Go, CUDA or a script, is longer than a
// reader's window. Excepted are generated files, testdata, addresses, JSON in tests and
// directives of the go command.
func TestLinesAreShort(t *testing.T) {
	for file, text := range written(t) {
		for n, line := range strings.Split(text, "\n") {
			have := utf8.RuneCountInString(address.ReplaceAllString(line, ""))
			if have <= longest || strings.HasPrefix(line, "//go:") || strings.HasSuffix(file, "_test.go") && data.MatchString(line) {
				continue
			}
			t.Errorf("%s:%d has %d characters, %d at most should be in a line", file, n+1, have, longest)
		}
	}
}

// written returns what somebody wrote: sources, and scripts, whose names may have no ending.
func written(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci" && path != root
		if d.IsDir() && (hidden || slices.Contains([]string{"bin", "dist", "testdata"}, d.Name())) {
			return filepath.SkipDir
		}
		ending := filepath.Ext(rel)
		if d.IsDir() || !slices.Contains([]string{".go", ".cu", ".cuh", ".cc", ".c", ".h", ".sh", ""}, ending) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if ending == "" && !strings.HasPrefix(string(text), "#!") || made.Match(text[:min(len(text), 1000)]) {
			return nil
		}
		all[rel] = string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 500 {
		t.Fatalf("only %d files are looked at", len(all))
	}
	return all
}
