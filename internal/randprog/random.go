package randprog

import (
	"bytes"
	"math"
	"math/bits"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
)

// Shape bounds the programs that Program reads.
type Shape struct {
	// Elements is about how many the largest space has.
	Elements int
	// Transform bounds the elements of a transform: the reference takes as many
	// products as the square.
	Transform int
	// Steps is the most steps, not counting those that make another one possible.
	Steps int
}

// Small is the shape of programs that the reference runs in milliseconds.
var Small = Shape{Elements: 100, Transform: 32, Steps: 6}

// Program reads a valid program over a curve that commits to points of bases.
func (r *Reader) Program(c backend.Curve, bases backend.Bases, shape Shape) *Program {
	p := &maker{Reader: r, shape: shape, Program: Program{Element: backend.ScalarOf(c), Bases: []backend.Bases{bases}}}
	for _, size := range [3]int{shape.Elements, shape.Elements * 2 / 3, shape.Elements / 2} {
		size -= r.Below(size/3 + 1)
		p.Spaces = append(p.Spaces, r.elements(c, size))
		p.sizes = append(p.sizes, size)
	}
	makers := [...]func(){p.write, p.gather, p.read, p.transform, p.transform, p.mapped, p.mapped, p.mapped,
		p.powers, p.invert, p.products, p.evaluate, p.divide, p.commit, p.sparse}
	for range 1 + r.Below(shape.Steps) {
		makers[r.Below(len(makers))]()
	}
	return &p.Program
}

// maker makes the steps of a program.
type maker struct {
	*Reader
	Program
	shape Shape
	sizes []int // of Spaces
	given int   // the last Job with its own input, counted from one
}

// below returns a number below n, however large.
func (r *Reader) below(n int) int {
	v := int(r.Next())
	for m := n; m > 256; m >>= 8 {
		v = v<<8 | int(r.Next())
	}
	return v % n
}

// oneOf returns one of some values.
func oneOf[T any](r *Reader, some ...T) T { return some[r.Below(len(some))] }

// elements returns n elements, the first ones as Scalars reads them.
func (r *Reader) elements(c backend.Curve, n int) []byte {
	const edges = 8
	all, err := fixtures.Scalars(c, fixtures.Uniform, uint64(r.Next()), n)
	if err != nil {
		panic(err) // curve and n are this package's own
	}
	copy(all, r.Scalars(c, min(edges, n)))
	return all
}

// others returns the three spaces, in an order that begins with any of them.
func (p *maker) others() (a, b, c int) {
	a = p.Below(3)
	b = (a + 1 + p.Below(2)) % 3
	return a, b, 3 - a - b
}

// span returns a range of count elements of a space.
func (p *maker) span(space, count int) backend.Range {
	return backend.Range{Space: backend.SpaceID(space + 1), Offset: p.below(p.sizes[space] - count + 1), Count: count}
}

// count returns a number of elements that fit into spaces.
func (p *maker) count(spaces ...int) int {
	least := p.sizes[spaces[0]]
	for _, k := range spaces {
		least = min(least, p.sizes[k])
	}
	return p.below(least + 1)
}

func (p *maker) add(s ...backend.Step) { p.Steps = append(p.Steps, s...) }

func (p *maker) write() {
	a, _, _ := p.others()
	n := p.count(a)
	p.add(backend.Write{Dst: p.span(a, n), Input: backend.Input{Bytes: p.elements(p.Curve, n), Check: p.Below(2) == 1}})
}

func (p *maker) read() {
	a, _, _ := p.others()
	p.add(backend.Read{Src: p.span(a, p.count(a))})
}

// gather writes the table and, since that is no elements, elements again.
func (p *maker) gather() {
	a, b, c := p.others()
	src := p.span(b, 1+p.below(p.sizes[b]))
	indices := make([]uint32, p.count(c))
	for i := range indices {
		indices[i] = uint32(p.below(src.Count))
	}
	n := backend.IndexElements(p.Curve, len(indices))
	index := p.span(a, n)
	p.add(
		backend.WriteIndices{Dst: index, Indices: indices},
		backend.Gather{Dst: p.span(c, len(indices)), Src: src, Index: index},
		backend.Write{Dst: index, Input: backend.Input{Bytes: p.elements(p.Curve, n)}},
	)
}

