package cli

import (
	"context"
	"fmt"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/progress"
)

// Watched does something that takes long with a progress bar and notes on
// stderr. When ctx ended it, the error says how much there is.
func Watched[R any](ctx context.Context, a *App, do func(bench.Progress, func(note string)) ([]R, error)) ([]R, error) {
	bar := progress.New(a.Stderr)
	a.bar.Store(bar)
	results, err := do(bar.Set, a.Note)
	bar.Close()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %d results so far", len(results))
	}
	return results, err
}
