package msmplan

import (
	"testing"

	"github.com/pippin-zk/pippin/backend"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// TestDirectPlans checks what direct.cu relies on, for all bases that have the multiples and
// for parts of them, by windows of every width, and which MSMs have buckets nevertheless.
func TestDirectPlans(t *testing.T) {
	eachPlanned(func(c backend.Curve, g backend.Group) {
		in := inputOf(c, g, 1<<10, 1<<30)
		has := hasDirect(c.String(), g.String(), in.Params.Edwards > 0)
		if want := g == backend.G1 && c != backend.BW6761; has != want {
			t.Fatalf("%v %v: %v", c, g, has)
		}
		m := ChooseMultiples(in, 0, in.Memory/2)
		if (m.Digits > 1) != has {
			t.Errorf("%v %v: %+v for 2^10 bases", c, g, m)
		}
		if !has {
			return
		}
		if want, ok := in.directMultiples(m.Shift); !ok || m != want || m.Rows != Windows(c, m.Shift)<<(m.Shift-1) || m.Distance != in.Count {
			t.Errorf("%v: %+v", c, m)
		}
		if less := ChooseMultiples(in, m.Rows-1, in.Memory/2); less.Rows >= m.Rows {
			t.Errorf("%v: %+v, more than the hint allows", c, less)
		}
		room := in.TableBytes(m)*4 - 1
		if less := ChooseMultiples(in, 0, room); less.Digits > 1 && in.TableBytes(less) > room/4 {
			t.Errorf("%v: %+v, more than a quarter of the room", c, less)
		}
		if m := ChooseMultiples(inputOf(c, g, DirectPoints+1, 1<<40), 0, 1<<40); m.Digits > 1 {
			t.Errorf("%v: %+v for %d bases", c, m, DirectPoints+1)
		}
		for n := 1; n <= DirectPoints; n += 1 + n/7 {
			for width := leastDirect; width <= mostDirect; width++ {
				checkDirectPlan(t, c, g, n, width)
			}
		}
	})
}

func checkDirectPlan(t *testing.T, c backend.Curve, g backend.Group, n, width int) {
	all := inputOf(c, g, DirectPoints, 1<<40)
	in := inputOf(c, g, n, 1<<30)
	in.Multiples, _ = all.directMultiples(width)
	in.Params.Window = 1
	p, err := New(in)
	if err != nil || !p.Direct || p.Width != width || p.Windows != Windows(c, width) {
		t.Fatalf("%v %d by %d bits: %+v, %v", c, n, width, p, err)
	}
	each, blocks := p.DirectEach(), p.DirectBlocks()
	results := (blocks + directJoined - 1) / directJoined
	if each < 1 || each*p.Windows > directDigits || each*blocks < n || each*(blocks-1) >= n {
		t.Errorf("%v %d by %d bits: %d blocks of %d", c, n, width, blocks, each)
	}
	if atOnce := p.Params.Adding / directBlock; blocks > atOnce && (each+1)*p.Windows <= directDigits {
		t.Errorf("%v %d by %d bits: %d blocks of %d, %d at a time", c, n, width, blocks, each, atOnce)
	}
	w := &p.Work
	if w.Nodes[0].Size < int64(blocks)*p.PointBytes() || w.Sums.Size != int64(results)*p.ResultBytes() ||
		w.Bad.Size != int64(4+4*results) || w.Results().Size != w.Sums.Size+w.Bad.Size || w.Bad.Off != w.Sums.Off+w.Sums.Size {
		t.Errorf("%v %d: %d blocks, %d results, %+v", c, n, blocks, results, w)
	}
	if p.RowStride() != DirectPoints<<(width-1) || p.BucketCount() != 0 || p.ScalarBytes != int64(n*c.ScalarBytes()) || p.Need() > p.Memory {
		t.Errorf("%v %d: %+v", c, n, p)
	}
	if k, ok := kernel.ForSmall(c.String(), map[bool]string{false: "g1", true: Edwards.Of("g1")}[in.Multiples.Edwards]); !ok ||
		k.Direct.Threads != directBlock {
		t.Errorf("%v: %d threads a block", c, k.Direct.Threads)
	}
	if width > leastDirect {
		return
	}
	in.Params.Window = 0
	in.Together = 2
	if p, err := New(in); err != nil || p.Direct {
		t.Errorf("%v %d, two MSMs: without buckets, or %v", c, n, err)
	}
	in.Together, in.Stream = 0, true
	if p, err := New(in); err != nil || p.Direct {
		t.Errorf("%v %d, bases on the host: without buckets, or %v", c, n, err)
	}
}

// TestBucketsOfDigits: windows of buckets read the rows of powers of 2 among multiples by all
// digits.
func TestBucketsOfDigits(t *testing.T) {
	in := inputOf(backend.BN254, backend.G1, 1<<10, 1<<30)
	m, _ := in.directMultiples(5)
	for _, s := range m.sharings(Windows(in.Curve, 10), 10) {
		if s.Skip != s.Sets*2*16 && s.Skip != 0 {
			t.Errorf("windows of 10 bits: %+v", s)
		}
	}
	if all := m.sharings(Windows(in.Curve, 10), 10); len(all) != Windows(in.Curve, 10) {
		t.Errorf("windows of 10 bits: %+v", all)
	}
	if all := m.sharings(Windows(in.Curve, 7), 7); len(all) < 2 || all[1] != (Sharing{5, 7 * 16}) {
		t.Errorf("windows of 7 bits: %+v", all)
	}
}
