//go:build cuda

package ntt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fft377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/fft"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fft381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	fft254 "github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	fft761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/fft"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/device"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/kernels"
)

var (
	longest = flag.Int("longest", 0, "logarithm of the longest transform that is compared with gnark-crypto's: 13, on a GPU 20")
	record  = flag.String("record", "", "file for the record of TestTimes")
	times   = flag.String("times", "", "logarithms of sizes for TestTimes, such as 16,20,22")
	seed    = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of random inputs")
)

func TestMain(m *testing.M) {
	cudatest.WithKernels()
	flag.Parse()
	os.Exit(m.Run())
}

// oracle is gnark-crypto's transform of the elements in b, in place.
func oracle(t testing.TB, c backend.Curve, b []byte, inverse bool) {
	t.Helper()
	domain(t, c, len(b)/c.ScalarBytes())(b, inverse)
}

// domain is gnark-crypto's transforms of n elements, its tables made.
func domain(t testing.TB, c backend.Curve, n int) func(b []byte, inverse bool) {
	t.Helper()
	switch c {
	case backend.BN254:
		d := fft254.NewDomain(uint64(n))
		return onElements(t, func(a []fr254.Element) { d.FFT(a, fft254.DIF) }, func(a []fr254.Element) { d.FFTInverse(a, fft254.DIT) })
	case backend.BLS12377:
		d := fft377.NewDomain(uint64(n))
		return onElements(t, func(a []fr377.Element) { d.FFT(a, fft377.DIF) }, func(a []fr377.Element) { d.FFTInverse(a, fft377.DIT) })
	case backend.BLS12381:
		d := fft381.NewDomain(uint64(n))
		return onElements(t, func(a []fr381.Element) { d.FFT(a, fft381.DIF) }, func(a []fr381.Element) { d.FFTInverse(a, fft381.DIT) })
	case backend.BW6761:
		d := fft761.NewDomain(uint64(n))
		return onElements(t, func(a []fr761.Element) { d.FFT(a, fft761.DIF) }, func(a []fr761.Element) { d.FFTInverse(a, fft761.DIT) })
	}
	t.Fatalf("no transforms over %v", c)
	return nil
}

func onElements[T any](t testing.TB, forward, inverse func([]T)) func([]byte, bool) {
	return func(b []byte, back bool) {
		a, err := layout.View[T](b)
		if err != nil {
			t.Fatal(err)
		}
		if back {
			inverse(a)
		} else {
			forward(a)
		}
	}
}

// card is a device in a turn that lasts as long as the test.
type card struct {
	testing.TB
	*device.Turn
	*Field
	curve backend.Curve
}

