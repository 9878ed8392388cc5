// Package bounded has a log in which nobody can write as much as he likes.
package bounded

import (
	"log/slog"
	"sync"
	"time"
)

// Each party may cause mostLines in a window. Lines beyond that are counted, and the next line that
// is written says how many there were.
const (
	mostLines = 10
	window    = time.Minute
)

// mostParties is how many parties are told apart at a time. Those that come then share a bound.
const mostParties = 1000

// Log passes on warnings that others cause: clients, who can repeat what they are warned of.
// Safe for concurrent use.
type Log struct {
	to *slog.Logger

	mu      sync.Mutex
	parties map[string]*party
}

// party is somebody who causes lines.
type party struct {
	began time.Time // the window
	lines int       // that were written in it
	held  int       // that were not, since the last one that was
}

// New returns a log that passes on to another one.
func New(to *slog.Logger) *Log { return &Log{to: to, parties: map[string]*party{}} }

// Warn writes a warning that somebody has caused, unless he has caused too many.
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

// may counts a line, and reports whether it is to be written and how many before it were not.
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

// party returns what is known of somebody. It forgets those who have caused nothing for a window
// when there are many.
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
