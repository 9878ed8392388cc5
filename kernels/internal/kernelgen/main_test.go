package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// mostBytes is what an architecture may take in the repository; decision 11.
const mostBytes = 6 << 20

// eachBuilt calls f for the code of every architecture that is there: in the
// repository, which must be, or built beside it.
func eachBuilt(t *testing.T, f func(t *testing.T, m manifest, dir string)) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(root, fatbins, "sm_*"))
	if err != nil {
		t.Fatal(err)
	}
	left := committed()
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var arch int
			if _, err := fmt.Sscanf(filepath.Base(dir), "sm_%d", &arch); err != nil {
				t.Fatal(err)
			}
			left = slices.DeleteFunc(left, func(a int) bool { return a == arch })
			m, err := readManifest(root, arch)
			if err != nil {
				t.Fatalf("%v: the build did not end: %s, or remove the folder", err, rebuild(arch))
			}
			if m.Architecture != arch {
				t.Errorf("the manifest is of %d", m.Architecture)
			}
			f(t, m, dir)
		})
	}
	for _, a := range left {
		t.Errorf("no compiled code for %d, which belongs in the repository: %s", a, rebuild(a))
	}
}

func rebuild(arch int) string {
	if slices.Contains(committed(), arch) {
		return "run make kernels and commit kernels/"
	}
	return fmt.Sprintf("run make kernels ARCH=%d", arch)
}

// TestSources fails when a source was changed and the kernels were not built
// again. It needs no compiler.
func TestSources(t *testing.T) {
	now, err := sources(root, allUnits())
	if err != nil {
		t.Fatal(err)
	}
	eachBuilt(t, func(t *testing.T, m manifest, _ string) {
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if m.Sources[name] != now[name] {
				t.Errorf("%s is not what the kernels were compiled from: %s", name, rebuild(m.Architecture))
			}
		}
		if len(now) != len(m.Sources) || m.Digest != digest(now) || !slices.Equal(m.Flags, flags) {
			t.Errorf("the manifest has %d sources with digest %s, there are %d with %s: %s", len(m.Sources),
				m.Digest, len(now), digest(now), rebuild(m.Architecture))
		}
	})
}

// TestFatbins compares the compiled code with the manifest.
func TestFatbins(t *testing.T) {
	eachBuilt(t, func(t *testing.T, m manifest, dir string) {
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".fatbin") {
				files++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		us := allUnits()
		if files != len(us) || len(m.Units) != len(us) {
			t.Fatalf("%d fatbins, %d in the manifest, want %d: %s", files, len(m.Units), len(us), rebuild(m.Architecture))
		}
		total := 0
		for i, u := range us {
			r := m.Units[i]
			image, err := os.ReadFile(filepath.Join(dir, u.id()+".fatbin"))
			if err != nil {
				t.Fatal(err)
			}
			if r.Name != u.id() || r.SHA256 != sum(image) || r.Bytes != len(image) {
				t.Errorf("%s.fatbin is not the manifest's: %s", u.id(), rebuild(m.Architecture))
			}
			total += len(image)
			ks, err := u.family.kernels(root, u.source)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Kernels) != len(ks) {
				t.Errorf("%s: %d kernels in the manifest, want %d", r.Name, len(r.Kernels), len(ks))
			}
			for _, k := range ks {
				if !slices.ContainsFunc(r.Kernels, func(r kernelRecord) bool { return r.Symbol == u.symbol(k) }) {
					t.Errorf("%s: no kernel %s", r.Name, u.symbol(k))
				}
			}
		}
		if total != m.Bytes || total > mostBytes {
			t.Errorf("%d bytes of compiled code, the manifest has %d, %d are allowed", total, m.Bytes, mostBytes)
		}
	})
}

// TestTable fails when the Go files are not what the sources and manifests say.
func TestTable(t *testing.T) {
	want, err := tables(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != string(text) {
			t.Errorf("%s is not what `go run ./kernels/internal/kernelgen -table` writes (%v)", name, err)
		}
	}
}

func TestCode(t *testing.T) {
	got := code([]byte("// a comment\n\n  int a;  // another\nint b;\n"))
	if string(got) != "int a;\nint b;\n" {
		t.Errorf("%q", got)
	}
}

// TestEntryPoints reads declarations, and refuses a parameter that has not 64
// bits.
func TestEntryPoints(t *testing.T) {
	got, err := entryPoints("a.cu", `PIPPIN_KERNEL((256, 4), first)(const uint32_t* in, uint32_t* out_words,
 uint64_t n, flag twice) {}
PIPPIN_KERNEL_SHARED((32), second)
(uint64_t n) {}`)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	want := []param{{"in", "const uint32_t*"}, {"out_words", "uint32_t*"}, {"n", "uint64_t"}, {"twice", "flag"}}
	if k := got[0]; k.name != "first" || k.threads != "256" || k.dynamic || !slices.Equal(k.params, want) {
		t.Errorf("%+v", k)
	}
	if k := got[1]; k.name != "second" || !k.dynamic {
		t.Errorf("%+v", k)
	}
	for _, bad := range []string{
		"PIPPIN_KERNEL((256), narrow)(uint32_t n) {}",
		"PIPPIN_KERNEL((256), open)(uint64_t n",
		"int no_kernel;",
	} {
		if ks, err := entryPoints("a.cu", bad); err == nil {
			t.Errorf("%s: %+v", bad, ks)
		}
	}
}

// TestReport reads what ptxas prints.
func TestReport(t *testing.T) {
	ks := resources(`ptxas info    : Compiling entry function 'pippin_b' for 'sm_90'
ptxas info    : Function properties for pippin_b
    512 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 94 registers, used 0 barriers, 768 bytes cumulative stack size, 43040 bytes smem
ptxas info    : Function properties for _Zhelper
    0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'pippin_a' for 'sm_90'
ptxas info    : Function properties for pippin_a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers
`)
	want := []kernelRecord{
		{Symbol: "pippin_a", Registers: 12},
		{Symbol: "pippin_b", Registers: 94, Stack: 768, SpillStores: 12, SpillLoads: 12, Shared: 43040},
	}
	if !slices.Equal(ks, want) {
		t.Errorf("%+v", ks)
	}
}

// TestShipped wants the compiled code of all families in programs with the tag cuda, but
// for what is only measured.
func TestShipped(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "kernels/embed_cuda.go"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^//go:embed (.*)$`).FindStringSubmatch(string(text))
	if line == nil {
		t.Fatal("nothing is embedded")
	}
	want := []string{"fatbin/*/manifest.json"}
	for i := range families {
		if name := families[i].pkg(); name != "measured" {
			want = append(want, "fatbin/*/"+name)
		}
	}
	got := strings.Fields(line[1])
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("kernels/embed_cuda.go embeds %q, want %q", got, want)
	}
}
