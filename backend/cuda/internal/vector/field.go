package vector

import (
	"errors"
	"fmt"
	"math/big"

	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/backend/cuda/internal/ntt"
	"github.com/pippin-zk/pippin/backend/cuda/internal/number"
	"github.com/pippin-zk/pippin/internal/layout"
	kernel "github.com/pippin-zk/pippin/kernels/grid/vector"
)

// field is a curve's scalar field on the card, or words: numbers alone are there then.
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

// close gives back what the field keeps.
func (f *field) close() error {
	if f.ntt == nil {
		return nil
	}
	return f.ntt.Close()
}

// fr is what this package needs of gnark-crypto's elements.
type fr[E any] interface {
	*E
	SetOne() *E
	SetUint64(uint64) *E
	Square(*E) *E
	Inverse(*E) *E
	Exp(E, *big.Int) *E
}

// squares are by curve: the element in the first of b's elements, and in each that
// follows the square of the one before it.
var squares = [...]func(b []byte) error{
	backend.BN254:    square[fr254.Element],
	backend.BLS12377: square[fr377.Element],
	backend.BLS12381: square[fr381.Element],
	backend.BW6761:   square[fr761.Element],
}

func square[E any, P fr[E]](b []byte) error {
	table, err := layout.View[E](b)
	if err != nil {
		return err
	}
	for k := 1; k < len(table); k++ {
		P(&table[k]).Square(&table[k-1])
	}
	return nil
}

// ones is the element 1 by curve.
var ones = [...]func() []byte{
	backend.BN254:    one[fr254.Element],
	backend.BLS12377: one[fr377.Element],
	backend.BLS12381: one[fr381.Element],
	backend.BW6761:   one[fr761.Element],
}

func one[E any, P fr[E]]() []byte {
	e := make([]E, 1)
	P(&e[0]).SetOne()
	return layout.Bytes(e)
}

// roots are by curve: the root of unity of order n, or its inverse, to the power step.
var roots = [...]func(n, step int, inverse bool) ([]byte, error){
	backend.BN254:    rootOf(fr254.Generator),
	backend.BLS12377: rootOf(fr377.Generator),
	backend.BLS12381: rootOf(fr381.Generator),
	backend.BW6761:   rootOf(fr761.Generator),
}

func rootOf[E any, P fr[E]](generator func(uint64) (E, error)) func(n, step int, inverse bool) ([]byte, error) {
	return func(n, step int, inverse bool) ([]byte, error) {
		w, err := generator(uint64(n))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
		}
		if inverse {
			P(&w).Inverse(&w)
		}
		e := make([]E, 1)
		P(&e[0]).Exp(w, big.NewInt(int64(step)))
		return layout.Bytes(e), nil
	}
}

// inverses are by curve: 1/x of an element in memory of any address.
var inverses = [...]func(x []byte) []byte{
	backend.BN254:    inverse[fr254.Element],
	backend.BLS12377: inverse[fr377.Element],
	backend.BLS12381: inverse[fr381.Element],
	backend.BW6761:   inverse[fr761.Element],
}

func inverse[E any, P fr[E]](x []byte) []byte {
	e := make([]E, 1)
	copy(layout.Bytes(e), x)
	P(&e[0]).Inverse(&e[0])
	return layout.Bytes(e)
}

// reciprocals are by curve: the element 1/n.
var reciprocals = [...]func(n int) []byte{
	backend.BN254:    reciprocal[fr254.Element],
	backend.BLS12377: reciprocal[fr377.Element],
	backend.BLS12381: reciprocal[fr381.Element],
	backend.BW6761:   reciprocal[fr761.Element],
}

func reciprocal[E any, P fr[E]](n int) []byte {
	e := make([]E, 1)
	P(&e[0]).Inverse(P(&e[0]).SetUint64(uint64(n)))
	return layout.Bytes(e)
}
