// Package cpu computes MSMs in this process. New is the production path on
// gnark-crypto's MultiExp, and NewReference adds point by point: an oracle for
// tests of small sizes.
package cpu

import (
	"fmt"
	"runtime"

	"github.com/pippin-zk/pippin/backend"
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

const (
	maxTasks     = 1024 // gnark-crypto's own limit
	defaultChunk = 1 << 22
	// One MSM leaves processors idle: gnark-crypto deals out some 20 windows,
	// and adds up their sums alone. On 16 cores a second job at the same time
	// makes the MSMs of a Groth16 proof 10 to 20 % faster, a fourth another
	// 3 %, more nothing; on two cores it makes no difference.
	defaultJobs = 4
)

// New makes the backend "cpu". Bases given as Bytes are used where they are;
// all others are copied.
//
// A cancelled call returns at once. The chunk that it had begun is computed to its
// end on a copy of its scalars; freeing its bases and Close wait for that.
//
// gnark-crypto holds digits of the scalars in Go memory while it computes, and
// that memory is not wiped.
func New(o Options) backend.Backend {
	if o.Chunk <= 0 {
		o.Chunk = defaultChunk
	}
	o.Tasks = min(max(o.Tasks, 0), maxTasks)
	if o.Jobs <= 0 {
		o.Jobs = defaultJobs
	}
	return newLocal("cpu", o.Chunk, o.Jobs, func(c backend.Curve, g backend.Group) kernel { return fast(c, g, o.Tasks) }, fastFields(), fastNumbers)
}

// NewReference makes the backend "reference", which adds every point once for
// every bit of its scalar and does nothing clever. It takes about 0.1 to 2 ms a
// point on one processor.
func NewReference() backend.Backend {
	const chunk = 16 // a context is looked at every few milliseconds
	return newLocal("reference", chunk, 1, reference, referenceField, referenceNumbers)
}

func deviceDetail() string {
	return fmt.Sprintf("%d processors, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
