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
	Work            int64 // device memory for the computation, the inputs of its steps included
	Cost            float64
}

// Device is the memory that is used on the card.
func (o *Outline) Device() int64 {
	if o.Resident {
		return o.Work + o.Bases
	}
	return o.Work
}

// Outlined plans an MSM of all of count bases, alone on a card of which memory
// bytes may be used, as a Computer does it: the scalars come from the host. It
// needs no card. When there is no room, the error wraps backend.ErrOutOfMemory.
// Cost is in additions of a point to a bucket, the unit of plans of one group.
func Outlined(curve backend.Curve, group backend.Group, count int, memory int64) (Outline, error) {
	if !curve.Valid() || !group.Valid() || count < 1 || count > backend.MaxCount {
		return Outline{}, fmt.Errorf("%w: no MSM of %d points on %v %v", backend.ErrInvalidInput, count, curve, group)
	}
	bases := int64(count) * int64(curve.PointBytes(group))
	in := input{curve: curve, group: group, count: count, memory: memory - bases, tuning: tuningOf(curve, group)}
	p, err := newPlan(in)
	resident := err == nil
	if errors.Is(err, backend.ErrOutOfMemory) {
		in.stream, in.memory = true, memory
		p, err = newPlan(in)
	}
	if err != nil {
		return Outline{}, err
	}
	return Outline{
		Window: p.width, Windows: p.windows, Buckets: p.bucketCount(), Chunks: p.chunks,
		Bases: bases, Resident: resident, Work: p.need(), Cost: p.cost(),
	}, nil
}
