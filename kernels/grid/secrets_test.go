//go:build cuda && cgo && linux && (amd64 || arm64) && measured

package grid_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	"github.com/pippin-zk/pippin/kernels/grid/number"
)

var (
	secretLaunches = flag.Bool("secrets", false, "run TestSecretLaunches, for ncu to count what kernels do")
	secretCounts   = flag.String("counts", "", "what ncu counted of TestSecretLaunches, in CSV, for TestSecretCounts")
	secretRecord   = flag.String("secrets-record", "", "file for the record of TestSecretCounts")
)

// secret is an operand and an exponent that must not show, as functions of a modulus
// and of how many words an exponent has.
type secret struct {
	name   string
	base   func(r *rand.Rand, p *big.Int) *big.Int
	expand func(r *rand.Rand, words int) []uint32
}

func secrets() []secret {
	random := func(r *rand.Rand, p *big.Int) *big.Int {
		x := integer(filled(len(p.Bits())*2+2, func(int) uint32 { return r.Uint32() }))
		return x.Mod(x, p)
	}
	number := func(v int64) func(*rand.Rand, *big.Int) *big.Int {
		return func(_ *rand.Rand, p *big.Int) *big.Int { x := big.NewInt(v); return x.Mod(x, p) }
	}
	same := func(w uint32) func(*rand.Rand, int) []uint32 {
		return func(_ *rand.Rand, words int) []uint32 { return filled(words, func(int) uint32 { return w }) }
	}
	any := func(r *rand.Rand, words int) []uint32 { return filled(words, func(int) uint32 { return r.Uint32() }) }
	one := func(_ *rand.Rand, words int) []uint32 {
		return filled(words, func(i int) uint32 { return uint32(1 / (i + 1)) })
	}
	return []secret{
		{"random, all ones", random, same(0xffffffff)},
		{"random, 1", random, one},
		{"random, random", random, any},
		{"random, sparse", random, func(_ *rand.Rand, words int) []uint32 {
			return filled(words, func(i int) uint32 { return uint32(i%2) << 31 })
		}},
		{"random, 0", random, same(0)},
		{"1, random", number(1), any},
		{"0, random", number(0), any},
		{"p-1, random", number(-1), any},
		{"random, random", random, any}, // the same as often before
		{"random, random", random, any},
	}
}

