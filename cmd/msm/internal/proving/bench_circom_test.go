package proving

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

// TestBenchCircom times circuits that are made, on both curves, and one of files, with a program in the
// places of rapidsnark and snarkjs.
func TestBenchCircom(t *testing.T) {
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip("no program true to stand for rapidsnark")
	}
	for want, args := range map[string][]string{
		"bits of 100": {"--constraints", "100", "--curve", "bn254,bls12-381"},
		"circuit.zkey": {"--key", circomFile("cubic", "circuit.zkey"), "--witness", circomFile("cubic", "witness.wtns"),
			"--backend", "cpu,reference"},
	} {
		args = append([]string{"bench", "circom", "--count", "2", "--format", "json", "--in-flight", "3",
			"--rapidsnark", program, "--snarkjs", program}, args...)
		status, out, errs := msm(t, &cli.App{}, args...)
		var r record.Record[report.Run]
		if err := json.Unmarshal([]byte(out), &r); err != nil || status != cli.ExitOK {
			t.Fatalf("%q: status %d, %v, %s%s", args, status, err, errs, out)
		}
		if len(r.Runs) != 2 {
			t.Errorf("%q: %d runs", args, len(r.Runs))
		}
		for _, run := range r.Runs {
			if run.What != want || !run.Checked || run.Median <= 0 || run.Figures[report.FigureConstraints].Value < 3 ||
				run.Figures["rapidsnark"].Value <= 0 || run.Figures["snarkjs"].Value <= 0 || run.Figures["load"].Value <= 0 ||
				run.Figures["in_flight"].Value != 3 || run.Figures["proofs"].Value <= 0 {
				t.Errorf("%q: %+v", args, run)
			}
		}
	}
}

// TestBenchCircomFails has flags that are wrong, a program that fails, and a witness of another
// circuit.
func TestBenchCircomFails(t *testing.T) {
	for _, args := range [][]string{{"--constraints", "0"}, {"--constraints", "x"}, {"--curve", "bw6-761"}, {"--key", "k"},
		{"--witness", "w"}, {"--in-flight", "-1"}, {"--count", "0"}, {"--backend", ""}} {
		if status, out, errs := msm(t, &cli.App{Open: clitest.NothingOpens(t)},
			append([]string{"bench", "circom"}, args...)...); status != cli.ExitUsage || out != "" || errs == "" {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
	key := circomFile("cubic", "circuit.zkey")
	for want, args := range map[string][]string{
		"rapidsnark: ": {"--constraints", "20", "--rapidsnark", "/nowhere/prover"},
		"snarkjs: ":    {"--constraints", "20", "--snarkjs", "/nowhere/snarkjs"},
		"Invalid witness length. Circuit: 6, witness: 3": {"--key", key, "--witness", circomFile("silent", "witness.wtns")},
	} {
		status, _, errs := msm(t, &cli.App{}, append([]string{"bench", "circom", "--count", "1"}, args...)...)
		if status != cli.ExitFailed || !strings.Contains(errs, want) {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
}
