package circom

import (
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/circom/internal/file"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/matrices"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// matricesOf makes A and B of a key's entries, with rows in the order of gnark-crypto's domain: row i of the file is
// at place step i mod the domain's size.
func matricesOf[S comparable](fr *group.Field[S], step int, e *file.Entries) *matrices.Pair[S] {
	var sides [2]matrices.Matrix
	for i := range sides {
		sides[i] = rowsInOrder(&e.Matrices[i], step)
	}
	factors := make([]S, len(e.Factors)/fr.Bytes)
	copy(layout.Bytes(factors), e.Factors)
	// The file has f R^2. A product by the bytes of the number 1 divides by R.
	one := make([]S, 1)
	layout.Bytes(one)[0] = 1
	for i := range factors {
		fr.Mul(&factors[i], &factors[i], &one[0])
	}
	return matrices.New(fr, sides, factors)
}

// rowsInOrder returns a matrix of n rows, a power of two. Its row step i mod n is row i of x.
func rowsInOrder(x *matrices.Matrix, step int) matrices.Matrix {
	if step == 1 {
		return *x
	}
	n := x.Rows()
	y := matrices.Matrix{Start: make([]uint32, n+1), Wire: make([]uint32, len(x.Wire)), Factor: make([]uint32, len(x.Factor))}
	for row := range n {
		y.Start[row*step&(n-1)+1] = x.Start[row+1] - x.Start[row]
	}
	for place := range n {
		y.Start[place+1] += y.Start[place]
	}
	merge.Parallel(n, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			to := y.Start[row*step&(n-1)]
			copy(y.Wire[to:], x.Wire[x.Start[row]:x.Start[row+1]])
			copy(y.Factor[to:], x.Factor[x.Start[row]:x.Start[row+1]])
		}
	})
	return y
}
