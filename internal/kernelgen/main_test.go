package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const root = "../.."

// most is what compiled code may take in the repository.
const most = 8 << 20

func readManifest(t *testing.T) manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, fatbins, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

const rebuild = "run scripts/build-kernels and commit kernels/"

// TestSources fails when a source was changed and the kernels were not built
// again. It needs no compiler.
func TestSources(t *testing.T) {
	m := readManifest(t)
	now, err := sources(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if m.Sources[name] != now[name] {
			t.Errorf("%s is not what the kernels were compiled from: %s", name, rebuild)
		}
	}
	if len(now) != len(m.Sources) || m.Digest != digest(now) {
		t.Errorf("the manifest has %d sources with digest %s, there are %d with %s: %s", len(m.Sources), m.Digest, len(now), digest(now), rebuild)
	}
}

// TestFatbins compares the compiled code with the manifest.
func TestFatbins(t *testing.T) {
	m := readManifest(t)
	if !slices.Equal(m.Architectures, architectures) || m.PTX != ptxArchitecture || !slices.Equal(m.Flags, flags) {
		t.Errorf("built for %v and PTX of %d with %v, want %v, %d, %v: %s", m.Architectures, m.PTX, m.Flags, architectures, ptxArchitecture, flags, rebuild)
	}
	files, err := filepath.Glob(filepath.Join(root, fatbins, "*.fatbin"))
	if err != nil {
		t.Fatal(err)
	}
	us := units()
	if len(files) != len(us) || len(m.Units) != len(us) {
		t.Fatalf("%d fatbins, %d in the manifest, want %d: %s", len(files), len(m.Units), len(us), rebuild)
	}
	total := 0
	for i, u := range us {
		r := m.Units[i]
		image, err := os.ReadFile(filepath.Join(root, fatbins, u.name()+".fatbin"))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(image)
		if r.Name != u.name() || r.SHA256 != hex.EncodeToString(sum[:]) || r.Bytes != len(image) {
			t.Errorf("%s.fatbin is not the manifest's: %s", u.name(), rebuild)
		}
		total += len(image)
		ks, err := phase{name: u.phase}.kernels(root)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Kernels) != len(ks)*len(architectures) {
			t.Errorf("%s: %d kernels in the manifest, want %d for each of %d architectures", r.Name, len(r.Kernels), len(ks), len(architectures))
		}
		for _, k := range ks {
			if !slices.ContainsFunc(r.Kernels, func(r kernelRecord) bool { return r.Symbol == u.symbol(k) }) {
				t.Errorf("%s: no kernel %s", r.Name, u.symbol(k))
			}
		}
	}
	if total != m.Bytes || total > most {
		t.Errorf("%d bytes of compiled code, the manifest has %d, %d are allowed", total, m.Bytes, most)
	}
}

// TestSpills fails for a kernel that keeps registers in memory without a reason.
func TestSpills(t *testing.T) {
	for _, u := range readManifest(t).Units {
		for _, k := range u.Kernels {
			if k.SpillStores+k.SpillLoads > 0 && k.Note == "" {
				t.Errorf("%s on sm_%d spills %d and %d bytes", k.Symbol, k.Arch, k.SpillStores, k.SpillLoads)
			}
			if k.Registers == 0 || k.Instructions == 0 {
				t.Errorf("%s on sm_%d: no report of the compiler", k.Symbol, k.Arch)
			}
		}
	}
}

// TestTable fails when the table of entry points is not what the sources say.
func TestTable(t *testing.T) {
	want, err := entries(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, tableFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what `go run ./internal/kernelgen -table` writes", tableFile)
	}
}

func TestCode(t *testing.T) {
	got := code([]byte("// a comment\n\n  int a;  // another\nint b;\n"))
	if string(got) != "int a;\nint b;\n" {
		t.Errorf("%q", got)
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
		{Symbol: "pippin_a", Arch: 90, Registers: 12},
		{Symbol: "pippin_b", Arch: 90, Registers: 94, Stack: 768, SpillStores: 12, SpillLoads: 12, Shared: 43040},
	}
	if !slices.Equal(ks, want) {
		t.Errorf("%+v", ks)
	}
}
