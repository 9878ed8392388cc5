//go:build cuda && measured && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	"github.com/pippin-zk/pippin/kernels/grid/number"
	"github.com/pippin-zk/pippin/kernels/internal/measured"
)

var (
	numbersTimed    = flag.Int("numbers", 0, "logarithm of the words of an operand for TestNumberTimes, such as 26; 0: skipped")
	numbersExponent = flag.Int("exponent", 0, "words of exponents in TestNumberTimes/engines; 0: as many as the modulus has")
	numbersRecord   = flag.String("record", "", "file for the record of TestNumberTimes")
)

// timedNumbers is a run of the record: milliseconds of one launch over n numbers of
// so many bits, events around it; bytes is what it must at least move.
type timedNumbers struct {
	Op       string  `json:"op"`
	Kernel   string  `json:"kernel"`
	Operands string  `json:"operands"`
	Bits     int     `json:"bits"`
	N        int     `json:"n"`
	Threads  int     `json:"threads"` // a number, or of the CPU
	Bytes    int64   `json:"bytes"`
	Count    int     `json:"count"`
	MinMS    float64 `json:"min_ms"`
	MedianMS float64 `json:"median_ms"`
	Checked  bool    `json:"checked"`
	Watts    float64 `json:"watts,omitempty"` // of the card, while it does nothing else
	Joules   float64 `json:"joules_per_1000,omitempty"`
}

// bench is a device, the runs so far, and three operands of as many words.
type numberBench struct {
	*device
	runs    []timedNumbers
	words   int
	a, b, z driver.Span
	r       *rand.Rand
}

