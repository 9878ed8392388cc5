package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
)

// recordOf has a run a backend, with samples around a median.
func recordOf(t *testing.T, cpu string, medians map[string]float64, n int) *bytes.Buffer {
	t.Helper()
	r := record.Record[Run]{Format: Format, Machine: record.Machine{CPU: cpu, Cores: 4}}
	for _, name := range []string{"cpu", "cuda", "plugin:cpu"} {
		mid, ok := medians[name]
		if !ok {
			continue
		}
		run := Run{Op: "msm", Curve: "bn254", Group: "g1", N: 1 << 20, Backend: name, Times: record.Times{Median: mid}}
		run.Input(InputDistribution, "uniform")
		run.Input(InputPath, string(Copy))
		for i := range n {
			run.Samples = append(run.Samples, mid*(1+0.001*float64(i-n/2)))
		}
		r.Runs = append(r.Runs, run)
	}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestCompareRecords(t *testing.T) {
	old := func() *bytes.Buffer {
		return recordOf(t, "x", map[string]float64{"cpu": 100, "cuda": 10, "plugin:cpu": 100}, 9)
	}
	all, notes, err := Compare(old(), recordOf(t, "x", map[string]float64{"cpu": 110, "cuda": 8, "plugin:cpu": 100.05}, 9))
	if err != nil || len(all) != 3 || len(notes) > 0 {
		t.Fatalf("%v, %v, %+v", err, notes, all)
	}
	if d := all[0]; d.What != "msm bn254 g1 2^20 uniform cpu copy" || !d.Significant || !d.Slower(0.05) ||
		d.Slower(0.11) || d.Old != 100 || d.New != 110 {
		t.Errorf("slower: %+v", d)
	}
	if d := all[1]; !d.Significant || d.Slower(0) || d.Ratio != 0.8 {
		t.Errorf("faster: %+v", d)
	}
	if d := all[2]; d.Significant || d.Slower(0) {
		t.Errorf("the same: %+v", d)
	}
	var text strings.Builder
	if err := WriteDifferences(&text, table.Form{}, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+10.00%", "-20.00%", "~ (p=", "110.0 ± ", "Geometric mean of all: -4.2 %"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}

	// What is to be thought of beside.
	_, notes, err = Compare(old(), recordOf(t, "y", map[string]float64{"cpu": 200}, 1))
	if err != nil || len(notes) != 2 || !strings.Contains(notes[0], "machines differ") || !strings.Contains(notes[1], "--count 6") {
		t.Errorf("%v, %q", err, notes)
	}
	for name, other := range map[string]string{"not JSON": "{",
		"no run in common": `{"runs": [{"op": "msm", "curve": "bn254", "samples_ms": [1]}]}`, "no samples": `{"runs": []}`} {
		if _, _, err := Compare(old(), strings.NewReader(other)); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
