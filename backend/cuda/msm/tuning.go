package msm

import "github.com/pippin-zk/pippin/backend"

// tuning is what was measured on devices, for newPlan. Costs are in units of
// the time of one addition of a point to a bucket with the device full.
type tuning struct {
	entry   float64 // the digit of one entry, and its place in the sort
	reduce  float64 // the reduction, a bucket
	bucket  float64 // reading, cutting and writing a bucket, a chunk
	launch  float64 // a chunk's fixed time
	beside  float64 // what runs beside the accumulation, as a part of its own time
	copy    float64 // the copy of one scalar
	edwards float64 // one addition of a point in Edwards form; 0 where there is no such form
	pair    float64 // one addition of affine points, in pairs; 0 where that loses
	invert  float64 // what a level of pairs takes beside its additions: inverses and launches
	overlap int     // points from which the copy is worth hiding
	piece   int     // the shortest limit for tasks
	chunk   int     // the least number of points that is worth a step of its own
	shared  int     // bytes of shared memory that a block of the sort may have

	together int // points of small MSMs side by side, which fill the device

	pairLevels  int // levels of pairs, where there are some
	pairTasks   int // tasks of which pairs are added up at a time
	pairThreads int // that the card has at a time for them

	firstLevel, level int  // logarithms, see plan.reduction
	window            int  // chosen beforehand; 0 is the best
	inTurn            bool // nothing runs beside the accumulation
}

// tunings were fitted on an H200; the docs' decision 10 has the numbers.
var tunings = [...][2]tuning{
	backend.BN254:    {forAddition(0.16), forAddition(0.5)},
	backend.BLS12377: {withEdwards(inPairs(forAddition(0.36), 0.74, 130_000/0.36), 0.26/0.36), inPairs(forAddition(1.3), 0.67, 170_000/1.3)},
	backend.BLS12381: {inPairs(forAddition(0.36), 0.74, 130_000/0.36), inPairs(forAddition(1.2), 0.71, 170_000/1.2)},
	backend.BW6761:   {wide(inPairs(forAddition(1.6), 0.72, 290_000/1.6)), wide(inPairs(forAddition(1.6), 0.72, 290_000/1.6))},
}

// withEdwards is for a group whose bases may have Edwards form too, in which an
// addition takes so much of the other's time.
func withEdwards(t tuning, addition float64) tuning {
	t.edwards = addition
	return t
}

// inPairs is for a group whose affine additions in pairs take so much of the other's
// time, and a level's inverses as many additions.
func inPairs(t tuning, addition, invert float64) tuning {
	t.pair, t.invert = addition, invert
	return t
}

// wide is for points of which a multiprocessor holds few: the first level of the
// reduction needs more threads.
func wide(t tuning) tuning {
	t.firstLevel = 3
	return t
}

// forAddition is the tuning for a curve whose additions take so many
// nanoseconds each: what is memory traffic weighs the less the slower they are.
func forAddition(ns float64) tuning {
	return tuning{
		entry:   0.02 / ns,
		reduce:  4,
		bucket:  0.06 / ns,
		beside:  0.7,
		launch:  150_000 / ns,
		copy:    0.6 / ns,
		overlap: 1 << 20,
		piece:   128,
		chunk:   1 << 14,
		shared:  200 << 10,

		together: 1 << 20,

		pairLevels:  4,
		pairTasks:   1 << 22,
		pairThreads: 132 * 4 * 128,

		firstLevel: 4,
		level:      2,
	}
}

func tuningOf(c backend.Curve, g backend.Group) tuning { return tunings[c][g-backend.G1] }
