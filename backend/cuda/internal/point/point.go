package point

import (
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/point"
)

// Group is a group on one card. Its methods are called within a turn, which bounds who may call
// them at the same time.
type Group struct {
	of            backend.Element
	facts         *facts
	coordinate    int64 // bytes
	scalar        int64
	scalarBits    int
	processors    int
	productBlocks int // as many as run at the same time
	sharedBits    int // of the digits with which rows share multiples whatever it costs, for tests

	recode       device.Kernel[kernel.Recode]
	product      device.Kernel[kernel.Product]
	seeds        device.Kernel[kernel.Seeds]
	table        device.Kernel[kernel.Table]
	fixed        device.Kernel[kernel.Fixed]
	rowMultiples device.Kernel[kernel.RowMultiples]
	rowWindows   device.Kernel[kernel.RowWindows]
	joinSums     device.Kernel[kernel.JoinSums]
	addRanges    device.Kernel[kernel.AddRanges]
	sumRows      device.Kernel[kernel.SumRows]
	normalise    device.Kernel[kernel.Normalise]
	spread       device.Kernel[kernel.Spread]
	combine      device.Kernel[kernel.Combine]
	coordinates  device.Kernel[kernel.Coordinates]
	checkPoints  device.Kernel[kernel.CheckPoints]
	decode       device.Kernel[kernel.Decode]
	encode       device.Kernel[kernel.Encode]
}

// New loads the kernels of a group.
func New(d *device.Device, e backend.Element) (*Group, error) {
	ks, ok := kernel.ForGroup(e.Curve.String(), e.Group.String())
	curve, also := kernel.ForCurve(e.Curve.String())
	if e.Kind != backend.Points || !ok || !also {
		return nil, fmt.Errorf("%w: no programs over %v", backend.ErrUnsupported, e)
	}
	facts, err := factsOf(e)
	if err != nil {
		return nil, err
	}
	g := &Group{
		of: e, facts: facts, coordinate: int64(e.Bytes() / 2), scalar: int64(e.Curve.ScalarBytes()),
		scalarBits: e.Curve.ScalarBits(), processors: d.Driver().Info().Multiprocessors,
	}
	err = errors.Join(
		g.recode.Load(d, curve.Recode),
		g.product.Load(d, ks.Product),
		g.seeds.Load(d, ks.Seeds),
		g.table.Load(d, ks.Table),
		g.fixed.Load(d, ks.Fixed),
		g.rowMultiples.Load(d, ks.RowMultiples),
		g.rowWindows.Load(d, ks.RowWindows),
		g.joinSums.Load(d, ks.JoinSums),
		g.addRanges.Load(d, ks.AddRanges),
		g.sumRows.Load(d, ks.SumRows),
		g.normalise.Load(d, ks.Normalise),
		g.spread.Load(d, ks.Spread),
		g.combine.Load(d, ks.Combine),
		g.coordinates.Load(d, ks.Coordinates),
		g.checkPoints.Load(d, ks.CheckPoints),
		g.decode.Load(d, ks.Decode),
		g.encode.Load(d, ks.Encode),
	)
	if err != nil {
		return nil, err
	}
	resident, err := g.product.Occupancy(g.product.Threads, 0)
	if err != nil {
		return nil, err
	}
	g.productBlocks = g.processors * max(resident, 1)
	return g, nil
}

// Facts returns what the kernels read about the group. Resources.Facts says where it lies.
func (g *Group) Facts() []byte { return g.facts.bytes }

// Resources is what queueing a step takes.
type Resources struct {
	Stream *driver.Stream
	Work   driver.Span     // as many bytes as Scratch says
	Facts  kernels.Pointer // of the group
	// Pace is told how many products were queued. It may wait for earlier ones.
	Pace func(products int) error
}

// Step is one of Multiply, Add and Transform.
type Step interface{ queue(x *queue) error }

// Scratch returns the bytes of work memory that a step needs.
func (g *Group) Scratch(s Step) (int64, error) {
	x := &queue{Group: g, rehearsal: true}
	err := s.queue(x)
	return x.most, err
}

// Queue queues a step.
func (g *Group) Queue(s Step, with Resources) error {
	return s.queue(&queue{Group: g, Resources: with})
}

// Points is affine points on the card that follow one another.
type Points struct {
	At    kernels.Pointer
	Count int
}

// Check queues a check of points. Its answer takes CheckedBytes of memory, which must be filled
// with ones before.
func (g *Group) Check(with Resources, src Points, subgroup bool, answer kernels.Pointer) error {
	p := kernel.CheckPoints{Points: src.At, N: src.Count, Answer: answer}
	if subgroup {
		p.Digits, p.Places, p.Beta = g.fact(with, g.facts.check), g.facts.checks, g.fact(with, g.facts.beta)
	}
	return g.checkPoints.Launch(with.Stream, src.Count, 1, p)
}

// CheckedBytes is the size of Check's answer.
const CheckedBytes = 4 * kernel.CheckedWords

