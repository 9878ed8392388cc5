package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// add puts a job of a tenant into a schedule.
func add(s *schedule, tenant string, n, priority int, deadline time.Time) {
	s.add(&waiting{job: wire.Job{ID: fmt.Sprintf("%s.%d", tenant, n), Priority: priority}, until: deadline, seq: uint64(n + 1)})
}

// TestOrderOfJobs: within a client the highest priority is first, then the earliest
// deadline, then the order in which they came.
func TestOrderOfJobs(t *testing.T) {
	s := newSchedule(nil)
	soon, later := time.Unix(100, 0), time.Unix(200, 0)
	add(s, "a", 0, 0, time.Time{})
	add(s, "a", 1, 0, later)
	add(s, "a", 2, -1, soon)
	add(s, "a", 3, 5, time.Time{})
	add(s, "a", 4, 0, soon)
	add(s, "a", 5, 0, time.Time{})
	if w := s.remove("a.5"); w == nil || s.remove("a.5") != nil {
		t.Error("a job is removed once")
	}
	late := s.late(time.Unix(150, 0))
	if len(late) != 2 {
		t.Errorf("%d jobs are late", len(late))
	}
	add(s, "a", 2, -1, soon)
	add(s, "a", 4, 0, soon)
	for _, want := range []string{"a.3", "a.4", "a.1", "a.0", "a.2"} {
		if w := s.next(); w == nil || w.job.ID != want {
			t.Fatalf("%+v is next, not %s", w, want)
		}
	}
	if s.next() != nil || s.waits() != 0 {
		t.Error("there is one more")
	}
}

// TestShares: clients that always have work get the cards' time in proportion to their shares, even
// if their jobs cost differently. Clients without a share divide what is left.
func TestShares(t *testing.T) {
	cost := map[string]float64{"alice": 400, "bob": 25, "carol": 100, "dave": 10}
	for name, k := range map[string]struct {
		shares, want map[string]float64
	}{
		"none": {nil, map[string]float64{"alice": .25, "bob": .25, "carol": .25, "dave": .25}},
		"two":  {map[string]float64{"alice": .5, "bob": .3}, map[string]float64{"alice": .5, "bob": .3, "carol": .1, "dave": .1}},
		"all":  {map[string]float64{"alice": .75, "bob": .25}, map[string]float64{"alice": .75, "bob": .25, "carol": 0, "dave": 0}},
		"one idle": {map[string]float64{"alice": .6, "eve": .2}, map[string]float64{
			"alice": .6 / .8, "bob": .2 / .8 / 3, "carol": .2 / .8 / 3, "dave": .2 / .8 / 3,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, random, used, sum, n := newSchedule(k.shares), rand.New(rand.NewPCG(1, 2)), map[string]float64{}, 0.0, 0
			for tenant := range cost {
				for range 4 {
					add(s, tenant, n, 0, time.Time{})
					n++
				}
			}
			var cards []*waiting // four cards, each with a job
			for range 20000 {
				for len(cards) < 4 {
					cards = append(cards, s.next())
				}
				i := random.IntN(len(cards))
				id := cards[i].job.ID
				tenant := wire.TenantOfJob(id)
				c := cost[tenant] * (0.5 + random.Float64())
				used[tenant] += c
				sum += c
				s.ended(id, c)
				cards = append(cards[:i], cards[i+1:]...)
				add(s, tenant, n, 0, time.Time{})
				n++
			}
			for tenant := range cost {
				if got := used[tenant] / sum; math.Abs(got-k.want[tenant]) > 0.02 {
					t.Errorf("%s has %.3f of the time, not %.3f", tenant, got, k.want[tenant])
				}
			}
		})
	}
}

// TestIdlenessIsNotSaved: a client that comes late gets its share from then on, not all cards at
// once.
func TestIdlenessIsNotSaved(t *testing.T) {
	s := newSchedule(nil)
	for i := range 2000 {
		add(s, "early", i, 0, time.Time{})
	}
	serve := func() string { w := s.next(); s.ended(w.job.ID, 10); return wire.TenantOfJob(w.job.ID) }
	for range 1000 {
		serve()
	}
	for i := range 500 {
		add(s, "late", 5000+i, 0, time.Time{})
	}
	got := 0
	for range 100 {
		if serve() == "late" {
			got++
		}
	}
	if got < 45 || got > 55 {
		t.Errorf("who comes late gets %d of 100", got)
	}
}

// TestManyLate: the time to take out late jobs grows no faster than their number. Jobs that are not
// late stay in order.
func TestManyLate(t *testing.T) {
	s, now := newSchedule(nil), time.Unix(100, 0)
	const jobs = 100_000
	for i := range jobs {
		add(s, "a", i, 0, now.Add(time.Duration(i%2*2-1)*time.Duration(i+1)))
	}
	began := time.Now()
	if late := s.late(now); len(late) != jobs/2 {
		t.Errorf("%d jobs are late", len(late))
	}
	if took := time.Since(began); took > 5*time.Second { // it took a minute with one search for each job
		t.Errorf("it took %v", took)
	}
	for i := 1; i < 9; i += 2 {
		if w := s.next(); w.job.ID != fmt.Sprint("a.", i) {
			t.Errorf("%s is next, not a.%d", w.job.ID, i)
		}
	}
}
