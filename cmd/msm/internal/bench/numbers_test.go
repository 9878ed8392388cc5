package bench

import (
	"bytes"
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/benchtest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report/plots"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/record"
)

// oddNumbers is a backend of which each product modulo m is wrong.
type oddNumbers struct{ benchtest.Vectors }

func (b oddNumbers) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	for i, s := range steps {
		if c, ok := s.(backend.Compute); ok && c.Op == backend.NumMulMod {
			c.Op = backend.NumMontMul
			steps[i] = c
		}
	}
	return b.Programs().Run(ctx, steps)
}

func numbersOpener(odd bool) func(context.Context, string) (backend.Backend, error) {
	return func(context.Context, string) (backend.Backend, error) {
		if odd {
			return oddNumbers{benchtest.Vectors{Backend: cpu.New(cpu.Options{})}}, nil
		}
		return cpu.New(cpu.Options{}), nil
	}
}

// TestNumbers runs every operation, with two backends in turns, and writes the table.
func TestNumbers(t *testing.T) {
	cfg := Numbers{Common: Common{Open: numbersOpener(false), Backends: []string{"a", "b"}, Count: 2, Seed: 3},
		Ops: backend.NumberOps(), Bits: []int{96}, Sizes: []int{5}, Check: true}
	runs, infos, err := Measure(t.Context(), &cfg)
	if err != nil || len(runs) != 4*len(cfg.Ops) || len(infos) != 2 {
		t.Fatalf("%d runs on %d backends: %v", len(runs), len(infos), err)
	}
	for _, r := range runs {
		if !r.Checked || r.Wrong != 0 || len(r.Samples) != 2 || r.Median <= 0 || r.N != 5 {
			t.Errorf("%+v", r)
		}
	}
	var b bytes.Buffer
	if err := cfg.Sheet().Write(&b, table.Form{}, record.Record[report.Run]{Runs: runs}); err != nil ||
		!strings.Contains(b.String(), "expmod") || !strings.Contains(b.String(), "resident") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestNumbersThatAreWrong(t *testing.T) {
	ops := []backend.NumberOp{backend.NumMulMod, backend.NumAddMod}
	cfg := Numbers{Common: Common{Open: numbersOpener(true), Backends: []string{"odd"}, Count: 1},
		Ops: ops, Bits: []int{64}, Sizes: []int{3}, Check: true}
	runs, _, err := Measure(t.Context(), &cfg)
	if !errors.Is(err, ErrWrong) || len(runs) != 4 || runs[0].Wrong != 2 || runs[1].Wrong != 2 || runs[2].Wrong != 0 {
		t.Errorf("%v, %+v", err, runs)
	}
	// A sample finds it too, and says how much it compared.
	cfg.Sizes, cfg.Check = []int{40}, false
	runs, _, err = Measure(t.Context(), &cfg)
	if !errors.Is(err, ErrWrong) || len(runs) != 4 || runs[0].Wrong != 2 || runs[0].Checked ||
		runs[2].Wrong != 0 || !runs[2].Checked || runs[2].Compared != 40 {
		t.Errorf("a sample: %v, %+v", err, runs)
	}
	verified, err := VerifyNumbers(t.Context(), VerifyNumbersConfig{Open: numbersOpener(true), Backends: []string{"odd"}, Ops: ops, Cases: 10})
	if !errors.Is(err, ErrWrong) || len(verified) != 3 || verified[0].Failed == 0 || verified[1].Failed != 0 || verified[0].Failure == "" {
		t.Errorf("%v, %+v", err, verified)
	}
	if err := (&Numbers{}).Validate(); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
}

// TestNumbersResident times programs of several steps at several sizes, alone, and draws them
// against the size.
func TestNumbersResident(t *testing.T) {
	cfg := Numbers{Common: Common{Open: numbersOpener(false), Backends: []string{"a"}, Count: 1},
		Ops: []backend.NumberOp{backend.NumGFMul, backend.NumSum}, Bits: []int{64, 113},
		Sizes: []int{1, 5, 2000}, Paths: []string{report.Resident}, Steps: 3}
	runs, _, err := Measure(t.Context(), &cfg)
	if err != nil || len(runs) != 12 {
		t.Fatalf("%d runs: %v", len(runs), err)
	}
	for _, r := range runs {
		if r.Inputs[report.InputPath] != report.Resident || r.Sizes["steps"] != 3 ||
			r.Value("words") < float64(2*r.N) || r.What == "gfmul" && (!r.Checked || r.Compared != min(r.N, 64*sampled)) {
			t.Errorf("%+v", r)
		}
	}
	var b bytes.Buffer
	if err := plots.PlotNumbers(&b, "svg", record.Record[report.Run]{Runs: runs}); err != nil ||
		!strings.Contains(b.String(), "elements of a batch") || !strings.Contains(b.String(), "113 bits") {
		t.Errorf("%v\n%s", err, b.String())
	}
	cfg.Sizes, cfg.Words = nil, 64
	if runs, _, err = Measure(t.Context(), &cfg); err != nil || runs[0].N != 32 {
		t.Errorf("%v, %+v", err, runs)
	}
}

// TestNumbersOperands: operands are below their modulus, and have bits up to their width and
// no others.
func TestNumbersOperands(t *testing.T) {
	for _, bits := range []int{2, 31, 32, 33, 64, 113} {
		l := newNumberWork(backend.NumMulMod, bits, 500, 1)
		m := fixtures.FromRaw(l.memory[:4*l.step.M.Words])
		seen := new(big.Int)
		for i := range 500 {
			at := 4 * (l.step.A.Offset + i*l.step.A.Words)
			v := fixtures.FromRaw(l.memory[at : at+4*l.step.A.Words])
			if seen.Or(seen, v); v.Cmp(m) >= 0 {
				t.Fatalf("%x is not below %x", v, m)
			}
		}
		if m.BitLen() != bits || seen.BitLen() != bits {
			t.Errorf("%d bits: a modulus of %d, operands of %d", bits, m.BitLen(), seen.BitLen())
		}
	}
}

func TestVerifyNumbers(t *testing.T) {
	verified, err := VerifyNumbers(t.Context(), VerifyNumbersConfig{
		Open: numbersOpener(false), Backends: []string{"cpu"}, Ops: backend.NumberOps(), Cases: 20,
	})
	if err != nil || len(verified) != len(backend.NumberOps())+1 {
		t.Fatalf("%d kinds: %v", len(verified), err)
	}
	for _, v := range verified {
		if v.Failed != 0 || v.Tried == 0 {
			t.Errorf("%+v", v)
		}
	}
}
