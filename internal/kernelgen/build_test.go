package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildKeeps builds with a compiler that counts: a unit is compiled again
// when its sources changed, when its code is not the manifest's, or when the
// compiler is another, and not else; code of units that are gone is removed.
func TestBuildKeeps(t *testing.T) {
	old := families
	t.Cleanup(func() { families = old })
	families = []family{{path: "kernels/grid/test", sources: []source{{name: "one", per: once}, {name: "two", per: axis{instances: []instance{{}}}}}}}
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range headers() {
		write(h, "", 0o644)
	}
	write("kernels/grid/test/own.cuh", "int a;\n", 0o644)
	write("kernels/grid/test/one.cu", "#include \"own.cuh\"\n", 0o644)
	write("kernels/grid/test/two.cu", "int b;\n", 0o644)
	log := filepath.Join(dir, "log")
	compiler := func(version string) {
		write("cuda/bin/nvcc", `#!/bin/sh
if [ "$1" = --version ]; then echo 'Cuda compilation tools, `+version+`'; exit; fi
for last; do :; done
while [ "$1" != -o ]; do shift; done
echo "$last" >>`+log+`
echo "code of $last" >"$2"
`, 0o755)
	}
	compiler("release 1")
	write("cuda/bin/cuobjdump", "#!/bin/sh\n", 0o755)
	b := builder{root: dir, cuda: filepath.Join(dir, "cuda"), out: filepath.Join(dir, "out")}
	for _, step := range []struct {
		name   string
		change func()
		want   string
	}{
		{"the first time", func() {}, "one two"},
		{"nothing changed", func() {}, ""},
		{"a comment", func() { write("kernels/grid/test/two.cu", "int b; // text\n", 0o644) }, ""},
		{"a header", func() { write("kernels/grid/test/own.cuh", "int c;\n", 0o644) }, "one"},
		{"another definition", func() { families[0].sources[1].per.instances[0].defines = []string{"A=1"} }, "two"},
		{"other code", func() { write("out/sm_90/test/two.fatbin", "other", 0o644) }, "two"},
		{"another compiler", func() { compiler("release 2") }, "one two"},
		{"a build that did not end", func() { os.Remove(filepath.Join(b.out, "sm_90", manifestFile)) }, "one two"},
		{"a unit is gone", func() { families[0].sources = families[0].sources[:1] }, ""},
	} {
		step.change()
		os.Remove(log)
		if err := b.run(90); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		text, _ := os.ReadFile(log)
		var compiled []string
		for _, name := range []string{"one", "two"} {
			if strings.Contains(string(text), "/"+name+".cu") {
				compiled = append(compiled, name)
			}
		}
		if got := strings.Join(compiled, " "); got != step.want {
			t.Errorf("%s: compiled %q, want %q", step.name, got, step.want)
		}
	}
	if _, err := os.Stat(filepath.Join(b.out, "sm_90/test/two.fatbin")); err == nil {
		t.Error("the code of a unit that is gone is there")
	}
}
