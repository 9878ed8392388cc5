package proofsystem

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/record"
)

var (
	verifyRuns   = flag.Int("verify-runs", 0, "TestVerifyTimes verifies so often")
	verifyRecord = flag.String("verify-record", "", "file for its record")
	verifyCommit = flag.String("verify-commit", "", "pippin's commit, for the record")
)

// verified is how long a proof takes to verify, as WithVerify does.
type verified struct {
	Op     string  `json:"op"` // "verify-proof"
	System System  `json:"system"`
	Curve  string  `json:"curve"`
	Public int     `json:"public"` // values of the witness
	Runs   int     `json:"runs"`
	Min    float64 `json:"min_ms"`
	Median float64 `json:"median_ms"`
}

// TestVerifyTimes measures what WithVerify costs a proof.
func TestVerifyTimes(t *testing.T) {
	if *verifyRuns == 0 {
		t.Skip("go run ./scripts/long verify-times runs this test")
	}
	var runs []verified
	each(t, func(t *testing.T, s System, c backend.Curve) {
		st := newStatement(t, s, c)
		full, public := fullWitness(t, c, 3, 9)
		proof, err := st.ProveByGnark(st.ccs, full)
		if err != nil {
			t.Fatal(err)
		}
		samples := make([]time.Duration, *verifyRuns)
		for i := range samples {
			began := time.Now()
			if err := st.Verify(proof, public); err != nil {
				t.Fatal(err)
			}
			samples[i] = time.Since(began)
		}
		times := record.TimesOf(samples)
		runs = append(runs, verified{"verify-proof", s, c.String(), 1, len(samples), times.Min, times.Median})
		t.Logf("%.2f ms, at least %.2f", times.Median, times.Min)
	})
	if *verifyRecord == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(record.Record[verified]{Machine: record.ThisMachine(*verifyCommit), Runs: runs}, "", "  ")
	if err == nil {
		err = os.WriteFile(*verifyRecord, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}
