package randprog

import "github.com/pippin-zk/pippin/backend"

// SmallPoints is the shape of programs over points that the reference runs in some
// hundredths of a second.
var SmallPoints = Shape{Elements: 12, Transform: 4, Steps: 4}

// Points reads a valid program over points, which are those of bases, and scalars of
// their curve. The first two spaces have points, the third scalars.
func (r *Reader) Points(bases backend.Bases, shape Shape) *Program {
	of := backend.PointOf(bases.Curve, bases.Group)
	p := &pointMaker{maker{Reader: r, shape: shape, Program: Program{Element: of, Bases: []backend.Bases{bases}}}}
	p.Of = []backend.Element{of, of, backend.ScalarOf(bases.Curve)}
	for k, size := range [3]int{shape.Elements, shape.Elements * 2 / 3, shape.Elements} {
		p.sizes = append(p.sizes, size)
		if k < 2 {
			p.Spaces = append(p.Spaces, p.points(size))
		} else {
			p.Spaces = append(p.Spaces, r.Scalars(bases.Curve, size))
		}
	}
	makers := [...]func(){p.write, p.read, p.multiply, p.multiply, p.add, p.transform, p.check, p.sum}
	for range 1 + r.Below(shape.Steps) {
		makers[r.Below(len(makers))]()
	}
	return &p.Program
}

// pointMaker makes the steps of a program over points.
type pointMaker struct{ maker }

// points returns n points of the bases.
func (p *pointMaker) points(n int) (some []byte) {
	b, size := p.Bases[0], p.Bytes()
	for range n {
		k := p.below(b.Count)
		some = append(some, b.Bytes[k*size:(k+1)*size]...)
	}
	return some
}

// pair returns the two spaces of points, in any order.
func (p *pointMaker) pair() (a, b int) {
	a = p.Below(2)
	return a, 1 - a
}

func (p *pointMaker) write() {
	a, _ := p.pair()
	n := p.count(a)
	p.maker.add(backend.Write{Dst: p.span(a, n), Input: backend.Input{Bytes: p.points(n), Check: p.Below(2) == 1}})
}

func (p *pointMaker) read() {
	a, _ := p.pair()
	p.maker.add(backend.Read{Src: p.span(a, p.count(a)), Encoding: backend.Encoding(p.Below(3))})
}

// repeated returns a range of a space whose elements, again and again, make n.
func (p *pointMaker) repeated(space, n int) backend.Range {
	count := min(n, p.sizes[space])
	for p.Below(3) == 0 || n%max(count, 1) != 0 {
		if count <= 1 {
			break
		}
		count--
	}
	if n > 0 && n%count != 0 {
		count = 1
	}
	return p.span(space, count)
}

func (p *pointMaker) multiply() {
	a, b := p.pair()
	s := backend.MultiplyPoints{Terms: p.Below(4)}
	s.Dst = p.span(a, p.below(p.sizes[a]/max(s.Terms, 1)+1))
	n := s.Dst.Count * max(s.Terms, 1)
	s.Src = p.repeated(b, n)
	if s.Terms <= 1 && p.Below(3) == 0 {
		s.Src = s.Dst
	}
	if p.Below(4) > 0 {
		s.Scalars = p.repeated(2, n)
	}
	p.maker.add(s)
}

func (p *pointMaker) add() {
	a, b := p.pair()
	s := backend.AddPoints{Dst: p.span(a, p.count(a))}
	for range p.Below(4) {
		r := p.repeated(b, s.Dst.Count)
		if p.Below(3) == 0 {
			r = s.Dst
		}
		if p.Below(2) == 0 {
			s.Plus = append(s.Plus, r)
		} else {
			s.Minus = append(s.Minus, r)
		}
	}
	p.maker.add(s)
}

func (p *pointMaker) transform() {
	a, b := p.pair()
	p.transformed(a, b)
}

func (p *pointMaker) check() {
	a, _ := p.pair()
	p.maker.add(backend.CheckPoints{Src: p.span(a, p.count(a)), Subgroup: p.Below(2) == 1})
}

// sum adds an MSM whose point a space gets.
func (p *pointMaker) sum() {
	a, _ := p.pair()
	n := min(p.count(2), p.Bases[0].Count)
	j := backend.Job{Bases: 1, Offset: p.below(p.Bases[0].Count - n + 1), Count: n, Src: p.span(2, n)}
	if p.Below(4) > 0 {
		j.Dst = p.span(a, 1)
	}
	p.maker.add(j)
}
