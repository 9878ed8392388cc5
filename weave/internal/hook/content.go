package hook

import (
	"encoding/binary"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
)

// seed makes hashes of this process its own: two different contents have the
// same one with probability 2^-64.
var seed = maphash.MakeSeed()

// block is the number of bytes hashed together: what begins at multiples of it
// in memory. A part of resident bases is checked by the blocks that it touches.
// It is the smallest page there is, so that a block is mapped as a whole or not
// at all: beside the part, the program may have given its memory back.
const block = 1 << 12

// alone is the number of blocks that one goroutine hashes: some 0.1 ms.
const alone = 256

// blocks returns the numbers of the blocks that m, of n's memory, touches: from the first
// to the one after the last.
func (n *entry) blocks(m memory) (from, to int) {
	first := n.lo / block
	return int(m.lo/block - first), int((m.hi+block-1)/block - first)
}

// hash hashes every block.
func (n *entry) hash() []uint64 {
	_, blocks := n.blocks(n.memory)
	sums := make([]uint64, blocks)
	inParallel(0, blocks, func(i int) bool {
		sums[i] = n.sum(i)
		return true
	})
	return sums
}

// sum hashes block i, as far as it is n's.
func (n *entry) sum(i int) uint64 {
	at := i*block - int(n.lo%block)
	return maphash.Bytes(seed, n.bytes[max(at, 0):min(at+block, len(n.bytes))])
}

// unchanged reports whether the blocks that m lies in still hold what they held.
func (n *entry) unchanged(m memory) bool {
	from, to := n.blocks(m)
	return inParallel(from, to, func(i int) bool { return n.sum(i) == n.sums[i] })
}

// inParallel calls f for every number from from up to but not including to, on
// all processors where there are many, until one answers false.
func inParallel(from, to int, f func(int) bool) bool {
	workers := min(runtime.GOMAXPROCS(0), (to-from+alone-1)/alone)
	if workers <= 1 {
		for i := from; i < to; i++ {
			if !f(i) {
				return false
			}
		}
		return true
	}
	var next atomic.Int64
	var no atomic.Bool
	next.Store(int64(from))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for !no.Load() {
				at := int(next.Add(alone)) - alone
				if at >= to {
					return
				}
				for i := at; i < min(at+alone, to); i++ {
					if !f(i) {
						no.Store(true)
					}
				}
			}
		})
	}
	wg.Wait()
	return !no.Load()
}

// sum hashes hashes.
func sum(sums []uint64) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var b [8]byte
	for _, s := range sums {
		binary.LittleEndian.PutUint64(b[:], s)
		h.Write(b[:])
	}
	return h.Sum64()
}

// note is points that were seen, and what they were.
type note struct {
	memory
	sum uint64
}

// notes is how many of them are remembered.
const notes = 1 << 12

// noted remembers the last notes. Nothing keeps their memory reachable: what
// lies at the same address later has the same content, or is another note.
type noted struct {
	set  map[note]struct{}
	ring []note
	next int
}

// before reports whether n was noted before, and notes it.
func (s *noted) before(n note) bool {
	if _, ok := s.set[n]; ok {
		return true
	}
	if s.set == nil {
		s.set = make(map[note]struct{})
	}
	if len(s.ring) < notes {
		s.ring = append(s.ring, n)
	} else {
		delete(s.set, s.ring[s.next])
		s.ring[s.next] = n
		s.next = (s.next + 1) % notes
	}
	s.set[n] = struct{}{}
	return false
}
