package msmplan

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestCache: a plan is made once for every amount of memory in which it is the cheapest,
// and what the cache returns is what New would.
func TestCache(t *testing.T) {
	var c Cache
	get := func(memory int64) *Plan {
		t.Helper()
		in := inputOf(backend.BN254, backend.G1, 1<<20, memory)
		p, err := c.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		want, err := New(in)
		if err != nil {
			t.Fatal(err)
		}
		if p.shape() != want.shape() || p.Need() > memory {
			t.Errorf("in %d bytes: %s of %d bytes, want %s", memory, p.shape(), p.Need(), want.shape())
		}
		return p
	}
	best := get(100 << 30)
	for _, memory := range []int64{100<<30 - 1, 200 << 30, best.Need()} {
		if get(memory) != best {
			t.Errorf("made again for %d bytes, of which it needs %d", memory, best.Need())
		}
	}
	less := get(best.Need() - 1)
	if less == best {
		t.Fatal("the best plan in less than it needs")
	}
	if get(less.Need()) != less {
		t.Error("made again for what it needs")
	}
	if least := get(less.Need() - 1); least == less || least == best {
		t.Error("a plan in less than it needs")
	}
	get(best.Need() - 1) // again more than that was made for
	if get(1<<40) != best {
		t.Error("the best plan was forgotten")
	}
	if _, err := c.Plan(inputOf(backend.BN254, backend.G1, 1<<20, 1000)); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("in 1000 bytes: %v", err)
	}
	for n := range 3 * mostCached {
		if _, err := c.Plan(inputOf(backend.BN254, backend.G1, n+1, 1<<30)); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.kept) > mostCached {
		t.Errorf("%d inputs are kept", len(c.kept))
	}
}
