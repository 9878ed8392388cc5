package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// vectors returns the subject's capability.
func (s *subject) vectors() backend.Programs {
	v, ok := backend.As[backend.Programs](s.b)
	if !ok {
		return none{errors.New("elements in Can.Elements, but no backend.Programs")}
	}
	return v
}

// none stands for a backend without programs: every method returns its error.
type none struct{ err error }

func (n none) NewSpace(context.Context, backend.Element, int) (backend.SpaceID, error) {
	return 0, n.err
}
func (n none) FreeSpace(context.Context, backend.SpaceID) error      { return n.err }
func (n none) Run(context.Context, []backend.Step) ([][]byte, error) { return nil, n.err }

// element returns the element of the subject's spaces.
func (s *subject) element() backend.Element {
	if s.curve == 0 {
		return backend.Word()
	}
	return backend.ScalarOf(s.curve)
}

// size returns the size of an element in bytes.
func (s *subject) size() int { return s.element().Bytes() }

// span returns the range of count elements of a space from offset on.
func span(space backend.SpaceID, offset, count int) backend.Range {
	return backend.Range{Space: space, Offset: offset, Count: count}
}

// read returns the first n elements of a space.
func (s *subject) read(id backend.SpaceID, n int) ([]byte, error) {
	answers, err := s.vectors().Run(s.ctx, []backend.Step{backend.Read{Src: span(id, 0, n)}})
	if err != nil {
		return nil, err
	}
	if len(answers) != 1 || len(answers[0]) != n*s.size() {
		return nil, fmt.Errorf("%d answers to one Read of %d elements", len(answers), n)
	}
	return answers[0], nil
}

// holds checks that a space begins with elements.
func (s *subject) holds(id backend.SpaceID, elements []byte) error {
	got, err := s.read(id, len(elements)/s.size())
	if err != nil {
		return err
	}
	for i := 0; i < len(got); i += s.size() {
		if !bytes.Equal(got[i:i+s.size()], elements[i:i+s.size()]) {
			return fmt.Errorf("element %d is %x, want %x", i/s.size(), got[i:i+s.size()], elements[i:i+s.size()])
		}
	}
	return nil
}

// withSpace makes a space, calls do and frees it.
func (s *subject) withSpace(n int, do func(id backend.SpaceID) error) (err error) {
	id, err := s.vectors().NewSpace(s.ctx, s.element(), n)
	if err != nil {
		return in(err, "NewSpace")
	}
	if id == 0 {
		return errors.New("NewSpace returned the id zero")
	}
	defer func() { err = errors.Join(err, in(s.vectors().FreeSpace(s.ctx, id), "FreeSpace")) }()
	return do(id)
}

// vectorsAlive checks for a right answer, after an error or another disturbance.
func (s *subject) vectorsAlive() error {
	return in(s.withSpace(9, func(id backend.SpaceID) error {
		k := make([]byte, 9*s.size())
		if s.element() != backend.Word() {
			k = s.scalars(fixtures.Uniform, 9, 50)
		}
		k[s.size()] = 1
		if _, err := s.vectors().Run(s.ctx, []backend.Step{backend.Write{Dst: span(id, 0, 9), Input: backend.Input{Bytes: k}}}); err != nil {
			return err
		}
		return s.holds(id, k)
	}), "afterwards")
}

func spaces(s *subject) error {
	for _, n := range []int{0, 1, 2, s.some()} {
		k := s.scalars(fixtures.Uniform, n, 51)
		for range 2 { // the second time perhaps in the same memory
			if err := s.withSpace(n, func(id backend.SpaceID) error {
				return s.withSpace(n+1, func(other backend.SpaceID) error {
					if other == id {
						return fmt.Errorf("two spaces with the id %d", id)
					}
					zeros := make([]byte, (n+1)*s.size())
					if err := errors.Join(s.holds(id, zeros[:len(k)]), s.holds(other, zeros)); err != nil {
						return in(err, "a new space")
					}
					lo, hi := n/3, n-n/4
					want := make([]byte, len(k))
					copy(want[lo*s.size():hi*s.size()], k)
					if _, err := s.vectors().Run(s.ctx, []backend.Step{
						backend.Write{Dst: span(id, lo, hi-lo), Input: backend.Input{Bytes: k[:(hi-lo)*s.size()]}},
					}); err != nil {
						return err
					}
					part, err := s.vectors().Run(s.ctx, []backend.Step{backend.Read{Src: span(id, lo, hi-lo)}})
					if err == nil && !bytes.Equal(part[0], want[lo*s.size():hi*s.size()]) {
						err = errors.New("a part that was written is read wrongly")
					}
					return errors.Join(err, s.holds(id, want), in(s.holds(other, zeros), "the other space"))
				})
			}); err != nil {
				return in(err, "%d elements", n)
			}
		}
	}
	got, err := s.vectors().Run(s.ctx, nil)
	if err == nil && len(got) != 0 {
		err = fmt.Errorf("%d answers to no steps", len(got))
	}
	return err
}

