package server

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestAges: how long a message has been there does not depend on what the clocks of servers say,
// even if they jump by an hour, forward or back, or differ by an hour. The stream's first 10
// messages come a minute before the process begins. The next ones are ten seconds apart, and from
// 30 s on another clock stamps them. Where nobody can know which clock
// stamped it, a message is older than the first look that found it, and younger than the one before.
func TestAges(t *testing.T) {
	const s = time.Second
	jumped := []time.Duration{0, 10 * s, 20 * s, 31 * s, 50 * s}
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC) // when the process begins, by the first clock
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		clock := func(at time.Duration) time.Time {
			if at >= 30*s {
				return noon.Add(at + by)
			}
			return noon.Add(at)
		}
		for name, c := range map[string]struct {
			several     bool
			looks       []time.Duration
			seq         uint64
			stamp       time.Time
			least, most time.Duration // at 60 s
		}{
			"before the jump":                           {false, jumped, 11, clock(5 * s), 55 * s, 55 * s},
			"after it":                                  {false, jumped, 15, clock(45 * s), 15 * s, 15 * s},
			"there first, one machine":                  {false, []time.Duration{0, 31 * s}, 10, clock(-60 * s), 120 * s, 120 * s},
			"there first, several":                      {true, []time.Duration{0, 31 * s}, 10, noon.Add(-60*s + by), 0, 60 * s},
			"there first, several that agree":           {true, []time.Duration{0}, 10, clock(-60 * s), 60 * s, 60 * s},
			"another server leads since the last look":  {true, []time.Duration{0, 10 * s, 20 * s}, 14, clock(35 * s), 0, 40 * s},
			"a stream that nobody has looked at":        {true, nil, 14, clock(35 * s), 0, 0},
			"before another server led":                 {true, []time.Duration{0, 10 * s, 31 * s, 50 * s}, 11, clock(5 * s), 55 * s, 55 * s},
			"between the looks before and after it led": {true, []time.Duration{0, 10 * s, 31 * s, 50 * s}, 13, clock(25 * s), 29 * s, 50 * s},
			"what the one that leads then has taken":    {true, []time.Duration{0, 10 * s, 31 * s, 50 * s}, 15, clock(45 * s), 15 * s, 15 * s},
		} {
			a := newAges(c.several)
			for _, at := range c.looks {
				a.note(&jetstream.StreamInfo{
					Config: jetstream.StreamConfig{Name: "queue"}, TimeStamp: clock(at),
					State: jetstream.StreamState{LastSeq: 10 + uint64((at+5*s)/(10*s)), FirstSeq: 1},
				}, at)
			}
			if got := a.then("queue", c.seq, c.stamp, 60*s); got < c.least || got > c.most {
				t.Errorf("%v, %s: %v, want %v to %v", by, name, got, c.least, c.most)
			}
		}
	}
}

// TestAgesAreBounded: neither a clock that jumps at each look nor one that drifts fills the memory.
func TestAgesAreBounded(t *testing.T) {
	a := newAges(true)
	for i := range 10 * mostReadings {
		at := time.Duration(i) * time.Second
		a.note(&jetstream.StreamInfo{
			Config: jetstream.StreamConfig{Name: "wild"}, TimeStamp: time.Unix(int64(i*i), 0), State: jetstream.StreamState{LastSeq: uint64(i)},
		}, at)
		a.note(&jetstream.StreamInfo{
			Config: jetstream.StreamConfig{Name: "even"}, TimeStamp: time.Unix(int64(i), 0), State: jetstream.StreamState{LastSeq: uint64(i)},
		}, at)
	}
	if wild, even := len(a.streams["wild"].all), len(a.streams["even"].all); wild > mostReadings || even != 1 {
		t.Errorf("%d and %d readings", wild, even)
	}
}

// TestLedgerOfAnotherClock: a manager that takes over converts to its own clock when keys were
// used, whatever the clock of the manager before said.
func TestLedgerOfAnotherClock(t *testing.T) {
	now := time.Now()
	for _, by := range []time.Duration{time.Hour, -time.Hour, time.Second} {
		l := ledgerText{}
		l.At, l.Keys = now.Add(-by), map[string]time.Time{"k": now.Add(-by - time.Minute)}
		l.shift(now.Sub(l.At))
		if ago := now.Sub(l.Keys["k"]); (ago - time.Minute).Abs() > driftsBy {
			t.Errorf("a clock that is %v behind: the key was used %v ago", by, ago)
		}
	}
}
