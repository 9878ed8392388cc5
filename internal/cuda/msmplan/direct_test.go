package msmplan

import (
	"testing"

	"github.com/pippin-zk/pippin/backend"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// TestDirectPlans checks what direct.cu relies on, for all bases that have the multiples and
// for parts of them, and which MSMs have buckets nevertheless.
func TestDirectPlans(t *testing.T) {
	eachPlanned(func(c backend.Curve, g backend.Group) {
		in := inputOf(c, g, 1<<10, 1<<30)
		has := hasDirect(c.String(), g.String(), in.Params.Edwards > 0)
		if want := g == backend.G1 && c != backend.BW6761; has != want {
			t.Fatalf("%v %v: %v", c, g, has)
		}
		m := ChooseMultiples(in, 0, in.Memory/2)
		if (m.Shift == 1) != has {
			t.Errorf("%v %v: %+v for 2^10 bases", c, g, m)
		}
		if !has {
			return
		}
		if m != (Multiples{Rows: c.ScalarBits(), Shift: 1, Distance: 1 << 10, Edwards: c == backend.BLS12377}) {
			t.Errorf("%v: %+v", c, m)
		}
		if m := ChooseMultiples(in, c.ScalarBits()-1, in.Memory/2); m.Shift == 1 {
			t.Errorf("%v: %+v, more than the hint allows", c, m)
		}
		if m := ChooseMultiples(in, 0, in.TableBytes(m)-1); m.Shift == 1 {
			t.Errorf("%v: %+v, more than there is room for", c, m)
		}
		if m := ChooseMultiples(inputOf(c, g, DirectPoints+1, 1<<40), 0, 1<<40); m.Shift == 1 {
			t.Errorf("%v: %+v for %d bases", c, m, DirectPoints+1)
		}
		for n := 1; n <= DirectPoints; n += 1 + n/7 {
			in := inputOf(c, g, n, 1<<30)
			in.Multiples = Multiples{Rows: c.ScalarBits(), Shift: 1, Distance: DirectPoints, Edwards: m.Edwards}
			in.Params.Entry = 1e6 // whatever is sorted
			p, err := New(in)
			if err != nil || !p.Direct {
				t.Fatalf("%v %d: %+v, %v", c, n, p, err)
			}
			each, blocks := p.DirectEach(), p.DirectBlocks()
			results := (blocks + directJoined - 1) / directJoined
			if each < 1 || each > directEach || each*blocks < n || each*(blocks-1) >= n {
				t.Errorf("%v %d: %d blocks of %d", c, n, blocks, each)
			}
			w := &p.Work
			if w.Nodes[0].Size < int64(blocks)*p.PointBytes() || w.Sums.Size != int64(results)*p.ResultBytes() ||
				w.Bad.Size != int64(4+4*results) || w.Results().Size != w.Sums.Size+w.Bad.Size || w.Bad.Off != w.Sums.Off+w.Sums.Size {
				t.Errorf("%v %d: %d blocks, %d results, %+v", c, n, blocks, results, w)
			}
			if p.RowStride() != DirectPoints || p.BucketCount() != 0 || p.ScalarBytes != int64(n*c.ScalarBytes()) || p.Need() > p.Memory {
				t.Errorf("%v %d: %+v", c, n, p)
			}
			if k, ok := kernel.ForSmall(c.String(), map[bool]string{false: "g1", true: EdwardsForm("g1")}[m.Edwards]); !ok ||
				k.Direct.Threads != directBlock {
				t.Errorf("%v: %d threads a block", c, k.Direct.Threads)
			}
			in.Together = 2
			if p, err := New(in); err != nil || p.Direct {
				t.Errorf("%v %d, two MSMs: without buckets, or %v", c, n, err)
			}
			in.Together, in.Stream = 0, true
			if p, err := New(in); err != nil || p.Direct {
				t.Errorf("%v %d, bases on the host: without buckets, or %v", c, n, err)
			}
		}
	})
}