func spaceSizes(s *subject) error {
	for _, c := range []struct {
		of    backend.Element
		count int
		want  error
	}{
		{backend.ScalarOf(99), 1, backend.ErrInvalidInput},
		{backend.Element{}, 1, backend.ErrInvalidInput},
		{backend.Element{Kind: backend.Words, Curve: s.curve}, 1, backend.ErrInvalidInput},
		{backend.PointOf(s.curve, 99), 1, backend.ErrInvalidInput},
		{s.element(), -1, backend.ErrInvalidInput},
		{s.element(), math.MinInt, backend.ErrInvalidInput},
		{s.element(), math.MaxInt, backend.ErrOutOfMemory},
		{s.element(), 1 << 48, backend.ErrOutOfMemory},
		{s.element(), 1 << 40, backend.ErrOutOfMemory},
	} {
		id, err := s.vectors().NewSpace(s.ctx, c.of, c.count)
		if err := refused(err, c.want); err != nil {
			return errors.Join(in(err, "%d %v", c.count, c.of), s.vectors().FreeSpace(s.ctx, id))
		}
	}
	for _, id := range []backend.SpaceID{0, 1 << 50} {
		if err := refused(s.vectors().FreeSpace(s.ctx, id), backend.ErrInvalidInput); err != nil {
			return in(err, "FreeSpace(%d)", id)
		}
	}
	return s.vectorsAlive()
}

// writes checks inputs at any address, inputs that become ready late, and inputs in buffers.
func writes(s *subject) error {
	n := s.some()
	k := s.scalars(fixtures.Uniform, n, 52)
	write := func(w backend.Write) error {
		return s.withSpace(n+2, func(id backend.SpaceID) error {
			w.Dst = span(id, 1, n)
			if _, err := s.vectors().Run(s.ctx, []backend.Step{w}); err != nil {
				return err
			}
			zero := make([]byte, s.size())
			return s.holds(id, slices.Concat(zero, k, zero))
		})
	}
	moved := append(make([]byte, 3, 3+len(k)), k...)[3:]
	late, done := make([]byte, len(k)), 0
	errs := []error{
		in(write(backend.Write{Input: backend.Input{Bytes: k, Check: true}}), "checked"),
		in(write(backend.Write{Input: backend.Input{Bytes: moved}}), "not aligned"),
		in(write(backend.Write{Input: backend.Input{Bytes: late, Check: true, Ready: func(_ context.Context, m int) error {
			if m < done || m > n {
				return fmt.Errorf("Ready(%d) after Ready(%d), of %d", m, done, n)
			}
			done = m
			copy(late, k[:m*s.size()])
			return nil
		}}}), "as they are ready"),
	}
	if done != n {
		errs = append(errs, fmt.Errorf("the function Ready was last asked for %d of %d elements", done, n))
	}
	if a, ok := backend.As[backend.Allocator](s.b); ok {
		buf, err := a.Alloc(s.ctx, len(k)+3)
		if err != nil {
			return err
		}
		defer buf.Free()
		copy(buf.Bytes(), k)
		errs = append(errs, in(write(backend.Write{Input: backend.Input{Bytes: buf.Bytes()[:len(k)]}}), "from a buffer"))
		copy(buf.Bytes()[3:], k)
		errs = append(errs, in(write(backend.Write{Input: backend.Input{Bytes: buf.Bytes()[3:], Check: true}}), "from a buffer, not aligned"))
	}
	return errors.Join(errs...)
}

func brokenWrites(s *subject) error {
	const n = 100
	k := s.scalars(fixtures.Uniform, n, 53)
	bad := slices.Clone(k)
	copy(bad[37*s.size():], fixtures.Raw(fixtures.Order(s.curve), s.size()))
	lost := errors.New("the disk is full")
	return s.withSpace(n, func(id backend.SpaceID) error {
		for _, c := range []struct {
			what string
			w    backend.Write
			want []error
		}{
			{"r", backend.Write{Input: backend.Input{Bytes: bad, Check: true}}, []error{backend.ErrInvalidInput}},
			{"Ready fails", backend.Write{Input: backend.Input{Bytes: k, Ready: func(context.Context, int) error { return lost }}}, []error{
				backend.ErrInvalidInput, lost,
			}},
		} {
			c.w.Dst = span(id, 0, n)
			_, err := s.vectors().Run(s.ctx, []backend.Step{backend.Read{Src: c.w.Dst}, c.w})
			for _, want := range c.want {
				if err := refused(err, want); err != nil {
					return in(err, "%s", c.what)
				}
			}
			if !strings.Contains(err.Error(), "step 1") {
				return fmt.Errorf("%s: %w: does not name the step", c.what, err)
			}
		}
		return s.vectorsAlive()
	})
}

