package msmplan

import (
	"math/bits"

	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

const (
	oneLevel  = 12      // the logarithm of the most buckets that have a bin each
	mostShift = 12      // the logarithm of the most buckets of a bin
	leastEach = 128     // scalars of a tile, at least
	wholeEach = 1 << 10 // a large tile has a multiple of this
	fewTiles  = 512     // tiles that keep a large device busy
)

// Sorting says how entries are put in the order of their buckets: first in the order of
// bins of 2^Shift buckets, then each bin in the order of its buckets.
type Sorting struct {
	Shift int
	Bins  int // of all sets of all MSMs
	Row   int // those that one MSM has buckets in, at most
	Each  int // scalars of a tile
}

// sorting chooses bins and tiles for so many points.
func (p *Plan) sorting(points int) Sorting {
	var s Sorting
	buckets := int(p.BucketCount())
	if log := bits.Len(uint(buckets - 1)); log > oneLevel {
		s.Shift = min((log+1)/2, mostShift)
	}
	size := 1 << s.Shift
	s.Bins = (buckets + size - 1) / size
	own := p.Sets << p.BucketBits()
	s.Row = min(s.Bins, (own+size-2)/size+1)
	if own%size == 0 {
		s.Row = own / size
	}
	// Scalars of which a block holds all digits: a word and a half each, numbered by
	// halves of words but for their signs.
	fits := min((p.Params.Shared-8*s.Row)/6/p.Windows, 1<<15/rowsOf(p.Windows, p.Sets))
	fills := (p.MSMs()*points + fewTiles - 1) / fewTiles
	s.Each = max(min(fits, max(fills, leastEach)), 1<<warpBits)
	if s.Each > wholeEach {
		s.Each -= s.Each % wholeEach
	}
	s.Each -= s.Each % (1 << warpBits)
	return s
}

// Tiles returns how many tiles so many points of an MSM make.
func (s *Sorting) Tiles(points int) int { return (points + s.Each - 1) / s.Each }

// ScatterShared returns the shared memory of bins_scatter, in bytes.
func (p *Plan) ScatterShared() int { return 8*p.Sort.Row + 6*p.Sort.Each*p.Windows }

// RestShared returns the shared memory of rest_scatter, in bytes.
func (s *Sorting) RestShared() int { return 4*(2<<s.Shift+kernel.SortTile) + 2*kernel.SortTile }
