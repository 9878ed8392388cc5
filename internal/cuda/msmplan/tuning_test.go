package msmplan

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// TestOwnTables: there are costs for every group, and a card that a table is of has
// what was measured.
func TestOwnTables(t *testing.T) {
	of := h200()
	if !of.Exact() || of.Own() || of.String() != "plans of NVIDIA H200" {
		t.Errorf("%v", of)
	}
	for _, table := range ownTables() {
		eachPlanned(func(c backend.Curve, g backend.Group) {
			for _, n := range []int{1, 1 << 20, backend.MaxCount} {
				if table.costsOf(c.String(), g.String(), n) == nil {
					t.Errorf("%s: no costs of %v %v, %d points", table.Card, c, g, n)
				}
			}
		})
		text, err := table.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseTable(text); err != nil || !reflect.DeepEqual(again, table) {
			t.Errorf("%s reads back as %+v, %v", table.Card, again, err)
		}
	}
	if u := of.Params(backend.BLS12381, backend.G1, 1<<20); u.Full != 1<<16 || u.PairThreads != 132*4*128 {
		t.Errorf("%+v", u)
	}
}

// TestNearest: a card without a table has the nearest's, for as many multiprocessors as
// it has, and says so.
func TestNearest(t *testing.T) {
	of, err := TuningFor("NVIDIA A10", "8.6", 72, nil)
	if err != nil || of.Exact() || !strings.Contains(of.String(), "nearest") {
		t.Errorf("%v, %v", of, err)
	}
	if u := of.Params(backend.BLS12381, backend.G1, 1<<20); u.Full != 1<<15 || u.PairThreads != 72*4*128 {
		t.Errorf("%+v", u)
	}
	if u := (Tuning{table: ownTables()[0], multiprocessors: 1}).Params(backend.BN254, backend.G1, 1); u.Full != 512 {
		t.Errorf("%+v", u)
	}
}

// ownOf returns a table of a card's own, of one group, by sizes.
func ownOf(c backend.Curve, g backend.Group, upTo ...int) *Table {
	t := &Table{Card: "NVIDIA H200", file: "/some/file"}
	for i, n := range upTo {
		costs := h200().Costs(c, g, 1)
		costs.UpTo, costs.Chunk = n, 1<<(11+i)
		t.Groups = append(t.Groups, costs)
	}
	return t
}

// TestOwnTable: the card's own table comes first, by sizes, for the groups that it has;
// one of another card is refused.
func TestOwnTable(t *testing.T) {
	own := ownOf(backend.BN254, backend.G2, 0, 1000, 100)
	of, err := TuningFor("NVIDIA H200", "", 0, own)
	if err != nil || !of.Own() || !strings.Contains(of.String(), "/some/file") || !strings.Contains(of.String(), "NVIDIA H200") {
		t.Fatalf("%v, %v", of, err)
	}
	for n, chunk := range map[int]int{1: 1 << 13, 100: 1 << 13, 101: 1 << 12, 1000: 1 << 12, 1001: 1 << 11, backend.MaxCount: 1 << 11} {
		if got := of.Costs(backend.BN254, backend.G2, n).Chunk; got != chunk {
			t.Errorf("%d points: chunks of %d, want %d", n, got, chunk)
		}
	}
	if got, want := of.Costs(backend.BN254, backend.G1, 5), h200().Costs(backend.BN254, backend.G1, 5); got != want {
		t.Errorf("another group: %+v, want %+v", got, want)
	}
	// What it has for small sizes alone leaves the others as they were.
	of, err = TuningFor("NVIDIA H200", "", 0, ownOf(backend.BN254, backend.G2, 100))
	if got, want := of.Costs(backend.BN254, backend.G2, 101), h200().Costs(backend.BN254, backend.G2, 101); err != nil || got != want {
		t.Errorf("%v, %+v, want %+v", err, got, want)
	}
	if _, err := TuningFor("NVIDIA H100", "", 0, own); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "H200") {
		t.Errorf("of another card: %v", err)
	}
}