// TestSecretLaunches runs each kernel that takes secrets once for each of secrets, with
// the same moduli, widths and counts: what a profiler counts of the launches of one
// kernel is the same, or its secrets show. scripts/count-secrets has ncu count. Answers
// are compared.
func TestSecretLaunches(t *testing.T) {
	if !*secretLaunches {
		t.Skip("no -secrets given")
	}
	const n, exponentWords = 64, 3
	d := open(t)
	for _, s := range secrets() {
		r := rand.New(rand.NewPCG(3, 3)) // public values are the same for all
		hidden := rand.New(rand.NewPCG(uint64(len(s.name)), uint64(s.name[0])))
		operands := func(words int) (p *big.Int, xs, es []*big.Int, x, e driver.Span) {
			p = moduli(r, 32*words)[1]
			p.SetBit(p, 32*words-1, 1)
			for range n {
				xs, es = append(xs, s.base(hidden, p)), append(es, integer(s.expand(hidden, exponentWords)))
			}
			return p, xs, es, d.words(n*words, packed(xs, words)...), d.words(n*exponentWords, packed(es, exponentWords)...)
		}
		check := func(what string, z driver.Span, words int, want func(i int) *big.Int) {
			got := d.read(z)
			for i := range n {
				if integer(got[i*words:(i+1)*words]).Cmp(want(i)) != 0 {
					t.Fatalf("%s, %s: number %d is wrong", what, s.name, i)
				}
			}
		}
		bad := d.words(number.NumberReasons)
		refill := func() { d.must(d.stream.Fill(bad, 0xff)) }
		for _, c := range doubles {
			k, _ := number.ForModulus(fmt.Sprint(c.bits), fmt.Sprint(c.threads))
			words := c.bits / 32
			p, xs, es, x, e := operands(words)
			modulus, ones, z := d.words(words, wordsOf(p, words)...), d.words(words), d.words(n*words)
			launch(d, number.ForCommon().PowerOne, 1, 1, number.PowerOne{
				P: at(modulus), One: at(ones), N: 1, Length: words, Bits: number.PowerSampleBits * c.threads * c.samples,
			})
			blocks := n * c.threads / k.Power.Threads
			table := d.words(max(blocks, 1) * k.Power.Threads * number.PowerEntries * c.samples * 2)
			launch(d, k.Power, max(blocks, 1), 1, number.Power{X: at(x), E: at(e), P: at(modulus), One: at(ones), R: at(z), N: n,
				ExponentWords: exponentWords, ExponentStep: exponentWords, Table: at(table)})
			check(k.Power.Symbol, z, words, func(i int) *big.Int { return new(big.Int).Exp(xs[i], es[i], p) })
		}
		for _, words := range []int{4, 8, 16, 32} {
			k, _ := number.ForNarrow(fmt.Sprint("n", words))
			p, xs, es, x, e := operands(words)
			square := new(big.Int).Lsh(big.NewInt(1), uint(64*words))
			modulus, factor, z := d.words(words, wordsOf(p, words)...), d.words(words, wordsOf(square.Mod(square, p), words)...), d.words(n*words)
			table := d.words(k.NarrowPower.Threads * number.PowerEntries * words)
			refill()
			launch(d, k.NarrowPower, 1, 1, number.NarrowPower{A: at(x), AStep: words, E: at(e),
				ExponentWords: exponentWords, ExponentStep: exponentWords,
				Moduli: at(modulus), Factors: at(factor), R: at(z), N: n, Table: at(table), Bad: at(bad)})
			check(k.NarrowPower.Symbol, z, words, func(i int) *big.Int { return new(big.Int).Exp(xs[i], es[i], p) })
			launch(d, k.NarrowResidue, 1, 1, number.NarrowResidue{Op: number.NumberMul, A: at(x), AStep: words, B: at(x), BStep: words,
				Moduli: at(modulus), Factors: at(factor), R: at(z), N: n, Bad: at(bad)})
			check(k.NarrowResidue.Symbol, z, words, func(i int) *big.Int { y := new(big.Int).Mul(xs[i], xs[i]); return y.Mod(y, p) })
		}
		for _, c := range groupings {
			k, words := grouped(t, c.words, c.threads), c.words
			p, xs, es, x, e := operands(words)
			modulus, f, z := d.words(words, wordsOf(p, words)...), d.words(words, wordsOf(factor(p, words), words)...), d.words(n*words)
			blocks := max(n*c.threads/k.GroupedPower.Threads, 1)
			table := d.words(blocks * k.GroupedPower.Threads * number.PowerEntries * words / c.threads)
			refill()
			launch(d, k.GroupedPower, blocks, 1, number.GroupedPower{A: at(x), AStep: words, E: at(e),
				ExponentWords: exponentWords, ExponentStep: exponentWords,
				Moduli: at(modulus), Factors: at(f), R: at(z), N: n, Table: at(table), Bad: at(bad)})
			check(k.GroupedPower.Symbol, z, words, func(i int) *big.Int { return new(big.Int).Exp(xs[i], es[i], p) })
			launch(d, k.GroupedResidue, blocks, 1, number.GroupedResidue{Op: number.NumberMul, A: at(x), AStep: words, B: at(x), BStep: words,
				Moduli: at(modulus), Factors: at(f), R: at(z), N: n, Bad: at(bad)})
			check(k.GroupedResidue.Symbol, z, words, func(i int) *big.Int { y := new(big.Int).Mul(xs[i], xs[i]); return y.Mod(y, p) })
		}
		k := number.ForCommon()
		const words = 40
		p, xs, es, x, e := operands(words)
		modulus, z := d.words(words, wordsOf(p, words)...), d.words(n*words)
		shared := 4 * (number.WideRoom + number.WideArrays*words)
		wide := func(e kernels.Entry, params kernels.Params) {
			launchShaped(d, function(d, e), driver.Launch{Grid: driver.Dim{X: n}, Block: driver.Dim{X: 64}, Shared: shared}, params)
		}
		refill()
		states := d.words(n * words * (number.PowerEntries + 1))
		wide(k.WidePowerBegin.Entry, number.WidePowerBegin{
			A: at(x), AStep: words, Moduli: at(modulus), Length: words, N: n, States: at(states), Bad: at(bad),
		})
		windows := exponentWords * 32 / number.PowerWindow
		wide(k.WidePower.Entry, number.WidePower{E: at(e), ExponentWords: exponentWords, ExponentStep: exponentWords,
			Moduli: at(modulus), R: at(z),
			Length: words, N: n, From: windows, Windows: windows, Last: true, States: at(states)})
		check(k.WidePower.Symbol, z, words, func(i int) *big.Int { return new(big.Int).Exp(xs[i], es[i], p) })
		wide(k.WideResidue.Entry, number.WideResidue{Op: number.NumberInverse, A: at(x), AWords: words,
			AStep: words, Moduli: at(modulus), R: at(z),
			Length: words, N: n, Bad: at(bad)})
		check(k.WideResidue.Symbol, z, words, func(i int) *big.Int {
			if y := new(big.Int).ModInverse(xs[i], p); y != nil {
				return y
			}
			return new(big.Int)
		})
	}
}

// shows is a kernel that TestSecretLaunches has run with numbers of several lengths, so
// that it is seen that counts can differ.
var shows = number.ForCommon().PowerOne.Symbol

// Metrics that are recorded and say nothing of the time that a secret takes: how many
// threads had their predicate set, which is a select that was compiled to a move; and
// conflicts of banks, which differ by a few for the same secrets too, since warps meet.
// Whether they do is in the record.
var unjudged = []string{"smsp__thread_inst_executed_pred_on.sum", "l1tex__data_bank_conflicts_pipe_lsu.sum"}

// TestSecretCounts compares what was counted of the launches of each kernel.
func TestSecretCounts(t *testing.T) {
	if *secretCounts == "" {
		t.Skip("no -counts given")
	}
	f, err := os.Open(*secretCounts)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := countsOf(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		switch {
		case c.Kernel == shows && c.Metric == "smsp__inst_executed.sum" && c.Same:
			t.Errorf("%s executes as much for numbers of other lengths: what is counted?", c.Kernel)
		case c.Kernel == shows || slices.Contains(unjudged, c.Metric):
		case c.Launches != len(secrets()):
			t.Errorf("%s: %s of %d launches, want %d", c.Kernel, c.Metric, c.Launches, len(secrets()))
		case !c.Same:
			t.Errorf("%s: %s is %v to %v: secrets show", c.Kernel, c.Metric, c.Least, c.Most)
		}
	}
	if len(all) == 0 {
		t.Error("nothing was counted")
	}
	if *secretRecord != "" && !t.Failed() {
		if err := writeCounts(*secretRecord, open(t).Info().Name, all); err != nil {
			t.Fatal(err)
		}
	}
}

// writeCounts writes a record.
func writeCounts(file, gpu string, all []*counted) error {
	text, err := json.MarshalIndent(map[string]any{
		"machine": map[string]any{"gpu": gpu, "kernels": kernels.Digest(), "time": time.Now().UTC().Format(time.RFC3339)},
		"runs":    all,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
