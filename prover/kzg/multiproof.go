package kzg

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// Cosets says what Multiproofs open. All three are powers of two.
type Cosets struct {
	// Coefficients is the most that a polynomial may have.
	Coefficients int
	// Domain is the size of the domain, gnark-crypto's fft.Domain: at least Coefficients.
	Domain int
	// Size is the elements of a coset: at most half of Coefficients.
	Size int
}

func (c Cosets) check() error {
	for _, n := range []int{c.Coefficients, c.Domain, c.Size} {
		if n < 1 || n&(n-1) != 0 {
			return fmt.Errorf("%w: %d is no power of two, in %+v", backend.ErrInvalidInput, n, c)
		}
	}
	if c.Size > c.Coefficients/2 || c.Domain < c.Coefficients || c.Domain > backend.MaxCount/8 {
		return fmt.Errorf("%w: %+v: the size of a coset must be at most half of the coefficients, these "+
			"at most the domain, and that at most 2^%d",
			backend.ErrInvalidInput, c, bits.Len(backend.MaxCount/8)-1)
	}
	return nil
}

// count returns the number of cosets, and of proofs.
func (c Cosets) count() int { return c.Domain / c.Size }

// parts returns how many coefficients of a polynomial have the same exponent modulo Size.
func (c Cosets) parts() int { return c.Coefficients / c.Size }

// Openings are a polynomial's values at all cosets of a domain and their proofs. With w
// the root of unity of the domain's size and c cosets, coset j has the elements
// w^(j + c t) for t from 0 to Cosets.Size - 1.
type Openings[P, S any] struct {
	Values [][]S // of coset j, by t
	// Proofs has the commitment to the quotient of the polynomial by X^Size - w^(j Size),
	// for each coset j. Whoever has alpha^Size in G2 can check it:
	// e(proof, [alpha^Size - w^(j Size)]) = e(digest - commitment to the interpolation, [1]).
	Proofs []P
}

// Multiproofs computes the proofs of a polynomial's values at all cosets of a domain, by the
// method of Feist and Khovratovich (FK20, "Fast amortized KZG proofs"). The table that
// it needs is resident in an engine. Safe for concurrent use.
type Multiproofs[P, S any] struct {
	*field[P, S]
	Cosets
	form
	engine *engine.Engine
	end    func() error // of an engine of its own
	// table is 2 Coefficients points for the rows of sums, see build.
	table []byte
	// direct tells that a few polynomials are computed without transforms of points.
	direct func() bool
	most   int // polynomials that a program computes
	memory *engine.Kept
	at     *resident.Vectors[*multiSpaces, *multiTable]
	closed atomic.Bool // load makes nothing resident any more
}

// form is in which order, and as what bytes, proofs are answered.
type form struct {
	order    backend.Order
	encoding backend.Encoding
}

// multiSpaces is memory for points, and for scalars beside it.
type multiSpaces struct{ points, scalars *engine.Session }

func (s *multiSpaces) Together(other *multiSpaces) bool { return s.points.Together(other.points) }
func (s *multiSpaces) Err() error                       { return errors.Join(s.points.Err(), s.scalars.Err()) }
func (s *multiSpaces) Close() error                     { return errors.Join(s.points.Close(), s.scalars.Close()) }

// openBeside opens memory on the backend of a session.
func openBeside(ctx context.Context, s *engine.Session, points, scalars backend.Elements) (*multiSpaces, error) {
	p, err := s.BesideOf(ctx, points)
	if err != nil {
		return nil, err
	}
	f, err := s.BesideOf(ctx, scalars)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return &multiSpaces{p, f}, nil
}

// multiTable is what is resident: Multiproofs.table, indices for Gather and the matrix.
type multiTable struct {
	points, split, even, odd backend.Range
	// For the matrix: the indices of the rows of E and O of each polynomial together, and the matrix
	// with each row once for each of as many polynomials as a program has at most.
	rows, matrix, repeated backend.Range
}