func open(t testing.TB, c backend.Curve) *card {
	t.Helper()
	d, err := device.Open(0, device.Options{})
	cudatest.Opened(t, err)
	turn, err := d.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(turn, d, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(turn.Compute.Synchronize(), f.Close(), turn.End(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return &card{t, turn, f, c}
}

func (c *card) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// memory is device memory with these bytes, until the test ends.
func (c *card) memory(b []byte) driver.Span {
	c.Helper()
	m, err := c.Keep(int64(len(b)), func(int64) error { return nil })
	c.must(err)
	c.Cleanup(func() { c.must(m.Free()) })
	c.must(c.Compute.Write(m.Span(), b))
	return m.Span()
}

func (c *card) read(s driver.Span) []byte {
	c.Helper()
	b := layout.Bytes(make([]uint64, s.Size()/8))
	c.must(c.Compute.Read(b, s))
	return b
}

// elements is n random ones, in memory for gnark-crypto's types.
func (c *card) elements(n int, salt uint64) []byte {
	c.Helper()
	s, err := fixtures.Scalars(c.curve, fixtures.Uniform, *seed+salt, n)
	c.must(err)
	b := layout.Bytes(make([]uint64, len(s)/8))
	copy(b, s)
	return b
}

func eachCurve(t *testing.T, f func(*testing.T, *card)) {
	for _, c := range backend.Curves() {
		t.Run(c.String(), func(t *testing.T) { f(t, open(t, c)) })
	}
}

// TestAsGnark compares transforms of every size, both ways, in place and not,
// with gnark-crypto's.
func TestAsGnark(t *testing.T) {
	most := cmp.Or(*longest, 20)
	if cudatest.Slow() {
		most = cmp.Or(*longest, 13)
	}
	eachCurve(t, func(t *testing.T, c *card) {
		for logN := range most + 1 {
			x := c.elements(1<<logN, uint64(logN))
			want := bytes.Clone(x)
			if logN > 0 {
				oracle(t, c.curve, want, false)
			}
			in, out := c.memory(x), c.memory(make([]byte, len(x)))
			c.must(c.Forward(c.Turn, out, in, logN))
			equal(t, fmt.Sprintf("2^%d forward", logN), c.read(out), want)
			equal(t, fmt.Sprintf("2^%d forward, its input", logN), c.read(in), x)
			c.must(c.Inverse(c.Turn, out, out, logN))
			equal(t, fmt.Sprintf("2^%d inverse of it, in place", logN), c.read(out), x)

			y := bytes.Clone(x)
			if logN > 0 {
				oracle(t, c.curve, y, true)
			}
			c.must(c.Inverse(c.Turn, out, in, logN))
			equal(t, fmt.Sprintf("2^%d inverse", logN), c.read(out), y)
		}
	})
}

func equal(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("seed %d: %s: wrong", *seed, what)
	}
}

// TestBatches transforms several vectors in one call, also fewer elements than a
// tile and such that a tile ends within one.
func TestBatches(t *testing.T) {
	eachCurve(t, func(t *testing.T, c *card) {
		for _, b := range []struct{ logN, many int }{{1, 3}, {2, 5}, {3, 1}, {4, 130}, {9, 3}, {10, 2}, {11, 3}} {
			x := c.elements(b.many<<b.logN, uint64(100+b.logN))
			want := bytes.Clone(x)
			for v := range slices.Chunk(want, c.curve.ScalarBytes()<<b.logN) {
				oracle(t, c.curve, v, false)
			}
			at := c.memory(x)
			c.must(c.Forward(c.Turn, at, at, b.logN))
			equal(t, fmt.Sprintf("%d of 2^%d", b.many, b.logN), c.read(at), want)
			c.must(c.Inverse(c.Turn, at, at, b.logN))
			equal(t, fmt.Sprintf("%d of 2^%d, back", b.many, b.logN), c.read(at), x)
		}
	})
}

// TestExtremes transforms vectors whose sums come to the ends of their ranges:
// all elements r-1, one, zero, and r-1 and zero in turns.
func TestExtremes(t *testing.T) {
	eachCurve(t, func(t *testing.T, c *card) {
		const logN = 11
		largest := new(big.Int).Sub(fixtures.Order(c.curve), big.NewInt(1))
		raw := fixtures.Raw(largest, c.curve.ScalarBytes())
		for name, element := range map[string]func(i int) []byte{
			"zero":          func(int) []byte { return make([]byte, len(raw)) },
			"r-1":           func(int) []byte { return raw },
			"r-1 in turns":  func(i int) []byte { return raw[:len(raw)*(i%2)] },
			"r-1 by blocks": func(i int) []byte { return raw[:len(raw)*(i>>7%2)] },
		} {
			x := layout.Bytes(make([]uint64, len(raw)/8<<logN))
			for i := range 1 << logN {
				copy(x[i*len(raw):], element(i))
			}
			want := bytes.Clone(x)
			oracle(t, c.curve, want, false)
			at := c.memory(x)
			c.must(c.Forward(c.Turn, at, at, logN))
			equal(t, name, c.read(at), want)
			c.must(c.Inverse(c.Turn, at, at, logN))
			equal(t, name+", back", c.read(at), x)
		}
	})
}

// TestDeepRows transforms with a table that is too short for the nodes of the
// last steps, so that they are products of two rows.
func TestDeepRows(t *testing.T) {
	defer func(n int) { mostLogRows = n }(mostLogRows)
	mostLogRows = 5
	eachCurve(t, func(t *testing.T, c *card) {
		const logN = 12
		x := c.elements(1<<logN, 200)
		want := bytes.Clone(x)
		oracle(t, c.curve, want, false)
		at := c.memory(x)
		c.must(c.Forward(c.Turn, at, at, logN))
		equal(t, "forward", c.read(at), want)
		c.must(c.Inverse(c.Turn, at, at, logN))
		equal(t, "back", c.read(at), x)
	})
}

// TestTableIsSpare: the table can be dropped between transforms, and is made
// again, larger or for the same size.
func TestTableIsSpare(t *testing.T) {
	c := open(t, backend.BN254)
	for _, logN := range []int{5, 9, 4, 11} {
		x := c.elements(1<<logN, 300)
		want := bytes.Clone(x)
		oracle(t, c.curve, want, false)
		at := c.memory(x)
		c.must(c.Forward(c.Turn, at, at, logN))
		equal(t, fmt.Sprintf("2^%d", logN), c.read(at), want)
		if c.Field.Held() == 0 {
			t.Error("nothing held after a transform")
		}
		if logN == 9 {
			c.must(c.Field.Drop())
			if c.Field.Held() != 0 {
				t.Errorf("%d bytes held after Drop", c.Field.Held())
			}
		}
	}
}

func TestBadSizes(t *testing.T) {
	c := open(t, backend.BLS12381)
	m := c.memory(make([]byte, 32*8))
	for what, err := range map[string]error{
		"too short":       c.Forward(c.Turn, m, m, 4),
		"no whole number": c.Forward(c.Turn, m.Slice(0, 32*6), m.Slice(0, 32*6), 2),
		"unlike sizes":    c.Inverse(c.Turn, m.Slice(0, 32*4), m, 2),
		"negative":        c.Inverse(c.Turn, m, m, -1),
		"too long":        c.Forward(c.Turn, m, m, MostLogN+1),
	} {
		if !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
	c.must(c.Forward(c.Turn, m.Slice(0, 0), m.Slice(0, 0), 3))
}

// TestSplit: passes of 1 to 10 levels that fit each other, for every size.
func TestSplit(t *testing.T) {
	for logN := 1; logN <= MostLogN; logN++ {
		level := 0
		for i, bits := range split(logN) {
			stride := logN - level - bits
			if bits < 1 || bits > 10 || stride > 0 && 10-bits > stride || i > 0 && bits < 3 {
				t.Errorf("2^%d: %d levels from %d on, %v", logN, bits, level, split(logN))
			}
			level += bits
		}
		if level != logN {
			t.Errorf("2^%d: %d levels", logN, level)
		}
	}
}

// timed is a run of the record that TestTimes writes: times in milliseconds, on
// the card, of one transform of n elements; cpu_ms is gnark-crypto's shortest, on
// all processors of the machine.
type timed struct {
	Op       string  `json:"op"` // "ntt"
	Curve    string  `json:"curve"`
	Order    string  `json:"order"` // "natural to reversed" or "reversed to natural"
	N        int     `json:"n"`
	Count    int     `json:"count"`
	MinMS    float64 `json:"min_ms"`
	MedianMS float64 `json:"median_ms"`
	CPUMS    float64 `json:"cpu_ms"`
	Checked  bool    `json:"checked"`
}

// TestTimes prints what transforms take on the card, each compared with
// gnark-crypto's, and writes a record.
func TestTimes(t *testing.T) {
	if *times == "" {
		t.Skip("no -times given")
	}
	var runs []timed
	var info driver.Info
	eachCurve(t, func(t *testing.T, c *card) {
		info = c.Compute.Device().Info()
		for s := range strings.SplitSeq(*times, ",") {
			logN, err := strconv.Atoi(s)
			c.must(err)
			onCPU := domain(t, c.curve, 1<<logN)
			x := c.elements(1<<logN, 400)
			at := c.memory(x)
			for _, back := range []bool{false, true} {
				r := timed{Op: "ntt", Curve: c.curve.String(), Order: "natural to reversed", N: 1 << logN, Count: 21}
				transform := c.Forward
				if back {
					r.Order, transform = "reversed to natural", c.Inverse
				}
				c.must(c.Compute.Write(at, x))
				c.must(transform(c.Turn, at, at, logN))
				got := c.read(at)
				for range 3 {
					want := bytes.Clone(x)
					begin := time.Now()
					onCPU(want, back)
					if d := ms(time.Since(begin)); r.CPUMS == 0 || d < r.CPUMS {
						r.CPUMS = d
					}
					r.Checked = bytes.Equal(got, want)
				}
				if !r.Checked {
					t.Errorf("seed %d: 2^%d, %s: wrong", *seed, logN, r.Order)
				}
				least, median := c.time(r.Count, func() error { return transform(c.Turn, at, at, logN) })
				r.MinMS, r.MedianMS = ms(least), ms(median)
				t.Logf("%v 2^%d %s: min %.4f median %.4f ms, gnark-crypto %.3f ms", c.curve, logN, r.Order, r.MinMS, r.MedianMS, r.CPUMS)
				runs = append(runs, r)
			}
		}
	})
	if *record == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(map[string]any{
		"machine": map[string]any{
			"gpu": info.Name, "cuda_driver": info.String(), "kernels": kernels.Digest(), "cores": runtime.NumCPU(),
			"go": runtime.Version(), "time": time.Now().UTC().Format(time.RFC3339),
		},
		"runs": runs,
	}, "", "  ")
	if err == nil {
		err = os.WriteFile(*record, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// time is the shortest and the median time of one of many runs.
func (c *card) time(count int, f func() error) (least, median time.Duration) {
	c.Helper()
	var all []time.Duration
	for range count {
		var ends [2]*driver.Event
		for i := range ends {
			e, err := c.Compute.Device().NewEvent(true)
			c.must(err)
			defer e.Close()
			ends[i] = e
		}
		c.must(c.Compute.Record(ends[0]))
		c.must(f())
		c.must(c.Compute.Record(ends[1]))
		c.must(ends[1].Synchronize())
		d, err := ends[1].Elapsed(ends[0])
		c.must(err)
		all = append(all, d)
	}
	slices.Sort(all)
	return all[0], all[len(all)/2]
}
