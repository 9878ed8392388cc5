package extent

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestRoom takes and gives back at random: parts lie within the room and apart, what is
// left adds up, and in the end all is free in a row.
func TestRoom(t *testing.T) {
	const size = 100
	rng := rand.New(rand.NewPCG(1, 2))
	r := New(size)
	live := map[uint64]Part{}
	for range 5000 {
		if n := rng.IntN(20); rng.IntN(2) == 0 {
			id, p, err := r.Take(n)
			if err != nil {
				if !errors.Is(err, backend.ErrOutOfMemory) {
					t.Fatal(err)
				}
				continue
			}
			if id == 0 || p.Count != n || p.Offset < 0 || p.Offset+n > size {
				t.Fatalf("%d: %+v", id, p)
			}
			for _, q := range live {
				if p.Count > 0 && q.Count > 0 && p.Offset < q.Offset+q.Count && q.Offset < p.Offset+p.Count {
					t.Fatalf("%+v and %+v", p, q)
				}
			}
			live[id] = p
		}
		for id, p := range live {
			if rng.IntN(3) > 0 {
				break
			}
			r.Give(id, Part{p.Offset, p.Count + 1}) // another part changes nothing
			if !r.Has(id) {
				t.Fatal("given back by another part")
			}
			r.Give(id, p)
			r.Give(id, p)
			delete(live, id)
			if r.Has(id) {
				t.Fatal("there after it was given back")
			}
		}
		left := size
		for _, p := range live {
			left -= p.Count
		}
		if r.Left() != left {
			t.Fatalf("%d left, want %d", r.Left(), left)
		}
	}
	for id, p := range live {
		r.Give(id, p)
	}
	if _, _, err := r.Take(size); err != nil {
		t.Error(err)
	}
	if _, _, err := r.Take(-1); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
}