// TestTablesAreChecked: what is no table, or has values that plans have no room for, is
// refused.
func TestTablesAreChecked(t *testing.T) {
	text, err := ownOf(backend.BN254, backend.G1, 0).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	for _, change := range [][2]string{
		{`"bn254"`, `"bn255"`}, {`"g1"`, `"g3"`}, {`"card": "NVIDIA H200"`, `"card": ""`}, {`"entry_ns": `, `"entries_ns": `},
		{`"addition_ns": 0.155`, `"addition_ns": 0`}, {`"addition_ns": 0.155`, `"addition_ns": -1`},
		{`"addition_ns": 0.155`, `"addition_ns": 1e300`},
		{`"level": 2`, `"level": 0`}, {`"first_level": 4`, `"first_level": 0`},
		{`"piece_entries": 128`, `"piece_entries": 2000`}, {`"shared_bytes": 204800`, `"shared_bytes": 10`},
		{`"pair_levels": 4`, `"pair_levels": 9`}, {`"pair_tasks": 4194304`, `"pair_tasks": 0`}, {`"chunk_points": 2048`, `"chunk_points": 0`},
		{`"together_points": 1048576`, `"together_points": 0`}, {`"launch_ns": 150000`, `"launch_ns": "x"`},
		{good, good + "{}"}, {good, good[:len(good)/2]}, {good, ""},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s is not in %s", change[0], good)
		}
		if _, err := ParseTable([]byte(bad)); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", change[1], err)
		}
	}
	dir := t.TempDir()
	if _, err := ReadTable(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for name, text := range map[string]string{"bad": "x", "large": strings.Repeat(" ", mostTable+1)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadTable(path); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadTable(dir); err == nil {
		t.Error("a folder was read")
	}
}

// extreme returns costs within their bounds, and often at them.
func extreme(r *rand.Rand, of backend.CurveGroup) Costs {
	pick := func(least, most float64) float64 { // the ends often
		switch r.IntN(3) {
		case 0:
			return least
		case 1:
			return most
		}
		return least + (most-least)*r.Float64()*r.Float64()*r.Float64()
	}
	whole := func(least, most int) int { return int(pick(float64(least), float64(most))) }
	return Costs{
		Curve: of.Curve.String(), Group: of.Group.String(),
		Addition: pick(1e-4, 1e6), Threads: whole(32, 2048), Entry: pick(0, 1e6), Bucket: pick(0, 1e6),
		Reduce: pick(0, 1e6), Launch: pick(0, 1e9), Copy: pick(0, 1e6),
		Beside: pick(0, 10), Edwards: pick(0, 1e6), Pair: pick(0, 1e3), Invert: pick(0, 1e9), Affine: pick(0, 1e3), Step: pick(0, 1e9),
		Units:   pick(0, 1e6),
		Overlap: whole(1<<10, backend.MaxCount), Piece: whole(LeastPiece, 1024), Chunk: whole(1<<10, backend.MaxCount),
		Shared:   whole(LeastShared, 1<<20),
		Together: whole(1, 1<<24), PairLevels: whole(1, MostPairLevels), PairTasks: whole(1<<10, 1<<26),
		FirstLevel: whole(1, 6), Level: whole(1, 4),
	}
}

// FuzzTables: whatever a table says that is not refused, plans are what the kernels
// rely on.
func FuzzTables(f *testing.F) {
	for seed := range uint64(150) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		of := backend.CurveGroups()[r.IntN(len(backend.CurveGroups()))]
		c := extreme(r, of)
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
		in := Input{Curve: of.Curve, Group: of.Group, Count: 1 + int(float64(uint(1)<<r.IntN(28))*(1+r.Float64())),
			Memory: 130 << 30, Params: c.params(1 + r.IntN(1000))}
		in.Params.Shared = min(in.Params.Shared, 227<<10)
		in.Uniform = r.IntN(2) == 0
		if r.IntN(2) == 0 {
			in.Multiples = ChooseMultiples(in, 64, in.Memory/2)
			in.Memory -= in.TableBytes(in.Multiples)
		}
		p, err := New(in)
		if err != nil {
			t.Fatalf("%+v: %v", in, err)
		}
		checkPlan(t, p)
		if p.Levels > 0 && !p.Affine && (p.PairThreads()%128 != 0 || p.PairThreads() < 128 || p.PairTasks() < 1) {
			t.Errorf("%d tasks of pairs by %d threads", p.PairTasks(), p.PairThreads())
		}
		if p.Affine && p.AffineBlocks(p.largest())*affineThreads*AffineRows < int(p.MaxPairTasks()) {
			t.Errorf("%d blocks of affine sums for %d tasks", p.AffineBlocks(p.largest()), p.MaxPairTasks())
		}
		if t.Failed() {
			t.Logf("%+v", in)
		}
	})
}

// TestAffineBlocks: blocks of affine.cu have the threads that plans count with.
func TestAffineBlocks(t *testing.T) {
	k, ok := kernel.ForAffine("bls12-381", "g1")
	if !ok || k.AffineSums.Threads != affineThreads {
		t.Errorf("blocks of %d threads, plans count with %d", k.AffineSums.Threads, affineThreads)
	}
}
