package archtest

import (
	"os"
	"path/filepath"
	"regexp"
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
		if err != nil || len(found) == 0 {
			paths = append(paths, path)
		}
	}
	return paths, seen
}

// TestEverydayChangesNameFiles: every path in that part of docs/architecture.md
// is there, so that what it says does not outlive a move.
func TestEverydayChangesNameFiles(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n## Everyday changes\n")
	part, _, ends := strings.Cut(part, "\n## ")
	if !found || !ends {
		t.Fatal("docs/architecture.md has no part on everyday changes")
	}
	paths, seen := missing("../..", part)
	for _, p := range paths {
		t.Errorf("docs/architecture.md names %s, which is not there", p)
	}
	if seen < 50 {
		t.Errorf("only %d paths are named", seen)
	}
	if paths, _ := missing("../..", "`backend/nowhere.go` and `cmd/msm-backend-NAME/main.go`"); len(paths) != 1 {
		t.Errorf("the check finds %v", paths)
	}
}
