package kzg

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"runtime"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// Extended is all cells of a blob and their proofs.
type Extended struct {
	Cells  [CellCount]Cell
	Proofs [CellCount]Proof
}

// CellProver computes what EIP-7594 wants of a node that has blobs: commitments, cells and
// proofs, and all cells from half of them. Its tables are resident in an engine. Safe
// for concurrent use.
//
// The functions take many blobs and compute up to 64 of them together. Copies of
// blobs are wiped.
type CellProver struct {
	multi *BLS12381Multiproofs
	table *resident.Table[bls12381.G1Affine, fr.Element]
	// shift is a coset that has no root of unity of order 8192.
	shift fr.Element
}

// A space has a field element x as the limbs of x R, with R = 2^256. So the numbers of a
// blob, as limbs, are field elements that are 1/R of what the blob has. Transforms, and
// products with what does not depend on the blob, keep that factor. Cells come out as blobs
// go in, and the table of points has the factor R.

// LoadCells makes the tables of a setup and loads them into the engine; a nil engine is one
// in this process. It takes a second or so on a CPU.
func LoadCells(ctx context.Context, e *engine.Engine, s *EthereumSetup) (*CellProver, error) {
	r := fr.NewElement(1)
	for range 256 {
		r.Double(&r)
	}
	e, end, err := resident.Or(ctx, e)
	if err != nil {
		return nil, err
	}
	c := Cosets{Coefficients: blobScalars, Domain: 2 * blobScalars, Size: cellScalars}
	multi, err := bls12381Curve.loadMulti(ctx, e, s.powers, c, form{backend.Reversed, backend.Compressed}, r)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	multi.end = end
	table, err := resident.Load(ctx, e, group.BLS12381G1, s.lagrange)
	if err != nil {
		return nil, errors.Join(err, multi.Close())
	}
	return &CellProver{multi, table, fft.GeneratorFullMultiplicativeGroup()}, nil
}

// Close frees the tables after the calls in flight. Closing twice is no error.
func (c *CellProver) Close() error { return errors.Join(c.table.Close(), c.multi.Close()) }

