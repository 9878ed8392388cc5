// Package merge finds equal elements in long slices, so that an MSM over them
// can be made shorter without changing its answer:
//
//	k1*P + k2*P = (k1+k2)*P    equal bases: add their scalars
//	k*P1 + k*P2 = k*(P1+P2)    equal scalars: add their bases
//
// An element of zero bytes (the point at infinity, the scalar 0) adds nothing
// to either and belongs to no class.
//
// Hashes of secret elements, and which of them are equal, are secrets too:
// Elements and Classes have a Wipe, and what is needed in between is wiped.
package merge

import (
	"bytes"
	"context"
	"hash/maphash"
	"math/bits"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
)

// Column is one part of every element: Size bytes each.
type Column struct {
	Bytes []byte
	Size  int
}

func (c Column) at(i int) []byte { return c.Bytes[i*c.Size : (i+1)*c.Size] }

// Elements is a slice whose elements have been hashed. Element i is part i of
// every column.
type Elements struct {
	columns []Column
	hash    []uint64 // 0 for an element of zero bytes only, else odd
}

// seed makes collisions unpredictable to whoever chose the elements.
var seed = maphash.MakeSeed()

// Hash hashes n elements on all processors. The columns are only read, and must
// not change while the result is in use. When ctx ends, some hashes are missing.
func Hash(ctx context.Context, n int, columns ...Column) (*Elements, error) {
	e := &Elements{columns, make([]uint64, n)}
	return e, Until(ctx, n, look, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			e.hash[i] = e.hashOf(i)
		}
	})
}

// look is how many elements are worked on between two looks at the context: that takes
// about a millisecond.
const look = 1 << 14

func (e *Elements) hashOf(i int) uint64 {
	var h uint64
	zero := true
	for _, c := range e.columns {
		b := c.at(i)
		zero = zero && isZero(b)
		h = bits.RotateLeft64(h, 17) ^ maphash.Bytes(seed, b)
	}
	if zero {
		return 0
	}
	return h | 1
}

func isZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// Wipe clears the hashes, after which e must not be used.
func (e *Elements) Wipe() { clear(e.hash) }

// sampled is about how many different values Redundancy looks at.
const sampled = 1 << 12

// Redundancy estimates the fraction of elements that need not be there: all but
// one of every class, and those in no class. It samples by value: whether an
// element is in the sample depends on its hash alone, so that a sampled value
// is there with all its copies. The number of different sampled values, scaled
// up, is an unbiased estimate whatever the multiplicities are.
func (e *Elements) Redundancy() float64 {
	n := len(e.hash)
	if n == 0 {
		return 0
	}
	skip := max(bits.Len(uint(n))-bits.Len(uint(sampled)), 0)
	seen := make(map[uint64]struct{}, min(n, 2*sampled))
	defer clear(seen)
	for _, h := range e.hash {
		if h != 0 && bits.LeadingZeros64(h) >= skip {
			seen[h] = struct{}{}
		}
	}
	return max(1-float64(len(seen)<<skip)/float64(n), 0)
}

// Classes is a partition of element numbers into classes of equal elements, in
// the order of their first members; members are in ascending order.
type Classes struct {
	start  []uint32 // class c is member[start[c]:start[c+1]]
	member []uint32
}

// Lists returns classes whose members are given: class c has member[start[c]:start[c+1]].
// Each has one at least, and a member may be in several classes and several times in one.
func Lists(start, member []uint32) *Classes { return &Classes{start, member} }

// Len returns the number of classes.
func (c *Classes) Len() int { return len(c.start) - 1 }

// Members returns the numbers of the elements in class i. It is a part of the partition:
// do not change it.
func (c *Classes) Members(i int) []uint32 { return c.member[c.start[i]:c.start[i+1]] }

// Total returns the number of elements in all classes.
func (c *Classes) Total() int { return len(c.member) }

// Wipe clears the partition, after which c must not be used.
func (c *Classes) Wipe() {
	clear(c.start)
	clear(c.member)
}

// Walk visits elements number lo to hi-1 of all classes laid end to end: f is
// called with each class touched, those of its members that lie in the range,
// and whether these are all of them.
func (c *Classes) Walk(lo, hi int, f func(class int, members []uint32, whole bool)) {
	class := sort.Search(c.Len(), func(i int) bool { return int(c.start[i+1]) > lo })
	for ; class < c.Len() && int(c.start[class]) < hi; class++ {
		from, to := max(lo, int(c.start[class])), min(hi, int(c.start[class+1]))
		f(class, c.member[from:to], to-from == len(c.Members(class)))
	}
}

const none = ^uint32(0)