// time measures run, which queues on the stream, and adds it to the record; what it
// returns is there.
func (b *numberBench) time(r timedNumbers, run func()) *timedNumbers {
	b.Helper()
	from, err := b.NewEvent(true)
	b.must(err)
	defer from.Close()
	to, err := b.NewEvent(true)
	b.must(err)
	defer to.Close()
	return b.measured(r, func() float64 {
		b.must(b.stream.Record(from))
		run()
		b.must(b.stream.Record(to))
		b.must(to.Synchronize())
		took, err := to.Elapsed(from)
		b.must(err)
		return milliseconds(took)
	})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// measured adds to the record what run says that it took, in milliseconds, after two
// runs to warm up.
func (b *numberBench) measured(r timedNumbers, run func() float64) *timedNumbers {
	b.Helper()
	r.Op, r.Count = "number", 9
	var all []float64
	for i := range r.Count + 2 {
		if took := run(); i >= 2 {
			all = append(all, took)
		}
	}
	slices.Sort(all)
	r.MinMS, r.MedianMS = all[0], all[len(all)/2]
	if !r.Checked {
		b.Errorf("%s %s %d bits: wrong", r.Kernel, r.Operands, r.Bits)
	}
	b.Logf("%-16s %-16s %10d bits, %9d numbers: min %.4f median %.4f ms, %.0f GB/s, %.4g M/s", r.Kernel,
		r.Operands, r.Bits, r.N, r.MinMS, r.MedianMS,
		float64(r.Bytes)/r.MinMS/1e6, float64(r.N)/r.MinMS/1e3)
	b.runs = append(b.runs, r)
	return &b.runs[len(b.runs)-1]
}

// energy repeats run for about two seconds, asks nvidia-smi for the card's power
// meanwhile, and notes the median of the answers in the second half. Without nvidia-smi
// it notes nothing.
func (b *numberBench) energy(r *timedNumbers, run func()) {
	b.Helper()
	smi := exec.Command("nvidia-smi", "--id=0", "--query-gpu=power.draw.instant", "--format=csv,noheader,nounits", "--loop-ms=50")
	var out bytes.Buffer
	smi.Stdout = &out
	if smi.Start() != nil {
		return
	}
	for began := time.Now(); time.Since(began) < 2*time.Second; {
		run()
		b.must(b.stream.Synchronize())
	}
	b.must(smi.Process.Kill())
	_ = smi.Wait() // it was killed
	var watts []float64
	for line := range strings.Lines(out.String()) {
		if w, err := strconv.ParseFloat(strings.TrimSpace(line), 64); err == nil {
			watts = append(watts, w)
		}
	}
	if watts = watts[len(watts)/2:]; len(watts) == 0 {
		return
	}
	slices.Sort(watts)
	r.Watts = watts[len(watts)/2]
	r.Joules = r.Watts * r.MinMS / float64(r.N)
	b.Logf("%-16s %10d bits: %.0f W, %.3g J a thousand", r.Kernel, r.Bits, r.Watts, r.Joules)
}

// queue starts a kernel and does not wait for it.
func (b *numberBench) queue(f *driver.Function, threads, blocks, bytes int, p kernels.Params) {
	b.Helper()
	var params []driver.Param
	for _, w := range p.Words() {
		params = append(params, driver.Param(w))
	}
	b.must(f.Launch(b.stream, driver.Launch{Grid: driver.Dim{X: blocks}, Block: driver.Dim{X: threads}, Shared: bytes}, params...))
}

// write fills an operand.
func (b *numberBench) write(s driver.Span, f func(i int) uint32) {
	const part = 1 << 22
	for from := 0; from < b.words; from += part {
		n := min(part, b.words-from)
		bytes := make([]byte, 0, 4*n)
		for i := from; i < from+n; i++ {
			w := f(i)
			bytes = append(bytes, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
		}
		b.must(b.stream.Write(s.Slice(4*int64(from), int64(len(bytes))), bytes))
	}
}

// some returns the words of number i of a span.
func (b *numberBench) some(s driver.Span, i, words int) *big.Int {
	return integer(b.read(s.Slice(4*int64(i*words), 4*int64(words))))
}

// TestNumberTimes measures the kernels over numbers on the card and writes a record;
// scripts/long bench-numbers-cuda calls it; its parts are tests of it, so that -run chooses.
// A few answers of every run are compared with
// math/big; all answers are the other tests' to compare.
func TestNumberTimes(t *testing.T) {
	if *numbersTimed == 0 {
		t.Skip("no -numbers given")
	}
	b := &numberBench{device: open(t), words: 1 << *numbersTimed, r: rand.New(rand.NewPCG(1, 1))}
	for _, s := range []*driver.Span{&b.a, &b.b, &b.z} {
		m, err := b.Alloc(4 * int64(b.words))
		b.must(err)
		*s = m.Span()
	}
	random := func(int) uint32 { return b.r.Uint32() }
	part := func(name string, f func()) {
		t.Run(name, func(t *testing.T) {
			b.device.T = t
			f()
		})
		b.device.T = t
	}
	part("additions", func() {
		for _, o := range []struct {
			name string
			a, b func(i int) uint32
		}{
			{"random", random, random},
			{"all ones, one", func(int) uint32 { return 0xffffffff }, func(i int) uint32 { return uint32(1 / (i + 1)) }},
			{"runs", func(i int) uint32 { return uint32(i/4096%2) * 0xffffffff }, func(i int) uint32 { return uint32(1 / (i + 1)) }},
		} {
			b.write(b.a, o.a)
			b.write(b.b, o.b)
			for _, total := range []int{min(b.words, 1<<24), b.words} {
				b.addition(o.name, total)
			}
		}
	})
	b.write(b.a, random)
	b.write(b.b, random)
	part("binary", b.binary)
	part("powers", b.powers)
	part("engines", b.engines)
	if *numbersRecord == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(map[string]any{
		"machine": map[string]any{
			"gpu": b.Info().Name, "cuda_driver": b.Info().String(), "kernels": kernels.Digest(), "cores": runtime.NumCPU(),
			"go": runtime.Version(), "time": time.Now().UTC().Format(time.RFC3339),
		},
		"runs": b.runs,
	}, "", "  ")
	if err == nil {
		err = os.WriteFile(*numbersRecord, append(text, '\n'), 0o644)
	}
	b.must(err)
}

// addition measures sums of so many words in all, as numbers of several lengths.
func (b *numberBench) addition(operands string, total int) {
	k := number.ForCommon()
	add, reference := function(b.device, k.LongAdd.Entry), function(b.device, measured.ForCommon().LongReference.Entry)
	tiles := (total + number.LongTile - 1) / number.LongTile
	m, err := b.Alloc(4 * int64((tiles+3)/4*4))
	b.must(err)
	defer m.Free()
	for _, words := range []int{64, 1 << 11, 1 << 16, total} {
		n := total / words
		c, err := b.Alloc(4 * int64(n))
		b.must(err)
		r := timedNumbers{Kernel: "long_add", Operands: operands, Bits: 32 * words, N: n, Threads: 0, Bytes: 12 * int64(total)}
		run := func() {
			b.must(b.stream.Fill(m.Span(), 0))
			b.queue(add, k.LongAdd.Threads, tiles, 0, number.LongAdd{
				A: at(b.a), B: at(b.b), R: at(b.z), N: n * words, Length: words, Carries: at(c.Span()), States: at(m.Span()),
			})
		}
		run()
		r.Checked = b.sums(n, words)
		b.time(r, run)
		if words == number.LongReferenceWords {
			r.Kernel = "long_reference"
			run = func() {
				b.queue(reference, measured.ForCommon().LongReference.Threads, n, 0, measured.LongReference{
					A: at(b.a), B: at(b.b), R: at(b.z), Length: words, Carries: at(c.Span()),
				})
			}
			run()
			r.Checked = b.sums(n, words)
			b.time(r, run)
		}
		if words == number.LongReferenceWords || words == total {
			b.additionOnCores(operands, total, words)
		}
		b.must(c.Free())
	}
}

// additionOnCores measures the same sums on all cores of the machine, operands in its
// memory. The sums that the card has just computed are compared with these, all of them.
func (b *numberBench) additionOnCores(operands string, total, words int) {
	of := func(s driver.Span) []uint64 {
		w := make([]uint64, 0, total/2)
		const part = 1 << 22
		for from := 0; from < total; from += part {
			for half := range slices.Chunk(b.read(s.Slice(4*int64(from), 4*int64(min(part, total-from)))), 2) {
				w = append(w, uint64(half[1])<<32|uint64(half[0]))
			}
		}
		return w
	}
	x, y, onCard := of(b.a), of(b.b), of(b.z)
	z := make([]uint64, len(x))
	r := timedNumbers{Kernel: "cpu_add", Operands: operands, Bits: 32 * words, N: total / words,
		Threads: runtime.GOMAXPROCS(0), Bytes: 12 * int64(total)}
	sumOnCores(z, x, y, words/2)
	r.Checked = slices.Equal(z, onCard)
	b.measured(r, func() float64 {
		from := time.Now()
		sumOnCores(z, x, y, words/2)
		return milliseconds(time.Since(from))
	})
}

// sums compares some sums, of the lowest words where numbers are long.
func (b *numberBench) sums(n, words int) bool {
	compared := min(words, 1<<20)
	for range 4 {
		i := b.r.IntN(n)
		low := func(s driver.Span) *big.Int { return integer(b.read(s.Slice(4*int64(i*words), 4*int64(compared)))) }
		want := low(b.a)
		want.Add(want, low(b.b))
		if want.SetBit(want, 32*compared, 0).Cmp(low(b.z)) != 0 {
			return false
		}
	}
	return true
}

func (b *numberBench) binary() {
	for _, bits := range []int{32, 64, 96, 128, 192, 256, 512, 1024, 2048} {
		k, _ := number.ForBinary(fmt.Sprint(bits))
		words := bits / 32
		n := b.words / words
		mul, sqr := function(b.device, k.BinaryMul.Entry), function(b.device, k.BinarySqr.Entry)
		bytes, row := 2*stagedRow(bits, number.BinaryStaged), stagedRow(bits, number.BinarySquares)
		b.must(sqr.SetMaxDynamicShared(row))
		b.must(mul.SetMaxDynamicShared(bytes))
		each := max(1, 4/words)
		blocks := (n + each*number.BinaryThreads - 1) / (each * number.BinaryThreads)
		check := func(other driver.Span) bool {
			for range 4 {
				i := b.r.IntN(n)
				if binaryProduct(bits, b.some(b.a, i, words), b.some(other, i, words)).Cmp(b.some(b.z, i, words)) != 0 {
					return false
				}
			}
			return true
		}
		r := timedNumbers{Kernel: "binary_mul", Operands: "random", Bits: bits, N: n, Threads: 1, Bytes: 12 * int64(n*words)}
		run := func() {
			b.queue(mul, k.BinaryMul.Threads, blocks, bytes, number.BinaryMul{A: at(b.a), B: at(b.b), R: at(b.z), N: n})
		}
		run()
		r.Checked = check(b.b)
		b.time(r, run)
		r.Kernel, r.Bytes = "binary_sqr", 8*int64(n*words)
		run = func() {
			b.queue(sqr, k.BinarySqr.Threads, blocks, row, number.BinarySqr{A: at(b.a), R: at(b.z), N: n})
		}
		run()
		r.Checked = check(b.a)
		b.time(r, run)
		rows, _ := measured.ForBinary(fmt.Sprint(bits))
		b.sliced(rows, bits, n, check)
	}
}

// sliced measures seed 001's products, operands in registers and in shared memory.
func (b *numberBench) sliced(k measured.Binary, bits, n int, check func(other driver.Span) bool) {
	all := 16 * bits * k.SlicedShared.Threads / 32
	for _, form := range []struct {
		name string
		kernels.Entry
		bytes int
	}{{"sliced_registers", k.SlicedRegisters.Entry, all}, {"sliced_shared", k.SlicedShared.Entry, all}} {
		if form.name == "sliced_registers" && bits <= number.SlicedMost {
			form.bytes = 0
		}
		f := function(b.device, form.Entry)
		b.must(f.SetMaxDynamicShared(form.bytes))
		resident, err := f.Occupancy(form.Threads, form.bytes)
		b.must(err)
		run := func() {
			b.queue(f, form.Threads, resident*b.Info().Multiprocessors, form.bytes, measured.SlicedRegisters{
				A: at(b.a), B: at(b.b), R: at(b.z), N: n,
			})
		}
		run()
		b.time(timedNumbers{Kernel: form.name, Operands: "random", Bits: bits, N: n, Threads: 1,
			Bytes: 12 * int64(n*bits/32), Checked: check(b.b)}, run)
	}
}

// doubles are the kernels of powers in double precision.
var doubles = []struct{ bits, threads, samples int }{{1024, 1, 20}, {1536, 2, 16}, {2048, 4, 10}, {3072, 4, 16}, {4096, 4, 20}}

// powers measures a wave of numbers and four: latency, and throughput. The exponents
// are as long as the modulus, which is one for all.
func (b *numberBench) powers() {
	one := function(b.device, number.ForCommon().PowerOne.Entry)
	for _, c := range doubles {
		k, _ := number.ForModulus(fmt.Sprint(c.bits), fmt.Sprint(c.threads))
		f := function(b.device, k.Power.Entry)
		words := c.bits / 32
		resident, err := f.Occupancy(k.Power.Threads, 0)
		b.must(err)
		blocks := resident * b.Info().Multiprocessors
		p := moduli(b.r, c.bits)[0]
		modulus, ones := b.device.words(words, wordsOf(p, words)...), b.device.words(words)
		b.queue(one, number.ForCommon().PowerOne.Threads, 1, 0, number.PowerOne{
			P: at(modulus), One: at(ones), N: 1, Length: words, Bits: number.PowerSampleBits * c.threads * c.samples,
		})
		table, err := b.Alloc(8 * int64(blocks*k.Power.Threads*number.PowerEntries*c.samples))
		b.must(err)
		for _, waves := range []int{1, 4} {
			n := min(waves*blocks*k.Power.Threads/c.threads, b.words/words)
			r := timedNumbers{Kernel: "power", Operands: "random", Bits: c.bits, N: n, Threads: c.threads, Bytes: 12 * int64(n*words)}
			run := func() {
				b.queue(f, k.Power.Threads, blocks, 0, number.Power{X: at(b.a), E: at(b.b), P: at(modulus), One: at(ones), R: at(b.z), N: n,
					ExponentWords: words, ExponentStep: words, Table: at(table.Span())})
			}
			run()
			r.Checked = true
			for range 4 {
				i := b.r.IntN(n)
				want := new(big.Int).Exp(b.some(b.a, i, words), b.some(b.b, i, words), p)
				r.Checked = r.Checked && want.Cmp(b.some(b.z, i, words)) == 0
			}
			if timed := b.time(r, run); waves > 1 {
				b.energy(timed, run)
			}
		}
		b.must(table.Free())
	}
}

// engines measures powers, and Montgomery products and squares, by every engine that has
// a width: a thread a number, groups of threads, double precision, a block a number; and
// logs what they compute a second beside each other. The modulus is one for all, the
// exponents are as long as it.
func (b *numberBench) engines() {
	const waves = 4
	table := []string{fmt.Sprintf("%5s  %-7s %s", "bits", "", "M/s")}
	for _, words := range []int{8, 16, 32, 48, 64, 96, 128} {
		lines := map[string]string{}
		p := moduli(b.r, 32*words)[0]
		modulus := b.device.words(words, wordsOf(p, words)...)
		square := b.device.words(words, wordsOf(factor(p, words), words)...)
		inverse := new(big.Int).ModInverse(new(big.Int).Lsh(big.NewInt(1), uint(32*words)), p)
		exponent := words
		if *numbersExponent > 0 {
			exponent = min(words, *numbersExponent)
		}
		bad := b.device.words(number.NumberReasons)
		// measure has run compute n numbers, compares some and logs a figure.
		measure := func(what, engine, kernel string, threads, n int, run func(n int), want func(i int) *big.Int) {
			n = min(n, b.words/words)
			run(n)
			r := timedNumbers{Kernel: kernel, Operands: what, Bits: 32 * words, N: n, Threads: threads, Bytes: 12 * int64(n*words), Checked: true}
			for range 4 {
				i := b.r.IntN(n)
				r.Checked = r.Checked && want(i).Cmp(b.some(b.z, i, words)) == 0
			}
			timed := b.time(r, func() { run(n) })
			lines[what] += fmt.Sprintf("  %s %.4g", engine, float64(n)/timed.MedianMS/1e3)
		}
		operand := func(s driver.Span, i int) *big.Int { return b.some(s, i, words) }
		power := func(i int) *big.Int {
			e := integer(b.read(b.b.Slice(4*int64(i*words), 4*int64(exponent))))
			return e.Exp(operand(b.a, i), e, p)
		}
		montgomery := func(with driver.Span) func(i int) *big.Int {
			return func(i int) *big.Int {
				x := operand(b.a, i)
				return x.Mod(x.Mul(x.Mul(x, operand(with, i)), inverse), p)
			}
		}
		resident := func(f *driver.Function, threads, bytes int) int {
			n, err := f.Occupancy(threads, bytes)
			b.must(err)
			return n * b.Info().Multiprocessors
		}
		scratch := func(words int) *driver.Memory {
			m, err := b.Alloc(4 * int64(words))
			b.must(err)
			return m
		}
		// A thread a number or several: the kernels' parameters are the same.
		held := func(engine string, threads int, powers, residues kernels.Entry) {
			f, g := function(b.device, powers), function(b.device, residues)
			blocks := resident(f, powers.Threads, 0)
			m := scratch(blocks * powers.Threads * number.PowerEntries * words / threads)
			measure("power", engine, powers.Symbol, threads, waves*blocks*powers.Threads/threads, func(n int) {
				b.queue(f, powers.Threads, min(blocks, (n*threads+powers.Threads-1)/powers.Threads), 0,
					number.NarrowPower{A: at(b.a), AStep: words, E: at(b.b),
						ExponentWords: exponent, ExponentStep: words, Moduli: at(modulus), Factors: at(square),
						R: at(b.z), N: n, Table: at(m.Span()), Bad: at(bad)})
			}, power)
			b.must(m.Free())
			all := b.words / words
			blocks = resident(g, residues.Threads, 0)
			call := number.NarrowResidue{
				Op: number.NumberMontgomery, A: at(b.a), AStep: words, B: at(b.b), BStep: words, Moduli: at(modulus), R: at(b.z), Bad: at(bad),
			}
			products := func(n int) {
				call.N = n
				b.queue(g, residues.Threads, min(waves*blocks, (n*threads+residues.Threads-1)/residues.Threads), 0, call)
			}
			measure("product", engine, residues.Symbol, threads, all, products, montgomery(b.b))
			call.B, call.BStep = 0, 0
			measure("square", engine, residues.Symbol, threads, all, products, montgomery(b.a))
		}
		if k, ok := number.ForNarrow(fmt.Sprint("n", words)); ok {
			held("narrow", 1, k.NarrowPower.Entry, k.NarrowResidue.Entry)
		}
		for _, g := range groupings {
			if g.words == words {
				k, _ := number.ForGrouped(fmt.Sprint("g", words), fmt.Sprint(g.threads))
				held(fmt.Sprintf("grouped by %d", g.threads), g.threads, k.GroupedPower.Entry, k.GroupedResidue.Entry)
			}
		}
		for _, c := range doubles {
			if c.bits != 32*words {
				continue
			}
			k, _ := number.ForModulus(fmt.Sprint(c.bits), fmt.Sprint(c.threads))
			one, f := number.ForCommon().PowerOne, function(b.device, k.Power.Entry)
			ones := b.device.words(words)
			b.queue(function(b.device, one.Entry), one.Threads, 1, 0, number.PowerOne{
				P: at(modulus), One: at(ones), N: 1, Length: words, Bits: number.PowerSampleBits * c.threads * c.samples,
			})
			blocks := resident(f, k.Power.Threads, 0)
			m := scratch(2 * blocks * k.Power.Threads * number.PowerEntries * c.samples)
			measure("power", "double", k.Power.Symbol, c.threads, waves*blocks*k.Power.Threads/c.threads, func(n int) {
				b.queue(f, k.Power.Threads, blocks, 0, number.Power{X: at(b.a), E: at(b.b), P: at(modulus), One: at(ones), R: at(b.z), N: n,
					ExponentWords: exponent, ExponentStep: words, Table: at(m.Span())})
			}, power)
			b.must(m.Free())
		}
		k := number.ForCommon()
		begin, steps := function(b.device, k.WidePowerBegin.Entry), function(b.device, k.WidePower.Entry)
		residues := function(b.device, k.WideResidue.Entry)
		threads, bytes := (words+31)/32*32, 4*(number.WideRoom+number.WideArrays*words)
		blocks := resident(steps, threads, bytes)
		m := scratch(blocks * words * (number.PowerEntries + 1))
		measure("power", "wide", k.WidePower.Symbol, threads, blocks, func(n int) {
			b.queue(begin, threads, n, bytes, number.WidePowerBegin{
				A: at(b.a), AStep: words, Moduli: at(modulus), Length: words, N: n, States: at(m.Span()), Bad: at(bad),
			})
			windows := exponent * 32 / number.PowerWindow
			b.queue(steps, threads, n, bytes, number.WidePower{E: at(b.b), ExponentWords: exponent,
				ExponentStep: words, Moduli: at(modulus), R: at(b.z),
				Length: words, N: n, From: windows, Windows: windows, Last: true, States: at(m.Span())})
		}, power)
		b.must(m.Free())
		call := number.WideResidue{Op: number.NumberMontgomery, A: at(b.a), AWords: words, AStep: words,
			B: at(b.b), BStep: words, Moduli: at(modulus), R: at(b.z), Length: words, Bad: at(bad)}
		blocks = resident(residues, threads, bytes)
		products := func(n int) {
			call.N = n
			b.queue(residues, threads, min(n, blocks), bytes, call)
		}
		measure("product", "wide", k.WideResidue.Symbol, threads, b.words/words, products, montgomery(b.b))
		call.B, call.BStep = 0, 0
		measure("square", "wide", k.WideResidue.Symbol, threads, b.words/words, products, montgomery(b.a))
		for _, what := range []string{"power", "product", "square"} {
			table = append(table, fmt.Sprintf("%5d  %-7s%s", 32*words, what, lines[what]))
		}
	}
	b.Log(strings.Join(append([]string{"engines"}, table...), "\n"))
}
