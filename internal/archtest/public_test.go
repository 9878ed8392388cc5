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
	reasons := named(string(text), "## What others can import", 4)
	public := publicPackages(t)
	if !slices.Equal(reasons, public) {
		t.Errorf("others can import %v, and docs/architecture.md lists %v", public, reasons)
	}
	if len(public) > mostPublic {
		t.Errorf("%d packages can be imported, and %d at most should be", len(public), mostPublic)
	}
}

// TestPublicPackagesPromise: docs/stability.md says of each package that others can import, once,
// what stays of it.
func TestPublicPackagesPromise(t *testing.T) {
	text, err := os.ReadFile("../../docs/stability.md")
	if err != nil {
		t.Fatal(err)
	}
	promised := named(string(text), "## What stays", 5)
	if public := publicPackages(t); !slices.Equal(promised, public) {
		t.Errorf("others can import %v, and docs/stability.md promises something of %v", public, promised)
	}
}

// named returns what the first column quotes in the rows of the first table with so many parts
// below a heading, sorted.
func named(text, heading string, parts int) (all []string) {
	_, text, _ = strings.Cut(text, "\n"+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	started := false
	for line := range strings.Lines(text) {
		row := strings.Split(line, "|")
		if len(row) != parts {
			if started {
				break
			}
			continue
		}
		started = true
		for _, m := range quoted.FindAllStringSubmatch(row[1], -1) {
			all = append(all, m[1])
		}
	}
	slices.Sort(all)
	return all
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
