package main

import (
	"context"
	"fmt"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/progress"
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