// loadMulti makes Multiproofs of a key in canonical form. Proofs are multiplied by factor.
func (t *field[P, S]) loadMulti(ctx context.Context, e *engine.Engine, key []P, c Cosets, f form,
	factor S) (_ *Multiproofs[P, S], err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(key) < c.Coefficients {
		return nil, fmt.Errorf("%w: a key of %d points for polynomials of %d coefficients", backend.ErrInvalidInput, len(key), c.Coefficients)
	}
	if err := curves.Check(); err != nil {
		return nil, err
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	m := &Multiproofs[P, S]{field: t, Cosets: c, form: f, engine: e, end: end, memory: e.Keep(),
		at: resident.NewVectors[*multiSpaces, *multiTable]()}
	m.most = max(1, mostTogether/c.Coefficients)
	m.direct = func() bool { i := e.Info(); return !i.InProcess && i.Name != cpu }
	if err := m.build(ctx, key, factor); err != nil {
		return nil, errors.Join(err, end())
	}
	return m, nil
}

// cpu is the name of the backend that computes on the processors, in a plugin too. The products of a
// matrix cost it more than the transforms.
const cpu = "cpu"

// Close frees the table after the calls in flight; later ones are backend.ErrClosed. Closing
// twice is no error.
func (m *Multiproofs[P, S]) Close() error {
	m.closed.Store(true)
	return errors.Join(m.at.Close(), m.memory.Close(), m.end())
}

// The method. Let f be the polynomial of n coefficients, l the size of a coset, k = n/l,
// and z_j = w^(j l), which has the order c = Domain/l. The quotient of f by X^l - z_j is
// the sum over i below k of z_j^i h_i(X), where h_i is the quotient of f by X^((i+1) l)
// without remainder. So the proofs are a transform of size c of the commitments
//
//	h_i = sum over a below l and b from 1 below k - i of f[a + (b+i) l] [alpha^(a + (b-1) l)]
//
// For one a this is a correlation, so a product of transforms of size 2 k:
// F_a of f[a + t l] for t below k, then zeros, and T_a of infinity, the points
// [alpha^(a + (t-1) l)] for t from 1 below k, then infinities. With v the root of order 2 k,
//
//	h_i = 1/(2k) sum over u below 2 k of v^(u i) X_u
//	X_u = sum over a below l of F_a(-u) T_a(u)
//
// X_u is a row of l products over a table that does not change. The rows of even u are
// transformed forward, those of odd u by an inverse whose shift is 1/v, so that only
// the k commitments that are wanted are ever computed, and next to one another:
//
//	h_i = sum over x below k of (v^2)^(x i) E_x + 1/k v^i sum over x of (v^2)^(-x i) O_x
//	E_x = X_(2x) / (2k)    O_x = k X_(1 - 2x) / (2k)
//
// since X_(2x'+1) for x' = -x is X_(1-2x). The factors 1/(2k) and 1/2 are in the table.
// Where few points are transformed on a card, whose turns take long, a matrix does all
// that follows the rows, see matrix.

// rowOf returns the u of row x of E, or of O.
func (m *Multiproofs[P, S]) rowOf(x int, odd bool) int {
	if odd {
		return (2*m.parts() + 1 - 2*x) % (2 * m.parts())
	}
	return 2 * x
}

// build computes the table: E's rows, then O's, of Size points each.
func (m *Multiproofs[P, S]) build(ctx context.Context, key []P, factor S) error {
	k, l := m.parts(), m.Size
	given := make([]P, m.Coefficients) // T_a, one after the other
	for a := range l {
		for t := 1; t < k; t++ {
			given[a*k+t] = key[a+(t-1)*l]
		}
	}
	factors := []S{m.fr.Product(factor, m.fr.Inverse(m.fr.Number(2*k))), m.fr.Product(factor, m.fr.Inverse(m.fr.Number(2)))}
	n := 2 * m.Coefficients
	table := make([]P, n)
	_, err := m.engine.Repeat(ctx, engine.Space{Elements: backend.Elements{Element: m.point(), Count: m.Coefficients + n}},
		func(ctx context.Context, s *engine.Session) error {
			scalars, err := s.BesideOf(ctx, backend.Elements{Element: m.scalar(), Count: len(factors)})
			if err != nil {
				return err
			}
			defer scalars.Close()
			from, to := span(s, 0, m.Coefficients), span(s, m.Coefficients, n)
			out, err := s.Run(ctx, []backend.Step{
				write(from, layout.Bytes(given)),
				backend.Transform{Dst: to, Src: from, Batch: l},
				backend.Read{Src: to},
			})
			if err != nil {
				return err
			}
			transformed, err := layout.View[P](out[2])
			if err != nil {
				return err
			}
			for x := range k {
				for a := range l {
					table[x*l+a] = transformed[a*2*k+m.rowOf(x, false)]
					table[(k+x)*l+a] = transformed[a*2*k+m.rowOf(x, true)]
				}
			}
			even, odd := span(s, m.Coefficients, n/2), span(s, m.Coefficients+n/2, n/2)
			out, err = s.Run(ctx, []backend.Step{
				write(span(scalars, 0, len(factors)), layout.Bytes(factors)),
				write(to, layout.Bytes(table)),
				backend.MultiplyPoints{Dst: even, Src: even, Scalars: span(scalars, 0, 1)},
				backend.MultiplyPoints{Dst: odd, Src: odd, Scalars: span(scalars, 1, 1)},
				backend.Read{Src: to},
			})
			if err == nil {
				m.table = out[4]
			}
			return err
		})
	return err
}

func (m *Multiproofs[P, S]) point() backend.Element {
	return backend.PointOf(m.g1.Group.Curve(), backend.G1)
}

func (m *Multiproofs[P, S]) scalar() backend.Element { return backend.ScalarOf(m.g1.Group.Curve()) }

// span returns a part of a session's memory.
func span(s *engine.Session, offset, count int) backend.Range {
	return backend.Range{Space: s.Space(), Offset: offset, Count: count}
}

func write(dst backend.Range, b []byte) backend.Step {
	return backend.Write{Dst: dst, Input: backend.Input{Bytes: b}}
}

// At most so many coefficients are in a program, but for a polynomial alone; memory for a
// blob of EIP-7594 is 1 MiB of scalars and 25 KB of points.
const mostTogether = 1 << 18

// mostDirect bounds the products of a matrix with points, half of which are by zero where proofs
// are twice as many as the commitments that they are made of. A transform has fewer products, in
// log2 n turns of which each takes a card as long as one product; rows of a matrix share doublings.
const mostDirect = 1 << 20

// mostByMatrix returns how many polynomials a matrix computes at most: 0 if transforms compute all.
func (m *Multiproofs[P, S]) mostByMatrix() int {
	if !m.direct() {
		return 0
	}
	return min(m.most, mostDirect/(2*m.parts()*m.count()))
}

// load computes the table on the backend that serves call. If that backend dies, the whole
// call is repeated on another.
func (m *Multiproofs[P, S]) load(ctx context.Context, call *multiSpaces) (_ *multiSpaces, _ *multiTable, err error) {
	if m.closed.Load() {
		return nil, nil, fmt.Errorf("multiproofs: %w", backend.ErrClosed)
	}
	batch, curve := m.most, m.g1.Group.Curve()
	all := batch * m.Coefficients
	indices := backend.IndexElements(curve, all)
	scalars := 3 * indices
	var matrix []S
	few, fewIndices := m.mostByMatrix(), 0 // polynomials that the matrix is for, and indices of their rows
	repeated, again := 0, 0                // elements of the matrix for all of them, and of its indices
	if few > 0 {
		if matrix, err = m.matrix(); err != nil {
			return nil, nil, err
		}
		fewIndices = backend.IndexElements(curve, few*2*m.Coefficients)
		if few > 1 {
			repeated = few * len(matrix)
			again = backend.IndexElements(curve, repeated)
		}
		scalars += fewIndices + len(matrix) + repeated + again
	}
	home, err := openBeside(ctx, call.points, backend.Elements{Element: m.point(), Count: 2 * m.Coefficients},
		backend.Elements{Element: m.scalar(), Count: scalars})
	if err != nil {
		return nil, nil, err
	}
	t := &multiTable{
		points: span(home.points, 0, 2*m.Coefficients),
		split:  span(home.scalars, 0, indices), even: span(home.scalars, indices, indices), odd: span(home.scalars, 2*indices, indices),
	}
	k, l := m.parts(), m.Size
	// index has a table of n places for each of some polynomials.
	index := func(dst backend.Range, polynomials, n int, of func(p, i int) int) backend.Step {
		table := make([]uint32, polynomials*n)
		for i := range table {
			table[i] = uint32(of(i/n, i%n))
		}
		return backend.WriteIndices{Dst: dst, Indices: table}
	}
	// Row x, term a is F_a(-u), of which a transform of 2 k is.
	row := func(p, x, a int, odd bool) int {
		return p*2*m.Coefficients + a*2*k + (2*k-m.rowOf(x, odd))%(2*k)
	}
	steps := []backend.Step{
		write(t.points, m.table),
		index(t.split, batch, m.Coefficients, func(p, i int) int { return p*m.Coefficients + i/k + i%k*l }),
		index(t.even, batch, m.Coefficients, func(p, i int) int { return row(p, i/l, i%l, false) }),
		index(t.odd, batch, m.Coefficients, func(p, i int) int { return row(p, i/l, i%l, true) }),
	}
	if few > 0 {
		t.rows, t.matrix = span(home.scalars, 3*indices, fewIndices), span(home.scalars, 3*indices+fewIndices, len(matrix))
		steps = append(steps,
			index(t.rows, few, 2*m.Coefficients, func(p, i int) int { return row(p, i/l%k, i%l, i/l >= k) }),
			write(t.matrix, layout.Bytes(matrix)))
		if few > 1 {
			at := 3*indices + fewIndices + len(matrix)
			t.repeated = span(home.scalars, at, repeated)
			steps = append(steps, m.repeat(t, few, t.repeated, span(home.scalars, at+repeated, again))...)
		}
	}
	if _, err := call.points.Run(ctx, steps); err != nil {
		return nil, nil, errors.Join(err, home.Close())
	}
	return home, t, nil
}

// matrix has the coefficients of E and O in proof j: of E_x the sum over i below k of
// (z_j v^(2x))^i, of O_x that of (z_j v^(1-2x))^i / k.
func (m *Multiproofs[P, S]) matrix() ([]S, error) {
	k := m.parts()
	v, err := m.root(uint64(2 * k))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	z, err := m.root(uint64(m.count()))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	one, share := m.fr.One(), m.fr.Inverse(m.fr.Number(k))
	var all []S
	for j := range m.count() {
		if m.order == backend.Reversed {
			j = reversed(j, m.count())
		}
		zj := m.fr.Power(z, j)
		for _, odd := range []bool{false, true} {
			for x := range k {
				u := m.rowOf(x, odd)
				// The sum is (q^k - 1)/(q - 1), but k where q is 1.
				q := m.fr.Product(zj, m.fr.Power(v, u))
				sum := m.fr.Number(k)
				if less := m.fr.Minus(q, one); !zero(less) {
					sum = m.fr.Product(m.fr.Minus(m.fr.Power(q, k), one), m.fr.Inverse(less))
				}
				if odd {
					sum = m.fr.Product(sum, share)
				}
				all = append(all, sum)
			}
		}
	}
	return all, nil
}

// zero reports whether a scalar is 0.
func zero[S any](s S) bool {
	return !slices.ContainsFunc(layout.Bytes([]S{s}), func(b byte) bool { return b != 0 })
}

// multiCall is the steps for some polynomials and where they find and leave what.
type multiCall struct {
	steps []backend.Step
	batch int
	// The coefficients in natural order, the values in reversed order, room for three steps
	// of the rows, and the proofs.
	coefficients, values, parts, transforms, rows, proofs backend.Range
	// half says that the values at even powers of the domain's root are known, and not computed.
	half bool
}

// run computes the values and proofs of some polynomials, at most m.most, with a step
// for each thing that is to be done for all of them. begin adds the steps that write the
// coefficients; take gets the values in reversed order and the proofs. If begin sets half, the domain has
// twice as many elements as a polynomial has coefficients, and take gets the second half of the values.
func (m *Multiproofs[P, S]) run(ctx context.Context, batch int, begin func(*multiCall), take func(values, proofs []byte) error) error {
	n, k, c := m.Coefficients, m.parts(), m.count()
	points := engine.Space{Elements: backend.Elements{Element: m.point(), Count: batch * (2*k + c)}, Keep: m.memory}
	v, err := m.root(uint64(2 * k))
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	// Without a resident matrix of all, a few polynomials need room for one and for its indices.
	matrix, size, few := 0, 2*k*c, m.mostByMatrix()
	if batch > 1 && batch < few {
		matrix = batch*size + backend.IndexElements(m.g1.Group.Curve(), batch*size)
	}
	_, err = m.engine.Repeat(ctx, points, func(ctx context.Context, s *engine.Session) (err error) {
		scalars, err := s.BesideOf(ctx, backend.Elements{Element: m.scalar(), Count: batch*(6*n+m.Domain) + matrix})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, scalars.Close()) }()
		t, release, err := m.at.Beside(ctx, &multiSpaces{s, scalars}, m.load)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		at := 0
		next := func(count int) backend.Range {
			at += batch * count
			return span(scalars, at-batch*count, batch*count)
		}
		call := &multiCall{
			batch: batch, coefficients: next(n), values: next(m.Domain), parts: next(n), transforms: next(2 * n), rows: next(2 * n),
		}
		begin(call)
		call.proofs = span(s, batch*2*k, batch*c)
		values := backend.Transform{Dst: call.values, Src: call.coefficients, Batch: batch, To: backend.Reversed}
		if call.half {
			w, err := m.root(uint64(m.Domain))
			if err != nil {
				return fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
			}
			values.Dst = part(values.Dst, 0, 2)
			values.Shift = layout.Bytes([]S{w})
		}
		call.add(
			values,
			backend.Gather{Dst: call.parts, Src: call.coefficients, Index: m.indices(t.split, batch)},
			backend.Transform{Dst: call.transforms, Src: call.parts, Batch: batch * m.Size},
		)
		sums := span(s, 0, batch*2*k)
		byMatrix := batch <= few && t.matrix.Count > 0
		if byMatrix {
			m.byMatrix(call, t, sums, span(scalars, at, matrix))
		} else {
			m.byTransforms(call, t, sums, m.fr.Inverse(v))
		}
		call.add(backend.Read{Src: values.Dst}, backend.Read{Src: call.proofs, Encoding: m.encoding})
		last := len(call.steps) - 1
		// The memory is kept.
		none := make([]byte, m.scalar().Bytes())
		call.add(
			backend.Powers{Dst: span(scalars, 0, scalars.Len()), First: none, Ratio: none},
			write(span(s, 0, s.Len()), make([]byte, s.Len()*m.point().Bytes())),
		)
		out, err := s.Run(ctx, call.steps)
		if err != nil {
			return err
		}
		defer clear(out[last-1])
		proofs := out[last]
		if byMatrix && batch > 1 {
			proofs = turned(proofs, c, batch)
		}
		return take(out[last-1], proofs)
	})
	return err
}

