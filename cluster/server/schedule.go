package server

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// schedule decides which job is next.
//
// Between clients virtual time decides. A job moves its client's time forward by the job's cost
// divided by the client's share, and the client whose time is least is next (start-time fair
// queueing; Goyal, Vin and Cheng 1996). So clients that have work get cards in proportion to their
// shares, whatever their jobs cost. What one client does not use goes to the others.
//
// Among the jobs of one client the highest priority is next, then the earliest deadline, then the
// job that came first.
//
// A schedule has no clock and does no I/O.
type schedule struct {
	shares  map[string]float64 // by tenant: the part of 1 that is reserved for it
	clients map[string]*client
	out     map[string]turn // jobs begun and not ended, by ID
	now     float64         // virtual time of the client served last
}

// client is what a schedule knows of a tenant.
type client struct {
	tenant string
	jobs   jobQueue
	at     float64 // its virtual time
	mean   float64 // mean cost of its jobs in milliseconds; 0 until one has ended
	out    int     // jobs begun and not ended
}

// turn is what a client was charged when its job was begun.
type turn struct {
	client   *client
	estimate float64
	weight   float64
}

// waiting is a job in the queue.
type waiting struct {
	job   wire.Job
	seq   uint64    // in the stream of the queue
	since time.Time // when it was queued, by this process's clock
	until time.Time // after this it is too late to begin it, by the same clock; zero is never
}

// late reports whether it is too late to begin the job.
func (w *waiting) late(now time.Time) bool { return !w.until.IsZero() && now.After(w.until) }

// newSchedule returns an empty schedule. shares are parts of 1, by tenant.
func newSchedule(shares map[string]float64) *schedule {
	return &schedule{shares: shares, clients: map[string]*client{}, out: map[string]turn{}}
}

// unknownCost is the cost assumed for a client's jobs until one has ended.
const unknownCost = 1 // ms

// leftOver is the weight that clients without a share divide if everything is reserved: they get
// what the others do not use.
const leftOver = 1e-6

func (s *schedule) client(tenant string) *client {
	c := s.clients[tenant]
	if c == nil {
		c = &client{tenant: tenant}
		s.clients[tenant] = c
	}
	return c
}

// active reports whether a client has jobs.
func (c *client) active() bool { return c.out > 0 || len(c.jobs) > 0 }

// add puts a job into the queue.
func (s *schedule) add(w *waiting) {
	c := s.client(wire.TenantOfJob(w.job.ID))
	if !c.active() {
		c.at = max(c.at, s.now) // idle time is not saved up
	}
	heap.Push(&c.jobs, w)
}

// weight returns the weight of a client, a part of 1: its share, or an equal part of what is not
// reserved for others.
func (s *schedule) weight(c *client) float64 {
	if share, has := s.shares[c.tenant]; has {
		return share
	}
	rest, others := 1.0, 0
	for _, share := range s.shares {
		rest -= share
	}
	for tenant, other := range s.clients {
		if _, has := s.shares[tenant]; !has && (other == c || other.active()) {
			others++
		}
	}
	return max(rest, leftOver) / float64(others)
}

// next takes the next job from the queue and charges its client. It returns nil if there is none.
func (s *schedule) next() *waiting {
	var c *client
	for _, other := range s.clients {
		if len(other.jobs) > 0 && (c == nil || cmp.Or(cmp.Compare(other.at, c.at), cmp.Compare(other.tenant, c.tenant)) < 0) {
			c = other
		}
	}
	if c == nil {
		return nil
	}
	w := heap.Pop(&c.jobs).(*waiting)
	s.now = max(s.now, c.at)
	s.begin(c, w.job.ID)
	return w
}

// begin charges a client with a job.
func (s *schedule) begin(c *client, id string) {
	if _, known := s.out[id]; known {
		return
	}
	t := turn{c, cmp.Or(c.mean, unknownCost), s.weight(c)}
	c.at += t.estimate / t.weight
	c.out++
	s.out[id] = t
}

// ended notes that a job has ended, and its cost in milliseconds. Jobs that this schedule has not
// begun, such as those from before a restart, count too.
func (s *schedule) ended(id string, cost float64) {
	t, known := s.out[id]
	if !known {
		c := s.client(wire.TenantOfJob(id))
		t = turn{client: c, weight: s.weight(c)}
		c.out++
	}
	delete(s.out, id)
	t.client.out--
	t.client.at += (cost - t.estimate) / t.weight
	const part = 0.1 // weight of the newest cost in the mean
	if t.client.mean == 0 {
		t.client.mean = cost
	} else if cost > 0 {
		t.client.mean += part * (cost - t.client.mean)
	}
}

// remove takes a job from the queue that must not be begun. It returns nil if it is not there.
func (s *schedule) remove(id string) *waiting {
	c := s.client(wire.TenantOfJob(id))
	i := slices.IndexFunc(c.jobs, func(w *waiting) bool { return w.job.ID == id })
	if i < 0 {
		return nil
	}
	return heap.Remove(&c.jobs, i).(*waiting)
}

// late takes the jobs from the queue that are too late to be begun.
func (s *schedule) late(now time.Time) (all []*waiting) {
	for _, c := range s.clients {
		n := len(all)
		c.jobs = slices.DeleteFunc(c.jobs, func(w *waiting) bool {
			late := w.late(now)
			if late {
				all = append(all, w)
			}
			return late
		})
		if len(all) > n {
			heap.Init(&c.jobs)
		}
	}
	return all
}

// waits returns how many jobs are in the queue.
func (s *schedule) waits() (n int) {
	for _, c := range s.clients {
		n += len(c.jobs)
	}
	return n
}

// jobQueue is a heap of jobs. The first one is next.
type jobQueue []*waiting

func (q jobQueue) Len() int      { return len(q) }
func (q jobQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q jobQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(b.job.Priority, a.job.Priority), earlier(a.until, b.until), cmp.Compare(a.seq, b.seq)) < 0
}

// earlier compares deadlines. A zero time is no deadline and comes last.
func earlier(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}

func (q *jobQueue) Push(w any) { *q = append(*q, w.(*waiting)) }

func (q *jobQueue) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return w
}
