package server

import (
	"fmt"
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

// TestGraph: a job is ready when all jobs for which it waits are proved. It is taken out when one
// of them will not be proved.
func TestGraph(t *testing.T) {
	g := newGraph()
	for _, w := range []*waiting{heldJob("node", "left", "right", "left"), heldJob("root", "node"), heldJob("other", "left")} {
		if refused := g.add(w); refused != "" {
			t.Fatal(refused)
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
	if len(g.held) != 0 || len(g.waiters) != 0 || len(g.edges) != 0 {
		t.Errorf("left: %v, %v, %v", g.held, g.waiters, g.edges)
	}
}

// TestGraphLate: a job whose deadline has passed is taken out, whatever it waits for.
func TestGraphLate(t *testing.T) {
	g, now := newGraph(), time.Now()
	w := heldJob("a", "b")
	w.until = now
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

// TestGraphCycles: a job that waits for itself by way of others is not held, and the answer names
// the way.
func TestGraphCycles(t *testing.T) {
	g := newGraph()
	const circle = "jobs wait for each other: "
	if refused := g.add(heldJob("self", "self")); refused != circle+"self waits for self" {
		t.Error(refused)
	}
	g.add(heldJob("a", "x", "b"))
	g.add(heldJob("b", "c"))
	if refused := g.add(heldJob("c", "y", "a")); refused != circle+"c waits for a waits for b waits for c" {
		t.Error(refused)
	}
	if g.held["c"] != nil || g.held["a"] == nil {
		t.Error("what is held")
	}
	if gone := ids(g.failed("c")); !slices.Equal(gone, []string{"b"}) {
		t.Error(gone)
	}
}

// TestGraphIsBounded: one tenant can make the graph remember only a bounded amount, and one of its
// jobs takes a bounded time, however many of its jobs wait for the same one. Jobs of other tenants
// are held all the same.
func TestGraphIsBounded(t *testing.T) {
	g := newGraph()
	after := make([]string, wire.MostPrerequisites)
	for i := range after {
		after[i] = fmt.Sprint("eve.leaf", i)
	}
	held := 0
	for ; g.add(heldJob(fmt.Sprint("eve.", held), after...)) == ""; held++ {
		if held > 2*mostEdges/len(after) {
			t.Fatal("it has no bound")
		}
	}
	if held != mostEdges/len(after) {
		t.Errorf("%d jobs with %d prerequisites each are held", held, len(after))
	}
	if refused := g.add(heldJob("eve.one", "eve.leaf0")); refused != tooManyEdges {
		t.Errorf("one more: %q", refused)
	}
	if refused := g.add(heldJob("alice.node", "alice.leaf")); refused != "" {
		t.Errorf("another tenant's: %q", refused)
	}
	for _, leaf := range after {
		g.proved(leaf)
	}
	if len(g.held) != 1 || g.edges["eve"] != 0 {
		t.Errorf("%d jobs and %d edges are left", len(g.held), g.edges["eve"])
	}

	const crowd = 100_000 // that wait for one job
	began := time.Now()
	for i := range crowd {
		g.add(heldJob(fmt.Sprint("eve.", i), "eve.root"))
	}
	if ready := g.proved("eve.root"); len(ready) != crowd {
		t.Errorf("%d jobs are ready", len(ready))
	}
	if took := time.Since(began); took > 10*time.Second { // it took minutes when waiters were a list
		t.Errorf("%d jobs that wait for one took %v", crowd, took)
	}

	for i := range 2 * mostSteps { // a chain of jobs; another job waits for its last one
		g.add(heldJob(fmt.Sprint("eve.", i), fmt.Sprint("eve.", i+1)))
	}
	g.add(heldJob("eve.last", "eve.end"))
	if refused := g.add(heldJob("eve.end", "eve.0")); refused != tooManySteps {
		t.Errorf("a long search: %q", refused)
	}
}