// model runs a program on the subject and on the reference, which shares no code with any other
// backend.
func (s *subject) model(p *randprog.Program) error {
	ref := cpu.NewReference()
	defer ref.Close()
	return p.Differ(s.ctx, s.b, ref)
}

// program makes a program over spaces of the given sizes, filled with random elements and some
// zeros.
func (s *subject) program(sizes ...int) *randprog.Program {
	p := &randprog.Program{Element: s.element()}
	for i, n := range sizes {
		k := s.scalars(fixtures.Uniform, n, uint64(60+i))
		for j := 0; j < n; j += 7 + j/3 {
			clear(k[j*s.size() : (j+1)*s.size()])
		}
		p.Spaces = append(p.Spaces, k)
	}
	return p
}

// shifts returns shifts of transforms: none, one, and another element.
func (s *subject) shifts() [][]byte {
	return [][]byte{nil, s.numbers(big.NewInt(1)), s.scalars(fixtures.Uniform, 1, 54)}
}

// orders are the orders that a transform may have.
var orders = [][2]backend.Order{
	{backend.Natural, backend.Reversed}, {backend.Reversed, backend.Natural}, {backend.Natural, backend.Natural},
}

// transformsOf returns every kind of transform of 2^k elements, for a batch of vectors. Spaces 1
// and 2 have room for three such batches and one element more.
func (s *subject) transformsOf(k, batch int) (steps []backend.Step) {
	n := batch << k
	dst, src := span(2, 1, n), span(1, 0, n)
	for _, o := range orders {
		for _, shift := range s.shifts() {
			for _, inverse := range []bool{false, true} {
				t := backend.Transform{Dst: dst, Src: src, Batch: batch, Inverse: inverse, From: o[0], To: o[1], Shift: shift}
				inPlace := t
				inPlace.Src = dst
				steps = append(steps, t, backend.Read{Src: dst}, inPlace, backend.Read{Src: dst})
				if inverse || o[0] == backend.Reversed {
					continue
				}
				for _, given := range slices.Compact([]int{1, (1<<k)/2 + 1, 1<<k - 1}) {
					if padded := t; given > 0 && given < 1<<k {
						padded.Src.Count = given * batch
						steps = append(steps, padded, backend.Read{Src: dst})
					}
				}
			}
		}
	}
	return steps
}

func transforms(s *subject) error {
	most := 5
	if s.full {
		most = 7
	}
	for k := range most + 1 {
		p := s.program(3<<k+1, 3<<k+1)
		for batch := range 4 { // 0 means 1
			p.Steps = append(p.Steps, s.transformsOf(k, max(batch, 1))...)
		}
		if err := in(s.model(p), "2^%d elements", k); err != nil {
			return err
		}
	}
	return nil
}

