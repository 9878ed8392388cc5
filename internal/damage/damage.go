// Package damage spoils files at random, for tests of what reads them.
package damage

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Bytes changes some bytes of a file, most of them where numbers and lengths are, or cuts it.
func Bytes(r *rand.Rand, good []byte) []byte {
	b := slices.Clone(good)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(b))
		if r.IntN(2) == 0 {
			at = r.IntN(min(len(b), 200))
		}
		switch r.IntN(4) {
		case 0:
			b[at] = byte(r.Uint32())
		case 1:
			b[at] ^= 1 << r.IntN(8)
		case 2: // a number that is large, or one more or less
			numbers := []uint64{0, 1, math.MaxUint32, 1 << 31, 1 << 63, math.MaxUint64, uint64(len(b))}
			n := binary.LittleEndian.AppendUint64(nil, numbers[r.IntN(len(numbers))]+uint64(r.IntN(3))-1)
			copy(b[at:], n[:4<<r.IntN(2)])
		case 3:
			if r.IntN(20) == 0 {
				b = b[:max(1, at)]
			}
		}
	}
	return b
}

// words are what Text puts into JSON: its signs, and values that readers of numbers get wrong.
var words = []string{
	`"`, `[`, `]`, `{`, `}`, `,`, `:`, " ", "\n", "\x00", "\xff", `\`, `null`, `true`, `0`, `-1`, `1.5`, `1e3`, `1e999`, `-`, `""`, `"0"`,
	`"1"`, `"-1"`, `"01"`, `"0x1f"`, `"0x"`, `"1e5"`, `"1_0"`, `"\ud800"`, `[]`, `{}`, `{"a": 1}`, `[[1]]`, `[{"a": [2]}]`, `9007199254740993`,
	`"` + strings.Repeat("9", 100) + `"`, strings.Repeat("9", 100), strings.Repeat("[", 100), strings.Repeat(`{"a":`, 100),
}

// Text changes JSON: characters, words that are put in, pieces that are there twice or missing.
func Text(r *rand.Rand, good []byte) []byte {
	b := slices.Clone(good)
	for range 1 + r.IntN(3) {
		from := r.IntN(len(b) + 1)
		to := min(len(b), from+r.IntN(20))
		word := []byte(words[r.IntN(len(words))])
		switch r.IntN(5) {
		case 0:
			if from < len(b) {
				b[from] ^= 1 << r.IntN(8)
			}
		case 1:
			b = slices.Insert(b, from, word...)
		case 2:
			b = slices.Replace(b, from, to, word...)
		case 3:
			b = slices.Insert(b, from, slices.Clone(b[from:to])...)
		case 4:
			if b = slices.Delete(b, from, to); r.IntN(20) == 0 {
				b = b[:from]
			}
		}
	}
	return b
}

// Bounded fails a test if f takes more memory than factor times a size and some more. Nothing else may
// run meanwhile.
func Bounded(t testing.TB, size, factor int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	const fixed = 4 << 20
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(factor*size+fixed) {
		t.Errorf("%d bytes took %d of memory, %d times as much", size, took, took/uint64(max(1, size)))
	}
}

// Tally counts spoiled files.
type Tally struct{ read, refused int }

// Add counts one.
func (c *Tally) Add(read bool) {
	if read {
		c.read++
	} else {
		c.refused++
	}
}

// Both fails a test in which all were read, or none.
func (c *Tally) Both(t testing.TB) {
	t.Helper()
	t.Logf("%d files were read, %d refused", c.read, c.refused)
	if c.read == 0 || c.refused == 0 {
		t.Error("the damage is too small, or too large")
	}
}