// sparse writes the tables of a matrix and, since they are no elements, elements again. Some rows
// have no entry, and some have most of them.
func (p *maker) sparse() {
	a, b, c := p.others()
	dst, src := p.span(c, p.count(c)), p.span(b, 1+p.below(p.sizes[b]))
	s := backend.SparseProduct{Dst: dst, Src: src}
	if p.Below(4) > 0 {
		s.Values = p.span(b, p.below(min(4, p.sizes[b])))
	}
	room := p.sizes[a] / 3 // of a table, in elements
	if dst.Count > 0 {
		s.Entries = p.below(room*p.Curve.ScalarBytes()/4 + 1)
	}
	n := backend.IndexElements(p.Curve, s.Entries)
	all := p.span(a, 3*n)
	var tables [3]backend.Range
	for k := range tables {
		tables[k] = backend.Range{Space: all.Space, Offset: all.Offset + k*n, Count: n}
	}
	rows, columns, factors := make([]uint32, s.Entries), make([]uint32, s.Entries), make([]uint32, s.Entries)
	most := p.Below(3) == 0
	for i := range rows {
		if rows[i] = uint32(p.below(max(dst.Count, 1))); most && p.Below(4) > 0 {
			rows[i] = rows[0]
		}
		columns[i], factors[i] = uint32(p.below(src.Count)), uint32(p.below(backend.FactorValue+s.Values.Count))
	}
	slices.Sort(rows)
	s.Rows, s.Columns, s.Factors = tables[0], tables[1], tables[2]
	p.add(
		backend.WriteIndices{Dst: s.Rows, Indices: rows},
		backend.WriteIndices{Dst: s.Columns, Indices: columns},
		backend.WriteIndices{Dst: s.Factors, Indices: factors},
		s,
		backend.Write{Dst: all, Input: backend.Input{Bytes: p.elements(p.Curve, 3*n)}},
	)
}

func (p *maker) transform() {
	a, b, _ := p.others()
	p.transformed(a, b)
}

// transformed transforms elements of the space b to the space a.
func (p *maker) transformed(a, b int) {
	room := min(p.sizes[a], p.sizes[b])
	n := 1 << p.Below(bits.Len(uint(min(room, p.shape.Transform))))
	batch := 1 + p.Below(min(room/n, 3))
	t := backend.Transform{Dst: p.span(a, n*batch), Batch: batch, Inverse: p.Below(2) == 1}
	if batch == 1 {
		t.Batch = p.Below(2)
	}
	switch p.Below(3) {
	case 0:
		t.To = backend.Reversed
	case 1:
		t.From = backend.Reversed
	}
	given := n
	if !t.Inverse && t.From == backend.Natural && p.Below(2) == 1 {
		given = 1 + p.below(n)
	}
	if t.Src = p.span(b, given*batch); given == n && p.Below(3) == 0 {
		t.Src = t.Dst
	}
	if p.Below(2) == 1 {
		t.Shift = p.nonzero()
	}
	p.add(t)
}

// nonzero returns an element that is not zero.
func (p *maker) nonzero() []byte {
	e := p.Scalars(p.Curve, 1)
	if bytes.Equal(e, make([]byte, len(e))) {
		e[0]++
	}
	return e
}

// operand returns a vector of a space, a power of two of elements as often as not.
func (p *maker) operand(space int) backend.Operand {
	m := 1 + p.below(p.sizes[space])
	if p.Below(2) == 1 {
		m = 1 << (bits.Len(uint(m)) - 1)
	}
	o := backend.Operand{
		Range:  p.span(space, m),
		Stride: oneOf(p.Reader, 1, 1, 1, 0, 2, 3, -1, 5, 8, 255, math.MaxInt, math.MinInt),
		Rotate: oneOf(p.Reader, 0, 0, 1, 4, -1, 7, 300, math.MaxInt, math.MinInt),
	}
	if m&(m-1) == 0 && p.Below(2) == 1 {
		o.Order = backend.Reversed
	}
	return o
}

