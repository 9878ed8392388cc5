package main

import (
	"context"
	"fmt"

	"github.com/pippin-zk/pippin/internal/bench"
	"github.com/pippin-zk/pippin/internal/progress"
	"github.com/pippin-zk/pippin/internal/record"
)

// watched does something that takes long with a progress bar and notes on
// stderr. When ctx ended it, the error says how much there is.
func watched[R any](ctx context.Context, a *app, do func(bench.Progress, func(note string)) ([]R, error)) ([]R, error) {
	bar := progress.New(a.stderr)
	a.bar.Store(bar)
	results, err := do(bar.Set, a.note)
	bar.Close()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %d results so far", len(results))
	}
	return results, err
}

// measured returns the record of what do measures on this machine, with do's error.
func measured[R any](ctx context.Context, a *app, commit string, do func(bench.Progress, func(note string)) ([]R, []record.BackendInfo, error)) (r record.Record[R], err error) {
	r.Machine = record.ThisMachine(commit)
	r.Runs, err = watched(ctx, a, func(tell bench.Progress, note func(string)) (runs []R, err error) {
		runs, r.Machine.Backends, err = do(tell, note)
		return runs, err
	})
	r.Cut = bench.CutBy(ctx, err)
	return r, err
}
