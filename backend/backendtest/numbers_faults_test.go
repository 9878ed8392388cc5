package backendtest

import (
	"context"
	"errors"

	"github.com/pippin-zk/pippin/backend"
)

func numberFaults() []fault {
	with := func(f faultyVectors) func(backend.Backend) backend.Backend {
		return func(b backend.Backend) backend.Backend {
			g := f
			g.Backend = b
			return &g
		}
	}
	run := func(name string, run func(context.Context, backend.Programs, []backend.Step) ([][]byte, error), found ...string) fault {
		return fault{name, found, with(faultyVectors{run: run})}
	}
	instead := func(of, op backend.NumberOp) func(context.Context, backend.Programs, []backend.Step) ([][]byte, error) {
		return eachStep(func(c *backend.Compute) {
			if c.Op == of {
				c.Op = op
			}
		})
	}
	plain := func(err error) error {
		if errors.Is(err, backend.ErrInvalidInput) {
			return backend.ErrInvalidInput
		}
		return err
	}
	var calls crossing
	return []fault{
		{"new words hold something", []string{"spaces of words"}, with(faultyVectors{
			newSpace: func(ctx context.Context, v backend.Programs, e backend.Element, count int) (backend.SpaceID, error) {
				id, err := v.NewSpace(ctx, e, count)
				if err == nil && count > 0 {
					_, err = v.Run(ctx, []backend.Step{backend.Write{Dst: span(id, count-1, 1), Input: backend.Input{Bytes: []byte{0, 0, 0, 1}}}})
				}
				return id, err
			}})},
		run("products are products of Montgomery", instead(backend.NumMulMod, backend.NumMontMul),
			"operations", "wide numbers", "random numbers", "chains"),
		run("inverses are the numbers", instead(backend.NumInvMod, backend.NumFromMont), "operations", "chains"),
		run("carries are forgotten", eachStep(func(c *backend.Compute) { c.Carry = backend.Batch{} }), "operations", "long addition"),
		run("long numbers end early", eachStep(func(c *backend.Compute) {
			if c.Op == backend.NumAdd && c.Dst.Words > 4096 {
				c.Dst.Words, c.A.Words, c.B.Words, c.Dst.Count, c.A.Count, c.B.Count = 4096, 4096, 4096, 1, 1, 1
				c.Carry.Count = 1
			}
		}), "long addition"),
		run("operations write beside their range",
			besides[backend.Compute](func(s backend.Compute) backend.Range { return s.Dst.Range() }, 4), "accesses of numbers"),
		run("wrong operations are passed over", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			answers, err := v.Run(ctx, steps)
			if errors.Is(err, backend.ErrInvalidInput) {
				return answers, nil
			}
			return answers, err
		}, "wrong operations", "wrong values"),
		run("errors name no element", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			answers, err := v.Run(ctx, steps)
			return answers, plain(err)
		}, "wrong operations", "wrong values"),
		run("programs on numbers disturb each other", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			return disturbed(ctx, v, steps, &calls)
		}, "numbers at the same time"),
		run("contexts of numbers are ignored", func(ctx context.Context, v backend.Programs, steps []backend.Step) ([][]byte, error) {
			_, err := v.Run(context.WithoutCancel(ctx), steps[:min(len(steps), 3)])
			if err == nil && ctx.Err() != nil {
				err = backend.ErrInternal
			}
			return make([][]byte, len(steps)), err
		}, "cancelled numbers"),
	}
}
