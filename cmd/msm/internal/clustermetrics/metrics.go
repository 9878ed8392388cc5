// Package clustermetrics has what an operator wants to know of a cluster, for Prometheus: Server
// of its jobs, clients and streams, Worker of what one worker does. docs/howto/cluster.md
// lists the metrics.
package clustermetrics

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pippin-zk/pippin/cluster"
)

// Server collects what a manager has seen last. Its zero value is ready; safe for
// concurrent use.
type Server struct {
	last atomic.Pointer[cluster.Figures]
}

var _ prometheus.Collector = (*Server)(nil)

// Set notes what a manager has seen, for server.Manager.Figures.
func (s *Server) Set(f cluster.Figures) { s.last.Store(&f) }

// fresh is how old what a manager has seen may be: it looks each second, and a look
// takes some.
const fresh = 30 * time.Second

// Ready returns an error unless the manager has looked lately.
func (s *Server) Ready() error {
	f := s.last.Load()
	if f == nil {
		return errors.New("the manager has not looked yet")
	}
	if age := time.Since(f.At); age > fresh {
		return fmt.Errorf("the manager has not looked for %v", age.Round(time.Second))
	}
	return nil
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("pippin_cluster_"+name, help, labels, nil)
}

var (
	leader   = desc("leader", "1 for the manager that hands out jobs, 0 for others.")
	looked   = desc("looked_timestamp_seconds", "When the manager looked last.")
	queued   = desc("queue_jobs", "Jobs that wait for their turn.", "client", "priority")
	oldest   = desc("queue_oldest_timestamp_seconds", "When the oldest job came that waits for its turn.", "client", "priority")
	held     = desc("held_jobs", "Jobs that wait until others are proved.")
	ready    = desc("ready_jobs", "Jobs that are handed out and that no worker has taken.")
	inHand   = desc("in_hand_jobs", "Jobs that workers have.")
	ended    = desc("jobs_total", "Jobs that have ended: proved, dead, cancelled or late.", "client", "outcome")
	backend  = desc("backend_seconds_total", "Time that backends were at the jobs of a client.", "client")
	working  = desc("worker_seconds_total", "Time that workers were at the jobs of a client.", "client")
	workers  = desc("workers", "Workers that are connected: working, draining, or silent, which is connected and does not answer.", "state")
	slots    = desc("slots", "Jobs that all workers together take at a time.")
	returned = desc("worker_returned_total", "Jobs that a worker has given back for reasons of its own.", "worker")
	failed   = desc("worker_failed_total", "Tries of a worker that have failed.", "worker")
	stored   = desc("stored_bytes", "Bytes in a stream, of a client where it has its own.", "stream", "client")
	room     = desc("room_bytes", "Bytes that a stream may have.", "stream", "client")
	messages = desc("stored_messages", "Messages in a stream; in dead they are jobs that may be sent again.", "stream", "client")
	results  = desc("results", "Results that are stored: waiting to be taken, or taken, which are removed a minute later.", "client", "state")
)

