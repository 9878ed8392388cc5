// Package progress tells people how far something is that takes long.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
)

// A Bar draws one line that is drawn over and over, for work that takes longer than
// after. On anything but a terminal it writes a line now and then.
type Bar struct {
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
	after     = 2 * time.Second
	every     = 200 * time.Millisecond
	cells     = 20
	lineEvery = 30 * time.Second // between lines in a pipe or a file
)

// New begins to draw on w, until Close.
func New(w io.Writer) *Bar {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return begin(w, every, false)
	}
	return begin(w, lineEvery, true)
}

func begin(w io.Writer, pause time.Duration, lines bool) *Bar {
	p := &Bar{w: w, lines: lines, start: time.Now(), stop: make(chan struct{})}
	p.ended.Go(func() {
		tick := time.NewTicker(pause)
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

// Set says that done of total units of a stage are finished.
func (p *Bar) Set(stage string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stage != p.stage {
		p.stage, p.since = stage, time.Now()
	}
	p.done, p.total = done, total
}

func (p *Bar) draw(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || p.stage == "" || now.Sub(p.start) < after {
		return
	}
	line := barLine(p.stage, p.done, p.total, now.Sub(p.since))
	if p.lines {
		fmt.Fprintln(p.w, "msm:", line)
		return
	}
	if n := table.Fit(p.w).Width; n > 1 {
		line = line[:min(len(line), n-1)] // a line that wraps cannot be drawn over
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	p.drawn = true
}

// barLine returns such as "[#####...............]  25 % bn254 g1 2^20 uniform (12s)".
func barLine(stage string, done, total int, took time.Duration) string {
	if total <= 0 {
		done, total = 0, 1
	}
	done = min(max(done, 0), total)
	full := cells * done / total
	return fmt.Sprintf("[%s%s] %3d %% %s (%v)", strings.Repeat("#", full), strings.Repeat(".", cells-full),
		100*done/total, stage, took.Round(time.Second))
}

// Clear removes the line, so that something else can be written.
func (p *Bar) Clear() {
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

// Doing returns the stage that was set last.
func (p *Bar) Doing() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stage
}

// Close removes the line for good.
func (p *Bar) Close() {
	if p.w == nil {
		return
	}
	close(p.stop)
	p.ended.Wait()
	p.Clear()
	p.w = nil
}
