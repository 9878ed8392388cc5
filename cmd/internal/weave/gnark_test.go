package weave

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

// TestWeaveSystem puts the hooks into the packages that programs call, and into those of the curves.
func TestWeaveSystem(t *testing.T) {
	for name := range systems {
		at := gnarkModule + "/backend/" + name
		texts := woven(t, at)
		for _, function := range []string{"Prove", "Setup"} {
			setAside(t, function, texts)
		}
		for curve := range curves {
			all := strings.Join(woven(t, at+"/"+curve), "\n")
			for _, declares := range []string{"\nfunc (pk *ProvingKey) ReadFrom(", "\nfunc (pk *ProvingKey) pippinStockReadFrom("} {
				if n := strings.Count(all, declares); n != 1 {
					t.Errorf("%s: %q: %d times", curve, declares, n)
				}
			}
		}
	}
	for _, other := range []string{"", "/groth16/bls24-315", "/groth16/bn254/mpcsetup", "/groth16/internal", "/witness"} {
		if _, _, ok := systemOf(gnarkModule + "/backend" + other); ok {
			t.Errorf("%s is woven", other)
		}
	}
}

// woven returns the changed files of a package of gnark and the one that is added.
func woven(t *testing.T, pkg string) []string {
	t.Helper()
	s, curve, ok := systemOf(pkg)
	if !ok {
		t.Fatalf("%s is not woven", pkg)
	}
	w, names := weaveSystem(s, curve), filesOf(t, pkg)
	changed, added, err := w(names, all)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w(names, func(...string) bool { return false }); err == nil {
		t.Errorf("%s is woven without the imports of the hook", pkg)
	}
	if _, _, err := w(nil, all); err == nil {
		t.Errorf("%s is woven without files", pkg)
	}
	texts := []string{added}
	for _, b := range changed {
		texts = append(texts, string(b))
	}
	for _, text := range texts {
		if _, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0); err != nil {
			t.Errorf("%s: %v", pkg, err)
		}
	}
	return texts
}

// TestGnarkFits: a gnark whose functions are as expected gets provers, a fork too; others get the reason.
func TestGnarkFits(t *testing.T) {
	fork := func(change func(string) string) source {
		names := filesOf(t, gnarkModule+"/backend/groth16")
		dir := t.TempDir()
		s := source{ImportPath: gnarkModule + "/backend/groth16", Dir: dir}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			s.GoFiles = append(s.GoFiles, filepath.Base(name))
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(change(string(text))), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.Module.Replace = &struct{ Version string }{}
		return s
	}
	same := func(text string) string { return text }
	replaced := func(was, is string) func(string) string {
		return func(text string) string { return strings.Replace(text, was, is, 1) }
	}
	for name, c := range map[string]struct {
		of   source
		says string // "" where it fits
	}{
		"fork":           {fork(same), ""},
		"another Setup":  {fork(replaced("func Setup(r1cs", "func Setup(x int, r1cs")), "Setup is func(x int"},
		"without Prove":  {fork(replaced("func Prove(", "func Proof1(")), "not both Prove and Setup"},
		"not a system's": {source{ImportPath: gnarkModule + "/frontend"}, ""},
	} {
		err := gnarkFits([]source{c.of})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TestCheckGnark: versions that were compared get provers, and what is put in their place may be tried.
func TestCheckGnark(t *testing.T) {
	for name, c := range map[string]struct {
		of   listedModule
		says string // "" where it fits
	}{
		"oldest":          {listedModule{Version: oldestGnark}, ""},
		"newest":          {listedModule{Version: newestGnark}, ""},
		"a later patch":   {listedModule{Version: "v0.16.9"}, ""},
		"between":         {listedModule{Version: "v0.12.1-0.20250425223031-81aa6d0ae4f0"}, ""},
		"before":          {listedModule{Version: "v0.10.0"}, "the program has v0.10.0"},
		"before a little": {listedModule{Version: "v0.10.1-0.20240416220725-62c2ed4e4ed4"}, "for gnark v0.11.0 to v0.16"},
		"after":           {listedModule{Version: "v0.17.0"}, "the program has v0.17.0"},
		"the module's":    {listedModule{}, ""},
		"an old fork":     {listedModule{Version: "v0.10.0", Replace: &struct{ Version string }{}}, ""},
	} {
		err := c.of.checkGnark()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TestAutoText: with the provers all is installed that is without them, and each hook of each system.
func TestAutoText(t *testing.T) {
	alone, whole := autoText(false), autoText(true)
	for _, text := range []string{alone, whole} {
		if _, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	if strings.Contains(alone, gnarkModule+"/") {
		t.Error("a program without provers is linked with gnark")
	}
	if n := strings.Count(whole, "PippinWeave("); n != strings.Count(alone, "PippinWeave(")+2+2*4 {
		t.Errorf("%d hooks are installed", n)
	}
	for line := range strings.Lines(alone) {
		if !strings.Contains(line, "FromEnvironment") && !slices.Contains(slices.Collect(strings.Lines(whole)), line) {
			t.Errorf("with the provers there is no %q", line)
		}
	}
}

// TestVersionsPage compares the table of docs/howto/versions.md with what is woven.
func TestVersionsPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "howto", "versions.md"))
	if err != nil {
		t.Fatal(err)
	}
	within := func(version, oldest, newest string) bool {
		return semver.Compare(version+".9999", oldest) >= 0 && semver.Compare(version, semver.MajorMinor(newest)) <= 0
	}
	versions := regexp.MustCompile(`v0\.\d+(\.\d+)?`)
	rows, wholes := 0, []string{}
	top, _, _ := strings.Cut(string(text), "\n## ") // below are other tables
	for line := range strings.Lines(top) {
		cells := strings.Split(line, "|")
		if len(cells) != 8 || !versions.MatchString(cells[2]) {
			continue
		}
		rows++
		whole, msms := strings.HasPrefix(strings.TrimSpace(cells[1]), "v"), true
		for _, v := range versions.FindAllString(cells[1], -1) {
			whole = whole && within(v, oldestGnark, newestGnark)
			wholes = append(wholes, v)
		}
		crypto := versions.FindAllString(cells[2], -1)
		for _, v := range crypto {
			msms = msms && within(semver.MajorMinor(v), oldestVersion, newestVersion) && !strings.Contains(cells[2], "before")
		}
		for i, want := range map[int]bool{4: whole, 5: msms, 6: whole} {
			if got := strings.TrimSpace(cells[i]); got != map[bool]string{true: "yes", false: "no"}[want] {
				t.Errorf("%scolumn %d says %s", line, i, got)
			}
		}
	}
	semver.Sort(wholes)
	if rows != 8 || wholes[0] != semver.MajorMinor(oldestGnark) || wholes[len(wholes)-1] != semver.MajorMinor(newestGnark) {
		t.Errorf("%d rows, provers for %v", rows, wholes)
	}
}
