//go:build cuda

package vector

import (
	"bytes"
	"encoding/json"
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

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/kernels"
)

var (
	record = flag.String("record", "", "file for the record of TestTimes")
	times  = flag.String("times", "", "logarithms of sizes for TestTimes, such as 20,22")
)

// timed is a row of the record that TestTimes writes. It has the milliseconds on the card of one
// step over vectors of n elements, as the mean of repeats steps that follow one another in a
// program. min and median are over programs. bytes and products are what the step must at least
// move and multiply. cpu_ms is the same step on the backend cpu, on all processors of the machine.
type timed struct {
	Op       string  `json:"op"` // "vector"
	Curve    string  `json:"curve"`
	Step     string  `json:"step"`
	N        int     `json:"n"`
	Count    int     `json:"count"`
	Repeats  int     `json:"repeats"`
	Bytes    int64   `json:"bytes"`
	Products int64   `json:"products"`
	MinMS    float64 `json:"min_ms"`
	MedianMS float64 `json:"median_ms"`
	CPUMS    float64 `json:"cpu_ms"`
	Checked  bool    `json:"checked"`
}

// clocked is a step of the record, with what it moves and multiplies for each element.
type clocked struct {
	name            string
	step            backend.Step
	moved, products float64
}

// clocked returns the steps over vectors v of n elements, with a table of indices and those of a
// matrix. They write the last of v.
func (k *card) clocked(v []backend.Range, index, rows, factors, zeros backend.Range) []clocked {
	all := func(r backend.Range) backend.Operand { return backend.Operand{Range: r, Stride: 1} }
	dst, args, n := v[len(v)-1], []backend.Operand{all(v[0]), all(v[1]), all(v[2]), all(v[3])}, v[0].Count
	mapped := func(args []backend.Operand, code ...backend.MapCode) backend.Step {
		return backend.Map{Count: n, Dst: all(dst), Args: args, Constants: k.bytes(big.NewInt(7)), Code: code}
	}
	load := func(i int) backend.MapCode { return backend.MapCode{Op: backend.MapLoad, Arg: i} }
	sub, add, mul := backend.MapCode{Op: backend.MapSub}, backend.MapCode{Op: backend.MapAdd}, backend.MapCode{Op: backend.MapMul}
	// Sixteen products of four vectors, some of them of sums, as in a quotient.
	var long []backend.MapCode
	for i := range 4 {
		long = append(long, load(i), backend.MapCode{Op: backend.MapConst}, mul, load((i+1)%4), add,
			load((i+2)%4), load((i+3)%4), sub, mul, load(i), mul, load((i+1)%4), mul)
		if i > 0 {
			long = append(long, add)
		}
	}
	sparse := func(rows, factors backend.Range) backend.Step {
		return backend.SparseProduct{Dst: dst, Src: v[0], Entries: n, Rows: rows, Columns: index, Factors: factors, Values: part(v[1], 0, 3)}
	}
	z, few := k.bytes(k.any()), v[:4]
	ratio := float64(4) / float64(k.curve.ScalarBytes())
	next := all(v[1])
	next.Rotate = 1
	turned := all(v[1])
	turned.Order = backend.Reversed
	return []clocked{
		{"copy", mapped(args[:1], load(0)), 2, 0},
		{"a - b", mapped(args[:2], load(0), load(1), sub), 3, 0},
		{"a b - c", mapped(args[:3], load(0), load(1), mul, load(2), sub), 4, 1},
		{"a b, b rotated", mapped([]backend.Operand{args[0], next}, load(0), load(1), mul), 3, 1},
		{"a b, b reversed", mapped([]backend.Operand{args[0], turned}, load(0), load(1), mul), 3, 1},
		{"16 products of 4 vectors", mapped(args, long...), 5, 16},
		{"powers", backend.Powers{Dst: dst, First: z, Ratio: z}, 1, 1},
		{"gather at random", backend.Gather{Dst: dst, Src: v[0], Index: index}, 2 + ratio, 0},
		{"sparse product", sparse(rows, factors), 2 + 3*ratio, 0.2},
		{"sparse product, one row", sparse(zeros, factors), 2 + 3*ratio, 0.2},
		{"invert", backend.Invert{Dst: dst, Src: v[0]}, 2, 3},
		{"products", backend.Products{Dst: dst, Src: v[0]}, 2, 1},
		{"divide", backend.Divide{Dst: part(dst, 0, n-1), Src: v[0], Point: z}, 2, 1},
		{"evaluate 4", backend.Evaluate{Src: few, Point: z}, 4, 4},
		{"evaluate 4, reversed", backend.Evaluate{Src: few, Point: z, Order: backend.Reversed}, 4, 4},
	}
}

