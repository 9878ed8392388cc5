package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var quoted = regexp.MustCompile("`([^`]+)`")

// missing lists the paths of this repository that a text quotes and that are
// not there, and counts those that it quotes. NAME stands for any name.
func missing(root, text string) (paths []string, seen int) {
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		path := m[1]
		first, _, slash := strings.Cut(path, "/")
		if !slash || strings.ContainsAny(path, " ^=:") || strings.Contains(first, ".") {
			continue // no path, or one of another module
		}
		seen++
		found, err := filepath.Glob(filepath.Join(root, strings.ReplaceAll(path, "NAME", "*")))
		if strings.HasSuffix(strings.TrimSuffix(path, "/"), "/NAME") {
			found = slices.DeleteFunc(found, notNamed)
		}
		if err != nil || len(found) == 0 {
			paths = append(paths, path)
		}
	}
	return paths, seen
}

// notNamed reports whether a path is no folder that NAME may stand for.
func notNamed(path string) bool {
	info, err := os.Stat(path)
	return err != nil || !info.IsDir() || info.Name() == "internal"
}

// architecture returns a part of docs/architecture.md, without its heading.
func architecture(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n## "+heading+"\n")
	part, _, ends := strings.Cut(part, "\n## ")
	if !found || !ends {
		t.Fatalf("docs/architecture.md has no part %q", heading)
	}
	return part
}

// TestEverydayChangesNameFiles: every path in those parts of docs/architecture.md that
// say what a change touches, and in the page on a new curve, is there, so that what they
// say does not outlive a move.
func TestEverydayChangesNameFiles(t *testing.T) {
	curve, err := os.ReadFile("../../docs/howto/curve.md")
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, part := range []string{architecture(t, "Everyday changes"), architecture(t, "A new kernel"), string(curve)} {
		paths, seen := missing("../..", part)
		for _, p := range paths {
			t.Errorf("%s is named, and not there", p)
		}
		all += seen
	}
	if all < 100 {
		t.Errorf("only %d paths are named", all)
	}
	if paths, _ := missing("../..", "`backend/nowhere.go`, `backend/cuda/NAME` and `cmd/msm-backend-NAME/main.go`, "+
		"`kernels/grid/NAME`"); len(paths) != 2 {
		t.Errorf("the check finds %v", paths)
	}
}

// TestFoldersAreListed: docs/architecture.md says of every folder at the top and below
// internal what it is for.
func TestFoldersAreListed(t *testing.T) {
	part := architecture(t, "Where is what")
	for _, parent := range []string{".", "internal", "kernels"} {
		entries, err := os.ReadDir(filepath.Join("../..", parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := filepath.ToSlash(filepath.Join(parent, e.Name())) + "/"
			if parent == "kernels" {
				name = e.Name() + "/"
			}
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "bin" && e.Name() != "dist" &&
				e.Name() != "testdata" && !strings.Contains(part, name) {
				t.Errorf("docs/architecture.md does not say what %s is for", filepath.Join(parent, e.Name()))
			}
		}
	}
}

// TestIndexes: every decision and every chapter of the laboratory book is in the list of
// its folder.
func TestIndexes(t *testing.T) {
	for _, folder := range []string{"../../docs/adr", "../../docs/lab"} {
		list, err := os.ReadFile(filepath.Join(folder, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		pages, err := filepath.Glob(filepath.Join(folder, "*.md"))
		if err != nil || len(pages) < 5 {
			t.Fatal(pages, err)
		}
		for _, page := range pages {
			if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(list), "]("+name+")") {
				t.Errorf("%s is not in the list of its folder", page)
			}
		}
	}
}

// TestReadmeIsShort: the README has a program before its first figure, and is short enough to
// be read. Addresses of links do not count as numbers.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(string(text), "]")
	numbers := regexp.MustCompile(`\d+([.,^]\d+)*`).FindAllString(readme, -1)
	for _, c := range []struct {
		what       string
		have, most int
	}{{"lines", strings.Count(readme, "\n"), 120}, {"words", len(strings.Fields(readme)), 900}, {"numbers", len(numbers), 90},
		{"characters before its program", strings.Index(readme, "package main"), 200},
		{"characters before what to type", strings.Index(readme, "git clone"), 1300}} {
		if c.have < 0 || c.have > c.most {
			t.Errorf("the README has %d %s, %d at most should be", c.have, c.what, c.most)
		}
	}
}
