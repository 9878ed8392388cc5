package server

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// view is what one look at the cluster has seen.
type view struct {
	at      time.Time
	missing error // set if a stream or the workers' consumer is missing; the look ended there

	workers  []cluster.Worker // workers that have answered
	silent   []string         // workers that are connected and have not answered
	slots    int              // how many jobs the workers heard of lately can have at a time
	consumer jetstream.ConsumerInfo
	jobs     uint64 // how many are in the workers' stream
	queued   uint64 // how many are in all queues
	streams  []*jetstream.StreamInfo

	leads bool // this manager hands out jobs
	deaf  bool // its dispatcher has not heard of jobs in the queue that it could hand out
}

// memory is what one look leaves to the next.
type memory struct {
	handedOut uint64 // deliveries at the last look
	still     sight  // jobs wait beside free workers, and handedOut does not change
	torn      sight  // the stream has jobs that the consumer does not know of
	deaf      sight  // the queue has jobs that the dispatcher does not know of
	swept     time.Time
	compared  time.Time // when what was handed out was last compared with what is there
}

// plan is what follows from a look.
type plan struct {
	remake  bool // make what is missing, and do nothing else
	inHand  int  // how many jobs the consumer must leave with workers at a time; 0 changes nothing
	reread  bool // read the queue anew
	rebuild bool // make the consumer anew
	release bool // remove results that were taken
	compare bool // hand out again what the workers' stream has lost
	sweep   bool // remove witnesses without a job
}

// decide returns what follows from a look, and what the next look must remember.
func (m Manager) decide(v view, before memory) (plan, memory) {
	if v.missing != nil {
		return plan{remake: true}, before
	}
	p, next := plan{}, before
	if want := max(1, v.slots); v.consumer.Config.MaxAckPending != want || v.consumer.Config.AckWait != wire.AckWait {
		p.inHand = want
	}
	still, torn, deaf := next.see(v)
	switch {
	case deaf > m.Stuck:
		p.reread, next.deaf = true, sight{}
		return p, next
	case max(still, torn) > m.Stuck:
		p.rebuild = true
		return p, next
	}
	if v.leads {
		p.release = true
		if v.at.Sub(next.compared) > m.lost() {
			p.compare, next.compared = true, v.at
		}
	}
	if v.at.Sub(next.swept) > min(m.Orphan, m.KeepDead, time.Minute) {
		p.sweep, next.swept = true, v.at
	}
	return p, next
}

// lost is after how long a job that was handed out counts as lost, if it is neither with the
// workers nor ended.
func (m Manager) lost() time.Duration { return m.Stuck / 3 }

// see notes what is wrong, and returns how long each of three faults has lasted. Only the manager
// that leads mends them, so for others none lasts.
func (m *memory) see(v view) (still, torn, deaf time.Duration) {
	c := v.consumer
	unchanged := c.Delivered.Consumer == m.handedOut
	m.handedOut = c.Delivered.Consumer
	if !v.leads {
		m.still, m.torn, m.deaf = sight{}, sight{}, sight{}
		return 0, 0, 0
	}
	inHand, free := v.hands()
	// What silent workers have in hand is not known.
	waits := c.NumPending > 0 || c.NumAckPending > inHand && len(v.silent) == 0
	still = m.still.look(waits && free > 0 && unchanged, v.at)
	// After a server was killed, a consumer may take jobs for done that are still in the stream.
	torn = m.torn.look(v.jobs > c.NumPending+uint64(c.NumAckPending), v.at)
	return still, torn, m.deaf.look(v.deaf, v.at)
}

// hands returns how many jobs the workers that answered have in hand, and how many more they would
// take.
func (v view) hands() (inHand, free int) {
	for _, w := range v.workers {
		inHand += len(w.InHand)
		if !w.Draining {
			free += w.Jobs - len(w.InHand)
		}
	}
	return inHand, free
}

// sight is the time since which each look has seen a fault. One look is not enough, however long
// ago the one before was, because the things that a look compares are not of one moment.
type sight struct{ since time.Time }

// look notes whether a look has seen the fault, and returns how long it has been there.
func (s *sight) look(there bool, now time.Time) time.Duration {
	switch {
	case !there:
		s.since = time.Time{}
		return 0
	case s.since.IsZero():
		s.since = now
	}
	return now.Sub(s.since)
}
