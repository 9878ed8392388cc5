package merge

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/pippin-zk/pippin/prover/internal/heaptest"
)

// column holds the numbers as elements of 16 bytes that differ in the last 8
// only.
func column(v []uint64) Column {
	b := make([]byte, 0, 16*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(append(b, 0, 0, 0, 0, 0, 0, 0, 0), x)
	}
	return Column{b, 16}
}

// model partitions pairs of numbers with a map.
func model(a, b []uint64) [][]uint32 {
	at := map[[2]uint64]int{}
	var out [][]uint32
	for i := range a {
		k := [2]uint64{a[i], b[i]}
		if k == [2]uint64{} {
			continue
		}
		c, ok := at[k]
		if !ok {
			c, at[k] = len(out), len(out)
			out = append(out, nil)
		}
		out[c] = append(out[c], uint32(i))
	}
	return out
}

func hashOf(t *testing.T, n int, columns ...Column) *Elements {
	t.Helper()
	e, err := Hash(t.Context(), n, columns...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func classesOf(t *testing.T, e *Elements) *Classes {
	t.Helper()
	c, err := e.Classes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCancelledMergingWentOn to its end. Now each processor ends the part that it is
// in, and nothing comes after.
func TestCancelledMergingWentOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var late atomic.Int64
	if err := Until(ctx, 1000, 1, func(lo, hi int) {
		if ctx.Err() != nil {
			late.Add(1)
		}
		if hi != lo+1 {
			t.Errorf("part from %d to %d", lo, hi)
		}
		if lo == 100 {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) || late.Load() > int64(runtime.GOMAXPROCS(0)) {
		t.Errorf("%v, and %d parts began after the context ended", err, late.Load())
	}
	v := column(make([]uint64, 3*look))
	if _, err := Hash(ctx, 3*look, v); !errors.Is(err, context.Canceled) {
		t.Errorf("hashing: %v", err)
	}
	if _, err := hashOf(t, 3*look, v).Classes(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("classes: %v", err)
	}
}

func TestClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name   string
		n      int
		values uint64
	}{{"empty", 0, 1}, {"one", 1, 2}, {"all zero", 500, 1}, {"two values", 5000, 2}, {"many", 20000, 5000}, {"all different", 5000, 1 << 60}} {
		t.Run(c.name, func(t *testing.T) {
			a, b := make([]uint64, c.n), make([]uint64, c.n)
			for i := range a {
				a[i] = rng.Uint64N(c.values)
				b[i] = a[i] % 3 * rng.Uint64N(2)
			}
			got := classesOf(t, hashOf(t, c.n, column(a), column(b)))
			want := model(a, b)
			if got.Len() != len(want) {
				t.Fatalf("%d classes, want %d", got.Len(), len(want))
			}
			for i := range want {
				if !slices.Equal(got.Members(i), want[i]) {
					t.Fatalf("class %d is %v, want %v", i, got.Members(i), want[i])
				}
			}
		})
	}
}

// TestClassesDespiteCollisions gives all elements one hash, so that their bytes decide.
func TestClassesDespiteCollisions(t *testing.T) {
	v := []uint64{7, 8, 7, 9, 8, 7}
	e := hashOf(t, len(v), column(v))
	for i := range e.hash {
		e.hash[i] = 1
	}
	c := classesOf(t, e)
	if c.Len() != 3 || !slices.Equal(c.Members(0), []uint32{0, 2, 5}) || !slices.Equal(c.Members(1), []uint32{1, 4}) {
		t.Fatalf("wrong classes: %+v", c)
	}
}

func TestRedundancy(t *testing.T) {
	const n = 1 << 17
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		name string
		next func(i int) uint64
		want float64
	}{
		{"all different", func(i int) uint64 { return uint64(i) + 1 }, 0},
		{"every value twice", func(i int) uint64 { return uint64(i/2) + 1 }, 0.5},
		{"half zero", func(i int) uint64 { return uint64(i) * uint64(i%2) }, 0.5},
		{"one value on a fifth", func(i int) uint64 {
			if i%5 == 0 {
				return 1
			}
			return rng.Uint64() | 2
		}, 0.2},
		{"all equal", func(int) uint64 { return 5 }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := make([]uint64, n)
			for i := range v {
				v[i] = c.next(i)
			}
			if got := hashOf(t, n, column(v)).Redundancy(); got < c.want-0.06 || got > c.want+0.06 {
				t.Errorf("estimate %.3f, want about %.2f", got, c.want)
			}
		})
	}
}

func TestWalk(t *testing.T) {
	v := []uint64{1, 2, 1, 3, 1, 2, 0, 4}
	c := classesOf(t, hashOf(t, len(v), column(v)))
	if c.Total() != 7 {
		t.Fatalf("%d elements in classes, want 7", c.Total())
	}
	for part := 1; part <= 8; part++ {
		got := make([][]uint32, c.Len())
		for lo := 0; lo < c.Total(); lo += part {
			c.Walk(lo, lo+part, func(class int, members []uint32, whole bool) {
				if whole != (len(members) == len(c.Members(class))) {
					t.Errorf("parts of %d: class %d with %v is whole: %v", part, class, members, whole)
				}
				got[class] = append(got[class], members...)
			})
		}
		for class := range got {
			if !slices.Equal(got[class], c.Members(class)) {
				t.Errorf("parts of %d: class %d is %v, want %v", part, class, got[class], c.Members(class))
			}
		}
	}
}

// TestNothingIsLeft checks that no hash and no class is in memory after Wipe.
func TestNothingIsLeft(t *testing.T) {
	const n = 20000
	v := make([]uint64, n)
	for i := range v {
		v[i] = uint64(i * i % 500)
	}
	func() {
		e := hashOf(t, n, column(v))
		e.Redundancy()
		c := classesOf(t, e)
		e.Wipe()
		c.Wipe()
	}()
	dump := heaptest.Dump(t)
	e := hashOf(t, n, column(v))
	c := classesOf(t, e)
	now := heaptest.Dump(t)
	hashes := make([]byte, 0, 4*n)
	for _, h := range e.hash[:8] {
		hashes = binary.LittleEndian.AppendUint64(hashes, h)
	}
	members := make([]byte, 0, 4*n)
	for _, m := range c.Members(1) {
		members = binary.LittleEndian.AppendUint32(members, m)
	}
	for what, b := range map[string][]byte{"hashes": hashes, "members": members} {
		if bytes.Contains(dump, b) {
			t.Errorf("%s: still in memory", what)
		}
		if !bytes.Contains(now, b) {
			t.Errorf("%s: not found where they are", what)
		}
	}
}

// TestWipe checks that every byte up to a slice's capacity is overwritten: of slices that are one
// part, that have a rest, and that are long enough to be written past the caches.
func TestWipe(t *testing.T) {
	const long = 4*32<<20/8 + 5 // elements of 8 bytes: parts of 32 MiB
	for _, lengths := range [][]int{{0}, {1}, {1 << 12}, {3, 1<<13 + 1, 0, 1 << 10}, {long / 2, long / 3, long}} {
		vs := make([][]uint64, len(lengths))
		for i, n := range lengths {
			v := make([]uint64, n)
			for k := range v {
				v[k] = ^uint64(0)
			}
			vs[i] = v[:n/2]
		}
		Wipe(vs...)
		for i, v := range vs {
			if k := slices.IndexFunc(v[:cap(v)], func(e uint64) bool { return e != 0 }); k >= 0 {
				t.Errorf("lengths %v: element %d of %d is left", lengths, k, i)
			}
		}
	}
}