func (c *multiCall) add(steps ...backend.Step) { c.steps = append(c.steps, steps...) }

// indices returns those indices of the table r that as many polynomials need.
func (m *Multiproofs[P, S]) indices(r backend.Range, batch int) backend.Range {
	r.Count = backend.IndexElements(m.g1.Group.Curve(), batch*m.Coefficients)
	return r
}

// part returns part i of n of a range.
func part(r backend.Range, i, n int) backend.Range {
	r.Count /= n
	r.Offset += i * r.Count
	return r
}

// byTransforms adds the steps from the transforms of the parts to the proofs: as many for
// any number of polynomials. shift is 1/v.
func (m *Multiproofs[P, S]) byTransforms(call *multiCall, t *multiTable, sums backend.Range, shift S) {
	even, odd := part(sums, 0, 2), part(sums, 1, 2)
	evenRows, oddRows := part(call.rows, 0, 2), part(call.rows, 1, 2)
	call.add(
		backend.Gather{Dst: evenRows, Src: call.transforms, Index: m.indices(t.even, call.batch)},
		backend.Gather{Dst: oddRows, Src: call.transforms, Index: m.indices(t.odd, call.batch)},
		backend.MultiplyPoints{Dst: even, Src: part(t.points, 0, 2), Scalars: evenRows, Terms: m.Size},
		backend.MultiplyPoints{Dst: odd, Src: part(t.points, 1, 2), Scalars: oddRows, Terms: m.Size},
		backend.Transform{Dst: even, Src: even, Batch: call.batch},
		backend.Transform{Dst: odd, Src: odd, Batch: call.batch, Inverse: true, Shift: layout.Bytes([]S{shift})},
		backend.AddPoints{Dst: even, Plus: []backend.Range{even, odd}},
		backend.Transform{Dst: call.proofs, Src: even, Batch: call.batch, To: m.order},
	)
}

