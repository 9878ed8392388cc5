package vector

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/backend/cuda/internal/ntt"
	"github.com/pippin-zk/pippin/backend/cuda/internal/number"
	"github.com/pippin-zk/pippin/internal/curves"
	kernel "github.com/pippin-zk/pippin/kernels/grid/vector"
)

// field is a curve's scalar field on the card, or words, for which only numbers is set.
type field struct {
	curve   backend.Curve
	size    int64 // bytes of an element
	numbers *number.Computer
	ntt     *ntt.Field

	sequence       device.Kernel[kernel.Sequence]
	gather         device.Kernel[kernel.Gather]
	below          device.Kernel[kernel.Below]
	productsReduce device.Kernel[kernel.ProductsReduce]
	productsScan   device.Kernel[kernel.ProductsScan]
	divideReduce   device.Kernel[kernel.DivideReduce]
	divideScan     device.Kernel[kernel.DivideScan]
	evaluate       device.Kernel[kernel.Evaluate]
	invert         device.Kernel[kernel.Invert]
	mapped         device.Kernel[kernel.Map]
	sparse         device.Kernel[kernel.SparseProduct]
}

// newField loads the kernels for elements.
func newField(t *device.Turn, d *device.Device, e backend.Element) (*field, error) {
	f := &field{curve: e.Curve, size: int64(e.Bytes())}
	var ks kernel.Field
	ok := false
	switch e.Kind {
	case backend.Words:
		var err error
		f.numbers, err = number.New(d)
		return f, err
	case backend.Scalars:
		ks, ok = kernel.ForField(e.Curve.String())
	}
	if !ok {
		return nil, fmt.Errorf("%w: no programs over %v", backend.ErrUnsupported, e)
	}
	err := errors.Join(
		f.sequence.Load(d, ks.Sequence),
		f.gather.Load(d, ks.Gather),
		f.below.Load(d, ks.Below),
		f.productsReduce.Load(d, ks.ProductsReduce),
		f.productsScan.Load(d, ks.ProductsScan),
		f.divideReduce.Load(d, ks.DivideReduce),
		f.divideScan.Load(d, ks.DivideScan),
		f.evaluate.Load(d, ks.Evaluate),
		f.invert.Load(d, ks.Invert),
		f.mapped.Load(d, ks.Map),
		f.sparse.Load(d, ks.SparseProduct),
	)
	if err != nil {
		return nil, err
	}
	longest := 4*(backend.MapArgs+1)*kernel.OperandWords + 4*(backend.MapCodes+align)
	if err := f.mapped.SetMaxDynamicShared(f.mapShared(longest, kernel.MapSlots)); err != nil {
		return nil, err
	}
	f.ntt, err = ntt.New(t, d, e.Curve)
	return f, err
}

// close gives back the memory that the field keeps.
func (f *field) close() error {
	if f.ntt == nil {
		return nil
	}
	return f.ntt.Close()
}

// square sets each element of b, except the first, to the square of the one before it.
func square(c backend.Curve, b []byte) error {
	table, err := curves.Of(c).Fr.Elements(b)
	if err != nil {
		return err
	}
	for k := 1; k < table.Len(); k++ {
		table.Mul(k, k-1, k-1)
	}
	return nil
}

// oneOf returns the element 1.
func oneOf(c backend.Curve) []byte {
	e := curves.Of(c).Fr.New(1)
	e.SetNumber(0, 1)
	return e.Bytes()
}

// rootOf returns w^step, where w is the root of unity of order n or its inverse.
func rootOf(c backend.Curve, n, step int, inverse bool) ([]byte, error) {
	w, err := curves.Of(c).Fr.Root(n)
	if err != nil {
		return nil, err
	}
	if inverse {
		w.Inverse(0, 0)
	}
	w.Power(0, 0, big.NewInt(int64(step)))
	return w.Bytes(), nil
}

// inverse returns 1/x for an element at any address.
func inverse(c backend.Curve, x []byte) []byte {
	e := curves.Of(c).Fr.New(1)
	copy(e.Bytes(), x)
	e.Inverse(0, 0)
	return e.Bytes()
}

// reciprocal returns the element 1/n.
func reciprocal(c backend.Curve, n int) []byte {
	e := curves.Of(c).Fr.New(1)
	e.SetNumber(0, uint64(n))
	e.Inverse(0, 0)
	return e.Bytes()
}
