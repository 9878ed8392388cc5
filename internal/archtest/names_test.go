package archtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	importPath  = regexp.MustCompile(regexp.QuoteMeta(module) + `/[a-z0-9][a-z0-9/-]*[a-z0-9]`)
	link        = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	environment = regexp.MustCompile(`\bPIPPIN_[A-Z_]+\b`)
)

// files calls do for each file of the repository whose name ends so.
func files(t *testing.T, suffix string, do func(path, text string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, suffix) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		do(filepath.ToSlash(rel), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(path)))
	return err == nil
}

// missingIn lists what a document names of this repository and is not there: quoted
// paths that begin with one of its folders, import paths, and links.
func missingIn(document, text string, folders []string) (all []string) {
	paths, _ := missing(filepath.Join("..", ".."), text)
	for _, p := range paths {
		if first, _, _ := strings.Cut(p, "/"); slices.Contains(folders, first) {
			all = append(all, p)
		}
	}
	for _, m := range importPath.FindAllString(text, -1) {
		if !exists(strings.TrimPrefix(m, module+"/")) {
			all = append(all, m)
		}
	}
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if !exists(filepath.ToSlash(filepath.Join(filepath.Dir(document), m[1]))) {
			all = append(all, m[1])
		}
	}
	return all
}

// folders are those at the top of the repository.
func folders(t *testing.T) (all []string) {
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "bin" {
			all = append(all, e.Name())
		}
	}
	return all
}

// TestDocumentsNameWhatThereIs: documents named packages that did not exist.
func TestDocumentsNameWhatThereIs(t *testing.T) {
	all := folders(t)
	documents := 0
	files(t, ".md", func(path, text string) {
		documents++
		for _, m := range missingIn(path, text, all) {
			t.Errorf("%s names %s, which is not there", path, m)
		}
	})
	if documents < 20 {
		t.Errorf("only %d documents", documents)
	}
	const good = "`backend/cpu`, `cmd/msm` and `open.go`; [x](docs/protocol.md#errors), import \"" +
		module + "/prover/kzg\", `make build`, `cmd/msm-backend-NAME`"
	if m := missingIn("README.md", good, all); len(m) > 0 {
		t.Errorf("%v", m)
	}
	for _, bad := range []string{"`backend/gpu`", "`cmd/nsm`", "[x](docs/nothing.md)", "[x](../README.md)", module + "/prover/stark"} {
		if len(missingIn("README.md", bad, all)) != 1 {
			t.Errorf("%s is not noticed", bad)
		}
	}
}

// TestDocumentedEnvironment: what programs read of their environment is in the
// list or in a how-to, and begins alike.
func TestDocumentedEnvironment(t *testing.T) {
	var documented strings.Builder
	files(t, ".md", func(path, text string) {
		if path == "docs/environment.md" || strings.HasPrefix(path, "docs/howto/") {
			documented.WriteString(text)
		}
	})
	list := exec.Command("go", "list", "-f", `{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`,
		"./cmd/...", "./examples/...", "./plugin/...", "./internal/opener", "./weave/...", ".")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	for _, path := range strings.Fields(string(out)) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, environment.FindAllString(string(text), -1)...)
	}
	slices.Sort(read)
	read = slices.Compact(read)
	inner := []string{"PIPPIN_BACKEND_PLUGIN", "PIPPIN_WEAVE_INNER"} // one program's words to another
	for _, v := range read {
		if !slices.Contains(inner, v) && !strings.Contains(documented.String(), v) {
			t.Errorf("%s is read, and neither in docs/environment.md nor in docs/howto", v)
		}
	}
	if len(read) < 10 {
		t.Errorf("only %v", read)
	}
}

// TestDocumentedEvents: docs/howto/observe.md has every event of an engine.
func TestDocumentedEvents(t *testing.T) {
	source, err := os.ReadFile("../../engine/event.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/howto/observe.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`EventKind += "([a-z ]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(kinds) < 9 {
		t.Errorf("only %d events", len(kinds))
	}
	for _, k := range kinds {
		if name := strings.ReplaceAll(k[1], " ", "_"); !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/howto/observe.md has no event `%s`", name)
		}
	}
}
