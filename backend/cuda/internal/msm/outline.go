package msm

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

// Device is the memory that is used on the card.
func (o *Outline) Device() int64 {
	if o.Resident {
		return o.Work + o.Bases + o.Multiples
	}
	return o.Work
}

// Outlined plans an MSM of all of count bases, alone on a card of which memory
// bytes may be used, as a Computer does it: the scalars come from the host. Of each
// base there are at most so many multiples, itself included: 1 is none, 0 what a
// Computer makes without a hint. It needs no card, only the Tuning for it. When there
// is no room, the error wraps backend.ErrOutOfMemory. Cost is in additions of a point to
// a bucket, the unit of plans of one group.
func Outlined(of Tuning, curve backend.Curve, group backend.Group, count, most int, memory int64) (Outline, error) {
	if !curve.Valid() || !group.Valid() || count < 1 || count > backend.MaxCount {
		return Outline{}, fmt.Errorf("%w: no MSM of %d points on %v %v", backend.ErrInvalidInput, count, curve, group)
	}
	bases := int64(count) * int64(curve.PointBytes(group))
	in := input{curve: curve, group: group, count: count, memory: memory - bases, tuning: of.of(curve, group, count)}
	p, err := newPlan(in)
	resident := err == nil
	var m multiples
	if resident && most != 1 && (most > 0 || count >= leastPrepared) {
		room := in.memory
		if most == 0 {
			room = int64(freeShare * float64(room))
		}
		if m = chooseMultiples(in, most, room); m.rows > 0 {
			in.multiples = m
			in.memory -= in.tableBytes(m)
			p, err = newPlan(in)
		}
	}
	if errors.Is(err, backend.ErrOutOfMemory) {
		in.stream, in.memory = true, memory
		p, err = newPlan(in)
	}
	if err != nil {
		return Outline{}, err
	}
	return Outline{
		Window: p.width, Windows: p.windows, Buckets: p.bucketCount(), Chunks: p.chunks,
		Bases: bases, Resident: resident, Rows: m.rows, Multiples: in.tableBytes(m), Work: p.need(), Cost: p.cost(), Shape: p.shape(),
	}, nil
}

func (p *plan) shape() string {
	first, joins := p.reduction()
	return fmt.Sprint(p.width, p.share, p.multiples, p.chunks, p.levels, p.piece, p.sort, first, joins)
}
