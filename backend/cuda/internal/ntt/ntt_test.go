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
	"math/bits"
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
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/ntt"
)

var (
	longest = flag.Int("longest", 0, "logarithm of the longest transform that is compared with gnark-crypto's: 13, on a GPU 20")
	record  = flag.String("record", "", "file for the record of TestTimes")
	times   = flag.String("times", "", "logarithms of sizes for TestTimes, such as 16,20,22")
	plans   = flag.String("plans", "", "logarithms of sizes for TestPlans, with a batch or without, such as 16x8,20")
	only    = flag.String("curves", "", "curves to test, such as bn254,bw6-761; all")
	seed    = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of random inputs")
)

func TestMain(m *testing.M) {
	cudatest.WithKernels()
	flag.Parse()
	os.Exit(m.Run())
}

// domain returns gnark-crypto's transform of a vector in place, with its tables made: from natural
// order to reversed, or from reversed to natural.
func domain(t testing.TB, c backend.Curve, x Transform) func(b []byte) {
	t.Helper()
	n, dif := uint64(1)<<x.LogN, x.From == backend.Natural
	switch c {
	case backend.BN254:
		d := fft254.NewDomain(n)
		var o []fft254.Option
		if x.Shift != nil {
			d, o = fft254.NewDomain(n, fft254.WithShift(one[fr254.Element](t, x.Shift))), []fft254.Option{fft254.OnCoset()}
		}
		return onElements(t, x.Inverse, pick(dif, fft254.DIF, fft254.DIT), o, d.FFT, d.FFTInverse)
	case backend.BLS12377:
		d := fft377.NewDomain(n)
		var o []fft377.Option
		if x.Shift != nil {
			d, o = fft377.NewDomain(n, fft377.WithShift(one[fr377.Element](t, x.Shift))), []fft377.Option{fft377.OnCoset()}
		}
		return onElements(t, x.Inverse, pick(dif, fft377.DIF, fft377.DIT), o, d.FFT, d.FFTInverse)
	case backend.BLS12381:
		d := fft381.NewDomain(n)
		var o []fft381.Option
		if x.Shift != nil {
			d, o = fft381.NewDomain(n, fft381.WithShift(one[fr381.Element](t, x.Shift))), []fft381.Option{fft381.OnCoset()}
		}
		return onElements(t, x.Inverse, pick(dif, fft381.DIF, fft381.DIT), o, d.FFT, d.FFTInverse)
	case backend.BW6761:
		d := fft761.NewDomain(n)
		var o []fft761.Option
		if x.Shift != nil {
			d, o = fft761.NewDomain(n, fft761.WithShift(one[fr761.Element](t, x.Shift))), []fft761.Option{fft761.OnCoset()}
		}
		return onElements(t, x.Inverse, pick(dif, fft761.DIF, fft761.DIT), o, d.FFT, d.FFTInverse)
	}
	t.Fatalf("no transforms over %v", c)
	return nil
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// one returns an element as gnark-crypto's type.
func one[T any](t testing.TB, b []byte) T {
	t.Helper()
	a, err := layout.View[T](b)
	if err != nil {
		t.Fatal(err)
	}
	return a[0]
}

func onElements[T, D, O any](t testing.TB, inverse bool, d D, options []O, forward, back func([]T, D, ...O)) func([]byte) {
	return func(b []byte) {
		a, err := layout.View[T](b)
		if err != nil {
			t.Fatal(err)
		}
		pick(inverse, back, forward)(a, d, options...)
	}
}

// oracle returns gnark-crypto's transforms of a batch of vectors, which lack the zeros at their
// ends.
func oracle(t testing.TB, c backend.Curve, b []byte, x Transform) []byte {
	t.Helper()
	n := c.ScalarBytes() << x.LogN
	given := n
	if x.Given != 0 {
		given = c.ScalarBytes() * x.Given
	}
	all := layout.Bytes(make([]uint64, len(b)/given*n/8))
	if x.LogN == 0 {
		copy(all, b)
		return all
	}
	transform := domain(t, c, x)
	for i := range len(b) / given {
		v := all[i*n:][:n]
		copy(v, b[i*given:][:given])
		transform(v)
		if x.From == x.To {
			reverse(v, c.ScalarBytes(), x.LogN)
		}
	}
	return all
}

// reverse changes natural order to reversed and back.
func reverse(b []byte, size, logN int) {
	for i := range 1 << logN {
		if j := int(bits.Reverse32(uint32(i)) >> (32 - logN)); i < j {
			x, y := b[i*size:][:size], b[j*size:][:size]
			for k := range x {
				x[k], y[k] = y[k], x[k]
			}
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

// memory copies bytes into device memory, until it is freed.
func (c *card) memory(b []byte) (_ driver.Span, free func()) {
	c.Helper()
	m, err := c.Keep(int64(len(b)), func(int64) error { return nil })
	c.must(err)
	c.must(c.Compute.Write(m.Span(), b))
	return m.Span(), func() { c.must(errors.Join(c.Compute.Synchronize(), m.Free())) }
}

func (c *card) read(s driver.Span) []byte {
	c.Helper()
	b := layout.Bytes(make([]uint64, s.Size()/8))
	c.must(c.Compute.Read(b, s))
	return b
}

// elements returns n random elements, in memory aligned for gnark-crypto's types.
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
		if *only != "" && !slices.Contains(strings.Split(*only, ","), c.String()) {
			continue
		}
		t.Run(c.String(), func(t *testing.T) { f(t, open(t, c)) })
	}
}

// ways are all transforms, without sizes.
var ways = []Transform{
	{From: backend.Natural, To: backend.Reversed},
	{From: backend.Reversed, To: backend.Natural},
	{From: backend.Natural, To: backend.Natural},
	{From: backend.Natural, To: backend.Reversed, Inverse: true},
	{From: backend.Reversed, To: backend.Natural, Inverse: true},
	{From: backend.Natural, To: backend.Natural, Inverse: true},
}

func (x Transform) String() string { return fmt.Sprintf("2^%d %s", x.LogN, x.way()) }

// way describes the transform without its size.
func (x Transform) way() string {
	text := orders[x.From] + " to " + orders[x.To]
	if x.Inverse {
		text += ", inverse"
	}
	if x.Shift != nil {
		text += ", on a coset"
	}
	if x.Given != 0 {
		text += fmt.Sprintf(", %d given", x.Given)
	}
	return text
}

var orders = []string{backend.Natural: "natural", backend.Reversed: "reversed"}

// compare transforms in, also in place if that is possible, and compares the results with
// gnark-crypto's.
func (c *card) compare(t *testing.T, in []byte, x Transform) {
	t.Helper()
	want := oracle(t, c.curve, in, x)
	from, freeFrom := c.memory(in)
	defer freeFrom()
	to, freeTo := c.memory(bytes.Repeat([]byte{0xff}, len(want)))
	defer freeTo()
	c.must(c.Queue(c.Turn, to, from, x))
	equal(t, x.String(), c.read(to), want)
	equal(t, x.String()+", its input", c.read(from), in)
	if x.Given == 0 {
		c.must(c.Queue(c.Turn, from, from, x))
		equal(t, x.String()+", in place", c.read(from), want)
	}
}

// TestAsGnark compares transforms with gnark-crypto's: of every size, in all orders, both ways, on
// a coset or not, of all elements and of some.
func TestAsGnark(t *testing.T) {
	most := cmp.Or(*longest, 20)
	if cudatest.Slow() {
		most = cmp.Or(*longest, 12)
	}
	eachCurve(t, func(t *testing.T, c *card) {
		shift := c.elements(1, 1000)
		for logN := range most + 1 {
			in := c.elements(1<<logN, uint64(logN))
			for i, x := range ways {
				x.LogN = logN
				if logN > 10 && cudatest.Slow() && i != logN%len(ways) && i != (logN+3)%len(ways) {
					continue
				}
				c.compare(t, in, x)
				x.Shift = shift
				c.compare(t, in, x)
				if !x.Inverse && x.From == backend.Natural && logN > 0 {
					x.Given = 1<<logN/3 + 1
					c.compare(t, in[:x.Given*c.curve.ScalarBytes()], x)
				}
			}
		}
	})
}

func equal(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("seed %d: %s: wrong", *seed, what)
	}
}

// TestBatches transforms several vectors in one call. Some have fewer elements than a tile, and
// some tiles end within a vector.
func TestBatches(t *testing.T) {
	eachCurve(t, func(t *testing.T, c *card) {
		for i, b := range []struct{ logN, many int }{{1, 3}, {2, 5}, {3, 1}, {4, 130}, {9, 3}, {10, 2}, {11, 3}} {
			x := ways[i%len(ways)]
			x.LogN, x.Shift = b.logN, c.elements(1, 2000)
			c.compare(t, c.elements(b.many<<b.logN, uint64(100+i)), x)
			x = ways[2]
			x.LogN, x.Given = b.logN, 1<<b.logN-1
			c.compare(t, c.elements(b.many*x.Given, uint64(110+i)), x)
		}
	})
}

// TestEachPlan transforms with each number of elements a thread, also at sizes that would choose
// another.
func TestEachPlan(t *testing.T) {
	defer func() { plan, rowsFrom = split, kernel.LogLow+1 }()
	rowsFrom = 0
	eachCurve(t, func(t *testing.T, c *card) {
		for _, passes := range [][]int{{1, 7}, {2, 6}, {5, 3}, {4, 4, 3}, {8, 8}, {3, 9}, {7, 4}, {6, 6}, {10, 3}, {2, 10}, {1, 9}} {
			x := Transform{}
			for _, bits := range passes {
				x.LogN += bits
			}
			in := c.elements(1<<x.LogN, uint64(x.LogN))
			for log := 1; log <= kernel.LogRow; log++ {
				tile := log + kernel.LogThreads
				plan = func(int, int, int) (int, []int) { return log, passes }
				if !fits(x.LogN, tile, passes) || x.LogN > 13 && cudatest.Slow() && log != 1 {
					continue
				}
				for i, way := range ways {
					if cudatest.Slow() && (i+log)%3 != 0 {
						continue
					}
					way.LogN, way.Shift = x.LogN, c.elements(1, 3000)
					c.compare(t, in, way)
				}
			}
		}
	})
}

// fits reports whether passes of these levels are possible: each except the last has a whole step,
// and columns lie in memory.
func fits(logN, tile int, passes []int) bool {
	level := 0
	for i, bits := range passes {
		last := i == len(passes)-1
		if bits < 1 || bits > tile || !last && bits < tile-kernel.LogThreads ||
			!last && tile-bits > logN-level-bits || last && i > 0 && tile > logN {
			return false
		}
		level += bits
	}
	return level == logN
}

// TestExtremes transforms vectors whose sums reach the ends of their ranges: all elements r-1, one,
// zero, and r-1 and zero alternately.
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
			t.Run(name, func(t *testing.T) {
				in := layout.Bytes(make([]uint64, len(raw)/8<<logN))
				for i := range 1 << logN {
					copy(in[i*len(raw):], element(i))
				}
				for i, x := range ways {
					x.LogN = logN
					if i%2 == 1 {
						x.Shift = layout.Bytes(make([]uint64, len(raw)/8))
						copy(x.Shift, raw)
					}
					if !cudatest.Slow() || i < 2 || i > 3 {
						c.compare(t, in, x)
					}
				}
			})
		}
	})
}

