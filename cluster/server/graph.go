package server

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// graph holds jobs that may not be begun before others are proved. It has no clock and does no I/O.
type graph struct {
	held    map[string]*held           // by ID
	waiters map[string]map[string]bool // IDs of the held jobs that wait for a job, by the ID of that job
	edges   map[string]int             // how many pairs of a held job and a prerequisite there are, by tenant
}

// held is a job and what it still waits for.
type held struct {
	w    *waiting
	open map[string]bool // IDs of prerequisites not known to be proved
}

// mostEdges bounds the edges of one tenant: for how many others its jobs wait, added up. All of
// them are in memory, some 150 bytes each.
const mostEdges = 200_000

// mostSteps bounds a search for jobs that wait for each other. No search is made for a job whose
// prerequisites were submitted first, as clients do it.
const mostSteps = 1000

// Why add refuses a job. The third reason is a circle of jobs.
const (
	tooManyEdges = "its client's jobs wait for too many others"
	tooManySteps = "jobs that wait for it wait for too many others"
)

func newGraph() *graph {
	return &graph{held: map[string]*held{}, waiters: map[string]map[string]bool{}, edges: map[string]int{}}
}

// add holds a job until its prerequisites are proved. It returns why it refuses a job: a circle of
// jobs, tooManyEdges or tooManySteps.
func (g *graph) add(w *waiting) (refused string) {
	id := w.job.ID
	g.remove(id)
	tenant := wire.TenantOfJob(id)
	h := &held{w, map[string]bool{}}
	for _, before := range w.job.After {
		h.open[before] = true
	}
	if g.edges[tenant]+len(h.open) > mostEdges {
		return tooManyEdges
	}
	g.edges[tenant] += len(h.open)
	g.held[id] = h
	for before := range h.open {
		if g.waiters[before] == nil {
			g.waiters[before] = map[string]bool{}
		}
		g.waiters[before][id] = true
	}
	if refused = g.circle(id); refused != "" {
		g.remove(id)
	}
	return refused
}

// circle describes the circle of jobs waiting for each other that a job is in. It returns "" if
// there is none, and tooManySteps if the search is too long.
func (g *graph) circle(id string) string {
	if len(g.waiters[id]) == 0 {
		return ""
	}
	steps := mostSteps
	way := g.way(id, id, map[string]bool{}, &steps)
	switch {
	case way != nil:
		return "jobs wait for each other: " + strings.Join(way, " waits for ")
	case steps == 0:
		return tooManySteps
	}
	return ""
}

// way returns the IDs on a way from one job to another, both included, where each waits for the
// next. It returns nil if it finds none before the steps are used up.
func (g *graph) way(from, to string, seen map[string]bool, steps *int) []string {
	h := g.held[from]
	if h == nil {
		return nil
	}
	for _, before := range h.w.job.After {
		if before == to {
			return []string{from, to}
		}
		if seen[before] || !h.open[before] {
			continue
		}
		if *steps == 0 {
			return nil
		}
		*steps--
		seen[before] = true
		if rest := g.way(before, to, seen, steps); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}

// proved notes that a job is proved. It takes out and returns the jobs that now wait for nothing.
func (g *graph) proved(id string) (ready []*waiting) {
	for _, waiter := range g.waitersOf(id) {
		h := g.held[waiter]
		delete(h.open, id)
		if len(h.open) == 0 {
			ready = append(ready, g.remove(waiter))
		}
	}
	return ready
}

// failed takes out and returns the jobs that wait for a job which will not be proved.
func (g *graph) failed(id string) (all []*waiting) {
	for _, waiter := range g.waitersOf(id) {
		all = append(all, g.remove(waiter))
	}
	return all
}

// waitersOf returns the IDs of the jobs that wait for a job.
func (g *graph) waitersOf(id string) []string { return slices.Collect(maps.Keys(g.waiters[id])) }

// unlink removes the edge between a prerequisite and a job that is no longer held.
func (g *graph) unlink(before, waiter string) {
	if !g.waiters[before][waiter] { // the job names it twice
		return
	}
	delete(g.waiters[before], waiter)
	if len(g.waiters[before]) == 0 {
		delete(g.waiters, before)
	}
	tenant := wire.TenantOfJob(waiter)
	if g.edges[tenant]--; g.edges[tenant] == 0 {
		delete(g.edges, tenant)
	}
}

// remove takes out a job and returns it, or nil if it is not held.
func (g *graph) remove(id string) *waiting {
	h := g.held[id]
	if h == nil {
		return nil
	}
	delete(g.held, id)
	for _, before := range h.w.job.After {
		g.unlink(before, id)
	}
	return h.w
}

// late takes out and returns the jobs that are too late to be begun.
func (g *graph) late(now time.Time) (all []*waiting) {
	for id, h := range g.held {
		if h.w.late(now) {
			all = append(all, g.remove(id))
		}
	}
	return all
}

// waitedFor reports whether a held job waits for this one, or would do so again if the graph were
// made anew.
func (g *graph) waitedFor(id string) bool { return len(g.waiters[id]) > 0 }
