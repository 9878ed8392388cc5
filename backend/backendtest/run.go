// Package backendtest is the conformance suite of backend.Backend: one set of
// checks for every backend, and "no difference" between two of them.
//
// Expected answers come from discrete logarithms (package fixtures), not from another MSM. For tiny
// inputs they come from double-and-add.
package backendtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// Options of Run. The zero value is a quick run over everything.
type Options struct {
	// Curves and Groups limit the run. nil means all that the backend has; numbers are checked only
	// with all curves.
	Curves []backend.Curve
	Groups []backend.Group
	// Full runs more sizes, and every power of two as the only scalar.
	Full bool
	// Logs are values of k: MSMs have the sizes 2^k-1, 2^k and 2^k+1, large transforms 2^k. nil is
	// 6, 8, 10 and 12, and with Full 4 to 16.
	Logs []int
	// Seed chooses the points and scalars.
	Seed uint64
}

// Run checks a backend. open makes a new one at each call and fails the test if it cannot; Run
// closes those that it opened. A few checks open a backend for themselves; all others share one.
func Run(t *testing.T, open func(testing.TB) backend.Backend, o Options) {
	shared := open(t)
	t.Cleanup(func() { closeQuietly(t, shared) })
	s := newSuite(o, shared.Info())
	another := anotherOf(open)
	for _, c := range backendChecks {
		t.Run(c.name, func(t *testing.T) {
			s.report(t, c.run, &subject{suite: s, b: shared, open: another(t)})
		})
	}
	can := shared.Info().Can
	if o.Curves == nil {
		s.numbers(t, shared)
	}
	for _, curve := range s.curves {
		for _, group := range s.groups {
			if !can.HasMSM(curve, group) {
				continue
			}
			for _, c := range groupChecks {
				t.Run(fmt.Sprintf("%v/%v/%s", curve, group, c.name), func(t *testing.T) {
					s.report(t, c.run, &subject{suite: s, b: shared, curve: curve, group: group})
				})
			}
		}
	}
	s.vectors(t, shared, another)
	s.points(t, shared)
}

// RunVectors runs the checks of Run that are about vectors.
func RunVectors(t *testing.T, open func(testing.TB) backend.Backend, o Options) {
	b := open(t)
	t.Cleanup(func() { closeQuietly(t, b) })
	newSuite(o, b.Info()).vectors(t, b, anotherOf(open))
}

// RunPoints runs the checks of Run that are about points.
func RunPoints(t *testing.T, open func(testing.TB) backend.Backend, o Options) {
	b := open(t)
	t.Cleanup(func() { closeQuietly(t, b) })
	newSuite(o, b.Info()).points(t, b)
}

func (s *suite) vectors(t *testing.T, b backend.Backend, another func(*testing.T) func() backend.Backend) {
	for _, curve := range s.curves {
		if !b.Info().Can.HasPrograms(backend.ScalarOf(curve)) {
			continue
		}
		for _, c := range vectorChecks {
			t.Run(fmt.Sprintf("%v/vectors/%s", curve, c.name), func(t *testing.T) {
				s.report(t, c.run, &subject{suite: s, b: b, curve: curve, group: s.groups[0], open: another(t)})
			})
		}
	}
}

// anotherOf opens backends that are closed when their test ends.
func anotherOf(open func(testing.TB) backend.Backend) func(*testing.T) func() backend.Backend {
	return func(t *testing.T) func() backend.Backend {
		return func() backend.Backend {
			b := open(t)
			t.Cleanup(func() { closeQuietly(t, b) })
			return b
		}
	}
}

// RunNumbers runs the checks of Run that are about operations on numbers.
func RunNumbers(t *testing.T, open func(testing.TB) backend.Backend, o Options) {
	b := open(t)
	t.Cleanup(func() { closeQuietly(t, b) })
	newSuite(o, b.Info()).numbers(t, b)
}

func (s *suite) numbers(t *testing.T, b backend.Backend) {
	if len(b.Info().Can.Numbers) == 0 {
		return
	}
	for _, c := range numberChecks {
		t.Run("numbers/"+c.name, func(t *testing.T) {
			s.report(t, c.run, &subject{suite: s, b: b})
		})
	}
}

