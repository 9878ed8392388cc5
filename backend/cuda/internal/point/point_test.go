//go:build cuda

package point

import (
	"bytes"
	"cmp"
	"errors"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/fixtures"
)

func TestMain(m *testing.M) {
	cudatest.WithKernels()
	os.Exit(m.Run())
}

// opened returns a turn on a card and the group. The turn ends with the test.
func opened(t *testing.T, e backend.Element) (*device.Turn, *Group) {
	d, err := device.Open(0, device.Options{})
	cudatest.Opened(t, err)
	t.Cleanup(func() { d.Close() })
	turn, err := d.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := turn.End(); err != nil {
			t.Error(err)
		}
	})
	g, err := New(d, e)
	if err != nil {
		t.Fatal(err)
	}
	return turn, g
}

// compute multiplies points by scalars. It returns Dst's points and how many products Pace was
// told.
func compute(t *testing.T, turn *device.Turn, g *Group, m *Multiply, points, scalars []byte) (got []byte, products int) {
	scratch, err := g.Scratch(m)
	if err != nil {
		t.Fatal(err)
	}
	got = make([]byte, m.Dst.Count*g.of.Bytes())
	var all device.Layout
	work, facts, src, by, dst := all.Take(scratch), all.Take(int64(len(g.Facts()))), all.Take(
		int64(len(points))), all.Take(int64(len(scalars))), all.Take(int64(len(got)))
	span, err := turn.Work(all.Size, all.Size)
	if err != nil {
		t.Fatal(err)
	}
	m.Src.At, m.Scalars.At, m.Dst.At = device.Address(src.In(span)), device.Address(by.In(span)), device.Address(dst.In(span))
	if err := errors.Join(
		turn.Compute.Write(facts.In(span), g.Facts()),
		turn.Compute.Write(src.In(span), points),
		turn.Compute.Write(by.In(span), scalars),
		g.Queue(m, Resources{Stream: turn.Compute, Work: work.In(span), Facts: device.Address(facts.In(span)), Pace: func(n int) error {
			products += n
			return nil
		}}),
		turn.Compute.Read(got, dst.In(span)),
	); err != nil {
		t.Fatal(err)
	}
	return got, products
}

// TestLittleMemory multiplies with so little memory that neither the products of a row nor all
// digits fit it. Sums of rows over one table, and single products, are right by discrete
// logarithms.
func TestLittleMemory(t *testing.T) {
	const rows, terms, table = 2, leastProducts + 50, 3 // terms is no multiple of a table's points: 6 is of all
	e := backend.PointOf(backend.BN254, backend.G1)
	turn, g := opened(t, e)
	scalars, err := fixtures.Scalars(e.Curve, fixtures.Uniform, 7, rows*terms)
	if err != nil {
		t.Fatal(err)
	}
	var base []byte
	var logs []*big.Int
	for range table {
		k := big.NewInt(rand.Int64())
		logs, base = append(logs, k), append(base, multiple(e, k)...)
	}
	r := e.Curve.ScalarField()
	scalar := func(i int) *big.Int { return fixtures.ScalarValue(e.Curve, scalars[i*e.Curve.ScalarBytes():]) }
	product := func(i int) *big.Int { return new(big.Int).Mul(scalar(i), logs[i%table]) }
	for _, c := range []struct {
		count, terms int
		log          func(j int) *big.Int
	}{
		{rows, terms / table * table, func(j int) *big.Int {
			sum, n := new(big.Int), terms/table*table
			for i := range n {
				sum.Add(sum, product(j*n+i))
			}
			return sum
		}},
		{rows * leastProducts / table * table, 1, product},
	} {
		n := c.count * c.terms
		m := &Multiply{Dst: Points{Count: c.count}, Src: Points{Count: table}, Scalars: Points{Count: n}, Terms: c.terms}
		got, products := compute(t, turn, g, m, base, scalars[:n*e.Curve.ScalarBytes()])
		if products != n {
			t.Errorf("%d products were told of %d", products, n)
		}
		for j := range c.count {
			if c.terms == 1 && j%97 > 0 && j+1 < c.count {
				continue
			}
			log := c.log(j)
			if want := multiple(e, log.Mod(log, r)); !bytes.Equal(got[j*e.Bytes():(j+1)*e.Bytes()], want) {
				t.Fatalf("%d sums of %d products: %d is wrong", c.count, c.terms, j)
			}
		}
	}
}