// Classes partitions the elements exactly: hashes choose candidates, bytes
// decide. When ctx ends, it returns its error.
func (e *Elements) Classes(ctx context.Context) (*Classes, error) {
	n := len(e.hash)
	first := make([]uint32, n) // the smallest equal element's number
	defer clear(first)
	workers := uint64(runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { e.link(ctx, first, func(h uint64) bool { return h>>32%workers == w }) })
	}
	wg.Wait()
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}

	// Number the classes; then first[i] is the class of element i.
	count, members := 0, uint32(0)
	for i, h := range e.hash {
		if h != 0 {
			members++
			if first[i] == uint32(i) {
				count++
			}
		}
	}
	c := &Classes{make([]uint32, count+1), make([]uint32, members)}
	class := uint32(0)
	for i, h := range e.hash {
		switch f := first[i]; {
		case h == 0:
			first[i] = none
			continue
		case f == uint32(i):
			first[i] = class
			class++
		default:
			first[i] = first[f]
		}
		c.start[first[i]+1]++
	}
	for i := 1; i < len(c.start); i++ {
		c.start[i] += c.start[i-1]
	}
	next := slices.Clone(c.start)
	defer clear(next)
	for i, class := range first {
		if class != none {
			c.member[next[class]] = uint32(i)
			next[class]++
		}
	}
	return c, nil
}

// link sets first[i] of all elements whose hash is mine, until ctx ends.
func (e *Elements) link(ctx context.Context, first []uint32, mine func(uint64) bool) {
	count := 0
	for _, h := range e.hash {
		if h != 0 && mine(h) {
			count++
		}
	}
	size := 1 << bits.Len(uint(2*count))
	table := make([]uint32, size) // element number + 1
	defer clear(table)
	for i, h := range e.hash {
		if i%look == 0 && ctx.Err() != nil {
			return
		}
		if h == 0 || !mine(h) {
			continue
		}
		for at := int(h>>1) & (size - 1); ; at = (at + 1) & (size - 1) {
			if table[at] == 0 {
				table[at] = uint32(i) + 1
				first[i] = uint32(i)
				break
			}
			if f := int(table[at] - 1); e.hash[f] == h && e.equal(f, i) {
				first[i] = uint32(f)
				break
			}
		}
	}
}

func (e *Elements) equal(i, j int) bool {
	for _, c := range e.columns {
		if !bytes.Equal(c.at(i), c.at(j)) {
			return false
		}
	}
	return true
}

// Parallel runs f over parts of 0 to n-1 on all processors and waits.
func Parallel(n int, f func(lo, hi int)) {
	const least = 1 << 10
	parts := min(runtime.GOMAXPROCS(0), n/least+1)
	var wg sync.WaitGroup
	for p := 1; p < parts; p++ {
		wg.Go(func() { f(p*n/parts, (p+1)*n/parts) })
	}
	f(0, n/parts)
	wg.Wait()
}

// Until runs f over 0 to n-1 on all processors, which take part of these at a time, until
// ctx ends. Then it waits for what was begun, and returns the context's error.
func Until(ctx context.Context, n, part int, f func(lo, hi int)) error {
	var next atomic.Int64
	parts := (n + part - 1) / part
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= parts {
				return
			}
			f(i*part, min((i+1)*part, n))
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), parts) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return backend.Ended(ctx)
}

// BitReverse moves every element of v, whose length is a power of two, to the place with
// reversed bits, on all processors. gnark-crypto's own function for elements of any type is
// not in all versions (package versions).
func BitReverse[T any](v []T) {
	shift := 64 - bits.TrailingZeros(uint(len(v)))
	_ = Until(context.Background(), len(v), look, func(lo, hi int) { // which nothing ends
		for i := lo; i < hi; i++ {
			if k := int(bits.Reverse64(uint64(i)) >> shift); i < k {
				v[i], v[k] = v[k], v[i]
			}
		}
	})
}

// pastCaches is the size from which on Go's clear writes past the caches, and so does not read what it
// overwrites: twice as many bytes in the same time (runtime/memclr_amd64.s).
const pastCaches = 32 << 20

// enoughLong is how many parts of pastCaches keep the memory of 16 processors busy. There 512 MB take
// 4 ms in such parts and 10 in shorter ones, 192 MB 2.2 and 2.5, and 128 MB 1.9 and 1.3.
const enoughLong = 6

// Wipe overwrites what there is in the memory of slices, up to their capacities, on all processors.
func Wipe[T any](vs ...[]T) {
	total := 0
	for _, v := range vs {
		total += cap(v)
	}
	processors := runtime.GOMAXPROCS(0)
	part := max(total/processors+1, 1<<10)
	long := (pastCaches-1)/int(reflect.TypeFor[T]().Size()) + 1
	if total >= min(processors, enoughLong)*long {
		part = max(part, long)
	}
	var parts [][]T
	for _, v := range vs {
		// A rest that is no part by itself goes with the last.
		for v = v[:cap(v)]; len(v) >= 2*part; v = v[part:] {
			parts = append(parts, v[:part])
		}
		parts = append(parts, v)
	}
	_ = Until(context.Background(), len(parts), 1, func(lo, _ int) { clear(parts[lo]) }) // which nothing ends
}
