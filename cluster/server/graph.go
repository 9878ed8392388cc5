package server

import (
	"slices"
	"time"
)

// graph holds jobs that may not be begun before others are proved. It has no clock and does
// no I/O.
type graph struct {
	held    map[string]*held    // by ID
	waiters map[string][]string // IDs of the jobs held that are to come after one, by its ID
}

// held is a job and what it still waits for.
type held struct {
	w    *waiting
	open map[string]bool // IDs of prerequisites that are not known to be proved
}

func newGraph() *graph {
	return &graph{held: map[string]*held{}, waiters: map[string][]string{}}
}

// add holds a job until its prerequisites are proved. If they wait for the job itself, add
// does not hold it and returns the way from the job back to it.
func (g *graph) add(w *waiting) (cycle []string) {
	id := w.job.ID
	g.remove(id)
	h := &held{w, map[string]bool{}}
	for _, before := range w.job.After {
		h.open[before] = true
	}
	g.held[id] = h
	for before := range h.open {
		g.waiters[before] = append(g.waiters[before], id)
	}
	if cycle = g.way(id, id, map[string]bool{}); cycle != nil {
		g.remove(id)
	}
	return cycle
}

// way returns the IDs on a way from one job over what it waits for to another, both
// included, nil if there is none.
func (g *graph) way(from, to string, seen map[string]bool) []string {
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
		seen[before] = true
		if rest := g.way(before, to, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}

// proved notes that a job is proved, and returns those that wait for nothing any more.
func (g *graph) proved(id string) (ready []*waiting) {
	for _, waiter := range slices.Clone(g.waiters[id]) {
		h := g.held[waiter]
		delete(h.open, id)
		if len(h.open) == 0 {
			ready = append(ready, g.remove(waiter))
		}
	}
	return ready
}

// failed takes out the jobs that wait for one that will not be proved.
func (g *graph) failed(id string) (all []*waiting) {
	for _, waiter := range slices.Clone(g.waiters[id]) {
		all = append(all, g.remove(waiter))
	}
	return all
}

// remove takes out a job, nil if it is not held.
func (g *graph) remove(id string) *waiting {
	h := g.held[id]
	if h == nil {
		return nil
	}
	delete(g.held, id)
	for _, before := range h.w.job.After {
		rest := slices.DeleteFunc(g.waiters[before], func(waiter string) bool { return waiter == id })
		if g.waiters[before] = rest; len(rest) == 0 {
			delete(g.waiters, before)
		}
	}
	return h.w
}

// late takes out those that are too late to be begun.
func (g *graph) late(now time.Time) (all []*waiting) {
	for id, h := range g.held {
		if h.w.job.Late(now) {
			all = append(all, g.remove(id))
		}
	}
	return all
}

// waitedFor reports whether a job is held that waits for this one, or would again if the graph
// were made anew.
func (g *graph) waitedFor(id string) bool { return len(g.waiters[id]) > 0 }