// TestSharedRows checks by discrete logarithms sums of rows that share their doublings. It covers all
// groups, rows with the same points next to each other or not, or with one point, fewer scalars than
// products or one, digits of several widths, infinity, and equal and opposite points.
func TestSharedRows(t *testing.T) {
	for _, group := range backend.CurveGroups() {
		e := backend.PointOf(group.Curve, group.Group)
		t.Run(e.String(), func(t *testing.T) { testSharedRows(t, e) })
	}
}

func testSharedRows(t *testing.T, e backend.Element) {
	turn, g := opened(t, e)
	r := e.Curve.ScalarField()
	for _, c := range []struct{ points, terms, rows, scalars, bits, processors int }{
		{points: 40, terms: 5, rows: 8, scalars: 40, bits: 4, processors: 1}, // a thread makes two multiples of a point
		{points: 15, terms: 5, rows: 9, scalars: 45, bits: 4},
		{points: 6, terms: 12, rows: 10, scalars: 60, bits: 5},
		{points: 4, terms: 4, rows: 20, scalars: 80, bits: 7},
		{points: 10, terms: 4, rows: 15, scalars: 30, bits: 6}, // no two rows begin at the same point
		{points: 9, terms: 1, rows: 9, scalars: 9, bits: 4},
		{points: 9, terms: 3, rows: 3, scalars: 1, bits: 7},
	} {
		g.sharedBits, g.processors = c.bits, cmp.Or(c.processors, 132)
		m := &Multiply{Dst: Points{Count: c.rows}, Src: Points{Count: c.points}, Scalars: Points{Count: c.scalars},
			Terms: c.terms, Memory: 1 << 30}
		scalars, err := fixtures.Scalars(e.Curve, fixtures.Uniform, 9, c.scalars)
		if err != nil {
			t.Fatal(err)
		}
		size := e.Curve.ScalarBytes()
		if c.scalars > 2 {
			clear(scalars[:size])
			copy(scalars[2*size:3*size], scalars[size:2*size])
		}
		var base []byte
		var logs []*big.Int
		for i := range c.points {
			k := big.NewInt(rand.Int64())
			switch i {
			case 1:
				k = new(big.Int)
			case 2:
				k.Neg(logs[0])
			case 3:
				k = logs[0]
			}
			k = new(big.Int).Mod(k, r)
			logs, base = append(logs, k), append(base, multiple(e, k)...)
		}
		got, products := compute(t, turn, g, m, base, scalars)
		if products != c.rows*c.terms {
			t.Errorf("%+v: %d products were told", c, products)
		}
		for j := range c.rows {
			log := new(big.Int)
			for i := j * c.terms; i < (j+1)*c.terms; i++ {
				s := fixtures.ScalarValue(e.Curve, scalars[i%c.scalars*size:])
				log.Add(log, s.Mul(s, logs[i%c.points]))
			}
			if want := multiple(e, log.Mod(log, r)); !bytes.Equal(got[j*e.Bytes():(j+1)*e.Bytes()], want) {
				t.Fatalf("%+v: row %d is wrong", c, j)
			}
		}
	}
}

// TestRowsAreShared: rows share multiples of their points where that is shorter, as it was on an H200,
// and as far as there is memory.
func TestRowsAreShared(t *testing.T) {
	_, g := opened(t, backend.PointOf(backend.BLS12381, backend.G1))
	g.processors = 132
	for _, c := range []struct {
		points, terms, rows, scalars int
		memory                       int64
		bits                         int
	}{
		{points: 256, terms: 1, rows: 256, scalars: 256, bits: 5},
		{points: 1 << 14, terms: 1, rows: 1 << 14, scalars: 1 << 14},
		{points: 64, terms: 64, rows: 1, scalars: 64, bits: 5},
		{points: 8192, terms: 64, rows: 128, scalars: 8192, bits: 4},
		{points: 8192, terms: 64, rows: 128, scalars: 8192, memory: 32 << 20},
		{points: 128, terms: 128, rows: 128, scalars: 128 * 128, bits: 7},
		{points: 128, terms: 128, rows: 128, scalars: 128 * 128, memory: 4 << 20, bits: 6},
		{points: 1 << 17, terms: 1 << 17, rows: 1, scalars: 1 << 17},
	} {
		m := &Multiply{Dst: Points{Count: c.rows}, Src: Points{Count: c.points}, Scalars: Points{Count: c.scalars},
			Terms: c.terms, Memory: cmp.Or(c.memory, 1<<33)}
		if bits := m.shared(&queue{Group: g}, c.terms, mostProducts); bits != c.bits {
			t.Errorf("%+v: digits of %d bits", c, bits)
		}
	}
}
