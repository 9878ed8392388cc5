package vector

import "github.com/pippin-zk/pippin/backend"

// Matrix is a sparse matrix in a session's memory, for Program.SparseProduct.
type Matrix[E comparable] struct {
	rows, columns, factors Indices[E]
	values                 Vector[E]
}

// Entries are the entries of a sparse matrix, in the order of their rows: entry k is at row Rows[k]
// and column Columns[k]. Its factor is Values[Factors[k] - backend.FactorValue], or 1 or -1 for
// backend.FactorOne and backend.FactorMinusOne. Entries of one place are added up.
type Entries[E comparable] struct {
	Rows, Columns, Factors []uint32
	Values                 []E
}

// MatrixElements returns how many elements' memory a matrix takes, of some entries with a number of
// different factors beside 1 and -1.
func (f *Field[E]) MatrixElements(entries, values int) int {
	return 3*f.IndexElements(entries) + values
}

// NewMatrix returns a matrix that takes as much memory as a vector of MatrixElements.
func (s *Session[E]) NewMatrix(entries, values int) Matrix[E] {
	return Matrix[E]{s.NewIndices(entries), s.NewIndices(entries), s.NewIndices(entries), s.New(values)}
}

// Len returns the number of entries.
func (m Matrix[E]) Len() int { return m.rows.Len() }

// Free gives the memory back, as Vector.Free does.
func (m Matrix[E]) Free() {
	for _, x := range []Indices[E]{m.rows, m.columns, m.factors} {
		x.Free()
	}
	m.values.Free()
}

// WriteMatrix puts entries into a matrix of as many. They must not change until Run returns.
func (p *Program[E]) WriteMatrix(m Matrix[E], e Entries[E]) {
	p.WriteIndices(m.rows, e.Rows)
	p.WriteIndices(m.columns, e.Columns)
	p.WriteIndices(m.factors, e.Factors)
	p.Write(m.values, e.Values)
}

// SparseProduct sets dst to the product of a matrix and src. Run refuses it if rows descend, or if an
// entry lies outside of dst or src or has no factor.
func (p *Program[E]) SparseProduct(dst Vector[E], m Matrix[E], src Vector[E]) {
	if p.ok(dst, src, m.rows.v, m.columns.v, m.factors.v, m.values) {
		p.add(backend.SparseProduct{Dst: dst.span(), Src: src.span(), Entries: m.Len(),
			Rows: m.rows.v.span(), Columns: m.columns.v.span(), Factors: m.factors.v.span(), Values: m.values.span()}, nil)
	}
}
