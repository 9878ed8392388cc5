package server

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ages tells how long messages have been in their streams.
//
// A message has a stamp by the clock of the server that led its stream at that time. That clock may
// jump, and the clock of a server that leads later may be an hour off. So ages never compares a
// stamp with another clock. Each look at a stream reads two clocks together: the one that stamps
// its messages, and this process's monotonic clock. If one has gone on further than the other since
// the last look, a new reading begins.
//
// It is safe for concurrent use.
type ages struct {
	began   time.Time // zero of this process's clock
	several bool      // the cluster has several servers

	mu      sync.Mutex
	streams map[string]*readings
}

// readings holds what looks at a stream have learned about the clock that stamps its messages.
type readings struct {
	all  []reading     // the oldest first
	last uint64        // number of the last message at the last look
	at   time.Duration // time of the last look
}

// reading is one clock that stamps messages of a stream: those after a certain message.
type reading struct {
	after uint64        // number of the last message with a stamp of the clock before
	since time.Duration // a time when that was the last message; those after it are younger
	to    uint64        // number of the last message when this clock was first read
	seen  time.Duration // the time of that; messages up to it are older, and either clock may have stamped them
	zero  time.Time     // what this clock said when the process's clock was 0
}

const (
	driftsBy     = 2 * time.Second // two readings whose zeros differ by no more are of the same clock
	mostReadings = 100             // of one stream; the oldest are forgotten
	ageless      = -1 << 62        // a time before all messages
)

// newAges returns ages that know no stream. If there are several servers, messages may already be
// there with stamps of a server that is gone.
func newAges(several bool) *ages {
	return &ages{began: time.Now(), several: several, streams: map[string]*readings{}}
}

// look notes what a stream has just said about itself.
func (a *ages) look(s *jetstream.StreamInfo) { a.note(s, time.Since(a.began)) }

func (a *ages) note(s *jetstream.StreamInfo, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.streams[s.Config.Name]
	if r == nil {
		r = new(readings)
		a.streams[s.Config.Name] = r
		if !a.several {
			r.at = ageless // one machine has made all stamps
		}
	}
	zero := s.TimeStamp.Add(-now)
	if n := len(r.all); n == 0 || r.all[n-1].zero.Sub(zero).Abs() > driftsBy {
		r.all = append(r.all, reading{after: r.last, since: r.at, to: s.State.LastSeq, seen: now, zero: zero})
	}
	for len(r.all) > mostReadings || len(r.all) > 1 && r.all[1].after < s.State.FirstSeq {
		r.all = r.all[1:]
	}
	r.last, r.at = s.State.LastSeq, now
}

// of returns how long a message has been in a stream, or 0 if nothing is known.
func (a *ages) of(stream string, seq uint64, stamp time.Time) time.Duration {
	return a.then(stream, seq, stamp, time.Since(a.began))
}

func (a *ages) then(stream string, seq uint64, stamp time.Time, now time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.streams[stream]
	if r == nil {
		return 0
	}
	for i := len(r.all) - 1; i >= 0; i-- {
		by := r.all[i]
		if seq <= by.after && i > 0 {
			continue
		}
		least, most := time.Duration(0), now-by.since
		if seq > r.last {
			most = min(most, now-r.at)
		}
		if seq <= by.to {
			least = now - by.seen
		}
		return max(least, min(now-stamp.Sub(by.zero), most))
	}
	return 0
}

// forget forgets a stream that no longer exists.
func (a *ages) forget(stream string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.streams, stream)
}
