package cluster

import (
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// Usage sums up the ended jobs of one client.
type Usage struct {
	Proved    uint64 `json:"proved"`
	Dead      uint64 `json:"dead"`
	Cancelled uint64 `json:"cancelled"`
	Late      uint64 `json:"late"`
	// Milliseconds is how long workers had these jobs, Card how long backends computed for them,
	// both in milliseconds. Tries that did not end a job do not count.
	Milliseconds float64 `json:"ms"`
	Card         float64 `json:"card_ms"`
}

// Outcomes returns the number of jobs by outcome: proved, dead, cancelled, late.
func (u Usage) Outcomes() map[string]uint64 {
	return map[string]uint64{
		string(wire.Proved): u.Proved, string(wire.Failed): u.Dead, string(wire.Cancelled): u.Cancelled, string(wire.Late): u.Late,
	}
}

// Cost is the time that a job took from the worker that ended it.
type Cost = wire.Cost

// Ledger records what each tenant has used, and when each key was last needed, by TENANT.DIGEST.
type Ledger struct {
	Clients map[string]Usage     `json:"clients"`
	Keys    map[string]time.Time `json:"keys"`
	// Names are the names that an operator gave to tenants.
	Names map[string]string `json:"names,omitempty"`
	// At is when the ledger was written, by the same clock as the times in Keys.
	At time.Time `json:"at,omitzero"`
}

// Add adds another ledger to l. l's maps must not be nil.
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

// Waiting counts the waiting jobs of one client and one priority.
type Waiting struct {
	Tenant   string    `json:"tenant"`
	Priority int       `json:"priority"`
	Jobs     int       `json:"jobs"`
	Since    time.Time `json:"since"` // when the oldest was queued, by the manager's clock
}

// Figures are the facts that a manager knows about its cluster, for metrics.
type Figures struct {
	Leads  bool      // this manager hands out jobs; if not, Queue and Held are empty and Ledger has Names only
	Queue  []Waiting // jobs that wait for their turn
	Held   int       // jobs that wait until others are proved
	Ledger Ledger
	// Usage returns the clients' usage at the time of the call. It is nil if another manager knows
	// that.
	Usage   func() map[string]Usage
	Taken   map[string]int // results that were taken and are not removed yet, by tenant
	Ready   uint64         // jobs that are handed out but not taken by a worker yet
	InHand  int            // jobs that workers have
	Workers []Worker
	Silent  []string // connected workers that do not answer
	Streams []Stored
	At      time.Time // when the figures were collected
}

// Stored says how full a stream is.
type Stored struct {
	Name     string // without pippin_
	Tenant   string // owner of the stream, empty if all tenants share it
	Messages uint64
	Bytes    uint64
	Room     int64 // most bytes that it may have; below 1 means no bound
}

// Name returns the tenant's name for people, or the tenant itself if it has none.
func (l Ledger) Name(tenant string) string {
	if name, has := l.Names[tenant]; has {
		return name
	}
	return tenant
}
