package msmplan

import (
	"math"
	"slices"

	"github.com/pippin-zk/pippin/internal/eisenstein"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// unitElements is how many coordinates a point has in the form for digits modulo six units:
// units.cuh's unit_elements.
const unitElements = 4

// leastUnits is from how many bases on digits modulo six units gain what twice the memory is worth:
// on an H200 nothing at 2^21, 1 to 3 % at 2^22 and 6 from 2^23 on.
const leastUnits = 3 << 21

// radices lists the ways to cut the scalars into digits modulo six units, for which there are
// kernels and which the card's table does not rule out. Small scalars lose by them.
func (in *Input) radices() []eisenstein.Radix {
	w := in.Params.UnitWindows
	_, can := kernel.ForUnits(in.Curve.String(), Units.Of(in.Group.String()))
	can = can && (in.Params.Affine > 0 || !in.affineUnits())
	if !can || !in.Uniform || in.Params.Units == 0 || in.Params.Window != 0 || w == 0 && in.Count < leastUnits {
		return nil
	}
	return slices.DeleteFunc(eisenstein.Radices(in.Curve.ScalarBits()), func(r eisenstein.Radix) bool { return w != 0 && r.Windows != w })
}

// unitMultiples returns the multiples of all bases of an input for digits to a radix.
func (in *Input) unitMultiples(r eisenstein.Radix) Multiples {
	return Multiples{Rows: r.Windows, Distance: in.Count, Units: true, Scalar: r.Scalar}
}

// makingUnits returns the cost of making them: of a point some 13 doublings, and for each factor 3
// of the radix two inverses that eight points share.
func (in *Input) makingUnits(m Multiples) float64 {
	return float64(m.Rows-1) * float64(in.Count) * 20
}

// unitWidth returns the width of windows of signed digits that have as many buckets as there are
// places for buckets modulo six units.
func unitWidth(r eisenstein.Radix) int { return 2*r.Bits + 1 }

// Radix returns what the scalars of a plan with digits modulo six units are cut by, and false for
// other plans.
func (p *Plan) Radix() (r eisenstein.Radix, units bool) {
	if units = p.Multiples.Units && p.Skip > 0; units {
		r = p.Multiples.Radix()
	}
	return r, units
}

// Radix returns that of multiples in the form for digits modulo six units.
func (m *Multiples) Radix() (r eisenstein.Radix) {
	all := eisenstein.Radices(m.Scalar)
	if i := slices.IndexFunc(all, func(r eisenstein.Radix) bool { return r.Windows == m.Rows }); m.Units && i >= 0 {
		r = all[i]
	}
	return r
}

// affineUnits reports whether affine sums have kernels for points in the form for digits modulo six units.
// Others then have none.
func (in *Input) affineUnits() bool {
	_, ok := kernel.ForAffine(in.Curve.String(), Units.Of(in.Group.String()))
	return ok
}

// unitPlan returns the plan by digits modulo six units.
func (in Input) unitPlan(chunks []int) *Plan {
	r := in.Multiples.Radix()
	p := &Plan{Input: in, Width: unitWidth(r), Windows: r.Windows, Sharing: Sharing{1, 1}, Chunks: chunks}
	if in.affineUnits() {
		p.Levels, p.Affine = in.Params.AffineLevels, true
	}
	return p
}

// filled returns how many of the buckets digits can have. Modulo six units about two fifths of
// the places are buckets.
func (p *Plan) filled() float64 {
	if r, ok := p.Radix(); ok {
		return float64(p.AllSets()) * float64(r.Buckets())
	}
	return float64(p.BucketCount())
}

// highestUnits estimates how many buckets the highest digits have.
func (p *Plan) highestUnits(m int) float64 {
	return max(1, math.Exp2(halfOrderBits()[p.Curve]+1)/math.Pow(float64(m), float64(2*(p.Windows-1)))/6)
}