// byMatrix does what byTransforms does, in two steps of products. Proof j of
// polynomial p is written at j batch + p, so that one step has the rows of all: its points
// are the sums of all polynomials, again for every j. room is for a matrix in which each row
// is there for every polynomial, where none is resident.
func (m *Multiproofs[P, S]) byMatrix(call *multiCall, t *multiTable, sums, room backend.Range) {
	matrix := t.matrix
	switch n := call.batch; {
	case n > 1 && room.Count == 0:
		matrix = t.repeated
	case n > 1:
		indices := room
		indices.Offset, indices.Count = room.Offset+n*matrix.Count, room.Count-n*matrix.Count
		room.Count = n * matrix.Count
		call.add(m.repeat(t, n, room, indices)...)
		matrix = room
	}
	call.add(
		backend.Gather{Dst: call.rows, Src: call.transforms, Index: m.indices(t.rows, 2*call.batch)},
		backend.MultiplyPoints{Dst: sums, Src: t.points, Scalars: call.rows, Terms: m.Size},
		backend.MultiplyPoints{Dst: call.proofs, Src: sums, Scalars: matrix, Terms: 2 * m.parts()},
	)
}

// repeat returns steps that write the matrix with each row n times to dst.
func (m *Multiproofs[P, S]) repeat(t *multiTable, n int, dst, indices backend.Range) []backend.Step {
	terms := 2 * m.parts()
	table := make([]uint32, 0, dst.Count)
	for row := 0; row < t.matrix.Count; row += terms {
		for range n {
			for i := range terms {
				table = append(table, uint32(row+i))
			}
		}
	}
	return []backend.Step{
		backend.WriteIndices{Dst: indices, Indices: table},
		backend.Gather{Dst: dst, Src: t.matrix, Index: indices},
	}
}

