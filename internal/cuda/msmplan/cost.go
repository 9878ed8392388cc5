package msmplan

import (
	"math"
)

// Cost estimates the time of the plan. The unit is the time of one addition to a bucket,
// of a point that is not in Edwards form.
func (p *Plan) Cost() float64 {
	t := &p.Params
	buckets, filled, steps := float64(p.BucketCount()), p.filled(), float64(len(p.Chunks))
	addition := 1.0
	if p.Multiples.Edwards {
		addition = t.Edwards
	}
	if p.Direct {
		return p.arriving(t.Launch*directLaunch + p.adding()*addition)
	}
	points := float64(p.MSMs()) * float64(p.Count)
	all := points * float64(p.Windows)
	cost := t.Launch * (steps + 1)
	summed := all
	if p.Levels > 0 {
		// What is left of a bucket in a chunk is half a task more.
		summed = min(all, all/float64(int(1)<<p.Levels)+filled*steps/2)
		if p.Affine {
			cost += (all-summed)*t.Affine + p.affineSteps(summed/steps, all/steps/filled)*t.Step*steps
		} else {
			cost += (all - summed) * t.Pair
			batches := math.Ceil(summed / steps / float64(t.PairTasks))
			cost += t.Invert * float64(p.Levels) * batches * steps
		}
	}
	cost += p.accumulation(summed/steps, filled) * steps * addition
	cost += p.reducing() * t.Reduce * addition
	if p.Sets > 1 {
		cost += t.Launch * (severalSets + everySet*float64(p.AllSets()))
	}
	// What comes before the accumulation: of the first chunk all of it, of the others
	// what it takes from the accumulation beside which it runs.
	first := float64(p.Chunks[0]) / float64(p.Count) // of the points
	before := all*t.Entry + buckets*t.Bucket*steps
	if _, ok := p.Radix(); ok {
		before += points * t.Units
	}
	if p.Overlaps() {
		before *= first + (1-first)*t.Beside
	}
	cost += before
	return p.arriving(cost)
}

// fedCopy is how much longer it takes to copy scalars to where the card reads them.
const fedCopy = 2

// arriving adds to a cost the time for which the card waits: for the copy of the first
// chunk, and for the others as far as the copy is slower than what is computed meanwhile.
func (p *Plan) arriving(cost float64) float64 {
	if p.Resident && !p.Stream {
		return cost
	}
	copy := p.Params.Copy * float64(p.MSMs())
	if p.Fed {
		copy *= fedCopy
	}
	there, end := 0.0, 0.0
	for _, n := range p.Chunks {
		there += copy * float64(n)
		end = max(end, there) + cost*float64(n)/float64(p.Count)
	}
	return end
}

const (
	// sumOfSums is the cost of an addition of two sums: 12M + 2S, where a point to a sum
	// is 8M + 2S.
	sumOfSums = 1.3
	// sumOfBuckets is the same in the first step of the reduction, whose products are
	// calls and whose operands come from memory.
	sumOfBuckets = 1.9

	// The host's part, in launches: several sets are the work of several goroutines.
	severalSets, everySet = 1, 0.12
)

// idleBeside is how much longer the reduction takes where only a part of the places are buckets:
// 0.47 and 1.26 ms for 12 and 11 digits modulo six units on an H200, where 1 would be 0.33 and 1.05.
const idleBeside = 1.4

// dependent returns the time of additions that wait for each other, in so many threads.
// Where these do not fill the device, an addition takes less.
func (p *Plan) dependent(threads, additions float64) float64 {
	return max(threads, 0.65*float64(p.Params.Adding)) * additions
}

// reducing estimates the reduction, whose steps wait for each other.
func (p *Plan) reducing() float64 {
	first, joins := p.Reduction()
	// Sums that are empty take no time, but for those of threads beside which others have some.
	part := p.filled() / float64(p.BucketCount())
	if part < 1 {
		part = min(1, idleBeside*part)
	}
	sets := float64(p.AllSets()) * part
	cost := p.dependent(part*float64(p.BucketCount()>>first), sumOfBuckets*float64(int(2)<<first-1))
	for _, j := range joins {
		sums := sets * math.Exp2(float64(j.NodesAfter()+j.Lanes)) * float64(j.PartsAfter())
		additions := sumOfSums * float64(j.Lanes+(1<<j.Each)-1)
		if j.Quads {
			cost += max(sums, p.dependent(0, p.Params.Quad)) * additions
		} else {
			cost += p.dependent(sums, additions)
		}
	}
	return cost
}

// accumulation estimates the additions of a chunk of so many summands to all buckets, and
// those of the sums of runs that were split.
func (p *Plan) accumulation(summed, buckets float64) float64 {
	t := &p.Params
	// The longest run is some deviations above the average, which is more where the few
	// digits of the highest window are.
	average := summed / buckets
	most := average + p.crowd(float64(p.Count)/float64(len(p.Chunks)))
	run := min(most+4*math.Sqrt(most)+2, summed)
	task := min(run, float64(p.Piece))
	// At the end a part of the device has no task any more; a small MSM ends with its
	// longest one.
	end := min(min(average, float64(p.Piece))*float64(t.Adding), summed) / 2
	cost := max(summed+end, p.dependent(0, task))
	for pieces := run / float64(p.Piece); pieces > 1; pieces /= 2 {
		cost += p.dependent(0, sumOfSums)
	}
	return cost
}

// highestDigits estimates how many digits the highest window has.
func (p *Plan) highestDigits() float64 {
	if r, ok := p.Radix(); ok {
		return p.highestUnits(r.M)
	}
	return max(1, math.Exp2(halfOrderBits()[p.Curve]-float64(p.Width*(p.Windows-1))))
}
