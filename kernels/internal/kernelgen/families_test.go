package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewRows adds a family with units by field: it is new rows, and no new code.
func TestNewRows(t *testing.T) {
	old := families
	t.Cleanup(func() { families = old })
	dir := t.TempDir()
	fields := axis{name: "Field", doc: "one field", key: []string{"field"}, instances: []instance{
		{"bn254_fr", []string{"PIPPIN_FOR=bn254_fr"}}, {"bw6_761_fr", []string{"PIPPIN_FOR=bw6_761_fr"}},
	}}
	families = []family{{path: "kernels/grid/ntt", doc: "a test.", layout: "layout.cuh", sources: []source{
		{name: "pass", per: fields}, {name: "tensor", per: fields},
	}}}
	for name, text := range map[string]string{
		"pass.cu":   "#include \"layout.cuh\"\nPIPPIN_KERNEL((256), pass)(uint32_t* data, uint64_t log_n, flag inverse) {}\n",
		"tensor.cu": "PIPPIN_KERNEL_SHARED((128), pass_tensor)(uint32_t* data) {}\n",
		"layout.cuh": "constexpr uint32_t tile_bits = 10;\nconstexpr uint32_t tile = 1 << tile_bits;  // " +
			"elements\n\nconstexpr uint32_t hidden = 1;\n",
	} {
		path := filepath.Join(dir, "kernels/grid/ntt", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(allUnits()); n != 4 {
		t.Errorf("%d units", n)
	}
	files, err := tables(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := string(files["kernels/grid/ntt/kernels.go"])
	for _, want := range []string{
		"package ntt", "TileBits = 10", "Tile     = 1 << TileBits // elements", "LogN    int", "Inverse bool", "kernels.Flag(p.Inverse)",
		"func ForField(field string) (Field, bool)", `Unit: "ntt/bn254_fr_pass", Symbol: "pippin_bn254_fr_pass", Threads: 256`, "Dynamic: true",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Hidden") {
		t.Error("a constant that is not of the first block")
	}
	// Two kernels of one symbol are refused.
	if err := os.WriteFile(filepath.Join(dir, "kernels/grid/ntt/tensor.cu"),
		[]byte("PIPPIN_KERNEL((128), pass)(uint32_t* data) {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := tables(dir); err == nil {
		t.Error("two kernels of one symbol")
	}
}
