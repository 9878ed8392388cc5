//go:build cuda && cgo && linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
)

const element = 32

// spaces makes spaces of count elements.
func spaces(t testing.TB, b *Backend, n, count int) (ids []backend.SpaceID) {
	t.Helper()
	for range n {
		id, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), count)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// where returns the ordinals of the cards with a valid copy of a space.
func (b *Backend) where(t testing.TB, id backend.SpaceID) (on []int) {
	t.Helper()
	used, err := b.kept.Use([]backend.Step{backend.Read{Src: backend.Range{Space: id}}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.kept.End(used)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.seats {
		if s.card != nil && used.Spaces[id].Kept.hasLocked(s.card) {
			on = append(on, s.ordinal)
		}
	}
	return on
}

// elements returns n elements that depend on first.
func elements(first uint64, n int) []byte {
	b := make([]byte, n*element)
	for i := range n {
		binary.LittleEndian.PutUint64(b[i*element:], first+uint64(i)+1)
	}
	return b
}

func write(id backend.SpaceID, offset int, b []byte) backend.Write {
	return backend.Write{Dst: backend.Range{Space: id, Offset: offset, Count: len(b) / element}, Input: backend.Input{Bytes: b}}
}

func read(id backend.SpaceID, offset, n int) backend.Read {
	return backend.Read{Src: backend.Range{Space: id, Offset: offset, Count: n}}
}

// runs runs a program and compares its last answer.
func runs(t testing.TB, b *Backend, want []byte, steps ...backend.Step) {
	t.Helper()
	got, err := b.Run(t.Context(), steps)
	if err != nil {
		t.Fatal(err)
	}
	if last := got[len(got)-1]; !bytes.Equal(last, want) {
		t.Fatalf("answer %x, want %x", last, want)
	}
}

// TestFakeVectors runs the suite's part about vectors on three cards, with kernels.
func TestFakeVectors(t *testing.T) {
	fake(t, Options{}).Close()
	backendtest.RunVectors(t, func(t testing.TB) backend.Backend { return fake(t, Options{Devices: "0-2"}) }, backendtest.Options{
		Curves: []backend.Curve{backend.BN254}, Groups: []backend.Group{backend.G1}, Seed: *seed,
	})
}

// TestProofsOnCards does what provers do: a key's vectors are written once and read by all proofs,
// and each proof has its own space.
func TestProofsOnCards(t *testing.T) {
	if !quickly(t) {
		return
	}
	b := several(t, Options{Devices: "0-3"})
	key := spaces(t, b, 1, 16)[0]
	secret := elements(7, 16)
	runs(t, b, secret, write(key, 0, secret), read(key, 0, 16))
	var order []int
	proofs := spaces(t, b, 1, 8)
	for i := range 4 {
		id := proofs[i]
		runs(t, b, secret[:element], write(id, 0, elements(uint64(100*i), 8)), read(key, 0, 1))
		on := b.where(t, id)
		if len(on) != 1 || !slices.Contains(b.where(t, key), on[0]) {
			t.Errorf("proof %d on cards %v, the key on %v", i, on, b.where(t, key))
		}
		order = append(order, on[0])
		proofs = append(proofs, spaces(t, b, 1, 8)[0])
	}
	// The key was written on card 0, but it is not active once a proof has read it.
	if fmt.Sprint(order) != "[1 0 2 3]" || len(b.where(t, key)) != 4 {
		t.Errorf("four proofs on cards %v, the key on %v", order, b.where(t, key))
	}
	for i := range 4 {
		runs(t, b, elements(uint64(100*i), 8), read(proofs[i], 0, 8))
		if err := b.FreeSpace(t.Context(), proofs[i]); err != nil {
			t.Error(err)
		}
	}
	// After it is written again, it is read anew everywhere.
	other := elements(900, 2)
	runs(t, b, other, write(key, 3, other), read(key, 3, 2))
	if on := b.where(t, key); len(on) != 1 {
		t.Errorf("a key that was written is on cards %v", on)
	}
	for _, id := range spaces(t, b, 4, 1) {
		runs(t, b, append(slices.Clone(secret[2*element:3*element]), other...), write(id, 0, elements(0, 1)), read(key, 2, 3))
	}
}

// TestSharedSpaces runs many callers whose programs use the same spaces in any combination. Each
// caller writes only its own ranges. Every program reads what was written last.
func TestSharedSpaces(t *testing.T) {
	if !quickly(t) {
		return
	}
	const callers, each, programs = 6, 5, 150
	var copied int64
	for _, c := range []struct {
		cards  int
		memory int64 // of each card; with little memory copies are dropped all the time
	}{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {4, 10 << 20}} {
		cards, count := c.cards, callers*each
		if c.memory > 0 {
			count = 1 << 15
		}
		b := several(t, Options{Devices: fmt.Sprintf("0-%d", cards-1), Memory: c.memory})
		ids := spaces(t, b, 5, count)
		own := spaces(t, b, callers, count) // it keeps its caller on its card
		var group sync.WaitGroup
		for caller := range callers {
			group.Go(func() {
				r := rand.New(rand.NewPCG(*seed, uint64(caller)))
				mine := own[caller]
				has := map[backend.SpaceID][]byte{mine: make([]byte, each*element)}
				for _, id := range ids {
					has[id] = make([]byte, each*element)
				}
				for k := range programs {
					var steps []backend.Step
					var wants [][]byte
					step := func(id backend.SpaceID, offset int, writes bool) {
						if !writes {
							steps, wants = append(steps, read(id, offset, each)), append(wants, slices.Clone(has[id]))
							return
						}
						at := r.IntN(each)
						b := elements(uint64(1000*caller+k), 1+r.IntN(each-at))
						copy(has[id][at*element:], b)
						steps, wants = append(steps, write(id, offset+at, b)), append(wants, nil)
					}
					alone := r.IntN(4) > 0 // it writes only its own space
					if alone {
						step(mine, 0, true)
					}
					for range 1 + r.IntN(3) {
						step(ids[r.IntN(len(ids))], caller*each, !alone && r.IntN(3) == 0)
					}
					step(mine, 0, false)
					got, err := b.Run(t.Context(), steps)
					if err != nil {
						t.Errorf("caller %d: %v", caller, err)
						return
					}
					for i := range got {
						if !bytes.Equal(got[i], wants[i]) {
							t.Errorf("%d cards, caller %d, program %d, step %d: %x, want %x, seed %d", cards, caller, k, i, got[i], wants[i], *seed)
							return
						}
					}
				}
			})
		}
		group.Wait()
		for s := range b.spaces {
			if s.writers != 0 {
				t.Errorf("%d programs write a space for ever", s.writers)
			}
			for _, c := range s.copies {
				if c.users != 0 {
					t.Errorf("%d programs use a space for ever", c.users)
				}
			}
		}
		copies := fakecuda.Calls("cuMemcpyPeerAsync")
		t.Logf("%d cards, %d copies between them", cards, copies)
		if copies > 0 && cards == 1 {
			t.Errorf("%d copies on one card", copies)
		}
		copied += copies
		for _, id := range append(ids, own...) {
			if err := b.FreeSpace(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if copied == 0 { // on two cards, callers one after the other may need none
		t.Error("no space was ever copied")
	}
}

// TestLostWithCopies: vectors survive the loss of a card if others have copies. A program that was
// running on the card runs again on another.
func TestLostWithCopies(t *testing.T) {
	if !quickly(t) {
		return
	}
	j := newJournal()
	b := several(t, Options{Devices: "0-1", tests: &hooks{rules: usual, retry: time.Hour}, Log: j.log()})
	key := spaces(t, b, 1, 8)[0]
	was := elements(1, 8)
	runs(t, b, was, write(key, 0, was), read(key, 0, 8))
	proof := spaces(t, b, 1, 4)[0]
	runs(t, b, was, write(proof, 0, was[:4*element]), read(key, 0, 8))
	if on := [][]int{b.where(t, key), b.where(t, proof)}; fmt.Sprint(on) != "[[0 1] [1]]" {
		t.Fatalf("key and proof are on cards %v", on)
	}
	// A program that writes the key runs on card 0, which is lost meanwhile.
	cudatest.Fail(t, "cuMemcpyDtoHAsync#0@1="+launchFails)
	now := elements(50, 2)
	asked := 0
	steps := []backend.Step{
		backend.Write{Dst: backend.Range{Space: key, Offset: 6, Count: 2},
			Input: backend.Input{Bytes: now, Ready: func(_ context.Context, n int) error {
				if n < asked {
					return fmt.Errorf("asked for %d after %d", n, asked)
				}
				asked = n
				return nil
			}}},
		read(key, 0, 8),
	}
	runs(t, b, append(slices.Clone(was[:6*element]), now...), steps...)
	j.count(t, "was lost", 1)
	if on := b.where(t, key); fmt.Sprint(on) != "[1]" {
		t.Errorf("the key is on cards %v", on)
	}
	runs(t, b, was[:4*element], read(proof, 0, 4))
	// Now the other card alone has all of it.
	cudatest.Fail(t, "cuMemcpyDtoHAsync#1@1="+launchFails)
	if _, err := b.Run(t.Context(), []backend.Step{read(proof, 0, 1)}); !errors.Is(err, backend.ErrGone) {
		t.Errorf("vectors are lost: %v", err)
	}
	if err := b.Ping(t.Context()); !errors.Is(err, backend.ErrGone) {
		t.Errorf("vectors are lost: %v", err)
	}
}

// TestBackWithoutCopies: a card that comes back gets copies as a new one does. What it had before
// is forgotten.
func TestBackWithoutCopies(t *testing.T) {
	if !quickly(t) {
		return
	}
	j := newJournal()
	b := several(t, Options{Devices: "0-1", tests: &hooks{rules: usual, retry: time.Millisecond}, Log: j.log()})
	key := spaces(t, b, 1, 8)[0]
	was := elements(1, 8)
	runs(t, b, was, write(key, 0, was), read(key, 0, 8))
	for i := range 3 {
		proof := spaces(t, b, 1, 4)[0]
		runs(t, b, was, write(proof, 0, was[:4*element]), read(key, 0, 8))
		on := b.where(t, proof)
		if len(b.where(t, key)) != 2 {
			t.Errorf("the key is on cards %v", b.where(t, key))
		}
		if err := b.FreeSpace(t.Context(), proof); err != nil {
			t.Error(err)
		}
		cudatest.Fail(t, fmt.Sprintf("cuMemcpyDtoHAsync#%d@1=%s", on[0], launchFails))
		b.mu.Lock()
		for _, s := range b.seats {
			s.queued = float64((s.ordinal - on[0] + 2) % 2) // a program that only reads goes to the shorter queue
		}
		b.mu.Unlock()
		runs(t, b, was, read(key, 0, 8))
		j.count(t, "was lost", i+1)
		j.count(t, "is back", i+1)
	}
	if err := b.FreeSpace(t.Context(), key); err != nil {
		t.Error(err)
	}
}

// TestLostWhileCopied: if the card from which vectors are copied is lost, the backend is gone; if
// the card to which they are copied is lost, it goes on.
func TestLostWhileCopied(t *testing.T) {
	if !quickly(t) {
		return
	}
	j := newJournal()
	b := several(t, Options{Devices: "0-2", tests: &hooks{rules: usual, retry: time.Hour}, Log: j.log()})
	ids := spaces(t, b, 3, 4)
	data := elements(5, 4)
	for _, id := range ids {
		runs(t, b, data, write(id, 0, data), read(id, 0, 4))
	}
	cudatest.Fail(t, "cuMemcpyPeerAsync#1@1="+launchFails)
	_, err := b.Run(t.Context(), []backend.Step{write(ids[1], 0, data), read(ids[0], 0, 4)})
	if !errors.Is(err, backend.ErrGone) || !strings.Contains(err.Error(), "alone") {
		t.Errorf("card 1 has its vectors alone: %v", err)
	}

	b = several(t, Options{Devices: "0-2", tests: &hooks{rules: usual, retry: time.Hour}, Log: j.log()})
	ids = spaces(t, b, 2, 4)
	for _, id := range ids {
		runs(t, b, data, write(id, 0, data), read(id, 0, 4))
	}
	b.mu.Lock()
	b.seats[2].queued = -1 // programs that write nothing go there
	b.mu.Unlock()
	cudatest.Fail(t, "cuMemcpyPeerAsync#1@1="+launchFails)
	runs(t, b, data, read(ids[0], 0, 4))
}

// TestRoomToWork: copies leave an eighth of a card free.
func TestRoomToWork(t *testing.T) {
	if !quickly(t) {
		return
	}
	const count = 1 << 16 // 2 MiB
	b := several(t, Options{Devices: "0-1", Memory: 64 << 20})
	var steps []backend.Step
	for i, id := range spaces(t, b, 29, count) {
		data := elements(uint64(i), 1)
		runs(t, b, data, write(id, 0, data), read(id, 0, 1))
		steps = append(steps, read(id, 0, 1))
	}
	runs(t, b, elements(27, 1), steps[:28]...)
	if _, err := b.Run(t.Context(), steps); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("58 of 64 MiB on one card: %v", err)
	}
	runs(t, b, elements(28, 1), steps[1:]...)
}

// TestCopiesAreSpare: copies that other cards have too make room.
func TestCopiesAreSpare(t *testing.T) {
	if !quickly(t) {
		return
	}
	const count = 1 << 16
	b := several(t, Options{Devices: "0-1", Memory: 64 << 20})
	key := spaces(t, b, 1, count)[0]
	secret := elements(3, 4)
	runs(t, b, secret, write(key, 5, secret), read(key, 5, 4))
	proof := spaces(t, b, 1, 1)[0]
	runs(t, b, secret, write(proof, 0, secret[:element]), read(key, 5, 4))
	if on := b.where(t, key); len(on) != 2 {
		t.Fatalf("the key is on cards %v", on)
	}
	var filled []backend.SpaceID
	for {
		id, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), count)
		if errors.Is(err, backend.ErrOutOfMemory) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		filled = append(filled, id)
	}
	if on := b.where(t, key); len(on) != 1 {
		t.Errorf("both cards are full, and the key is on cards %v", on)
	}
	if bytes := int64(len(filled)) * count * element; bytes < 100<<20 {
		t.Errorf("two cards of 64 MiB take %d bytes", bytes)
	}
	// One program cannot have all spaces on one card.
	steps := []backend.Step{read(key, 5, 4)}
	for _, id := range filled {
		steps = append(steps, read(id, 0, 1))
	}
	if _, err := b.Run(t.Context(), steps); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("more than one card has: %v", err)
	}
	for _, id := range filled {
		if err := b.FreeSpace(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	runs(t, b, secret, write(proof, 0, secret[:element]), read(key, 5, 4))
}