// TestTimes prints what steps take on the card, compares each with the backend cpu's answers and
// writes a record.
func TestTimes(t *testing.T) {
	if *times == "" {
		t.Skip("no -times given")
	}
	onCPU := cpu.New(cpu.Options{})
	defer onCPU.Close()
	host, _ := backend.As[backend.Programs](onCPU)
	var runs []timed
	var info fmt.Stringer
	var gpu string
	for _, c := range backend.Curves() {
		for s := range strings.SplitSeq(*times, ",") {
			log, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			phases := make(map[string]time.Duration)
			k := open(t, c, device.Options{Trace: cudatest.Phases(phases)})
			info, gpu = k.dev.Driver().Info(), k.dev.Driver().Info().Name
			n := 1 << log
			v := make([]backend.Range, 5)
			for i := range v {
				v[i] = k.space(n)
				k.run(backend.Powers{Dst: v[i], First: k.bytes(k.any()), Ratio: k.bytes(k.any())})
			}
			indices := make([]uint32, n)
			for i := range indices {
				indices[i] = uint32(k.rand.IntN(n))
			}
			// A matrix has four entries a row, and a fifth of its factors are neither 1 nor -1.
			ofRows, ofFactors := make([]uint32, n), make([]uint32, n)
			for i := range ofRows {
				ofRows[i] = uint32(i / 4)
				if ofFactors[i] = uint32(k.rand.IntN(2)); k.rand.IntN(5) == 0 {
					ofFactors[i] = uint32(backend.FactorValue + k.rand.IntN(3))
				}
			}
			var tables []backend.Range
			for _, table := range [][]uint32{ofRows, ofFactors, make([]uint32, n), indices} {
				tables = append(tables, k.space(backend.IndexElements(c, n)))
				k.run(backend.WriteIndices{Dst: tables[len(tables)-1], Indices: table})
			}
			there := k.onHost(t, host, append(slices.Clone(v), tables...), indices)
			for _, s := range k.clocked(v, tables[3], tables[0], tables[1], tables[2]) {
				r := timed{Op: "vector", Curve: c.String(), Step: s.name, N: n, Count: 5, Repeats: 20,
					Bytes: int64(s.moved * float64(n) * float64(c.ScalarBytes())), Products: int64(s.products * float64(n))}
				dst := v[len(v)-1]
				got := k.run(s.step, backend.Read{Src: dst})
				begin := time.Now()
				moved := elsewhere(s.step, there)
				one, err := host.Run(t.Context(), []backend.Step{moved})
				k.must(err)
				r.CPUMS = float64(time.Since(begin)) / float64(time.Millisecond)
				want, err := host.Run(t.Context(), []backend.Step{backend.Read{Src: elsewhereRange(dst, there)}})
				k.must(err)
				r.Checked = bytes.Equal(got[0], one[0]) && bytes.Equal(got[1], want[0])
				if !r.Checked {
					t.Errorf("%v 2^%d %s, seed %d: wrong", c, log, s.name, *seed)
				}
				var all []float64
				for range r.Count {
					k.run(slices.Repeat([]backend.Step{s.step}, r.Repeats)...)
					all = append(all, float64(phases[backend.StepName(s.step)])/float64(r.Repeats)/float64(time.Millisecond))
				}
				slices.Sort(all)
				r.MinMS, r.MedianMS = all[0], all[len(all)/2]
				t.Logf("%v 2^%d %-26s min %.4f median %.4f ms, %5.0f GB/s, %4.1f G products/s, cpu %.1f ms", c, log, s.name, r.MinMS, r.MedianMS,
					float64(r.Bytes)/r.MinMS/1e6, float64(r.Products)/r.MinMS/1e6, r.CPUMS)
				runs = append(runs, r)
			}
			for _, id := range there {
				k.must(host.FreeSpace(t.Context(), id))
			}
			for id, s := range k.spaces {
				k.must(s.Free())
				delete(k.spaces, id)
			}
		}
	}
	if *record == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(map[string]any{
		"machine": map[string]any{
			"gpu": gpu, "cuda_driver": info.String(), "kernels": kernels.Digest(), "cores": runtime.NumCPU(),
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

// onHost copies ranges, which are whole spaces, to spaces of a host. The last of them holds
// indices.
func (k *card) onHost(t *testing.T, host backend.Programs, rs []backend.Range, indices []uint32) map[backend.SpaceID]backend.SpaceID {
	t.Helper()
	there := make(map[backend.SpaceID]backend.SpaceID)
	for i, r := range rs {
		id, err := host.NewSpace(t.Context(), backend.ScalarOf(k.curve), r.Count)
		k.must(err)
		there[r.Space] = id
		var step backend.Step = backend.WriteIndices{Dst: elsewhereRange(r, there), Indices: indices}
		if i < len(rs)-1 {
			step = backend.Write{Dst: elsewhereRange(r, there), Input: backend.Input{Bytes: k.run(backend.Read{Src: r})[0]}}
		}
		_, err = host.Run(t.Context(), []backend.Step{step})
		k.must(err)
	}
	return there
}

// elsewhere returns a step with the spaces of another backend.
func elsewhere(s backend.Step, there map[backend.SpaceID]backend.SpaceID) backend.Step {
	return backend.Renamed(s, func(id backend.SpaceID) backend.SpaceID { return there[id] }, nil)
}

func elsewhereRange(r backend.Range, there map[backend.SpaceID]backend.SpaceID) backend.Range {
	r.Space = there[r.Space]
	return r
}
