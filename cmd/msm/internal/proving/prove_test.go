package proving

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

// tinyProof is a bench small enough for a test.
func tinyProof(t *testing.T, more ...string) []string {
	return append([]string{"bench", "prove", "--hashes", "2", "--count", "2", "--cache", t.TempDir()}, more...)
}

func TestProveTable(t *testing.T) {
	status, out, errs := msm(t, &cli.App{}, tinyProof(t, "--merge", "never,auto")...)
	if status != cli.ExitOK || strings.Count(out, "  yes\n") != 2 || strings.Count(out, "  never  ") != 1 || !strings.Contains(out, "mimc-2") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	for _, line := range strings.Split(strings.TrimSpace(errs), "\n") {
		if !strings.HasPrefix(line, "msm: mimc-2 bn254: ") {
			t.Errorf("stderr: %s", line)
		}
	}
}

func TestProveJSON(t *testing.T) {
	status, out, errs := msm(t, &cli.App{}, tinyProof(t, "--format", "json", "--curve", "bls12-381", "--commit", "abc", "--in-flight", "2")...)
	var r record.Record[report.Run]
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || status != cli.ExitOK {
		t.Fatalf("status %d, %v, %s\n%s", status, err, errs, out)
	}
	if len(r.Runs) != 1 || r.Machine.Commit == "" || len(r.Machine.Backends) != 1 {
		t.Fatalf("%+v", r)
	}
	if run := r.Runs[0]; !run.Checked || run.Op != "groth16" || run.Curve != "bls12-381" || run.Count != 2 || run.Value("stock") <= 0 ||
		run.Value("in_flight") != 2 || run.Value("per_proof") <= 0 || math.Abs(run.Value("proofs")*run.Value("per_proof")-1000) > 1 {
		t.Errorf("%+v", run)
	}
}

func TestProveBadProof(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	status, table, errs := msm(t, &cli.App{Open: clitest.WrongOpener},
		tinyProof(t, "--backend", "cpu,wrong", "--format", "json", "--out", file)...)
	if status != cli.ExitFailed || !strings.Contains(table, "  WRONG\n") ||
		!strings.Contains(errs, "auto wrong: 3 of its answers, by gnark's verifier") {
		t.Errorf("status %d, %s\n%s", status, errs, table)
	}
	var r record.Record[report.Run]
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &r) != nil || len(r.Runs) != 2 || !r.Runs[0].Checked || r.Runs[1].Checked {
		t.Errorf("%v: %s", err, text)
	}
}

func TestProveUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--circuit", "x"}, {"--format", "gobench"}, {"--count", "0"}, {"--in-flight", "-1"}, {"--hashes", "0"},
		{"--backend", ""}, {"--curve", "x"}, {"--merge", "x"}, {"x"},
		{"--out", filepath.Join(t.TempDir(), "missing", "r.json")},
	} {
		if status, out, errs := msm(t, &cli.App{}, tinyProof(t, args...)...); status != cli.ExitUsage ||
			out != "" || !strings.HasPrefix(errs, "msm: ") {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
	if status, _, errs := msm(t, &cli.App{}, tinyProof(t, "--cold")...); status != cli.ExitUsage || !strings.Contains(errs, "msm bench cold") {
		t.Errorf("status %d, %s", status, errs)
	}
	// The circuit exists, but not on this curve.
	if status, _, errs := msm(t, &cli.App{}, tinyProof(t, "--circuit", "recursion", "--curve", "bn254")...); status != cli.ExitFailed ||
		!strings.Contains(errs, "bw6-761") {
		t.Errorf("status %d, %s", status, errs)
	}
}
