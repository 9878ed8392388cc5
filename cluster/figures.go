package cluster

import (
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// Usage is what the jobs of one client came to.
type Usage struct {
	Proved    uint64 `json:"proved"`
	Dead      uint64 `json:"dead"`
	Cancelled uint64 `json:"cancelled"`
	Late      uint64 `json:"late"`
	// Milliseconds is how long workers were at them, Card how long backends were. Tries
	// that did not end a job are not in.
	Milliseconds float64 `json:"ms"`
	Card         float64 `json:"card_ms"`
}

// Outcomes returns how many jobs ended how: proved, dead, cancelled, late.
func (u Usage) Outcomes() map[string]uint64 {
	return map[string]uint64{
		string(wire.Proved): u.Proved, string(wire.Failed): u.Dead, string(wire.Cancelled): u.Cancelled, string(wire.Late): u.Late,
	}
}

// Cost is what a job cost the worker that ended it.
type Cost = wire.Cost

// Ledger is what clients have used, by tenant, and when each key was needed last, by
// TENANT.DIGEST.
type Ledger struct {
	Clients map[string]Usage     `json:"clients"`
	Keys    map[string]time.Time `json:"keys"`
	// Names are those that an operator gave to tenants.
	Names map[string]string `json:"names,omitempty"`
	// At is when all of this was so, by the clock that the times in Keys are of.
	At time.Time `json:"at,omitzero"`
}

// Add adds what another ledger has. l's maps must not be nil.
func (l *Ledger) Add(more Ledger) {
	for tenant, u := range more.Clients {
		has := l.Clients[tenant]
		l.Clients[tenant] = Usage{has.Proved + u.Proved, has.Dead + u.Dead, has.Cancelled + u.Cancelled, has.Late + u.Late,
			has.Milliseconds + u.Milliseconds, has.Card + u.Card}
	}
	for key, at := range more.Keys {
		if at.After(l.Keys[key]) {
			l.Keys[key] = at
		}
	}
	if more.Names != nil {
		l.Names = more.Names
	}
}

// Count adds the end of a tenant's job.
func (l *Ledger) Count(tenant string, c wire.Cost) {
	u := l.Clients[tenant]
	switch c.Outcome {
	case wire.Proved:
		u.Proved++
	case wire.Outcome(wire.Cancelled):
		u.Cancelled++
	case wire.Outcome(wire.Late):
		u.Late++
	default:
		u.Dead++
	}
	u.Milliseconds += c.Milliseconds
	u.Card += c.Card
	l.Clients[tenant] = u
}

// Waiting are the jobs of a client that wait and have one priority.
type Waiting struct {
	Tenant   string    `json:"tenant"`
	Priority int       `json:"priority"`
	Jobs     int       `json:"jobs"`
	Since    time.Time `json:"since"` // the oldest, by the clock of the manager
}

// Figures are what a manager knows of its cluster, for metrics.
type Figures struct {
	Leads  bool      // this manager hands out jobs; else what follows up to Ledger is empty
	Queue  []Waiting // jobs that wait for their turn
	Held   int       // jobs that wait until others are proved
	Ledger Ledger
	// Usage returns what clients' jobs have come to at the time of the call; nil if another
	// manager knows.
	Usage   func() map[string]Usage
	Taken   map[string]int // results that were taken and are still there, by tenant
	Ready   uint64         // jobs that are handed out and that no worker has taken
	InHand  int            // jobs that workers have
	Workers []Worker
	Silent  []string // workers that are connected and do not answer
	Streams []Stored
	At      time.Time // when this was so
}

// Stored is how full a stream is.
type Stored struct {
	Name     string // without pippin_
	Tenant   string // whose stream it is, empty if it is everybody's
	Messages uint64
	Bytes    uint64
	Room     int64 // bytes that it may have, below 1 without a bound
}

// Name returns what people call a tenant.
func (l Ledger) Name(tenant string) string {
	if name, has := l.Names[tenant]; has {
		return name
	}
	return tenant
}