func (p *maker) mapped() {
	a, b, c := p.others()
	m := backend.Map{Dst: p.operand(a), Constants: p.Scalars(p.Curve, p.Below(3))}
	for range 1 + p.Below(4) {
		m.Args = append(m.Args, oneOf(p.Reader, p.operand(b), p.operand(c), m.Dst))
	}
	// As many places as Stride reaches before it comes back to the first.
	x, y := m.Dst.Count, m.Dst.Stride%m.Dst.Count
	for y != 0 {
		x, y = y, x%y
	}
	if reached := m.Dst.Count / max(x, -x); p.Below(2) == 1 {
		m.Count = reached
	} else {
		m.Count = p.below(reached + 1)
	}
	m.Code = p.code(len(m.Args), len(m.Constants)/p.Curve.ScalarBytes())
	p.add(m)
}

func (p *maker) code(args, constants int) (code []backend.MapCode) {
	depth := 0
	add := func(op backend.MapOp, arg, grows int) {
		code = append(code, backend.MapCode{Op: op, Arg: arg})
		depth += grows
	}
	for range 1 + p.Below(24) {
		switch op := backend.MapOp(p.Below(int(backend.MapNeg) + 1)); {
		case op == backend.MapCopy && depth > 0 && depth < backend.MapStack:
			add(op, p.Below(depth), 1)
		case op == backend.MapConst && constants > 0 && depth < backend.MapStack:
			add(op, p.Below(constants), 1)
		case (op == backend.MapAdd || op == backend.MapSub || op == backend.MapMul) && depth > 1:
			add(op, 0, -1)
		case op >= backend.MapSquare && depth > 0:
			add(op, 0, 0)
		case depth < backend.MapStack:
			add(backend.MapLoad, p.Below(args), 1)
		}
	}
	for depth > 1 {
		add(oneOf(p.Reader, backend.MapAdd, backend.MapSub, backend.MapMul), 0, -1)
	}
	return code
}

func (p *maker) powers() {
	a, _, _ := p.others()
	p.add(backend.Powers{Dst: p.span(a, p.count(a)), First: p.Scalars(p.Curve, 1), Ratio: p.Scalars(p.Curve, 1)})
}

// pair returns two ranges of one length, apart or the same.
func (p *maker) pair() (dst, src backend.Range) {
	a, b, _ := p.others()
	n := p.count(a, b)
	if dst, src = p.span(a, n), p.span(b, n); p.Below(2) == 1 {
		src = dst
	}
	return dst, src
}

func (p *maker) invert() {
	dst, src := p.pair()
	p.add(backend.Invert{Dst: dst, Src: src})
}

func (p *maker) products() {
	dst, src := p.pair()
	p.add(backend.Products{Dst: dst, Src: src, Exclusive: p.Below(2) == 1})
}

func (p *maker) evaluate() {
	e := backend.Evaluate{Order: backend.Order(p.Below(2)), Point: p.Scalars(p.Curve, 1)}
	for range 1 + p.Below(3) {
		a, _, _ := p.others()
		n := p.count(a)
		if e.Order == backend.Reversed {
			n = 1 << (bits.Len(uint(max(n, 1))) - 1)
		}
		e.Src = append(e.Src, p.span(a, n))
	}
	p.add(e)
}

func (p *maker) divide() {
	a, b, _ := p.others()
	n := max(p.count(a, b), 1)
	d := backend.Divide{Dst: p.span(a, n-1), Src: p.span(b, n), Point: p.Scalars(p.Curve, 1)}
	if p.Below(2) == 1 {
		d.Dst = d.Src
		d.Dst.Count--
	}
	p.add(d)
}

func (p *maker) commit() {
	a, _, _ := p.others()
	n := min(p.count(a), p.Bases[0].Count)
	j := backend.Job{Bases: 1, Offset: p.below(p.Bases[0].Count - n + 1), Count: n}
	switch k := p.given; {
	case p.Below(3) > 0:
		j.Src = p.span(a, n)
		for range p.Below(3) { // sums over the same bases that follow one another
			p.add(j)
			j.Src = p.span(a, n)
		}
	case k == 0 || p.Below(2) == 1:
		j.Input = backend.Input{Bytes: p.elements(p.Curve, n), Check: p.Below(2) == 1}
		p.given = len(p.Steps) + 1
	default:
		j.Count, j.SameAs = p.Steps[k-1].(backend.Job).Count, k
		j.Offset = min(j.Offset, p.Bases[0].Count-j.Count)
	}
	p.add(j)
}
