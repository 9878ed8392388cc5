package resident

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/heaptest"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// TestMergedScalarsLeaveNothing merges equal scalars and wants gone, after the
// MSM, which they were, what each stood for, and the sums of their bases.
func TestMergedScalarsLeaveNothing(t *testing.T) {
	const n, different = 3000, 60
	logs, scalars := make(fr.Vector, n), make(fr.Vector, n)
	logs.MustSetRandom()
	// No two classes' first members are side by side, as their scalars are when
	// they have been merged.
	for i := range scalars {
		switch {
		case i >= 2*different:
			scalars[i] = scalars[2*(i*i%different)]
		case i%2 == 1:
			scalars[i] = scalars[i-1]
		default:
			scalars[i].MustSetRandom()
		}
	}
	_, _, g, _ := bn254.Generators()
	points := bn254.BatchScalarMultiplicationG1(&g, logs)
	e, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	table, err := Load(t.Context(), e, group.BN254G1, points)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	want, err := table.Sum(t.Context(), scalars)
	if err != nil {
		t.Fatal(err)
	}
	var got bn254.G1Affine
	batch := NewBatch(e)
	Add(t.Context(), batch, table, scalars, Always, &got)
	if err := batch.Run(t.Context()); err != nil || got != want {
		t.Fatalf("%v, %v; want %v", got, err, want)
	}
	dump := heaptest.Dump(t)

	hashes, err := merge.Hash(t.Context(), n, Columns(scalars))
	if err != nil {
		t.Fatal(err)
	}
	classes, err := hashes.Classes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sums, err := group.BN254G1.SumClasses(t.Context(), points, classes)
	if err != nil {
		t.Fatal(err)
	}
	merged := make([]fr.Element, classes.Len())
	largest := 0
	for i := range merged {
		merged[i] = scalars[classes.Members(i)[0]]
		if len(classes.Members(i)) > len(classes.Members(largest)) {
			largest = i
		}
	}
	if classes.Len() >= n/10 || len(classes.Members(largest)) < 50 {
		t.Fatalf("%d classes are not what the test is for", classes.Len())
	}
	hashed := make([]uint64, 8)
	for i := range hashed {
		hashed[i] = reflect.ValueOf(hashes).Elem().FieldByName("hash").Index(i).Uint()
	}
	secrets := map[string][]byte{
		"the members of a class":  layout.Bytes(classes.Members(largest)),
		"the sum of a class":      layout.Bytes(sums[largest : largest+1]),
		"the scalars of the sums": layout.Bytes(merged[:4]),
		"hashes of the scalars":   layout.Bytes(hashed),
	}
	now := heaptest.Dump(t)
	for what, b := range secrets {
		if bytes.Contains(dump, b) {
			t.Errorf("%s: still in memory", what)
		}
		if !bytes.Contains(now, b) {
			t.Errorf("%s: not found where it is", what)
		}
	}
}
