package msmplan

import (
	"github.com/pippin-zk/pippin/backend"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// Input is what a plan is made for.
type Input struct {
	Curve  backend.Curve
	Group  backend.Group
	Count  int   // points of an MSM
	Stream bool  // the points come in chunks from the host
	Memory int64 // bytes that may be used
	Params Params

	Resident bool // the scalars are on the card already
	Fed      bool // the host copies scalars to memory that the card reads while the MSM runs

	Uniform  bool // the scalars of most MSMs over these bases look random
	Together int  // MSMs over the same points side by side, each with its own sets of buckets; 0 is one

	Multiples Multiples
}

// Multiples says which multiples of the bases are on the card. Row r, of Rows, has
// 2^(Shift r) times each base, and begins Distance points after row r-1. With Digits of more
// than 1 there are so many rows for each power of 2: row r Digits + d-1 has d 2^(Shift r) times
// each base. The zero value is the bases alone. With Edwards the points are in the form that the
// Edwards kernels add. With Units they are in the form for digits modulo six units, and row r has
// m^r times each base, m the radix of package eisenstein of which a scalar of so many bits has Rows digits.
type Multiples struct {
	Rows, Shift, Distance int
	Digits                int
	Edwards, Units        bool
	Scalar                int // bits, with Units
}

// Form is the form of the points that an MSM adds up.
type Form string

// The forms: gnark-crypto's, twisted Edwards form, and that for digits modulo six units.
const (
	Plain   Form = ""
	Edwards Form = "edwards"
	Units   Form = "units"
)

// Form returns the form of the multiples.
func (m *Multiples) Form() Form {
	switch {
	case m.Edwards:
		return Edwards
	case m.Units:
		return Units
	}
	return Plain
}

// Of returns the name of the kernels for a curve or a group whose points have the form.
func (f Form) Of(name string) string {
	if f == Plain {
		return name
	}
	return name + "-" + string(f)
}

// PowerRows returns the rows from one power of 2 to the next.
func (m *Multiples) PowerRows() int { return max(m.Digits, 1) }

// Sharing says which windows share sets of buckets: all windows together use Sets of
// them, and each following window of one set reads its points Skip rows later. With Skip
// 0 every window has a set of its own, and only the first row is used.
type Sharing struct{ Sets, Skip int }

// sharings lists the ways to use multiples for windows of c bits.
func (m *Multiples) sharings(windows, c int) []Sharing {
	all := []Sharing{{windows, 0}}
	for sets := 1; sets < windows && m.Rows > 1 && !m.Units; sets++ {
		skip := c * sets / m.Shift * m.PowerRows()
		if c*sets%m.Shift == 0 && (rowsOf(windows, sets)-1)*skip < m.Rows {
			all = append(all, Sharing{sets, skip})
		}
	}
	return all
}

// rowsOf returns how many windows share one of the sets, at most.
func rowsOf(windows, sets int) int { return (windows + sets - 1) / sets }

// MSMs returns how many MSMs the plan is for.
func (in *Input) MSMs() int { return max(in.Together, 1) }

// AllSets returns the sets of buckets of all of its MSMs.
func (p *Plan) AllSets() int { return p.MSMs() * p.Sets }

// PointBytes returns the size of the sum of a bucket.
func (in *Input) PointBytes() int64 { return kernel.SumElements * in.ElementBytes() }

// ResultBytes returns the size of a point that the host gets.
func (in *Input) ResultBytes() int64 { return kernel.ResultElements * in.ElementBytes() }

// ElementBytes returns the size of a coordinate of a point.
func (in *Input) ElementBytes() int64 { return ElementBytes(in.Curve, in.Group) }

// ElementBytes returns the size of a coordinate of a point of a group.
func ElementBytes(c backend.Curve, g backend.Group) int64 {
	return int64(c.PointBytes(g)) / kernel.PointElements
}

// TableBytes returns the size of multiples of the bases.
func (in *Input) TableBytes(m Multiples) int64 {
	return int64(m.Rows) * int64(m.Distance) * in.BaseBytes(m)
}

// BaseBytes returns the size of a base, or of a multiple of one, on the card.
func (in *Input) BaseBytes(m Multiples) int64 {
	switch m.Form() {
	case Edwards:
		return kernel.EdwardsElements * in.ElementBytes()
	case Units:
		return unitElements * in.ElementBytes()
	}
	return kernel.PointElements * in.ElementBytes()
}

// LeastPrepared is the number of bases from which on multiples are made without a hint.
const LeastPrepared = 1 << 10

// FreeShare is how much of the free memory such multiples take, at most.
const FreeShare = 2.0 / 3

// inverseAdditions is how many additions of one thread an inverse takes as long as.
const inverseAdditions = 6

// expectedUses is after how many MSMs the multiples of their bases should have paid.
const expectedUses = 1000

// ChooseMultiples chooses the multiples of all bases of an input by which MSMs of all of
// them gain most: at most so many multiples of each base, unless most is 0, in room bytes,
// which are a part of the input's memory. The zero value says that none would gain.
func ChooseMultiples(in Input, most int, room int64) (best Multiples) {
	radices := in.radices()
	if in.Params.UnitWindows != 0 && len(radices) > 0 {
		return in.unitMultiples(radices[0])
	}
	alone, err := New(in)
	if err != nil {
		return best
	}
	least := alone.Cost()
	// consider takes multiples if MSMs by windows of c bits gain by them. The cost of making
	// them is in additions.
	consider := func(m Multiples, c int, making float64) {
		with := in
		with.Multiples, with.Params.Window = m, c
		if m.Units {
			with.Params.UnitWindows = m.Rows
		}
		with.Memory -= in.TableBytes(m)
		p, err := New(with)
		if err != nil {
			return
		}
		if cost := p.Cost() + making/expectedUses; cost < least {
			best, least = m, cost
		}
	}
	affordable := func(m Multiples) bool { return in.TableBytes(m) <= room && (most == 0 || m.Rows <= most) }
	for c := leastDirect; c <= mostDirect && in.Params.Window <= 1; c++ {
		m, ok := in.directMultiples(c)
		if ok && affordable(m) && float64(in.TableBytes(m)) <= directShare*float64(room) {
			consider(m, 1, in.makingDirect(m))
		}
	}
	for _, r := range radices {
		if m := in.unitMultiples(r); affordable(m) {
			consider(m, 0, in.makingUnits(m))
		}
	}
	for c := minWindow; c <= maxWindow; c++ {
		if w := in.Params.Window; w != 0 && w != c {
			continue
		}
		count := Windows(in.Curve, c)
		for sets := 1; sets <= count; sets++ {
			m := Multiples{Rows: rowsOf(count, sets), Shift: c * sets, Distance: in.Count, Edwards: in.Params.Edwards > 0}
			if m.Rows == 1 && !m.Edwards {
				continue // the bases themselves
			}
			if !affordable(m) || sets > 1 && rowsOf(count, sets-1) == m.Rows {
				continue
			}
			// A doubling is less than an addition to a bucket, which reads its point.
			consider(m, c, float64(m.Rows-1)*float64(in.Count)*float64(m.Shift)*0.7)
		}
	}
	return best
}

// CostWith returns the cost of an MSM of some of the bases of all, with multiples of all
// of them: at most so many of each, in room bytes.
func CostWith(all, some Input, most int, room int64) (float64, error) {
	if most != 1 {
		some.Multiples = ChooseMultiples(all, most, room)
		some.Memory -= all.TableBytes(some.Multiples)
	}
	p, err := New(some)
	if err != nil {
		return 0, err
	}
	return p.Cost(), nil
}
