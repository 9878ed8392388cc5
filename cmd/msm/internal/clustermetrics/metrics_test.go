package clustermetrics_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/worker"
	"github.com/pippin-zk/pippin/cmd/msm/internal/clustermetrics"
)

var _ worker.Meter = (*clustermetrics.Worker)(nil)

func TestServer(t *testing.T) {
	s := new(clustermetrics.Server)
	if s.Ready() == nil {
		t.Error("it is ready before anybody has looked")
	}
	s.Set(cluster.Figures{At: time.Now().Add(-time.Minute)})
	if s.Ready() == nil {
		t.Error("it is ready when nobody has looked for long")
	}
	s.Set(cluster.Figures{
		Leads: true, Held: 8, Ready: 2, InHand: 3, At: time.Now(),
		Queue: []cluster.Waiting{{Tenant: "U1", Priority: 5, Jobs: 7, Since: time.UnixMilli(1500)}},
		Ledger: cluster.Ledger{
			Names: map[string]string{"U1": "alice"}, Clients: map[string]cluster.Usage{
				"U1": {Proved: 9, Dead: 1, Late: 2, Card: 2500, Milliseconds: 4000},
			},
		},
		Workers: []cluster.Worker{{Name: "a", Jobs: 2, Failed: 4}, {Name: "b", Jobs: 2, Draining: true, Returned: 6}},
		Silent:  []string{"c"},
		Usage: func() map[string]cluster.Usage { // one more has ended since
			return map[string]cluster.Usage{"U1": {Proved: 10, Dead: 1, Late: 2, Card: 2500, Milliseconds: 4000}}
		},
		Taken:   map[string]int{"U1": 7},
		Streams: []cluster.Stored{{Name: "ends", Tenant: "U1", Messages: 11, Bytes: 12, Room: 13}, {Name: "keys", Room: -1}},
	})
	if err := s.Ready(); err != nil {
		t.Error(err)
	}
	want := `
# HELP pippin_cluster_queue_jobs Jobs that wait for their turn.
# TYPE pippin_cluster_queue_jobs gauge
pippin_cluster_queue_jobs{client="alice",priority="5"} 7
# HELP pippin_cluster_queue_oldest_timestamp_seconds When the oldest job came that waits for its turn.
# TYPE pippin_cluster_queue_oldest_timestamp_seconds gauge
pippin_cluster_queue_oldest_timestamp_seconds{client="alice",priority="5"} 1.5
# HELP pippin_cluster_held_jobs Jobs that wait until others are proved.
# TYPE pippin_cluster_held_jobs gauge
pippin_cluster_held_jobs 8
# HELP pippin_cluster_jobs_total Jobs that have ended: proved, dead, cancelled or late.
# TYPE pippin_cluster_jobs_total counter
pippin_cluster_jobs_total{client="alice",outcome="cancelled"} 0
pippin_cluster_jobs_total{client="alice",outcome="dead"} 1
pippin_cluster_jobs_total{client="alice",outcome="late"} 2
pippin_cluster_jobs_total{client="alice",outcome="proved"} 10
# HELP pippin_cluster_backend_seconds_total Time that backends were at the jobs of a client.
# TYPE pippin_cluster_backend_seconds_total counter
pippin_cluster_backend_seconds_total{client="alice"} 2.5
# HELP pippin_cluster_workers Workers that are connected: working, draining, or silent, which is connected and does not answer.
# TYPE pippin_cluster_workers gauge
pippin_cluster_workers{state="draining"} 1
pippin_cluster_workers{state="silent"} 1
pippin_cluster_workers{state="working"} 1
# HELP pippin_cluster_slots Jobs that all workers together take at a time.
# TYPE pippin_cluster_slots gauge
pippin_cluster_slots 2
# HELP pippin_cluster_room_bytes Bytes that a stream may have.
# TYPE pippin_cluster_room_bytes gauge
pippin_cluster_room_bytes{client="alice",stream="ends"} 13
# HELP pippin_cluster_results Results that are stored: waiting to be taken, or taken, which are removed a minute later.
# TYPE pippin_cluster_results gauge
pippin_cluster_results{client="alice",state="taken"} 7
pippin_cluster_results{client="alice",state="waiting"} 4
`
	if err := testutil.CollectAndCompare(s, strings.NewReader(want), "pippin_cluster_queue_jobs",
		"pippin_cluster_queue_oldest_timestamp_seconds", "pippin_cluster_held_jobs", "pippin_cluster_jobs_total",
		"pippin_cluster_backend_seconds_total", "pippin_cluster_workers", "pippin_cluster_slots", "pippin_cluster_room_bytes",
		"pippin_cluster_results"); err != nil {
		t.Error(err)
	}
	lint(t, s)
}

func TestWorker(t *testing.T) {
	w := clustermetrics.NewWorker()
	w.Phase("prove", time.Second)
	w.Ended("proved", cluster.Cost{Milliseconds: 1500, Card: 250})
	w.Try("returned")
	w.Received(1024)
	want := `
# HELP pippin_worker_backend_seconds_total Time that backends were at jobs that have ended here.
# TYPE pippin_worker_backend_seconds_total counter
pippin_worker_backend_seconds_total 0.25
# HELP pippin_worker_received_bytes_total Bytes of witnesses from the server.
# TYPE pippin_worker_received_bytes_total counter
pippin_worker_received_bytes_total 1024
# HELP pippin_worker_tries_total Tries that have not ended a job: failed, or returned for reasons of the worker's.
# TYPE pippin_worker_tries_total counter
pippin_worker_tries_total{outcome="returned"} 1
`
	if err := testutil.CollectAndCompare(w, strings.NewReader(want), "pippin_worker_backend_seconds_total",
		"pippin_worker_received_bytes_total", "pippin_worker_tries_total"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(w, "pippin_worker_phase_duration_seconds", "pippin_worker_job_duration_seconds"); n != 2 {
		t.Errorf("%d histograms", n)
	}
	lint(t, w)
}

// TestDocumented: docs/howto/cluster.md lists all metrics that there are, and no others.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/howto/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	// Elsewhere the page names streams, such as pippin_queue.
	_, table, _ := strings.Cut(string(text), "\n## Metrics\n")
	table, _, _ = strings.Cut(table, "\n## ")
	listed := map[string]bool{}
	for _, name := range regexp.MustCompile("`(pippin_[a-z_]+)").FindAllStringSubmatch(table, -1) {
		listed[name[1]] = true
	}
	to := make(chan *prometheus.Desc, 100)
	new(clustermetrics.Server).Describe(to)
	clustermetrics.NewWorker().Describe(to)
	close(to)
	for d := range to {
		name := regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]
		if !listed[name] {
			t.Error("not listed:", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Error("there is no", name)
	}
}

func lint(t *testing.T, c prometheus.Collector) {
	t.Helper()
	problems, err := testutil.CollectAndLint(c)
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
