package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildKeeps builds with a compiler that counts: a unit is compiled again
// when its sources changed, those that its own definitions name among them, when its
// code is not the manifest's, or when the compiler is another, and not else; code of
// units that are gone is removed.
func TestBuildKeeps(t *testing.T) {
	old := families
	t.Cleanup(func() { families = old })
	families = []family{{path: "kernels/grid/test", sources: []source{
		{name: "one", per: once}, {name: "two", per: axis{instances: []instance{{}}}}, {name: "each", per: axis{instances: perField()[:2]}},
	}}}
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
	for _, c := range curves[:2] {
		write("kernels/curves/"+c+".cuh", "#include \"../thread/all.cuh\"\n", 0o644)
		write("kernels/curves/"+c+"_roots.cuh", "int a;\n", 0o644)
	}
	write("kernels/thread/all.cuh", "int a;\n", 0o644)
	write("kernels/grid/test/each.cu", "#include <cstdint>\n#include PIPPIN_HEADER(PIPPIN_CURVE)\n#include \"field.cuh\"\n", 0o644)
	write("kernels/grid/test/field.cuh", "#if defined(PIPPIN_ROOTS)\n#include PIPPIN_HEADER(PIPPIN_ROOTS)  // of unity\n#endif\n", 0o644)
	write("kernels/grid/test/own.cuh", "int a;\n", 0o644)
	write("kernels/grid/test/one.cu", "#include \"own.cuh\"\n", 0o644)
	write("kernels/grid/test/two.cu", "int b;\n", 0o644)
	log := filepath.Join(dir, "log")
	compiler := func(version string) {
		write("cuda/bin/nvcc", `#!/bin/sh
if [ "$1" = --version ]; then echo 'Cuda compilation tools, `+version+`'; exit; fi
for last; do :; done
echo "$*" >>`+log+`
while [ "$1" != -o ]; do shift; done
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
		{"the first time", func() {}, "one two bn254 bls12_377"},
		{"nothing changed", func() {}, ""},
		{"a comment", func() { write("kernels/grid/test/two.cu", "int b; // text\n", 0o644) }, ""},
		{"a header", func() { write("kernels/grid/test/own.cuh", "int c;\n", 0o644) }, "one"},
		{"a curve's constants", func() { write("kernels/curves/bls12_377.cuh", "int c;\n", 0o644) }, "bls12_377"},
		{"a curve's roots, behind another header", func() { write("kernels/curves/bn254_roots.cuh", "int c;\n", 0o644) }, "bn254"},
		{"what a curve's header includes", func() { write("kernels/thread/all.cuh", "int c;\n", 0o644) }, "bn254"},
		{"what all of a source include", func() { write("kernels/grid/test/field.cuh", "int c;\n", 0o644) }, "bn254 bls12_377"},
		{"another definition", func() { families[0].sources[1].per.instances[0].defines = []string{"A=1"} }, "two"},
		{"other code", func() { write("out/sm_90/test/two.fatbin", "other", 0o644) }, "two"},
		{"another compiler", func() { compiler("release 2") }, "one two bn254 bls12_377"},
		{"a build that did not end", func() { os.Remove(filepath.Join(b.out, "sm_90", manifestFile)) }, "one two bn254 bls12_377"},
		{"units are gone", func() { families[0].sources = families[0].sources[:1] }, ""},
	} {
		step.change()
		os.Remove(log)
		if err := b.run(90); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		text, _ := os.ReadFile(log)
		var compiled []string
		for _, unit := range [][2]string{{"one", "/one.cu"}, {"two", "/two.cu"}, {"bn254", "PIPPIN_CURVE=bn254 "},
			{"bls12_377", "PIPPIN_CURVE=bls12_377 "}} {
			if strings.Contains(string(text), unit[1]) {
				compiled = append(compiled, unit[0])
			}
		}
		if got := strings.Join(compiled, " "); got != step.want {
			t.Errorf("%s: compiled %q, want %q", step.name, got, step.want)
		}
	}
	if _, err := os.Stat(filepath.Join(b.out, "sm_90/test/two.fatbin")); err == nil {
		t.Error("the code of a unit that is gone is there")
	}
	write("kernels/grid/test/one.cu", "#include OTHER\n", 0o644)
	if err := b.run(90); err == nil || !strings.Contains(err.Error(), "OTHER") {
		t.Error(err)
	}
}