// Coordinates lowers the word at bad to the index of the first point with a coordinate not below q.
func (g *Group) Coordinates(with Resources, src Points, bad kernels.Pointer) error {
	return g.coordinates.Launch(with.Stream, src.Count, 1, kernel.Coordinates{Points: src.At, N: src.Count, Bad: bad})
}

// Decode queues the decoding of dst.Count points. It lowers the word at bad to the index of the
// first that encodes no point.
func (g *Group) Decode(with Resources, dst Points, src kernels.Pointer, as backend.Encoding, bad kernels.Pointer) error {
	f := g.facts
	return g.decode.Launch(with.Stream, dst.Count, 1, kernel.Decode{
		From: src, N: dst.Count, Compressed: as == backend.Compressed, To: dst.At, Digits: g.fact(with, f.power), Places: f.powers,
		S: f.twos, Constants: g.fact(with, f.roots), Bad: bad,
	})
}

// Encode queues the encoding of points.
func (g *Group) Encode(with Resources, src Points, dst kernels.Pointer, as backend.Encoding) error {
	return g.encode.Launch(with.Stream, src.Count, 1, kernel.Encode{From: src.At, N: src.Count, Compressed: as == backend.Compressed, To: dst})
}

// fact returns where a part of the facts lies.
func (g *Group) fact(with Resources, offset int) kernels.Pointer {
	return with.Facts + kernels.Pointer(offset)
}

// queue is a step on its way to the card, or its rehearsal: that launches nothing, and its
// addresses in work memory mean nothing.
type queue struct {
	*Group
	Resources
	rehearsal bool

	used, most int64
}

// take takes work memory. Resetting used gives it back.
func (x *queue) take(size int64) kernels.Pointer {
	at := x.used
	x.used += device.Align(size)
	x.most = max(x.most, x.used)
	if x.rehearsal {
		return 0
	}
	return device.Address(x.Work) + kernels.Pointer(at)
}

// jacobians takes room for n Jacobian points.
func (x *queue) jacobians(n int) kernels.Pointer {
	return x.take(int64(n) * kernel.JacobianElements * x.coordinate)
}

// sums takes room for n sums of rows.
func (x *queue) sums(n int) kernels.Pointer {
	return x.take(int64(n) * kernel.SumElements * x.coordinate)
}

func launch[P kernels.Params](x *queue, k *device.Kernel[P], items int, p P) error {
	if x.rehearsal {
		return nil
	}
	return k.Launch(x.Stream, items, 1, p)
}

// pace calls Pace, except in a rehearsal.
func (x *queue) pace(products int) error {
	if x.rehearsal {
		return nil
	}
	return x.Pace(products)
}

// affine makes n Jacobian points affine and writes them to a space. If logReversed is not 0, they
// are rows of 2^logReversed points in reversed order.
func (x *queue) affine(from, to kernels.Pointer, n, logReversed int) error {
	defer func(used int64) { x.used = used }(x.used)
	// As many points share an inversion as leave the card enough threads.
	const most, threads = 32, 512
	each := min(max(n/(x.processors*threads), 1), most)
	return launch(x, &x.normalise, (n+each-1)/each, kernel.Normalise{
		From: from, To: to, N: n, Each: each, LogReversed: logReversed, Scratch: x.take(int64(n) * x.coordinate),
	})
}

// sum adds up rows of points and returns one Jacobian point for each row. The points are Jacobian
// if projective is set, otherwise affine: all points, repeated, from the point first on.
func (x *queue) sum(from kernels.Pointer, all, first int, projective bool, rows, terms int) (kernels.Pointer, error) {
	const each, most = 16, 1 << 20
	for terms > 1 || !projective {
		parts := min((terms+each-1)/each, max(most/rows, 1))
		to := x.jacobians(rows * parts)
		err := launch(x, &x.sumRows, rows*parts, kernel.SumRows{
			From: from, Points: all, Projective: projective, To: to, First: first, Rows: rows, Terms: terms, Parts: parts,
		})
		if err != nil {
			return 0, err
		}
		from, all, first, projective, terms = to, rows*parts, 0, true, parts
	}
	return from, nil
}

// Add is backend.AddPoints. Items has item_words words for each range, on the card.
type Add struct {
	Dst   Points
	Items kernels.Pointer
	N     int
}

func (s *Add) queue(x *queue) error {
	const chunk = 1 << 20
	used := x.used
	for from := 0; from < s.Dst.Count; from += chunk {
		n := min(chunk, s.Dst.Count-from)
		x.used = used
		sums := x.jacobians(n)
		if err := errors.Join(
			launch(x, &x.addRanges, n, kernel.AddRanges{Items: s.Items, N: s.N, To: sums, First: from, Count: n}),
			x.affine(sums, s.Dst.At+kernels.Pointer(from*x.of.Bytes()), n, 0),
			x.pace(n),
		); err != nil {
			return err
		}
	}
	return nil
}
