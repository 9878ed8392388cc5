package pippin_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/record"
)

var (
	batches    = flag.Int("batches", 300, "batches of TestNumbersLeaveNothing")
	soakRecord = flag.String("soak", "", "file for a record of TestNumbersLeaveNothing")
)

// soaked is a run of the record: a process's memory in KiB after a third of the batches
// and after all of them.
type soaked struct {
	Op      string  `json:"op"` // "soak"
	Backend string  `json:"backend"`
	Process string  `json:"process"`
	Batches int     `json:"batches"`
	Seconds float64 `json:"seconds"`
	Third   int     `json:"kib_after_a_third"`
	All     int     `json:"kib_after_all"`
}

// residues is count numbers below an odd one, of some bits.
func residues(bits, count int) (a, m *arith.Numbers) {
	a, m = arith.Make(bits, count), arith.Make(bits, 1)
	v := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(bits)), big.NewInt(105))
	m.Set(0, v)
	for i := range count {
		a.Set(i, new(big.Int).Div(v, big.NewInt(int64(i+2))))
	}
	return a, m
}

// TestKilledPluginUnderNumbers kills a plugin at random moments: each call is
// repeated, and no answer is another one.
func TestKilledPluginUnderNumbers(t *testing.T) {
	e := toBeKilled(t)
	a, m := residues(1024, 20)
	c := arith.On(e, arith.Options{Memory: 6 * 3 * 128}) // parts of a few elements
	want, err := c.ExpMod(t.Context(), a, a, m)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Len() {
		if v := new(big.Int).Exp(a.Big(i), a.Big(i), m.Big(0)); want.Big(i).Cmp(v) != 0 {
			t.Fatalf("element %d is wrong before any plugin is killed", i)
		}
	}
	killing(t, func(ctx context.Context) {
		got, err := c.ExpMod(ctx, a, a, m)
		if err != nil || !slices.Equal(got.Words, want.Words) {
			t.Errorf("wrong powers or error: %v", err)
		}
	})
}

// TestPublicNumbers: on the CPU and through a plugin, answers are the same whether operands
// are secret or public, and math/big's.
func TestPublicNumbers(t *testing.T) {
	dir, err := pluginDir()
	if err != nil {
		t.Fatal(err)
	}
	a, m := residues(256, 20)
	b, _ := residues(256, 21)
	b = &arith.Numbers{Width: b.Width, Words: b.Words[b.Width:]}
	long, many := arith.Make(1024, 20), arith.Make(256, 20)
	for i := range 20 {
		long.Set(i, new(big.Int).Exp(a.Big(i), big.NewInt(4), nil))
		many.Set(i, new(big.Int).SetBit(b.Big(i), 0, 1))
	}
	for _, name := range []string{"cpu", *backendName} {
		e, err := engine.New(t.Context(), engine.Config{
			Open: pippin.Opener(pippin.Options{PluginDirs: []string{dir}}), Backend: name, Fallbacks: []string{engine.NoFallback},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		for _, public := range []bool{false, true} {
			c := arith.On(e, arith.Options{Public: public})
			for what, op := range map[string]struct {
				do   func() (*arith.Numbers, error)
				want func(i int) *big.Int
			}{
				"products": {func() (*arith.Numbers, error) { return c.MulMod(t.Context(), a, b, m) }, func(i int) *big.Int {
					return new(big.Int).Mod(new(big.Int).Mul(a.Big(i), b.Big(i)), m.Big(0))
				}},
				"powers": {func() (*arith.Numbers, error) { return c.ExpMod(t.Context(), a, b, m) }, func(i int) *big.Int {
					return new(big.Int).Exp(a.Big(i), b.Big(i), m.Big(0))
				}},
				"inverses": {func() (*arith.Numbers, error) { return c.InvMod(t.Context(), a, m) }, func(i int) *big.Int {
					if v := new(big.Int).ModInverse(a.Big(i), m.Big(0)); v != nil {
						return v
					}
					return new(big.Int)
				}},
				"remainders": {func() (*arith.Numbers, error) { return c.Reduce(t.Context(), long, m) },
					func(i int) *big.Int { return new(big.Int).Mod(long.Big(i), m.Big(0)) }},
				"remainders by many": {func() (*arith.Numbers, error) { return c.Reduce(t.Context(), a, many) },
					func(i int) *big.Int { return new(big.Int).Mod(a.Big(i), many.Big(i)) }},
				"sum of all products": {func() (*arith.Numbers, error) { return c.DotMod(t.Context(), a, b, m) }, func(int) *big.Int {
					sum := new(big.Int)
					for i := range a.Len() {
						sum.Add(sum, new(big.Int).Mul(a.Big(i), b.Big(i)))
					}
					return sum.Mod(sum, m.Big(0))
				}},
			} {
				got, err := op.do()
				if err != nil {
					t.Errorf("%s, %s, public %v: %v", name, what, public, err)
					continue
				}
				for i := range got.Len() {
					if want := op.want(i); got.Big(i).Cmp(want) != 0 {
						t.Errorf("%s, %s, public %v: element %d is %x, want %x", name, what, public, i, got.Big(i), want)
					}
				}
			}
		}
	}
}

// TestNumbersLeaveNothing runs many batches of 1.5 MiB through a plugin, of which no
// memory is left in either process.
func TestNumbersLeaveNothing(t *testing.T) {
	dir, err := pluginDir()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{
		Open: pippin.Opener(pippin.Options{PluginDirs: []string{dir}}), Backend: *backendName, Fallbacks: []string{engine.NoFallback},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	a, m := residues(256, 1<<14)
	c := arith.On(e, arith.Options{})
	pids := append(children(t, program()), os.Getpid())
	before := make([]int, len(pids))
	start := time.Now()
	for i := range *batches {
		if i == *batches/3 {
			for k, pid := range pids {
				before[k] = resident(t, pid)
			}
		}
		if _, err := c.AddMod(t.Context(), a, a, m); err != nil {
			t.Fatal(err)
		}
	}
	var runs []soaked
	for k, pid := range pids {
		after := resident(t, pid)
		process := "plugin"
		if pid == os.Getpid() {
			process = "caller"
		}
		runs = append(runs, soaked{"soak", *backendName, process, *batches, time.Since(start).Seconds(), before[k], after})
		if after > before[k]+100<<10 { // a third of what 200 batches leave
			t.Errorf("process %d has %d KiB after %d batches, %d after a third of them", pid, after, *batches, before[k])
		}
	}
	if s := e.Stats(); s.Sessions != 0 {
		t.Errorf("%d sessions are left", s.Sessions)
	}
	if *soakRecord == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(map[string]any{"machine": record.ThisMachine(""), "runs": runs}, "", "  ")
	if err == nil {
		err = os.WriteFile(*soakRecord, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// resident is a process's memory in KiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(v), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("process %d tells nothing of its memory", pid)
	return 0
}
