package server

import (
	"slices"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// heldJob returns a job that waits for others.
func heldJob(id string, after ...string) *waiting {
	return &waiting{job: wire.Job{ID: id, After: after}}
}

func ids(all []*waiting) (ids []string) {
	for _, w := range all {
		ids = append(ids, w.job.ID)
	}
	slices.Sort(ids)
	return ids
}

// TestGraph: a job is ready when all are proved that it waits for, and goes when one will
// not be.
func TestGraph(t *testing.T) {
	g := newGraph()
	for _, w := range []*waiting{heldJob("node", "left", "right", "left"), heldJob("root", "node"), heldJob("other", "left")} {
		if cycle := g.add(w); cycle != nil {
			t.Fatal(cycle)
		}
	}
	if ready := ids(g.proved("left")); !slices.Equal(ready, []string{"other"}) {
		t.Errorf("after left: %v", ready)
	}
	if !g.waitedFor("right") || !g.waitedFor("left") || g.waitedFor("root") || !g.waitedFor("node") {
		t.Error("what is waited for")
	}
	if ready := ids(g.proved("right")); !slices.Equal(ready, []string{"node"}) {
		t.Errorf("after right: %v", ready)
	}
	if gone := ids(g.failed("node")); !slices.Equal(gone, []string{"root"}) {
		t.Errorf("after the failure of node: %v", gone)
	}
	if len(g.held) != 0 || len(g.waiters) != 0 {
		t.Errorf("left: %v, %v", g.held, g.waiters)
	}
}

// TestGraphLate: whose deadline passes goes, whatever it waits for.
func TestGraphLate(t *testing.T) {
	g, now := newGraph(), time.Now()
	w := heldJob("a", "b")
	w.job.Deadline = now
	g.add(w)
	g.add(heldJob("c", "b"))
	if all := g.late(now); all != nil {
		t.Error(ids(all))
	}
	if all := ids(g.late(now.Add(time.Second))); !slices.Equal(all, []string{"a"}) {
		t.Error(all)
	}
	if ready := ids(g.proved("b")); !slices.Equal(ready, []string{"c"}) {
		t.Error(ready)
	}
}

// TestGraphCycles: jobs that wait for themselves by way of others are not held, and the way
// is told.
func TestGraphCycles(t *testing.T) {
	g := newGraph()
	if cycle := g.add(heldJob("self", "self")); !slices.Equal(cycle, []string{"self", "self"}) {
		t.Error(cycle)
	}
	g.add(heldJob("a", "x", "b"))
	g.add(heldJob("b", "c"))
	if cycle := g.add(heldJob("c", "y", "a")); !slices.Equal(cycle, []string{"c", "a", "b", "c"}) {
		t.Error(cycle)
	}
	if g.held["c"] != nil || g.held["a"] == nil {
		t.Error("what is held")
	}
	if gone := ids(g.failed("c")); !slices.Equal(gone, []string{"b"}) {
		t.Error(gone)
	}
}