// largeTransforms compares large transforms with those of the CPU, which are gnark-crypto's.
func largeTransforms(s *subject) error {
	own := cpu.New(cpu.Options{})
	defer own.Close()
	for _, k := range s.logs {
		for _, batch := range []int{1, 3} {
			p := s.program(batch<<k+1, batch<<k+1)
			p.Steps = s.transformsOf(k, batch)
			if err := in(p.Differ(s.ctx, s.b, own), "%d times 2^%d elements", batch, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// ops returns code whose arguments are zero.
func ops(op ...backend.MapOp) (code []backend.MapCode) {
	for _, o := range op {
		code = append(code, backend.MapCode{Op: o})
	}
	return code
}

// arg returns an operation with its argument.
func arg(op backend.MapOp, k int) backend.MapCode { return backend.MapCode{Op: op, Arg: k} }

func operand(r backend.Range) backend.Operand { return backend.Operand{Range: r, Stride: 1} }

// codes returns expressions of three operands and two constants.
func codes() [][]backend.MapCode {
	a, b, c := arg(backend.MapLoad, 0), arg(backend.MapLoad, 1), arg(backend.MapLoad, 2)
	one, two := arg(backend.MapConst, 0), arg(backend.MapConst, 1)
	add, sub, mul := ops(backend.MapAdd)[0], ops(backend.MapSub)[0], ops(backend.MapMul)[0]
	square, double, neg := ops(backend.MapSquare)[0], ops(backend.MapDouble)[0], ops(backend.MapNeg)[0]
	return [][]backend.MapCode{
		{a}, {one}, {a, neg}, {a, square}, {a, double}, {two, square}, {two, neg},
		{a, b, add}, {a, b, sub}, {b, a, sub}, {a, b, mul},
		{a, one, add}, {one, a, sub}, {a, two, sub}, {two, a, mul}, {a, two, mul}, {one, two, mul}, {one, two, sub},
		{a, b, mul, c, sub},
		{a, arg(backend.MapCopy, 0), b, mul, arg(backend.MapCopy, 1), add, sub, c, add},
		{a, b, arg(backend.MapCopy, 1), arg(backend.MapCopy, 1), sub, mul, add, double, neg, square},
		{a, b, c, one, two, a, b, c, mul, add, sub, mul, add, sub, mul},
		{one, arg(backend.MapCopy, 0), a, mul, b, add, arg(backend.MapCopy, 1), mul, sub},
	}
}

// longCode returns a sum of products that is as long as code may be.
func longCode() []backend.MapCode {
	code := []backend.MapCode{arg(backend.MapLoad, 0)}
	for len(code)+4 <= backend.MapCodes {
		code = append(code, arg(backend.MapLoad, 1), arg(backend.MapConst, 1), arg(backend.MapMul, 0), arg(backend.MapAdd, 0))
	}
	return code
}

func maps(s *subject) error {
	n := s.some()
	p := s.program(n, n, n+3, 16)
	dst, a, b, few := operand(span(3, 1, n)), operand(span(1, 0, n)), operand(span(2, 0, n)), operand(span(4, 2, 5))
	constants := s.numbers(big.NewInt(1), new(big.Int).Sub(fixtures.Order(s.curve), big.NewInt(5)))
	add := func(m backend.Map) {
		m.Constants = constants
		p.Steps = append(p.Steps, m, backend.Read{Src: m.Dst.Range})
	}
	for _, code := range codes() {
		add(backend.Map{Count: n, Dst: dst, Args: []backend.Operand{a, b, few}, Code: code})
		add(backend.Map{Count: n, Dst: dst, Args: []backend.Operand{dst, dst, a}, Code: code}) // in place
	}
	add(backend.Map{Count: min(n, 40), Dst: dst, Args: []backend.Operand{a, b}, Code: longCode()})
	with := func(o backend.Operand, stride, rotate int) backend.Operand {
		o.Stride, o.Rotate = stride, rotate
		return o
	}
	code := codes()[18]
	for _, rotate := range []int{0, 4, -1, math.MaxInt} {
		for _, stride := range []int{1, 0, 2, math.MinInt} {
			x, y := with(a, stride, rotate), with(few, stride, rotate)
			add(backend.Map{Count: n, Dst: dst, Args: []backend.Operand{x, b, y}, Code: code})
		}
		add(backend.Map{Count: n, Dst: with(dst, -1, rotate), Args: []backend.Operand{a, few, b}, Code: code})
		add(backend.Map{Count: n / 2, Dst: with(dst, 1, rotate), Args: []backend.Operand{a, with(dst, 1, rotate), b}, Code: code})
		add(backend.Map{Count: n / 3, Dst: with(operand(span(3, 0, n/3*3)), 3, rotate), Args: []backend.Operand{a, few, b}, Code: code})
	}
	for _, count := range []int{0, 1, 2} {
		add(backend.Map{Count: count, Dst: dst, Args: []backend.Operand{a, few, b}, Code: code})
	}
	return s.model(p)
}

// reversedMaps checks maps of vectors in reversed order. Some of these vectors begin with others,
// as in PLONK's quotient on a coset.
func reversedMaps(s *subject) error {
	logs := []int{0, 1, 3, 10}
	if s.full {
		logs = []int{0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14}
	}
	for _, k := range logs {
		n := 1 << k
		p := s.program(n, n, n, 4)
		turned := func(space backend.SpaceID, stride, rotate int) backend.Operand {
			return backend.Operand{Range: span(space, 0, n), Stride: stride, Rotate: rotate, Order: backend.Reversed}
		}
		quarter := backend.Operand{Range: span(4, 0, 4), Stride: 1, Rotate: 1, Order: backend.Reversed}
		code := codes()[18]
		for _, dst := range []backend.Operand{turned(3, 1, 0), turned(3, 1, 1), turned(3, -1, 0), operand(span(3, 0, n))} {
			for _, rotate := range []int{0, 4, -1} {
				for _, other := range []backend.Operand{turned(2, 1, rotate), turned(2, 3, rotate),
					turned(2, 0, rotate), operand(span(2, 0, n)), quarter} {
					p.Steps = append(p.Steps, backend.Map{Count: n, Dst: dst, Args: []backend.Operand{turned(1, 1, rotate), other, dst}, Code: code})
				}
				p.Steps = append(p.Steps, backend.Read{Src: dst.Range})
			}
		}
		if err := in(s.model(p), "2^%d elements", k); err != nil {
			return err
		}
	}
	return nil
}

// counts returns lengths near which the parts of scans and grids end.
func (s *suite) counts() []int {
	some := []int{0, 1, 2, 3, 31, 32, 33, 257, 1025}
	if s.full {
		return append(some, 511, 512, 513, 4095, 8191, 8192, 8193, 20000, 65537)
	}
	return append(some, 8200)
}

// points returns where to evaluate polynomials of n coefficients: at a large number and, if there
// are few coefficients, at zero, one and minus one.
func (s *subject) points(n int) []*big.Int {
	r := fixtures.Order(s.curve)
	all := []*big.Int{new(big.Int).Rsh(r, 2), big.NewInt(0), big.NewInt(1), new(big.Int).Sub(r, big.NewInt(1))}
	if n > 1000 {
		return all[:1]
	}
	return all
}

func powersAndInverses(s *subject) error {
	for _, n := range s.counts() {
		p := s.program(n, n+1)
		a, b := span(1, 0, n), span(2, 1, n)
		p.Steps = []backend.Step{backend.Invert{Dst: b, Src: a}, backend.Read{Src: b}, backend.Invert{Dst: a, Src: a}, backend.Read{Src: a}}
		for _, ratio := range s.points(n) {
			p.Steps = append(p.Steps, backend.Powers{Dst: b, First: s.numbers(big.NewInt(7)), Ratio: s.numbers(ratio)}, backend.Read{Src: b})
		}
		p.Steps = append(p.Steps, backend.Powers{Dst: b, First: s.numbers(big.NewInt(0)), Ratio: s.numbers(big.NewInt(2))})
		if err := in(s.model(p), "%d elements", n); err != nil {
			return err
		}
	}
	return nil
}

func products(s *subject) error {
	for _, n := range s.counts() {
		for _, zero := range []bool{false, true} {
			p := s.program(n, n+1)
			p.Spaces[0] = s.scalars(fixtures.Uniform, n, 55)
			if zero && n > 0 {
				clear(p.Spaces[0][n*3/4*s.size():][:s.size()])
			}
			a, b := span(1, 0, n), span(2, 1, n)
			p.Steps = []backend.Step{
				backend.Products{Dst: b, Src: a}, backend.Read{Src: b}, backend.Products{Dst: b, Src: a, Exclusive: true}, backend.Read{Src: b},
				backend.Products{Dst: b, Src: b}, backend.Read{Src: b}, backend.Products{Dst: a, Src: a, Exclusive: true},
			}
			if err := in(s.model(p), "%d elements", n); err != nil {
				return err
			}
		}
	}
	return nil
}

func evaluateAndDivide(s *subject) error {
	for _, n := range s.counts() {
		half := 1
		for 2*half <= n {
			half *= 2
		}
		p := s.program(n+1, n+2)
		a, b := span(1, 1, n), span(2, 0, n)
		for _, z := range s.points(n) {
			point := s.numbers(z)
			p.Steps = append(p.Steps,
				backend.Evaluate{Src: []backend.Range{a}, Point: point},
				backend.Evaluate{Src: []backend.Range{a, b, span(1, 0, 0), span(1, 0, 1), b}, Point: point},
				backend.Evaluate{Src: []backend.Range{span(1, 0, half), span(2, 0, 1), span(2, 1, half)}, Order: backend.Reversed, Point: point},
			)
			if n > 0 {
				q := b
				q.Count--
				p.Steps = append(p.Steps, backend.Divide{Dst: q, Src: a, Point: point}, backend.Read{Src: b},
					backend.Divide{Dst: q, Src: b, Point: point})
			}
		}
		if err := in(s.model(p), "%d coefficients", n); err != nil {
			return err
		}
	}
	return nil
}

func gather(s *subject) error {
	const n = 300
	rng := rand.New(rand.NewPCG(s.seed, 21))
	for _, m := range []int{0, 1, 7, 8, 9, s.some()} {
		index := make([]uint32, m)
		for i := range index {
			index[i] = uint32(rng.IntN(n))
		}
		room := backend.IndexElements(s.curve, m)
		p := s.program(n, m, room+2)
		src, dst, table := span(1, 0, n), span(2, 0, m), span(3, 1, room)
		p.Steps = []backend.Step{
			backend.WriteIndices{Dst: table, Indices: index}, backend.Gather{Dst: dst, Src: src, Index: table}, backend.Read{Src: dst},
		}
		if err := in(s.model(p), "%d indices", m); err != nil {
			return err
		}
		if m == 0 {
			continue
		}
		for _, bad := range []uint32{n, math.MaxUint32} {
			wrong := slices.Clone(index)
			wrong[m/2] = bad
			q := *p
			q.Steps = slices.Clone(p.Steps)
			q.Steps[0] = backend.WriteIndices{Dst: table, Indices: wrong}
			_, err := q.Run(s.ctx, s.b)
			if err := refused(err, backend.ErrInvalidInput); err != nil {
				return in(err, "index %d of %d", bad, n)
			}
			if want := fmt.Sprintf("step %d", len(p.Spaces)+1); !strings.Contains(err.Error(), want) {
				return fmt.Errorf("index %d of %d: %w: want %q in it", bad, n, err, want)
			}
		}
	}
	return s.vectorsAlive()
}

// commit compares MSMs within programs with answers known from discrete logarithms.
func commit(s *subject) error {
	n := s.some()
	k := s.scalars(fixtures.Witness, n, 56)
	for _, group := range s.groups {
		own := *s
		if own.group = group; !s.b.Info().Can.HasMSM(s.curve, group) {
			continue
		}
		if err := own.with(fixtures.Random, n, func(l *loaded) error {
			return own.withSpace(n+5, func(id backend.SpaceID) error {
				steps := []backend.Step{backend.Write{Dst: span(id, 5, n), Input: backend.Input{Bytes: k}}}
				want := [][]byte{nil}
				for _, c := range []struct{ offset, from, count int }{{0, 0, n}, {3, 0, n - 3}, {0, 2, n - 2}, {7, 5, 1}, {n, n, 0}, {1, 1, 33},
					// Over the same bases, which may be computed as one: vectors one behind the other, then apart and again.
					{2, 0, n / 4}, {2, n / 4, n / 4}, {2, n / 2, n / 4}, {1, 5, n / 4}, {1, 1, n / 4}, {1, n / 2, n / 4}, {1, 1, n / 4}} {
					steps = append(steps, backend.Job{Bases: l.id, Offset: c.offset, Count: c.count, Src: span(id, 5+c.from, c.count)})
					point, err := l.want(c.offset, k[c.from*s.size():(c.from+c.count)*s.size()])
					if err != nil {
						return err
					}
					want = append(want, point)
				}
				got, err := s.vectors().Run(s.ctx, steps)
				if err != nil {
					return err
				}
				for i := range want {
					if err := equal(got[i], want[i]); err != nil {
						return in(err, "step %d: %+v", i, steps[i])
					}
				}
				return nil
			})
		}); err != nil {
			return in(err, "%v", group)
		}
	}
	return nil
}

func randomPrograms(s *subject) error {
	ref := cpu.NewReference()
	defer ref.Close()
	n := 12
	if s.full {
		n = 200
	}
	return s.randomly(22, n, func(data []byte) error { return programs(s.ctx, s.b, ref, data) })
}

// randomly calls do with n random cases of programs over the subject's curve.
func (s *subject) randomly(seed uint64, n int, do func(data []byte) error) error {
	rng := rand.New(rand.NewPCG(s.seed, seed))
	for i := range n {
		data := randprog.Bytes(rng, 400)
		data[0] = byte(slices.Index(backend.Curves(), s.curve))
		data[1] = byte(slices.Index(backend.Groups(), s.groups[i%len(s.groups)]))
		if err := do(data); err != nil {
			return in(err, "case %d (%x)", i, data)
		}
	}
	return nil
}

// accesses checks that a step touches the ranges that it declares (backend.Accesses) and nothing
// else.
func accesses(s *subject) error {
	salt := uint64(80)
	return s.randomly(23, 8, func(data []byte) error {
		p, err := program(data, s.b.Info().Can)
		if p == nil {
			return err
		}
		return s.honest(p, func(_ backend.Element, n int) []byte {
			salt++
			return s.scalars(fixtures.Uniform, n, salt)
		})
	})
}

// honest checks each step of a program as the last step of a shorter program.
func (s *subject) honest(p *randprog.Program, fill func(e backend.Element, n int) []byte) error {
	for i := range p.Steps {
		part := *p
		part.Steps = p.Steps[:i+1]
		if err := part.Honest(s.ctx, s.b, fill); err != nil {
			return in(err, "step %d: %T%+v", i, p.Steps[i], p.Steps[i])
		}
	}
	return nil
}

// wrongSteps checks that wrong steps are refused by name, and that nothing is written before.
func wrongSteps(s *subject) error {
	const n = 64
	k := s.scalars(fixtures.Uniform, n, 57)
	other := s.curve
	for _, e := range s.b.Info().Can.Elements {
		if e.Kind == backend.Scalars && e.Curve != s.curve {
			other = e.Curve
		}
	}
	foreign := *s
	foreign.curve = other
	return s.withSpace(n, func(first backend.SpaceID) error {
		return s.withSpace(n, func(second backend.SpaceID) error {
			return foreign.withSpace(n, func(third backend.SpaceID) error {
				return s.with(fixtures.Random, 16, func(l *loaded) error {
					return foreign.with(fixtures.Random, 16, func(m *loaded) error {
						if _, err := s.vectors().Run(s.ctx,
							[]backend.Step{backend.Write{Dst: span(first, 0, n), Input: backend.Input{Bytes: k}}}); err != nil {
							return err
						}
						wrong := randprog.Wrong(s.curve)
						if other == s.curve { // then some are right: those about the third space and the second bases
							wrong = wrong[:10]
						}
						for i, step := range append(wrong, backend.Read{Src: span(1, 0, n+1)}) {
							steps := randprog.Renamed([]backend.Step{backend.Powers{
								Dst: span(1, 0, n), First: s.numbers(big.NewInt(3)), Ratio: s.numbers(big.NewInt(5)),
							}, step}, []backend.SpaceID{first, second, third}, []backend.BasesID{l.id, m.id})
							_, err := s.vectors().Run(s.ctx, steps)
							if err := refused(err, backend.ErrInvalidInput); err != nil {
								return in(err, "wrong step %d: %T%+v", i, step, step)
							}
							if !strings.Contains(err.Error(), "step 1") {
								return fmt.Errorf("%T%+v: %w: does not name the step", step, step, err)
							}
						}
						return errors.Join(in(s.holds(first, k), "after programs that were refused"), s.freed(l), s.vectorsAlive())
					})
				})
			})
		})
	})
}

// freed checks that freed spaces and bases are unknown.
func (s *subject) freed(l *loaded) error {
	id, err := s.vectors().NewSpace(s.ctx, s.element(), 4)
	if err != nil {
		return err
	}
	step := backend.Job{Bases: l.id, Count: 4, Src: span(id, 0, 4)}
	if _, err := s.vectors().Run(s.ctx, []backend.Step{step}); err != nil {
		return err
	}
	if err := s.vectors().FreeSpace(s.ctx, id); err != nil {
		return err
	}
	_, err = s.vectors().Run(s.ctx, []backend.Step{step})
	return errors.Join(
		in(refused(err, backend.ErrInvalidInput), "a program on a freed space"),
		in(refused(s.vectors().FreeSpace(s.ctx, id), backend.ErrInvalidInput), "freeing a space again"),
	)
}

// concurrentPrograms runs programs on parts of one space while other spaces are made and freed.
func concurrentPrograms(s *subject) error {
	const callers, rounds, n = 4, 5, 256
	p := &randprog.Program{Element: s.element(), Spaces: [][]byte{s.scalars(fixtures.Uniform, n, 61), make([]byte, n*s.size())}}
	p.Steps = []backend.Step{
		backend.Transform{Dst: span(2, 0, n), Src: span(1, 0, n), To: backend.Reversed},
		backend.Map{Count: n, Dst: operand(span(2, 0, n)), Args: []backend.Operand{operand(span(2, 0, n)), operand(span(1, 0, n))},
			Code: []backend.MapCode{arg(backend.MapLoad, 0), arg(backend.MapLoad, 1), arg(backend.MapMul, 0)}},
		backend.Products{Dst: span(2, 0, n), Src: span(2, 0, n)},
		backend.Transform{Dst: span(2, 0, n), Src: span(2, 0, n), From: backend.Reversed, Inverse: true},
		backend.Read{Src: span(2, 0, n)},
	}
	ref := cpu.NewReference()
	defer ref.Close()
	want, err := p.Run(s.ctx, ref)
	if err != nil {
		return err
	}
	moved := func(id backend.SpaceID, task int) []backend.Step {
		steps := randprog.Renamed(p.Steps, []backend.SpaceID{id, id}, nil)
		at := func(r backend.Range, half int) backend.Range {
			r.Offset = (2*task + half) * n
			return r
		}
		a, b := at(span(id, 0, n), 0), at(span(id, 0, n), 1)
		t, m, pr, u := steps[0].(backend.Transform), steps[1].(backend.Map), steps[2].(backend.Products), steps[3].(backend.Transform)
		t.Dst, t.Src = b, a
		m.Dst, m.Args = operand(b), []backend.Operand{operand(b), operand(a)}
		pr.Dst, pr.Src = b, b
		u.Dst, u.Src = b, b
		return []backend.Step{backend.Write{Dst: a, Input: backend.Input{Bytes: p.Spaces[0]}}, t, m, pr, u, backend.Read{Src: b}}
	}
	return s.withSpace(2*callers*n, func(id backend.SpaceID) error {
		var g errgroup.Group
		for caller := range callers {
			g.Go(func() error {
				for range rounds {
					got, err := s.vectors().Run(s.ctx, moved(id, caller))
					if err != nil {
						return err
					}
					if !bytes.Equal(got[5], want.Answers[4]) {
						return fmt.Errorf("caller %d: wrong answer", caller)
					}
					if err := s.withSpace(n, func(id backend.SpaceID) error { return s.holds(id, make([]byte, n*s.size())) }); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return g.Wait()
	})
}

// cancelledPrograms cancels programs before they begin, while they wait for elements and while they
// compute. The next program on the same space must be right.
func cancelledPrograms(s *subject) error {
	const n = 1 << 12
	k := s.scalars(fixtures.Uniform, n, 58)
	cause := errors.New("the user went home")
	return s.withSpace(n, func(id backend.SpaceID) error {
		all := span(id, 0, n)
		ctx, cancel := context.WithCancelCause(s.ctx)
		_, err := s.vectors().Run(ctx,
			[]backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: k, Ready: func(context.Context, int) error {
				cancel(cause)
				return backend.Ended(ctx)
			}}}})
		if err := errors.Join(refused(err, context.Canceled), refused(err, cause)); err != nil {
			return in(err, "while it waits")
		}
		_, err = s.vectors().Run(ctx, []backend.Step{backend.Read{Src: all}})
		_, errNew := s.vectors().NewSpace(ctx, s.element(), 1)
		if err := errors.Join(refused(err, context.Canceled), refused(errNew, context.Canceled)); err != nil {
			return in(err, "before it begins")
		}
		ctx, cancel = context.WithCancelCause(s.ctx)
		defer cancel(nil)
		long := []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: k, Ready: func(context.Context, int) error {
			go cancel(cause)
			return nil
		}}}}
		for range 256 {
			long = append(long, backend.Transform{Dst: all, Src: all, To: backend.Reversed})
		}
		if _, err := s.vectors().Run(ctx, long); err != nil { // a fast backend may have finished
			if err := errors.Join(refused(err, context.Canceled), refused(err, cause)); err != nil {
				return in(err, "while it computes")
			}
		}
		if _, err := s.vectors().Run(s.ctx, []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: k}}}); err != nil {
			return err
		}
		return errors.Join(in(s.holds(id, k), "after a cancelled program"), s.vectorsAlive())
	})
}

