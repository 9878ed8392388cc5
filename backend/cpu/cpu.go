// Package cpu computes MSMs and programs over vectors, points and numbers in
// this process; package msm below it computes MSMs alone. New is the production
// path on gnark-crypto, and NewReference adds point by point: an oracle for tests
// of small sizes.
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
	// Tasks bounds the goroutines of one MSM; 0 lets gnark-crypto choose for
	// the processors there are. At most 1024.
	Tasks int
	// Chunk is the most points that an MSM takes at a time; 0 is 2^22. The
	// memory for the digits of scalars (some 40 bytes each) is for one chunk.
	Chunk int
	// Jobs bounds the jobs of a batch that are computed at the same time; 0 is
	// 4. Those with the same scalars always follow each other.
	Jobs int
}

// New makes the backend "cpu". Bases given as Bytes are used where they are;
// all others are copied.
//
// A cancelled call returns at once. The chunk that it had begun is computed to its
// end on a copy of its scalars; freeing its bases and Close wait for that.
//
// gnark-crypto holds digits of the scalars in Go memory while it computes, and
// that memory is not wiped.
func New(o Options) backend.Backend {
	return newInProcess(local.New[*space]("cpu", o.Chunk, o.Jobs, local.Fast(o.Tasks)), fastFields(), fastPoints, fastNumbers)
}

// NewReference makes the backend "reference", which adds every point once for
// every bit of its scalar and does nothing clever. It takes about 0.1 to 2 ms a
// point on one processor.
func NewReference() backend.Backend {
	const chunk = 16 // a context is looked at every few milliseconds
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
		_ = l.wipe(s) // has no error
	}
	return nil
}
