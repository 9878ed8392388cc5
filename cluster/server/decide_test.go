package server

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// TestDecide: each row is several looks at a cluster that is well except for what the row says. It
// tells what follows from the last look.
func TestDecide(t *testing.T) {
	m := Manager{Stuck: 15 * time.Second, Orphan: time.Hour, KeepDead: 24 * time.Hour}
	begun := time.Unix(1e9, 0)
	well, compared := plan{release: true}, plan{release: true, compare: true}
	const s = time.Second
	oneWaits := func(v *view) { v.consumer.NumPending, v.jobs = 1, 1 }
	busy := func(inHand ...string) cluster.Worker { return cluster.Worker{Jobs: 2, InHand: inHand} }
	for _, c := range []struct {
		name  string
		see   func(v *view)
		looks []time.Duration // when, after the start
		want  plan
	}{
		{"all is well", func(*view) {}, []time.Duration{0}, well},
		{"a stream is missing", func(v *view) { v.missing = errors.New("gone") }, []time.Duration{0}, plan{remake: true}},
		{"workers take more than the consumer knows", func(v *view) { v.slots = 5 }, []time.Duration{0}, plan{inHand: 5, release: true}},
		{"no worker", func(v *view) { v.slots = 0 }, []time.Duration{0}, plan{inHand: 1, release: true}},
		{"another version's consumer", func(v *view) { v.consumer.Config.AckWait = time.Minute },
			[]time.Duration{0}, plan{inHand: 2, release: true}},
		{"jobs wait beside a free worker", oneWaits, []time.Duration{0, 16 * s}, plan{rebuild: true}},
		{"not for long enough", oneWaits, []time.Duration{0, 4 * s}, well},
		{"seen once, after a long time", oneWaits, []time.Duration{50 * s}, compared},
		{"jobs wait and no worker is free", func(v *view) {
			v.consumer.NumPending, v.consumer.NumAckPending, v.jobs = 1, 2, 3
			v.workers = []cluster.Worker{busy("a", "b")}
		}, []time.Duration{0, 4 * s, 16 * s}, compared},
		{"jobs wait and the worker drains", func(v *view) {
			v.consumer.NumPending, v.jobs, v.workers[0].Draining = 1, 1, true
		}, []time.Duration{0, 16 * s}, compared},
		{"jobs wait and some are handed out", func(v *view) {
			v.consumer.NumPending, v.jobs = 1, 1
			v.consumer.Delivered.Consumer = uint64(v.at.Unix())
		}, []time.Duration{0, 16 * s}, compared},
		{"jobs are handed out and in no hand", func(v *view) { v.consumer.NumAckPending, v.jobs = 1, 1 },
			[]time.Duration{0, 16 * s}, plan{rebuild: true}},
		{"perhaps in the hand of one that is silent", func(v *view) {
			v.consumer.NumAckPending, v.jobs, v.silent = 1, 1, []string{"w"}
		}, []time.Duration{0, 16 * s}, compared},
		{"the consumer does not know of a job", func(v *view) { v.jobs = 1 }, []time.Duration{0, 16 * s}, plan{rebuild: true}},
		{"the dispatcher does not know of a job", func(v *view) { v.deaf = true }, []time.Duration{0, 16 * s}, plan{reread: true}},
		{"it reads the queue before the consumer is made anew", func(v *view) { v.deaf, v.jobs = true, 1 },
			[]time.Duration{0, 16 * s}, plan{reread: true}},
		{"it has read it again", func(v *view) { v.deaf = true }, []time.Duration{0, 16 * s, 17 * s}, compared},
		{"a manager that does not lead", func(v *view) { v.leads, v.jobs = false, 1 }, []time.Duration{0, 16 * s}, plan{}},
		{"it led, and does again", func(v *view) {
			v.jobs, v.leads = 1, !v.at.Equal(begun.Add(16*time.Second))
		}, []time.Duration{0, 16 * s, 17 * s}, compared},
		{"what was handed out is compared after five seconds", func(*view) {}, []time.Duration{0, 6 * s}, compared},
		{"and not again at once", func(*view) {}, []time.Duration{0, 6 * s, 10 * s}, well},
		{"a minute later", func(*view) {}, []time.Duration{0, 61 * s}, plan{release: true, compare: true, sweep: true}},
		{"it sweeps once a minute", func(*view) {}, []time.Duration{0, 61 * s, 62 * s}, well},
		{"a manager that does not lead sweeps too", func(v *view) { v.leads = false }, []time.Duration{0, 61 * s}, plan{sweep: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			past := memory{swept: begun, compared: begun}
			var p plan
			for _, after := range c.looks {
				v := view{at: begun.Add(after), workers: []cluster.Worker{busy()}, slots: 2, leads: true}
				v.consumer.Config = jetstream.ConsumerConfig{MaxAckPending: 2, AckWait: wire.AckWait}
				c.see(&v)
				p, past = m.decide(v, past)
			}
			if p != c.want {
				t.Errorf("%+v, want %+v", p, c.want)
			}
		})
	}
}

// TestRebuildIsRepeated: sights stay until the consumer has been made anew, so that after a look
// that failed to do so the next one tries again.
func TestRebuildIsRepeated(t *testing.T) {
	m := Manager{Stuck: time.Second, Orphan: time.Hour, KeepDead: time.Hour}
	past := memory{swept: time.Unix(1e9, 0), compared: time.Unix(1e9, 0)}
	for i, want := range []bool{false, false, true, true} {
		var p plan
		p, past = m.decide(view{at: time.Unix(1e9+int64(i), 0), jobs: 1, leads: true}, past)
		if p.rebuild != want {
			t.Errorf("look %d: rebuild is %v", i, p.rebuild)
		}
	}
}