// writing runs a program that waits for its elements with ready.
func (s *subject) writing(id backend.SpaceID, k []byte) func(func(context.Context, int) error) error {
	all := span(id, 0, len(k)/s.size())
	return func(ready func(context.Context, int) error) error {
		got, err := s.vectors().Run(s.ctx, []backend.Step{
			backend.Write{Dst: all, Input: backend.Input{Bytes: k, Ready: ready}}, backend.Read{Src: all},
		})
		if err == nil && !bytes.Equal(got[1], k) {
			err = errors.New("wrong elements")
		}
		return err
	}
}

func freeSpaceWaits(s *subject) error {
	const n = 50
	k := s.scalars(fixtures.Uniform, n, 59)
	id, err := s.vectors().NewSpace(s.ctx, s.element(), n)
	if err != nil {
		return err
	}
	if err := s.during(s.writing(id, k), "FreeSpace", func() error { return s.vectors().FreeSpace(s.ctx, id) }); err != nil {
		return err
	}
	if id, err = s.vectors().NewSpace(s.ctx, s.element(), n); err != nil {
		return err
	}
	return errors.Join(s.beside(s.writing(id, k), "FreeSpace that was given up", func() error {
		ctx, cancel := context.WithTimeout(s.ctx, s.soon/3)
		defer cancel()
		err := in(refused(s.vectors().FreeSpace(ctx, id), context.DeadlineExceeded), "FreeSpace")
		_, errRun := s.vectors().Run(s.ctx, []backend.Step{backend.Read{Src: span(id, 0, 1)}})
		return errors.Join(err,
			in(refused(errRun, backend.ErrInvalidInput), "a program on a space that is being freed"),
			in(refused(s.vectors().FreeSpace(s.ctx, id), backend.ErrInvalidInput), "freeing it again"),
		)
	}), s.vectorsAlive())
}

