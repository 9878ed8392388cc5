package server

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ages tells for how long messages have been in their streams. A message has a stamp, by the clock
// of the server that led its stream then. That clock may jump, and another server's, which leads
// later, may be an hour off. So ages never compares a stamp with another clock: each look at a
// stream reads the clock that stamps its messages and this process's monotonic one together, and
// where the two have not gone on alike a new reading begins.
//
// It is safe for concurrent use.
type ages struct {
	began   time.Time // zero of this process's clock
	several bool      // there are several servers

	mu      sync.Mutex
	streams map[string]*readings
}

// readings are what looks at a stream have seen of its clock.
type readings struct {
	all  []reading     // the oldest first
	last uint64        // number of the last message at the last look
	at   time.Duration // of the last look
}

// reading is a clock that stamps the messages of a stream, from one of them on.
type reading struct {
	after uint64        // number of the last message that has another one's stamp
	since time.Duration // when that was the last message: those after it are younger
	zero  time.Time     // what the clock said when this process's was 0
}

const (
	driftsBy     = 2 * time.Second // clocks that are as far apart as before, but for this, are the same
	mostReadings = 100             // of a stream; the oldest are forgotten
	ageless      = -1 << 62        // before all messages
)

// newAges begins to look. Where there are several servers, messages that are there already may have
// the stamps of a server that is gone.
func newAges(several bool) *ages {
	return &ages{began: time.Now(), several: several, streams: map[string]*readings{}}
}

// look notes what a stream said of itself just now.
func (a *ages) look(s *jetstream.StreamInfo) { a.note(s, time.Since(a.began)) }

func (a *ages) note(s *jetstream.StreamInfo, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.streams[s.Config.Name]
	if r == nil {
		r = new(readings)
		a.streams[s.Config.Name] = r
		if !a.several {
			r.at = ageless // all stamps are those of one machine
		}
	}
	zero := s.TimeStamp.Add(-now)
	if n := len(r.all); n == 0 || r.all[n-1].zero.Sub(zero).Abs() > driftsBy {
		r.all = append(r.all, reading{r.last, r.at, zero})
	}
	for len(r.all) > mostReadings || len(r.all) > 1 && r.all[1].after < s.State.FirstSeq {
		r.all = r.all[1:]
	}
	r.last, r.at = s.State.LastSeq, now
}

// of returns for how long a message has been in a stream, 0 if nothing is known.
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
		since := by.since
		if seq > r.last {
			since = max(since, r.at)
		}
		return max(0, min(now-stamp.Sub(by.zero), now-since))
	}
	return 0
}

// forget forgets a stream that is not there any more.
func (a *ages) forget(stream string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.streams, stream)
}
