// Package bounded has a log that bounds how much each party can make it write.
package bounded

import (
	"log/slog"
	"sync"
	"time"
)

// Each party may cause mostLines in a window. Further lines are only counted, and the party's next
// line that is written tells their number.
const (
	mostLines = 10
	window    = time.Minute
)

// mostParties bounds the parties that are told apart at a time. Further ones share one bound.
const mostParties = 1000

// Log passes on warnings that others can cause. It bounds them, because a client can repeat what it
// is warned of. Log is safe for concurrent use.
type Log struct {
	to *slog.Logger

	mu      sync.Mutex
	parties map[string]*party
}

// party counts the lines of one who causes them.
type party struct {
	began time.Time // start of the window
	lines int       // written in the window
	held  int       // not written since the last line that was
}

// New returns a Log that passes warnings on to another log.
func New(to *slog.Logger) *Log { return &Log{to: to, parties: map[string]*party{}} }

// Warn writes a warning that who has caused, unless who has used up the window's lines.
func (l *Log) Warn(who, message string, args ...any) { l.warn(time.Now(), who, message, args...) }

func (l *Log) warn(now time.Time, who, message string, args ...any) {
	held, may := l.may(now, who)
	if !may {
		return
	}
	if held > 0 {
		args = append(args, "not_shown", held)
	}
	l.to.Warn(message, args...)
}

// may counts a line and reports whether to write it. held is the number of lines held back before
// it.
func (l *Log) may(now time.Time, who string) (held int, may bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.party(now, who)
	if now.Sub(p.began) >= window {
		p.began, p.lines = now, 0
	}
	if p.lines == mostLines {
		p.held++
		return 0, false
	}
	held, p.held = p.held, 0
	p.lines++
	return held, true
}

// party returns the counts of who. If there are too many parties, it first forgets those whose
// window is over.
func (l *Log) party(now time.Time, who string) *party {
	if p := l.parties[who]; p != nil {
		return p
	}
	if len(l.parties) >= mostParties {
		for name, p := range l.parties {
			if now.Sub(p.began) >= window {
				delete(l.parties, name)
			}
		}
	}
	if len(l.parties) >= mostParties {
		who = ""
		if p := l.parties[who]; p != nil {
			return p
		}
	}
	p := &party{began: now}
	l.parties[who] = p
	return p
}
