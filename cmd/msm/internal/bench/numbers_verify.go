package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// VerifyNumbersConfig says what VerifyNumbers tries.
type VerifyNumbersConfig struct {
	Open     engine.Opener
	Backends []string
	Ops      []backend.NumberOp
	Cases    int // random programs of each backend
	Seed     uint64
	Long     bool // more widths

	Progress Progress
	Note     func(string)
}

// VerifyNumbers compares operations on numbers, and random programs of them, with
// math/big's answers. Group in the outcomes is "".
func VerifyNumbers(ctx context.Context, cfg VerifyNumbersConfig) (results []Verified, err error) {
	if cfg.Open == nil || len(cfg.Backends) == 0 || len(cfg.Ops) == 0 || cfg.Cases < 0 {
		return nil, fmt.Errorf("%w: nothing to verify: backends and operations must be given", backend.ErrInvalidInput)
	}
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	ref := cpu.NewReference()
	defer ref.Close()
	widths := []int{1, 2, 3, 4, 8, 16, 32, 33, 64}
	if cfg.Long {
		widths = append(widths, 5, 6, 7, 9, 12, 24, 31, 48, 63, 65, 96, 128, 129)
	}
	failed := false
	for _, e := range all {
		var ops []backend.NumberOp
		for _, op := range cfg.Ops {
			if e.info.Can.HasNumbers(op) {
				ops = append(ops, op)
			}
		}
		if len(ops) == 0 {
			if cfg.Note != nil {
				cfg.Note(fmt.Sprintf("backend %s has none of the operations: left out", e.Name))
			}
			continue
		}
		try := func(name string, tries int, program func(i int) *randprog.Program) error {
			r := Verified{Op: OpVerify, Backend: e.Name, Curve: backend.Words.String(), Cases: name}
			var mu sync.Mutex
			err := InFlight(ctx, runtime.GOMAXPROCS(0), tries, func(i int) error {
				err := program(i).Differ(ctx, e.only, ref)
				if ctx.Err() != nil {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				r.Tried++
				if err != nil {
					failed = true
					if r.Failed++; r.Failure == "" {
						r.Failure = err.Error()
					}
				}
				return nil
			})
			if err == nil {
				results = append(results, r)
			}
			return err
		}
		reader := func(seed uint64) *randprog.Numbers {
			return randprog.Read(randprog.Bytes(rand.New(rand.NewPCG(cfg.Seed, seed)), 4000)).Numbers()
		}
		for k, op := range ops {
			cfg.Progress.Tell(e.Name+": numbers", k, len(ops)+1)
			if err := try(op.String(), len(widths), func(i int) *randprog.Program {
				p := reader(uint64(op)<<32 | uint64(widths[i]))
				for _, count := range []int{1, 2, 7} {
					p.Step(op, widths[i], count)
				}
				return &p.Program
			}); err != nil {
				return results, err
			}
		}
		cfg.Progress.Tell(e.Name+": numbers", len(ops), len(ops)+1)
		if err := try("random programs", cfg.Cases, func(i int) *randprog.Program { return reader(uint64(i)).Random(ops) }); err != nil {
			return results, err
		}
		cfg.Progress.Tell(e.Name+": numbers", len(ops)+1, len(ops)+1)
	}
	if failed {
		err = fmt.Errorf("%w: see the cases", ErrWrong)
	}
	return results, err
}