// Describe implements prometheus.Collector.
func (s *Server) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{leader, looked, queued, oldest, held, ready, inHand, ended,
		backend, working, workers, slots, returned, failed, stored, room, messages, results} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Server) Collect(to chan<- prometheus.Metric) {
	f := s.last.Load()
	if f == nil {
		return
	}
	send := func(kind prometheus.ValueType, d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) { send(prometheus.GaugeValue, d, v, labels...) }
	counter := func(d *prometheus.Desc, v float64, labels ...string) { send(prometheus.CounterValue, d, v, labels...) }

	leads := 0.0
	if f.Leads {
		leads = 1
	}
	gauge(leader, leads)
	gauge(looked, seconds(f.At))
	for _, w := range f.Queue {
		gauge(queued, float64(w.Jobs), f.Ledger.Name(w.Tenant), strconv.Itoa(w.Priority))
		gauge(oldest, seconds(w.Since), f.Ledger.Name(w.Tenant), strconv.Itoa(w.Priority))
	}
	gauge(held, float64(f.Held))
	gauge(ready, float64(f.Ready))
	gauge(inHand, float64(f.InHand))
	usage := f.Ledger.Clients
	if f.Usage != nil {
		usage = f.Usage() // now, not when the manager looked
	}
	for tenant, u := range usage {
		name := f.Ledger.Name(tenant)
		for outcome, n := range u.Outcomes() {
			counter(ended, float64(n), name, outcome)
		}
		counter(backend, u.Card/1e3, name)
		counter(working, u.Milliseconds/1e3, name)
	}
	states, all := map[string]int{"working": 0, "draining": 0, "silent": len(f.Silent)}, 0
	for _, w := range f.Workers {
		state := "working"
		if w.Draining {
			state = "draining"
		} else {
			all += w.Jobs
		}
		states[state]++
		counter(returned, float64(w.Returned), w.Name)
		counter(failed, float64(w.Failed), w.Name)
	}
	for state, n := range states {
		gauge(workers, float64(n), state)
	}
	gauge(slots, float64(all))
	for _, st := range f.Streams {
		client := f.Ledger.Name(st.Tenant)
		gauge(stored, float64(st.Bytes), st.Name, client)
		gauge(messages, float64(st.Messages), st.Name, client)
		if st.Name == "ends" && f.Leads {
			taken := min(st.Messages, uint64(f.Taken[st.Tenant]))
			gauge(results, float64(st.Messages-taken), client, "waiting")
			gauge(results, float64(taken), client, "taken")
		}
		if st.Room > 0 {
			gauge(room, float64(st.Room), st.Name, client)
		}
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }

// Worker counts what one worker does, for worker.Config.Meter. Safe for concurrent use.
type Worker struct {
	phases   *prometheus.HistogramVec
	jobs     *prometheus.HistogramVec
	tries    *prometheus.CounterVec
	backend  prometheus.Counter
	received prometheus.Counter
}

var _ prometheus.Collector = (*Worker)(nil)

// NewWorker makes metrics of one worker.
func NewWorker() *Worker {
	// 1 ms to 524 s
	buckets := prometheus.ExponentialBuckets(0.001, 2, 20)
	return &Worker{
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pippin_worker_phase_duration_seconds", Buckets: buckets,
			Help: "Duration of the phases of jobs: open (a prover, with fetching keys), witness (waiting for it), unseal, prove, store.",
		}, []string{"phase"}),
		jobs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pippin_worker_job_duration_seconds", Buckets: buckets,
			Help: "Duration of jobs that have ended in this worker, by outcome: proved, dead, cancelled, late.",
		}, []string{"outcome"}),
		tries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pippin_worker_tries_total",
			Help: "Tries that have not ended a job: failed, or returned for reasons of the worker's.",
		}, []string{"outcome"}),
		backend: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pippin_worker_backend_seconds_total",
			Help: "Time that backends were at jobs that have ended here.",
		}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pippin_worker_received_bytes_total",
			Help: "Bytes of witnesses from the server.",
		}),
	}
}

// Phase implements worker.Meter.
func (w *Worker) Phase(phase string, took time.Duration) {
	w.phases.WithLabelValues(phase).Observe(took.Seconds())
}

// Ended implements worker.Meter.
func (w *Worker) Ended(outcome string, cost cluster.Cost) {
	w.jobs.WithLabelValues(outcome).Observe(cost.Milliseconds / 1e3)
	w.backend.Add(cost.Card / 1e3)
}

// Try implements worker.Meter.
func (w *Worker) Try(outcome string) { w.tries.WithLabelValues(outcome).Inc() }

// Received implements worker.Meter.
func (w *Worker) Received(bytes int) { w.received.Add(float64(bytes)) }

func (w *Worker) all() []prometheus.Collector {
	return []prometheus.Collector{w.phases, w.jobs, w.tries, w.backend, w.received}
}

// Describe implements prometheus.Collector.
func (w *Worker) Describe(to chan<- *prometheus.Desc) {
	for _, c := range w.all() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (w *Worker) Collect(to chan<- prometheus.Metric) {
	for _, c := range w.all() {
		c.Collect(to)
	}
}
