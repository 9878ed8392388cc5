package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/pippin-zk/pippin/internal/bench"
	"github.com/pippin-zk/pippin/internal/record"
)

// progressBar draws one line that is drawn over and over, for work that takes longer than
// progressAfter. On anything but a terminal it writes a line now and then.
type progressBar struct {
	w     io.Writer // nil writes nothing
	lines bool      // w is no terminal
	start time.Time
	stop  chan struct{}
	ended sync.WaitGroup

	mu          sync.Mutex
	stage       string
	since       time.Time // of the stage
	done, total int
	drawn       bool
}

const (
	progressAfter = 2 * time.Second
	progressEvery = 200 * time.Millisecond
	progressCells = 20
	progressLine  = 30 * time.Second // between lines in a pipe or a file
)

func newProgress(w io.Writer) *progressBar {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return startProgress(w, progressEvery, false)
	}
	return startProgress(w, progressLine, true)
}

func startProgress(w io.Writer, every time.Duration, lines bool) *progressBar {
	p := &progressBar{w: w, lines: lines, start: time.Now(), stop: make(chan struct{})}
	p.ended.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.draw(time.Now())
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// set is a bench.Progress.
func (p *progressBar) set(stage string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stage != p.stage {
		p.stage, p.since = stage, time.Now()
	}
	p.done, p.total = done, total
}

func (p *progressBar) draw(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || p.stage == "" || now.Sub(p.start) < progressAfter {
		return
	}
	line := barLine(p.stage, p.done, p.total, now.Sub(p.since))
	if p.lines {
		fmt.Fprintln(p.w, "msm:", line)
		return
	}
	if n := width(p.w); n > 1 {
		line = line[:min(len(line), n-1)] // a line that wraps cannot be drawn over
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	p.drawn = true
}

// barLine is such as "[#####...............]  25 % bn254 g1 2^20 uniform (12s)".
func barLine(stage string, done, total int, took time.Duration) string {
	if total <= 0 {
		done, total = 0, 1
	}
	done = min(max(done, 0), total)
	cells := progressCells * done / total
	return fmt.Sprintf("[%s%s] %3d %% %s (%v)", strings.Repeat("#", cells), strings.Repeat(".", progressCells-cells),
		100*done/total, stage, took.Round(time.Second))
}

// clear removes the line, so that something else can be written.
func (p *progressBar) clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// watched does something that takes long with a progress bar and notes on
// stderr. When ctx ended it, the error says how much there is.
func watched[R any](ctx context.Context, a *app, do func(bench.Progress, func(note string)) ([]R, error)) ([]R, error) {
	bar := newProgress(a.stderr)
	a.bar.Store(bar)
	results, err := do(bar.set, a.note)
	bar.close()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %d results so far", len(results))
	}
	return results, err
}

// measured is the record of what do measures on this machine, with do's error.
func measured[R any](ctx context.Context, a *app, commit string, do func(bench.Progress, func(note string)) ([]R, []record.BackendInfo, error)) (r record.Record[R], err error) {
	r.Machine = record.ThisMachine(commit)
	r.Runs, err = watched(ctx, a, func(progress bench.Progress, note func(string)) (runs []R, err error) {
		runs, r.Machine.Backends, err = do(progress, note)
		return runs, err
	})
	r.Cut = bench.CutBy(ctx, err)
	return r, err
}

// doing is the stage that was set last.
func (p *progressBar) doing() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stage
}

// close removes the line for good.
func (p *progressBar) close() {
	if p.w == nil {
		return
	}
	close(p.stop)
	p.ended.Wait()
	p.clear()
	p.w = nil
}
