package msmplan

import (
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

// Outline is how an MSM is computed on a card, and what it takes. Sizes are in
// bytes.
type Outline struct {
	Window, Windows int   // bits of a digit, digits of a scalar
	Buckets         int64 // of all windows
	Chunks          []int // points of each step
	Bases           int64 // all of them
	Resident        bool  // they stay on the card; else they are copied there in every call
	Rows            int   // multiples of each that are made beforehand, itself included; 0 is none
	Multiples       int64 // all of these
	Work            int64 // device memory for the computation, the inputs of its steps included
	Cost            float64
	Shape           string // all that a plan decides: MSMs of one shape are computed alike
}

// Device returns the memory that is used on the card.
func (o *Outline) Device() int64 {
	if o.Resident {
		return o.Work + o.Bases + o.Multiples
	}
	return o.Work
}

// Outlined plans an MSM of all of count bases, alone on a card of which memory
// bytes may be used, as a Computer does it: the scalars come from the host. Of each
// base there are multiples as the hints say. It needs no card, only the Tuning for it. When there
// is no room, the error wraps backend.ErrOutOfMemory. Cost is in additions of a point to
// a bucket, the unit of plans of one group.
func Outlined(of Tuning, curve backend.Curve, group backend.Group, count int, hints backend.Hints, memory int64) (Outline, error) {
	if !curve.Valid() || !group.Valid() || count < 1 || count > backend.MaxCount {
		return Outline{}, fmt.Errorf("%w: no MSM of %d points on %v %v", backend.ErrInvalidInput, count, curve, group)
	}
	bases := int64(count) * int64(curve.PointBytes(group))
	in := Input{
		Curve: curve, Group: group, Count: count, Uniform: hints.Uniform, Memory: memory - bases, Params: of.Params(curve, group, count),
	}
	p, err := New(in)
	resident := err == nil
	var m Multiples
	most := hints.Multiples
	if resident && most != 1 && (most > 0 || count >= LeastPrepared) {
		room := in.Memory
		if most == 0 {
			room = int64(FreeShare * float64(room))
		}
		if m = ChooseMultiples(in, most, room); m.Rows > 0 {
			in.Multiples = m
			in.Memory -= in.TableBytes(m)
			p, err = New(in)
		}
	}
	if errors.Is(err, backend.ErrOutOfMemory) {
		in.Stream, in.Memory = true, memory
		p, err = New(in)
	}
	if err != nil {
		return Outline{}, err
	}
	return Outline{
		Window: p.Width, Windows: p.Windows, Buckets: p.BucketCount(), Chunks: p.Chunks,
		Bases: bases, Resident: resident, Rows: m.Rows, Multiples: in.TableBytes(m), Work: p.Need(), Cost: p.Cost(), Shape: p.shape(),
	}, nil
}

func (p *Plan) shape() string {
	first, joins := p.Reduction()
	return fmt.Sprint(p.Width, p.Sharing, p.Multiples, p.Chunks, p.Levels, p.Affine, p.Piece, p.Sort, first, joins)
}
