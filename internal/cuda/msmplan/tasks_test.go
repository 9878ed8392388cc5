package msmplan

import (
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestPairBatches: a chunk takes as many batches as its own tasks of pairs fill, not as
// many as those of the largest chunk.
func TestPairBatches(t *testing.T) {
	in := inputOf(backend.BLS12381, backend.G1, 1<<26, 130<<30)
	in.Multiples = ChooseMultiples(in, 64, in.Memory/2)
	in.Memory -= in.TableBytes(in.Multiples)
	p, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	if p.Levels == 0 || len(p.Chunks) < 3 {
		t.Fatalf("%d levels, chunks %v: not what this test is for", p.Levels, p.Chunks)
	}
	launched, largest := 0, p.PairBatches(p.largest())
	for _, n := range p.Chunks {
		batches := p.PairBatches(n)
		launched += batches
		// A run of any length leaves at most one task that is not full.
		entries := int64(p.AllSets()) * int64(n) * int64(rowsOf(p.Windows, p.Sets))
		if most := min(entries, p.BucketCount()+entries>>p.Levels); int64(batches)*int64(p.PairTasks()) < most {
			t.Errorf("%d batches of %d tasks for %d", batches, p.PairTasks(), most)
		}
	}
	if most := largest * len(p.Chunks); launched > most*2/3 {
		t.Errorf("%d batches for chunks %v, where the largest takes %d", launched, p.Chunks, largest)
	}
	t.Logf("%d batches in %v chunks, were %d", launched, p.Chunks, largest*len(p.Chunks))
}