// turned returns encoded points that lie at j n + p at p count + j, for j below count.
func turned(points []byte, count, n int) []byte {
	size := len(points) / (count * n)
	to := make([]byte, len(points))
	for j := range count {
		for p := range n {
			copy(split(to, p*count+j, count*n), points[(j*n+p)*size:])
		}
	}
	return to
}

// Open returns the values at all cosets, and the proofs, of each polynomial, given by its
// coefficients in ascending order. Many at a time are computed together.
func (m *Multiproofs[P, S]) Open(ctx context.Context, polynomials ...[]S) ([]Openings[P, S], error) {
	for i, p := range polynomials {
		if len(p) > m.Coefficients {
			return nil, fmt.Errorf("%w: polynomial %d has %d coefficients, at most %d are possible",
				backend.ErrInvalidInput, i, len(p), m.Coefficients)
		}
	}
	all := make([]Openings[P, S], len(polynomials))
	for at := 0; at < len(all); at += m.most {
		some := polynomials[at:min(at+m.most, len(all))]
		padded := make([]S, len(some)*m.Coefficients)
		for i, p := range some {
			copy(padded[i*m.Coefficients:], p)
		}
		err := m.run(ctx, len(some), func(call *multiCall) {
			call.add(write(call.coefficients, layout.Bytes(padded)))
		}, func(values, proofs []byte) error {
			v, err := layout.View[S](values)
			if err != nil {
				return err
			}
			p, err := layout.View[P](proofs)
			if err != nil {
				return err
			}
			for i := range some {
				all[at+i] = m.openings(split(v, i, len(some)), split(p, i, len(some)))
			}
			return nil
		})
		clear(padded)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// split returns part i of n of a slice.
func split[T any](s []T, i, n int) []T { return s[i*len(s)/n : (i+1)*len(s)/n] }

// openings makes Openings of values in reversed order and of proofs.
func (m *Multiproofs[P, S]) openings(values []S, proofs []P) Openings[P, S] {
	o := Openings[P, S]{Proofs: slices.Clone(proofs)}
	for j := range m.count() {
		coset := make([]S, m.Size)
		for t := range coset {
			coset[t] = values[reversed(j, m.count())*m.Size+reversed(t, m.Size)]
		}
		o.Values = append(o.Values, coset)
	}
	return o
}

// reversed returns i, below n = 2^k, with its k bits in reverse.
func reversed(i, n int) int {
	if n == 1 {
		return 0
	}
	return int(bits.Reverse64(uint64(i)) >> (64 - bits.TrailingZeros(uint(n))))
}