// TestDeepRows transforms with a table too short for the nodes of the last steps, so that their
// rows are products of two.
func TestDeepRows(t *testing.T) {
	defer func(n int) { mostLogRows, plan = n, split }(mostLogRows)
	mostLogRows = 5
	plan = func(size, logN, _ int) (int, []int) { return split(size, logN, 1<<28) } // threads have 8 elements
	eachCurve(t, func(t *testing.T, c *card) {
		for i, x := range ways {
			x.LogN = 11 + i%2
			c.compare(t, c.elements(1<<x.LogN, 200), x)
		}
	})
}

// TestTablesAreSpare: tables can be dropped between transforms and are made again, larger or for
// the same size. At most mostShifts shifts have tables.
func TestTablesAreSpare(t *testing.T) {
	defer func(n int) { mostShifts = n }(mostShifts)
	mostShifts = 3
	c := open(t, backend.BN254)
	for _, logN := range []int{5, 9, 4, 11} {
		x := ways[0]
		x.LogN, x.Shift = logN, c.elements(1, 4000)
		c.compare(t, c.elements(1<<logN, 300), x)
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
	before := c.Field.Held()
	var held int64
	for i := range mostShifts + 3 {
		x := ways[1]
		x.LogN, x.Shift = 3, c.elements(1, uint64(5000+i%(mostShifts+1)))
		if i >= mostShifts {
			held = c.Field.Held()
		}
		c.compare(t, c.elements(1<<3, 300), x)
	}
	if got := c.Field.Held(); got <= before || got != held {
		t.Errorf("%d bytes held after %d shifts, %d before the last", got, mostShifts+3, held)
	}
}

func TestBadInput(t *testing.T) {
	c := open(t, backend.BLS12381)
	m, free := c.memory(make([]byte, 32*8))
	defer free()
	part := func(elements int64) driver.Span { return m.Slice(0, 32*elements) }
	large := bytes.Repeat([]byte{0xff}, 32)
	toReversed := ways[0]
	for what, e := range map[string]error{
		"too short":           c.Queue(c.Turn, m, m, Transform{LogN: 4}),
		"no whole number":     c.Queue(c.Turn, part(6), part(6), Transform{LogN: 2}),
		"unlike sizes":        c.Queue(c.Turn, part(4), m, Transform{LogN: 2}),
		"negative":            c.Queue(c.Turn, m, m, Transform{LogN: -1}),
		"too long":            c.Queue(c.Turn, m, m, Transform{LogN: MostLogN + 1}),
		"orders":              c.Queue(c.Turn, m, m, Transform{LogN: 3, From: backend.Reversed, To: backend.Reversed}),
		"no order":            c.Queue(c.Turn, m, m, Transform{LogN: 3, From: 2}),
		"too many given":      c.Queue(c.Turn, m, m, Transform{LogN: 3, Given: 9}),
		"given, not in":       c.Queue(c.Turn, m, m, Transform{LogN: 3, Given: 4}),
		"given to an inverse": c.Queue(c.Turn, m, part(4), Transform{LogN: 3, Given: 4, Inverse: true}),
		"given reversed":      c.Queue(c.Turn, m, part(4), Transform{LogN: 3, Given: 4, From: backend.Reversed}),
		"shift of no element": c.Queue(c.Turn, m, m, Transform{LogN: 3, Shift: make([]byte, 31)}),
		"shift zero":          c.Queue(c.Turn, m, m, Transform{LogN: 3, Shift: make([]byte, 32)}),
		"shift too large":     c.Queue(c.Turn, m, m, Transform{LogN: 3, Shift: large}),
	} {
		if !errors.Is(e, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, e)
		}
	}
	toReversed.LogN = 3
	c.must(c.Queue(c.Turn, part(0), part(0), toReversed))
}

