// Package cpu computes MSMs and programs over vectors, points and numbers in this process; its
// package msm computes MSMs alone. New returns the backend for production, on gnark-crypto.
// NewReference returns one that adds point by point: the oracle of tests with small sizes.
//
// # Files
//
//	field.go      vectors, with map.go, scans.go and transform.go
//	points.go     points
//	numbers.go    numbers, with modulus.go and public.go
//	run.go        programs
//	reference.go  the oracle, with reference_field.go, reference_points.go and reference_numbers.go
package cpu

import (
	"context"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
)

// Options of New. The zero value is the default.
type Options struct {
	// Tasks bounds the goroutines of one MSM, to at most 1024. With 0 gnark-crypto chooses for the
	// number of processors.
	Tasks int
	// Chunk is the most points that an MSM computes at a time; 0 is 2^22. The digits of a chunk's
	// scalars take some 40 bytes each.
	Chunk int
	// Jobs bounds the jobs of a batch that are computed at the same time; 0 is 4. Jobs with the
	// same scalars always follow each other.
	Jobs int
}

// New returns the backend "cpu". It uses bases given as Bytes where they are, and copies all
// others.
//
// A cancelled call returns at once. The chunk that it had begun is still computed to its end, on a
// copy of its scalars; FreeBases and Close wait for that.
//
// While gnark-crypto computes, it holds digits of the scalars in Go memory, and does not wipe that
// memory.
func New(o Options) backend.Backend {
	return newInProcess(local.New[*space]("cpu", o.Chunk, o.Jobs, local.Fast(o.Tasks)), fastFields(), fastPoints, fastNumbers)
}

// NewReference returns the backend "reference", which adds every point once for every bit of its
// scalar and does nothing clever. It takes about 0.1 to 2 ms a point on one processor.
func NewReference() backend.Backend {
	const chunk = 16 // so that it looks at the context every few milliseconds
	return newInProcess(local.New[*space]("reference", chunk, 1, reference), referenceField, referencePoints, referenceNumbers)
}

// inProcess adds vectors, points and numbers to MSMs.
type inProcess struct {
	*local.Backend[*space]
	field   func(backend.Curve) arithmetic
	points  func(backend.Element) group
	operate func(context.Context, *operation) error // on numbers
	room    *room
}

func newInProcess(b *local.Backend[*space], field func(backend.Curve) arithmetic,
	points func(backend.Element) group, operate func(context.Context, *operation) error) *inProcess {
	b.About.Can.Elements, b.About.Can.Numbers = append(backend.SpaceElements(), backend.PointElements()...), backend.NumberOps()
	return &inProcess{Backend: b, field: field, points: points, operate: operate, room: newRoom(b.About.Devices[0].Memory)}
}

// Close implements backend.Backend.
func (l *inProcess) Close() error {
	_, spaces, _ := l.Residents.Close()
	for _, s := range spaces {
		_ = l.wipe(s) // it never fails
	}
	return nil
}