// modulus is r in limbs, the most significant first.
var modulus = func() (m [4]uint64) {
	b := fr.Modulus().Bytes()
	for i := range m {
		m[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return m
}()

// turn writes numbers of 32 bytes in the other order of bytes. It returns the first that is
// not below r, or -1.
func turn(dst, src []byte) int {
	for i := 0; i < len(src); i += scalarBytes {
		from, to := src[i:i+scalarBytes], dst[i:i+scalarBytes]
		var borrow uint64
		for k := 3; k >= 0; k-- {
			limb := binary.BigEndian.Uint64(from[8*k:])
			_, borrow = bits.Sub64(limb, modulus[k], borrow)
			binary.LittleEndian.PutUint64(to[8*(3-k):], limb)
		}
		if borrow == 0 {
			return i / scalarBytes
		}
	}
	return -1
}

// turnBack does what turn does, for numbers that are below r.
func turnBack(dst, src []byte) {
	for i := 0; i < len(src); i += 8 {
		binary.BigEndian.PutUint64(dst[i^(scalarBytes-8):], binary.LittleEndian.Uint64(src[i:]))
	}
}

// each calls f for i below n on all processors.
func each(n int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}

// errElement refuses a field element.
func errElement(what string, element int) error {
	return fmt.Errorf("%w: element %d of %s is not below r", backend.ErrInvalidInput, element, what)
}

// Commit returns the commitments to blobs, blob_to_kzg_commitment of the specification.
func (c *CellProver) Commit(ctx context.Context, blobs ...*Blob) ([]Commitment, error) {
	all := make([]Commitment, len(blobs))
	for at := 0; at < len(all); at += c.multi.most {
		some := blobs[at:min(at+c.multi.most, len(all))]
		scalars := make([]fr.Element, len(some)*blobScalars)
		err := each(len(some), func(i int) error {
			if some[i] == nil {
				return errNil("blob", at+i)
			}
			if bad := scalarsOf(split(scalars, i, len(some)), some[i][:]); bad >= 0 {
				return errElement(fmt.Sprintf("blob %d", at+i), bad)
			}
			return nil
		})
		if err == nil {
			batch := msm.NewBatch(c.multi.engine)
			sums := make([]*msm.Answer[bls12381.G1Affine], len(some))
			for i := range some {
				sums[i] = c.table.Bases().Add(batch, split(scalars, i, len(some)))
			}
			if err = batch.Run(ctx); err == nil {
				for i, sum := range sums {
					p := sum.Point()
					all[at+i] = p.Bytes()
				}
			}
		}
		clear(scalars)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func errNil(what string, i int) error {
	return fmt.Errorf("%w: %s %d is nil", backend.ErrInvalidInput, what, i)
}

// Compute returns the cells and proofs of blobs, compute_cells_and_kzg_proofs of the
// specification.
func (c *CellProver) Compute(ctx context.Context, blobs ...*Blob) ([]*Extended, error) {
	// The first half of a blob's cells is the blob.
	return c.extend(ctx, len(blobs), blobScalars, func(i int) []byte { return blobs[i][:] }, func(dst []byte, i int) error {
		if blobs[i] == nil {
			return errNil("blob", i)
		}
		if bad := turn(dst, blobs[i][:]); bad >= 0 {
			return errElement(fmt.Sprintf("blob %d", i), bad)
		}
		return nil
	}, func(call *multiCall, given []byte) {
		call.add(
			write(call.coefficients, given),
			backend.Transform{Dst: call.coefficients, Src: call.coefficients, Batch: call.batch, Inverse: true, From: backend.Reversed},
		)
		call.half = true
	})
}

// extend computes n blobs, as many as fit together at a time. known returns the first half of the cells of
// blob i; if it is nil, all are computed. fill writes so many elements of blob i as bytes, into memory that is
// shared with the backend and wiped. steps adds the steps from those of all blobs to the coefficients.
func (c *CellProver) extend(ctx context.Context, n, elements int, known func(i int) []byte, fill func(dst []byte, i int) error,
	steps func(*multiCall, []byte)) ([]*Extended, error) {
	all := make([]*Extended, n)
	for at := 0; at < n; at += c.multi.most {
		if err := c.extendSome(ctx, all[at:min(at+c.multi.most, n)], at, elements, known, fill, steps); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// extendSome does what extend does, for blobs that fit together, of which the first is number at.
func (c *CellProver) extendSome(ctx context.Context, some []*Extended, at, elements int, known func(i int) []byte,
	fill func(dst []byte, i int) error, steps func(*multiCall, []byte)) error {
	var mem resident.Memory
	defer mem.Free()
	given := layout.Bytes(resident.Scalars(ctx, &mem, c.multi.engine, group.BLS12381G1, len(some)*elements))
	if err := each(len(some), func(i int) error { return fill(split(given, i, len(some)), at+i) }); err != nil {
		return err
	}
	return c.multi.run(ctx, len(some), func(call *multiCall) { steps(call, given) }, func(values, proofs []byte) error {
		return each(len(some), func(i int) error {
			x := new(Extended)
			v, p := split(values, i, len(some)), split(proofs, i, len(some))
			cells := x.Cells[:]
			if known != nil {
				of := known(at + i)
				for k := range CellCount / 2 {
					copy(x.Cells[k][:], split(of, k, CellCount/2))
				}
				cells = cells[CellCount/2:]
			}
			for k := range cells {
				turnBack(cells[k][:], split(v, k, len(cells)))
			}
			for k := range x.Proofs {
				copy(x.Proofs[k][:], split(p, k, CellCount))
			}
			some[i] = x
			return nil
		})
	})
}

// Recover returns all cells and proofs of blobs of which it is given LeastCells or more,
// recover_cells_and_kzg_proofs of the specification: cell k of each row has the index
// indices[k], which are in ascending order and the same for all rows, as columns are that
// a node has. Cells that are not those of a blob give cells of another one, as the
// specification has it: verify them before.
func (c *CellProver) Recover(ctx context.Context, indices []uint64, rows ...[]*Cell) ([]*Extended, error) {
	if len(indices) < LeastCells || len(indices) > CellCount {
		return nil, fmt.Errorf("%w: %d cells, from %d to %d are wanted", backend.ErrInvalidInput, len(indices), LeastCells, CellCount)
	}
	for k, index := range indices {
		switch {
		case index >= CellCount:
			return nil, fmt.Errorf("%w: index %d of cell %d, below %d is wanted", backend.ErrInvalidInput, index, k, CellCount)
		case k > 0 && index <= indices[k-1]:
			return nil, fmt.Errorf("%w: index %d of cell %d is not above that of the cell before, %d",
				backend.ErrInvalidInput, index, k, indices[k-1])
		}
	}
	for i, row := range rows {
		if len(row) != len(indices) {
			return nil, fmt.Errorf("%w: %d cells in row %d for %d indices", backend.ErrInvalidInput, len(row), i, len(indices))
		}
	}
	factors, err := c.vanishing(indices)
	if err != nil {
		return nil, err
	}
	const n = 2 * blobScalars
	return c.extend(ctx, len(rows), n, nil, func(dst []byte, i int) error {
		for k, index := range indices {
			if rows[i][k] == nil {
				return errNil(fmt.Sprintf("in row %d, cell", i), k)
			}
			if bad := turn(split(dst, int(index), CellCount), rows[i][k][:]); bad >= 0 {
				return errElement(fmt.Sprintf("cell %d of row %d", k, i), bad)
			}
		}
		return nil
	}, func(call *multiCall, given []byte) {
		// With Z zero at the missing cells, the values of f Z are known everywhere. On a coset
		// f Z is divided by Z, which is zero nowhere there.
		all, shift := call.values, layout.Bytes([]fr.Element{c.shift})
		on, off := call.transforms, call.rows
		on.Count, off.Count = n, n
		index := call.parts
		index.Count = backend.IndexElements(backend.BLS12381, call.batch*blobScalars)
		first := make([]uint32, call.batch*blobScalars)
		for i := range first {
			first[i] = uint32(i/blobScalars*n + i%blobScalars)
		}
		times := func(factor backend.Range) backend.Step {
			return backend.Map{Count: all.Count, Dst: backend.Operand{Range: all, Stride: 1},
				Args: []backend.Operand{{Range: all, Stride: 1}, {Range: factor, Stride: 1}},
				Code: []backend.MapCode{{Op: backend.MapLoad, Arg: 0}, {Op: backend.MapLoad, Arg: 1}, {Op: backend.MapMul}}}
		}
		call.add(
			write(all, given),
			write(on, layout.Bytes(factors[:n])),
			write(off, layout.Bytes(factors[n:])),
			backend.WriteIndices{Dst: index, Indices: first},
			times(on),
			backend.Transform{Dst: all, Src: all, Batch: call.batch, Inverse: true, From: backend.Reversed},
			backend.Transform{Dst: all, Src: all, Batch: call.batch, To: backend.Reversed, Shift: shift},
			times(off),
			backend.Transform{Dst: all, Src: all, Batch: call.batch, Inverse: true, From: backend.Reversed, Shift: shift},
			backend.Gather{Dst: call.coefficients, Src: all, Index: index},
		)
	})
}

// vanishing returns the values, in the order of cells, of the polynomial Z that is zero at the
// cells that are not in indices, and then those of 1/Z on the coset. Z is a polynomial of
// X^64, so that all elements of a cell have one value.
func (c *CellProver) vanishing(indices []uint64) ([]fr.Element, error) {
	w, err := fft.Generator(CellCount)
	if err != nil {
		return nil, err
	}
	var roots [CellCount]fr.Element // X^64 at a cell
	for i := range roots {
		roots[i].Exp(w, big.NewInt(int64(reversed(i, CellCount))))
	}
	there := [CellCount]bool{}
	for _, i := range indices {
		there[i] = true
	}
	z := fr.Vector{fr.One()} // coefficients, the highest last
	for i, root := range roots {
		if there[i] {
			continue
		}
		z = append(z, fr.Element{})
		for k := len(z) - 1; k >= 0; k-- {
			z[k].Mul(&z[k], &root)
			z[k].Neg(&z[k])
			if k > 0 {
				z[k].Add(&z[k], &z[k-1])
			}
		}
	}
	var scale fr.Element
	scale.Exp(c.shift, big.NewInt(cellScalars))
	values := make([]fr.Element, 2*CellCount)
	for i := range roots {
		var on fr.Element
		on.Mul(&roots[i], &scale)
		values[i], values[CellCount+i] = group.BLS12381Fr.Eval(z, roots[i]), group.BLS12381Fr.Eval(z, on)
	}
	copy(values[CellCount:], fr.BatchInvert(values[CellCount:]))
	all := make([]fr.Element, 0, 2*CellCount*cellScalars)
	for _, v := range values {
		for range cellScalars {
			all = append(all, v)
		}
	}
	return all, nil
}