// TestPlan: the passes are possible for every size, alone and in a batch.
func TestPlan(t *testing.T) {
	for logN := 1; logN <= MostLogN; logN++ {
		for _, all := range []int{1 << logN, 5 << logN, 1 << 30} {
			for _, size := range []int{32, 48} {
				if log, passes := split(size, logN, all); !fits(logN, log+kernel.LogThreads, passes) {
					t.Errorf("2^%d of %d: passes of %v levels, %d elements a thread", logN, all, passes, 1<<log)
				} else if log < kernel.LogRow && logN-log > mostLogRows {
					t.Errorf("2^%d of %d: nodes beyond the table, %d elements a thread", logN, all, 1<<log)
				}
			}
		}
	}
}

// timed is a row of the record that TestTimes writes: times on the card in milliseconds, of a batch
// of transforms of n elements, or of each of several queued in a row. Otherwise the card is idle
// before, and the time includes the launch. cpu_ms is gnark-crypto's shortest time, one vector
// after the other, on all processors of the machine.
type timed struct {
	Op       string  `json:"op"` // "ntt"
	Curve    string  `json:"curve"`
	Order    string  `json:"order"` // such as "natural to reversed, on a coset"
	N        int     `json:"n"`     // of each
	Batch    int     `json:"batch"`
	InARow   int     `json:"in_a_row,omitempty"`
	Count    int     `json:"count"`
	MinMS    float64 `json:"min_ms"`
	MedianMS float64 `json:"median_ms"`
	CPUMS    float64 `json:"cpu_ms"`
	Checked  bool    `json:"checked"`
}