func closeQuietly(t testing.TB, b backend.Backend) {
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// check is one requirement. It returns what is wrong, or nil.
type check struct {
	name string
	run  func(*subject) error
}

// suite is what the checks of a run share.
type suite struct {
	full   bool
	logs   []int
	seed   uint64
	curves []backend.Curve
	groups []backend.Group
	// Time limits: for a check; for what should not happen; for what should happen at once.
	patience, soon, answer time.Duration
}

// subject is what one check examines: a backend and, for vectorChecks, a curve with a group for
// points; for groupChecks a group; for numberChecks neither.
type subject struct {
	*suite
	ctx   context.Context
	b     backend.Backend
	open  func() backend.Backend // opens another one; not for groupChecks
	curve backend.Curve
	group backend.Group
}

func newSuite(o Options, info backend.Info) *suite {
	s := &suite{
		full: o.Full, logs: o.Logs, seed: o.Seed, curves: o.Curves, groups: o.Groups,
		patience: 5 * time.Minute, soon: 30 * time.Millisecond, answer: 20 * time.Second,
	}
	if s.curves == nil {
		s.curves = info.Can.MSMCurves()
	}
	if s.groups == nil {
		s.groups = backend.Groups()
	}
	if s.logs == nil {
		s.logs = []int{6, 8, 10, 12}
		if s.full {
			s.logs = []int{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
		}
	}
	return s
}

// report runs one check for a test.
func (s *suite) report(t *testing.T, run func(*subject) error, sub *subject) {
	t.Helper()
	if err := s.try(run, sub); err != nil {
		t.Errorf("seed %d: %v", s.seed, err)
	}
}

// try runs one check with a time limit.
func (s *suite) try(run func(*subject) error, sub *subject) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	sub.ctx = ctx
	return run(sub)
}

// groupChecks are run for every curve and group.
var groupChecks = []check{
	{"sizes", sizes},
	{"distributions", distributions},
	{"edge scalars", edgeScalars},
	{"edge scalars alone", edgeScalarsAlone},
	{"equal scalars", equalScalars},
	{"special points", specialPoints},
	{"infinities only", infinitiesOnly},
	{"ranges", ranges},
	{"batch", batch},
	{"unaligned scalars", unalignedScalars},
	{"arguments untouched", argumentsUntouched},
	{"results are the caller's", resultsOwned},
	{"linearity", linearity},
	{"permutation", permutation},
	{"split and concatenate", splitAndConcatenate},
	{"reference", reference},
	{"sources", sources},
	{"sources end early or late", brokenSources},
	{"ready", ready},
	{"check of points", checkOfPoints},
	{"check of scalars", checkOfScalars},
	{"free and reload", freeAndReload},
	{"concurrent calls", concurrentCalls},
}

// backendChecks are run once for a backend.
var backendChecks = []check{
	{"info", info},
	{"alive until closed", aliveUntilClosed},
	{"usage", usage},
	{"elements", elements},
	{"groups together", groupsTogether},
	{"invalid bases", invalidBases},
	{"invalid jobs", invalidJobs},
	{"unknown bases", unknownBases},
	{"multiples", multiples},
	{"ready fails", readyFails},
	{"cancelled before", cancelledBefore},
	{"cancelled while waiting for scalars", cancelledWaiting},
	{"cancelled while loading", cancelledLoading},
	{"causes are kept", causesKept},
	{"free goes on when cancelled", freeCancelled},
	{"free waits", freeWaits},
	{"close waits", closeWaits},
	{"closed", closed},
	{"scalar buffers", scalarBuffers},
}

// vectorChecks are run for every curve that a backend has vectors over.
var vectorChecks = []check{
	{"spaces", spaces},
	{"sizes of spaces", spaceSizes},
	{"writes", writes},
	{"writes that fail", brokenWrites},
	{"transforms", transforms},
	{"large transforms", largeTransforms},
	{"maps", maps},
	{"reversed maps", reversedMaps},
	{"powers and inverses", powersAndInverses},
	{"products", products},
	{"evaluate and divide", evaluateAndDivide},
	{"gather", gather},
	{"sparse products", sparseProducts},
	{"commit", commit},
	{"random programs", randomPrograms},
	{"accesses", accesses},
	{"wrong steps", wrongSteps},
	{"programs at the same time", concurrentPrograms},
	{"cancelled programs", cancelledPrograms},
	{"spaces are freed when programs have ended", freeSpaceWaits},
	{"close waits for programs", closeWaitsForPrograms},
	{"closed, with vectors", closedWithVectors},
}
