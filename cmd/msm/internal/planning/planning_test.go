package planning

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/forecast"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
)

// h200 returns the card of the records, with this much memory.
func h200(t *testing.T, memory int64) Card {
	t.Helper()
	tuning, err := msmplan.TuningFor("NVIDIA H200", "", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Card{Name: "NVIDIA H200", Memory: memory, Measured: forecast.Find("h200"), Tuning: tuning}
}

// TestSharedBases plans two MSMs of a proof over one table of bases and one over its own:
// the shared bases count once, as long as the longer of both.
func TestSharedBases(t *testing.T) {
	w := &Work{Proof: true, KeyBytes: 1 << 20, ProofBytes: 2 << 20}
	for _, n := range []int{1 << 16, 1 << 18} {
		m := NewMSM("wires", backend.BN254, backend.G1, n)
		m.table = "key"
		w.MSMs = append(w.MSMs, m)
	}
	w.MSMs = append(w.MSMs, NewMSM("other", backend.BN254, backend.G1, 1<<17))
	all, err := h200(t, 100<<30).Plan(w, 1)
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %d plans", err, len(all))
	}
	sums := Sums(all)
	if len(sums) != 1 {
		t.Fatalf("%d sums", len(sums))
	}
	points := int64(backend.BN254.PointBytes(backend.G1))
	s := sums[0]
	if s.Bases != points*(1<<18+1<<17) || s.KeyVectors != 1<<20 || s.ProofVectors != 2<<20 || s.Multiples != 0 {
		t.Errorf("%+v", s)
	}
	if s.Work != max(all[0].Work, all[1].Work, all[2].Work) || !s.Known || s.Millis != *all[0].Millis+*all[1].Millis+*all[2].Millis {
		t.Errorf("%+v", s)
	}
}

// TestSumsByCard has a sum for each card, without a time where one MSM has none.
func TestSumsByCard(t *testing.T) {
	w := &Work{Proof: true, MSMs: []MSM{NewMSM("a", backend.BN254, backend.G1, 1<<16)}}
	known := h200(t, 100<<30)
	unknown := known
	unknown.Name, unknown.Measured = "another", nil
	var all []Plan
	for _, c := range []Card{known, unknown} {
		on, err := c.Plan(w, 1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, on...)
	}
	sums := Sums(all)
	if len(sums) != 2 || sums[0].Card != known.Name || !sums[0].Known || sums[1].Card != "another" || sums[1].Known {
		t.Errorf("%+v", sums)
	}
}

// TestVectorsNeedRoom refuses a proof whose vectors alone fill the card.
func TestVectorsNeedRoom(t *testing.T) {
	w := &Work{Proof: true, KeyBytes: 1 << 30, MSMs: []MSM{NewMSM("a", backend.BN254, backend.G1, 1<<10)}}
	if _, err := h200(t, 1<<30).Plan(w, 1); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("%v", err)
	}
}