// TestTimes prints what transforms take on the card, compares each with gnark-crypto's and writes a
// record.
func TestTimes(t *testing.T) {
	if *times == "" {
		t.Skip("no -times given")
	}
	var runs []timed
	var info driver.Info
	eachCurve(t, func(t *testing.T, c *card) {
		info = c.Compute.Device().Info()
		shift := c.elements(1, 500)
		for s := range strings.SplitSeq(*times, ",") {
			logN, err := strconv.Atoi(s)
			c.must(err)
			if logN > 22 && c.curve != backend.BN254 {
				continue // the processor would take minutes
			}
			in := c.elements(1<<logN, 400)
			xs := []Transform{ways[0], ways[4], ways[2], ways[1], ways[3]}
			if logN > 22 {
				xs = xs[:2] // each takes the processor seconds
			}
			for _, x := range xs {
				x.LogN = logN
				runs = append(runs, c.timed(t, in, x, 1, 1))
				if x.Shift = shift; logN <= 24 {
					runs = append(runs, c.timed(t, in, x, 1, 1))
				}
			}
			if logN <= 18 {
				x := ways[0]
				x.LogN = logN
				runs = append(runs, c.timed(t, bytes.Repeat(in, 8), x, 8, 1), c.timed(t, in, x, 1, 8))
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

// TestPlans prints what transforms take with every plausible plan of passes, quickest first. split
// is made from it.
func TestPlans(t *testing.T) {
	if *plans == "" {
		t.Skip("no -plans given")
	}
	defer func() { plan = split }()
	eachCurve(t, func(t *testing.T, c *card) {
		for s := range strings.SplitSeq(*plans, ",") {
			size, many, _ := strings.Cut(s, "x")
			logN, err := strconv.Atoi(size)
			c.must(err)
			batch, err := strconv.Atoi(cmp.Or(many, "1"))
			c.must(err)
			in, free := c.memory(c.elements(batch<<logN, 400))
			out, freeOut := c.memory(make([]byte, in.Size()))
			for _, x := range []Transform{ways[0], ways[4], ways[2]} {
				x.LogN = logN
				type result struct {
					time   time.Duration
					each   int
					passes []int
				}
				var all []result
				for log := 1; log <= kernel.LogRow; log++ {
					for _, passes := range compositions(logN, log+kernel.LogThreads) {
						plan = func(int, int, int) (int, []int) { return log, passes }
						to := in
						if x.From == x.To {
							to = out
						}
						queue := func() error { return c.Queue(c.Turn, to, in, x) }
						c.must(queue())
						least, _ := c.time(7, time.Millisecond, queue)
						all = append(all, result{least, 1 << log, passes})
					}
				}
				slices.SortFunc(all, func(a, b result) int { return cmp.Compare(a.time, b.time) })
				line := fmt.Sprintf("%v %v, %d of them:", c.curve, x, batch)
				for _, each := range []int{2, 4, 8} {
					shown := 0
					for _, r := range all {
						if r.each == each && shown < 6 {
							line += fmt.Sprintf("  %d%v %.4f", r.each, r.passes, ms(r.time))
							shown++
						}
					}
				}
				t.Log(line)
			}
			free()
			freeOut()
		}
	})
}

// compositions returns the lists of levels that fit tiles of 2^tile elements, with as few passes as
// possible or one more.
func compositions(logN, tile int) (all [][]int) {
	var grow func(passes []int, left, count int)
	grow = func(passes []int, left, count int) {
		if count == 1 {
			if passes = append(slices.Clone(passes), left); fits(logN, tile, passes) {
				all = append(all, passes)
			}
			return
		}
		for bits := 3; bits <= min(tile, left-3); bits++ {
			grow(append(passes, bits), left-bits, count-1)
		}
	}
	least := (logN + tile - 1) / tile
	for count := least; count <= least+1 && count <= 3; count++ {
		grow(nil, logN, count)
	}
	return all
}

// timed measures a transform, alone or several in a row. It is in place unless it goes from natural
// to natural order.
func (c *card) timed(t *testing.T, in []byte, x Transform, batch, inARow int) timed {
	t.Helper()
	r := timed{
		Op: "ntt", Curve: c.curve.String(), Order: x.way(), N: 1 << x.LogN, Batch: batch, Count: 21,
	}
	if batch > 1 {
		r.Order += fmt.Sprintf(", %d of them", batch)
	}
	if inARow > 1 {
		r.InARow = inARow
		r.Order += fmt.Sprintf(", each of %d in a row", inARow)
	}
	from, free := c.memory(in)
	defer free()
	to := from
	if x.From == x.To {
		to, free = c.memory(in)
		defer free()
	}
	c.must(c.Queue(c.Turn, to, from, x))
	got := c.read(to)
	onCPU := domain(t, c.curve, x)
	tries := 3
	if x.LogN > 20 {
		tries = 1
	}
	for range tries {
		want := bytes.Clone(in)
		begin := time.Now()
		for v := range slices.Chunk(want, len(want)/batch) {
			onCPU(v)
			if x.From == x.To {
				reverse(v, c.curve.ScalarBytes(), x.LogN)
			}
		}
		if d := ms(time.Since(begin)); r.CPUMS == 0 || d < r.CPUMS {
			r.CPUMS = d
		}
		r.Checked = bytes.Equal(got, want)
	}
	if !r.Checked {
		t.Errorf("seed %d: %v: wrong", *seed, x)
	}
	least, median := c.time(r.Count, 30*time.Millisecond, func() (err error) {
		for range inARow {
			err = errors.Join(err, c.Queue(c.Turn, to, from, x))
		}
		return err
	})
	r.MinMS, r.MedianMS = ms(least)/float64(inARow), ms(median)/float64(inARow)
	t.Logf("%v 2^%d %s: min %.4f median %.4f ms, gnark-crypto %.3f ms", c.curve, x.LogN, r.Order, r.MinMS, r.MedianMS, r.CPUMS)
	return r
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// time returns the shortest and the median time of one run of many. Before them it runs others for
// warm.
func (c *card) time(count int, warm time.Duration, f func() error) (least, median time.Duration) {
	c.Helper()
	// A card that was idle is slow at first.
	for begin := time.Now(); time.Since(begin) < warm; {
		c.must(f())
		c.must(c.Compute.Synchronize())
	}
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
