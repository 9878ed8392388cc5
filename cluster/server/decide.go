package server

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// view is what one look has seen of the cluster.
type view struct {
	at      time.Time
	missing error // a stream or the workers' consumer is not there; then nothing else was looked at

	workers  []cluster.Worker // those that have answered
	silent   []string         // those that are connected and have not
	slots    int              // jobs that the workers heard of lately can have at a time
	consumer jetstream.ConsumerInfo
	jobs     uint64 // in the workers' stream
	queued   uint64 // in all queues
	streams  []*jetstream.StreamInfo

	leads bool // this manager hands out jobs
	deaf  bool // its dispatcher could hand out jobs that are in the queue, and does not know of them
}

// memory is what looks remember.
type memory struct {
	handedOut uint64 // deliveries at the last look
	still     sight  // of jobs that wait beside free workers while that does not change
	torn      sight  // of jobs that the consumer does not know of
	deaf      sight  // of jobs that the dispatcher does not know of
	swept     time.Time
	compared  time.Time // what was handed out, with what is there
}

// plan is what follows from a look.
type plan struct {
	remake  bool // make the streams that are missing, and nothing else
	inHand  int  // jobs that the consumer is to leave with workers at a time; 0 if it does already
	reread  bool // read the queue anew
	rebuild bool // make the consumer anew
	release bool // remove results that were taken
	compare bool // hand out again what the workers' stream has lost
	sweep   bool // remove witnesses without a job
}

// decide says what follows from a look, and what the next one has to know of it.
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

// lost is how long after it was handed out a job counts as lost that is neither with the
// workers nor ended.
func (m Manager) lost() time.Duration { return m.Stuck / 3 }

// see notes what is wrong, and returns for how long it has been. Only the manager that leads
// does something about it.
func (m *memory) see(v view) (still, torn, deaf time.Duration) {
	c := v.consumer
	unchanged := c.Delivered.Consumer == m.handedOut
	m.handedOut = c.Delivered.Consumer
	if !v.leads {
		m.still, m.torn, m.deaf = sight{}, sight{}, sight{}
		return 0, 0, 0
	}
	inHand, free := v.hands()
	// What is in the hands of those that do not answer is not known.
	waits := c.NumPending > 0 || c.NumAckPending > inHand && len(v.silent) == 0
	still = m.still.look(waits && free > 0 && unchanged, v.at)
	// After a server was killed a consumer may take jobs for done that are there.
	torn = m.torn.look(v.jobs > c.NumPending+uint64(c.NumAckPending), v.at)
	return still, torn, m.deaf.look(v.deaf, v.at)
}

// hands returns how many jobs the workers that answer have, and how many more they would take.
func (v view) hands() (inHand, free int) {
	for _, w := range v.workers {
		inHand += len(w.InHand)
		if !w.Draining {
			free += w.Jobs - len(w.InHand)
		}
	}
	return inHand, free
}

// sight is since when each look has seen something. One look is not enough, however long ago
// the look before was: what it compares is not of one moment.
type sight struct{ since time.Time }

// look takes what a look has seen, and returns for how long that has been there.
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
