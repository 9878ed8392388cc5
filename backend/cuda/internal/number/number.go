package number

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/gf2"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/number"
)

// Computer computes on one card. Its methods may be called concurrently.
type Computer struct {
	dev  *device.Device
	info driver.Info

	resize  device.Kernel[kernel.WordsResize]
	compare device.Kernel[kernel.WordsCompare]
	verdict device.Kernel[kernel.WordsVerdict]
	columns device.Kernel[kernel.WordsColumns]
	split   device.Kernel[kernel.WordsSplit]
	below   device.Kernel[kernel.WordsBelow]
	add     device.Kernel[kernel.LongAdd]

	mul        device.Kernel[kernel.WideMul]
	residue    device.Kernel[kernel.WideResidue]
	powerBegin device.Kernel[kernel.WidePowerBegin]
	power      device.Kernel[kernel.WidePower]
	wideBinary device.Kernel[kernel.WideBinary]
	binaryAdd  device.Kernel[kernel.BinaryAdd]
	powerOne   device.Kernel[kernel.PowerOne]

	engines map[int]engines // by words

	mu      sync.Mutex
	fields  map[int]*field  // by degree; nil if there are no kernels for it
	shorts  map[int]*short  // by words of an element; nil if there is none
	narrows map[int]*narrow // by words; nil if there are none
	groups  map[int]*grouped
	sizes   map[int]*powers
}

// field is the kernels compiled for one GF(2^n).
type field struct {
	mul     device.Kernel[kernel.BinaryMul]
	sqr     device.Kernel[kernel.BinarySqr]
	inverse device.Kernel[kernel.BinaryInverse]
}

// short is the kernel for elements of GF(2^n) of one width, each in the registers of a thread.
type short struct {
	device.Kernel[kernel.ShortBinary]
}

// narrow is the kernels for numbers of one width, each in the registers of a thread.
type narrow struct {
	mul     device.Kernel[kernel.NarrowMul]
	residue device.Kernel[kernel.NarrowResidue]
	power   device.Kernel[kernel.NarrowPower]
}

// powers is the kernel of powers modulo numbers of one width, and how it cuts the numbers.
type powers struct {
	shape
	device.Kernel[kernel.Power]
}

// shape is how many threads a number has, and how many samples a thread.
type shape struct{ threads, samples int }

// shapes are by words.
var shapes = map[int]shape{32: {1, 20}, 48: {2, 16}, 64: {4, 10}, 96: {4, 16}, 128: {4, 20}}