func closeWaitsForPrograms(s *subject) error {
	const n = 50
	own := *s
	own.b = s.open()
	id, err := own.vectors().NewSpace(s.ctx, s.element(), n)
	if err != nil {
		return err
	}
	return own.during(own.writing(id, s.scalars(fixtures.Uniform, n, 59)), "Close", own.b.Close)
}

func closedWithVectors(s *subject) error {
	own := *s
	own.b = s.open()
	id, err := own.vectors().NewSpace(s.ctx, s.element(), 3)
	if err != nil {
		return err
	}
	if err := own.b.Close(); err != nil {
		return in(err, "Close")
	}
	_, errNew := own.vectors().NewSpace(s.ctx, s.element(), 3)
	_, errRun := own.vectors().Run(s.ctx, []backend.Step{backend.Read{Src: span(id, 0, 3)}})
	_, errEmpty := own.vectors().Run(s.ctx, nil)
	return errors.Join(
		in(refused(errNew, backend.ErrClosed), "NewSpace"),
		in(refused(errRun, backend.ErrClosed), "Run"),
		in(refused(errEmpty, backend.ErrClosed), "Run of nothing"),
		in(refused(own.vectors().FreeSpace(s.ctx, id), backend.ErrClosed), "FreeSpace"),
	)
}
