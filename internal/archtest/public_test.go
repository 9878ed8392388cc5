package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostPublic is how many packages others can import at most.
const mostPublic = 33

// TestPublicPackagesAreListed compares the packages that others can import with those
// that docs/architecture.md gives a reason for.
func TestPublicPackagesAreListed(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n## What others can import\n")
	part, _, ends := strings.Cut(part, "\n## ")
	if !found || !ends {
		t.Fatal("docs/architecture.md has no list of packages that others can import")
	}
	var listed []string
	for line := range strings.Lines(part) {
		if row := strings.Split(line, "|"); len(row) == 4 {
			for _, m := range quoted.FindAllStringSubmatch(row[1], -1) {
				listed = append(listed, m[1])
			}
		}
	}
	public := publicPackages(t)
	slices.Sort(listed)
	if !slices.Equal(listed, public) {
		t.Errorf("others can import %v, and docs/architecture.md lists %v", public, listed)
	}
	if len(public) > mostPublic {
		t.Errorf("%d packages can be imported, and %d at most should be", len(public), mostPublic)
	}
}

// publicPackages returns the packages of this module that others can import, sorted.
func publicPackages(t *testing.T) (public []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-tags", "cuda", "-f", `{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}`, "work")
	cmd.Dir, cmd.Stderr = filepath.Join("..", ".."), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if path, ok := local(path); ok && !slices.ContainsFunc(strings.Split(path, "/"),
			func(s string) bool { return s == "internal" || s == "cmd" || s == "examples" }) {
			public = append(public, path)
		}
	}
	slices.Sort(public)
	return public
}