// New loads the kernels that every program may need. The card still belongs to the caller.
func New(d *device.Device) (*Computer, error) {
	c := &Computer{dev: d, info: d.Driver().Info(), engines: chosen,
		fields: make(map[int]*field), shorts: make(map[int]*short), narrows: make(map[int]*narrow),
		groups: make(map[int]*grouped), sizes: make(map[int]*powers)}
	k := kernel.ForCommon()
	err := errors.Join(
		c.resize.Load(d, k.WordsResize), c.compare.Load(d, k.WordsCompare), c.verdict.Load(d, k.WordsVerdict),
		c.columns.Load(d, k.WordsColumns), c.split.Load(d, k.WordsSplit), c.below.Load(d, k.WordsBelow), c.add.Load(d, k.LongAdd),
		c.mul.Load(d, k.WideMul), c.residue.Load(d, k.WideResidue), c.powerBegin.Load(d, k.WidePowerBegin), c.power.Load(d, k.WidePower),
		c.wideBinary.Load(d, k.WideBinary), c.binaryAdd.Load(d, k.BinaryAdd), c.powerOne.Load(d, k.PowerOne),
	)
	if err != nil {
		return nil, err
	}
	residue, product := sharedFor(kernel.WideArrays, backend.MaxNumber), sharedFor(kernel.WideProducts, 2*backend.MaxNumber)
	for f, size := range map[*driver.Function]int{c.mul.Function: product, c.residue.Function: residue,
		c.powerBegin.Function: residue, c.power.Function: residue} {
		if err := f.SetMaxDynamicShared(min(size, c.info.SharedPerBlock)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// sharedFor returns the shared memory of a block in bytes.
func sharedFor(arrays, words int) int { return 4 * (kernel.WideRoom + arrays*words) }

// field returns the kernels for GF(2^degree), or nil if there are none.
func (c *Computer) field(degree int) (*field, error) {
	return once(c, c.fields, degree, func() (*field, error) {
		k, ok := kernel.ForBinary(strconv.Itoa(degree))
		if !ok {
			return nil, nil
		}
		f := &field{}
		if err := errors.Join(f.mul.Load(c.dev, k.BinaryMul), f.sqr.Load(c.dev, k.BinarySqr),
			f.inverse.Load(c.dev, k.BinaryInverse)); err != nil {
			return nil, err
		}
		return f, errors.Join(
			f.mul.SetMaxDynamicShared(rows(2, degree, kernel.BinaryStaged)), f.sqr.SetMaxDynamicShared(rows(1, degree, kernel.BinarySquares)),
			f.inverse.SetMaxDynamicShared(rows(3, degree, kernel.BinaryStaged)),
		)
	})
}

// once returns the value of kept for a key. If it has none, it calls load and keeps the result,
// unless there is an error.
func once[T any](c *Computer, kept map[int]*T, key int, load func() (*T, error)) (*T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := kept[key]; ok {
		return v, nil
	}
	v, err := load()
	if err != nil {
		return nil, err
	}
	kept[key] = v
	return v, nil
}

// rows returns the shared memory in bytes for n elements a thread. Only kernels for degrees from
// staged on keep elements there.
func rows(n, degree, staged int) int {
	if degree < staged {
		return 0
	}
	return n * 4 * kernel.BinaryThreads * (degree/32 + kernel.BinaryPad)
}

// short returns the kernel for elements of that many words, or nil if there is none.
func (c *Computer) short(words int) (*short, error) {
	return once(c, c.shorts, words, func() (*short, error) {
		k, ok := kernel.ForShort("w" + strconv.Itoa(words))
		if !ok {
			return nil, nil
		}
		s := &short{}
		return s, s.Load(c.dev, k.ShortBinary)
	})
}

// narrow returns the kernels for numbers of that many words, or nil if there are none.
func (c *Computer) narrow(words int) (*narrow, error) {
	return once(c, c.narrows, words, func() (*narrow, error) {
		k, ok := kernel.ForNarrow("n" + strconv.Itoa(words))
		if !ok {
			return nil, nil
		}
		n := &narrow{}
		return n, errors.Join(n.mul.Load(c.dev, k.NarrowMul), n.residue.Load(c.dev, k.NarrowResidue), n.power.Load(c.dev, k.NarrowPower))
	})
}

// powers returns the kernel for moduli of that many words.
func (c *Computer) powers(words int) (*powers, error) {
	return once(c, c.sizes, words, func() (*powers, error) {
		s := shapes[words]
		k, ok := kernel.ForModulus(strconv.Itoa(32*words), strconv.Itoa(s.threads))
		if !ok {
			return nil, fmt.Errorf("%w: no kernel of powers modulo %d words, by %d threads", backend.ErrInternal, words, s.threads)
		}
		p := &powers{shape: s}
		return p, p.Load(c.dev, k.Power)
	})
}

// Step is an operation in which the check has found nothing wrong, and where its batches lie.
type Step struct {
	backend.Compute
	At struct{ Dst, A, B, M, Carry kernels.Pointer } // B, M and Carry are 0 if the operation has none
}

// Resources is what queueing an operation takes.
type Resources struct {
	Stream  *driver.Stream
	Work    driver.Span     // as many bytes as Scratch says
	Refused kernels.Pointer // RefusedBytes, all ones
	// Pace is told how much was queued, as a number of vector elements that take as long. It waits
	// for what was queued long ago. An error ends the operation.
	Pace func(elements int) error
}

// RefusedBytes is the size of what an operation records about elements that it refuses.
const RefusedBytes = 4 * kernel.NumberReasons

// Refusal returns as an error what an operation recorded, or nil. The error wraps
// backend.ErrInvalidInput.
func Refusal(s *backend.Compute, noted []byte) error {
	least, reason := uint32(kernel.NumberNoElement), 0
	for k := range kernel.NumberReasons {
		if i := binary.LittleEndian.Uint32(noted[4*k:]); i < least {
			least, reason = i, k
		}
	}
	if least == kernel.NumberNoElement {
		return nil
	}
	what := [...]string{
		kernel.NumberModulusZero: "the modulus is 0", kernel.NumberModulusEven: "the modulus is even",
		kernel.NumberModulusOne: "the modulus is not above 1",
		kernel.NumberANotBelow:  "A is not below the modulus", kernel.NumberBNotBelow: "B is not below the modulus",
	}[reason]
	if s.Degree > 0 {
		what = fmt.Sprintf("%c has bits from x^%d on: it is no element of GF(2^%d)", 'A'+reason-kernel.NumberANotBelow, s.Degree, s.Degree)
	}
	return fmt.Errorf("%w: element %d: %s", backend.ErrInvalidInput, least, what)
}

// Prepare does what an operation needs before it has a card, until ctx ends: it finds the
// polynomial of a field, which may take seconds. If there are more elements than a kernel can
// count, the error is backend.ErrUnsupported.
func Prepare(ctx context.Context, s *backend.Compute) error {
	if n := max(s.Dst.Count, s.A.Count); n >= kernel.NumberNoElement {
		return fmt.Errorf("%w: %d elements, less than %d are possible on a card", backend.ErrUnsupported, n, uint32(kernel.NumberNoElement))
	}
	if s.Degree == 0 {
		return nil
	}
	_, err := gf2.Find(ctx, s.Degree)
	return cmp.Or(backend.Ended(ctx), err)
}

// Scratch returns the bytes of scratch memory that an operation takes. If the card is unable to
// compute it, the error is backend.ErrUnsupported.
func (c *Computer) Scratch(s *Step) (int64, error) {
	x := &queue{Computer: c, rehearsal: true}
	if err := x.operation(s); err != nil {
		return 0, err
	}
	return x.most, nil
}

// Queue queues an operation and does not wait for it.
func (c *Computer) Queue(s *Step, with Resources) error {
	return (&queue{Computer: c, Resources: with}).operation(s)
}
