package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/progress"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
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

// destination is where a record goes, as the flags of its command say.
type destination struct{ format, out, plot, commit string }

// recorded has do measure on this machine and writes the record: to the file of --out in
// its format, with a table on stdout, or else to stdout; and as a plot, where draw can and
// --plot names a file. It makes the files before, and writes what there is when do fails.
func recorded[R any](ctx context.Context, a *app, to destination, do func(bench.Progress, func(note string)) ([]R, []record.BackendInfo, error),
	write func(io.Writer, table.Form, record.Record[R]) error, draw func(w io.Writer, format string, r record.Record[R]) error) error {
	out, plot, err := createOutputs(ctx, to.out, to.plot)
	if err != nil {
		return err
	}
	defer out.Close()
	defer plot.Close()
	taken, err := measured(ctx, a, to.commit, do)
	if len(taken.Runs) == 0 {
		return err
	}
	text, wanted := reporter(to.format, func(w io.Writer, form table.Form) error { return write(w, form, taken) }, taken.WriteJSON)
	return errors.Join(err, a.deliver(out, text, wanted), plot.Write(func(w io.Writer) error { return draw(w, plotFormat(to.plot), taken) }))
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
