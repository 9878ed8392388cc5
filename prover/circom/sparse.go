package circom

import (
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/circom/internal/file"
	"github.com/pippin-zk/pippin/prover/internal/matrices"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// matricesOf makes A and B of a key's entries, with rows in the order of gnark-crypto's domain: row i of the file is
// at place step i mod the domain's size.
func (c *curve[P1, P2, S]) matricesOf(step int, e *file.Entries) *matrices.Pair[S] {
	factors := matrices.Constants(c.fr)
	constants := uint32(len(factors))
	factors = append(factors, make([]S, len(e.Factors)/c.fr.Bytes)...)
	copy(layout.Bytes(factors[constants:]), e.Factors)
	// The file has f R^2. A product by the bytes of the number 1 divides by R.
	one := make([]S, 1)
	layout.Bytes(one)[0] = 1
	for i := int(constants); i < len(factors); i++ {
		c.fr.Mul(&factors[i], &factors[i], &one[0])
	}
	var sides [2]matrices.Matrix
	for i := range sides {
		sides[i] = rowsInOrder(&e.Matrices[i], step)
		terms := sides[i].Terms
		merge.Parallel(len(terms)/2, func(lo, hi int) {
			for k := lo; k < hi; k++ {
				terms[2*k] += constants
			}
		})
	}
	return matrices.New(c.fr, c.vectors.Curve(), c.solver, sides, factors)
}

// rowsInOrder returns a matrix of n rows, a power of two. Its row step i mod n is row i of x.
func rowsInOrder(x *matrices.Matrix, step int) matrices.Matrix {
	if step == 1 {
		return *x
	}
	n := x.Rows()
	y := matrices.Matrix{Start: make([]uint32, n+1), Terms: make([]uint32, len(x.Terms))}
	for row := range n {
		y.Start[row*step&(n-1)+1] = x.Start[row+1] - x.Start[row]
	}
	for place := range n {
		y.Start[place+1] += y.Start[place]
	}
	merge.Parallel(n, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			to := y.Start[row*step&(n-1)]
			copy(y.Terms[2*to:], x.Terms[2*x.Start[row]:2*x.Start[row+1]])
		}
	})
	return y
}
