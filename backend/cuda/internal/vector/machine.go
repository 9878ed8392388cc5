package vector

import (
	"encoding/binary"
	"math/bits"

	"github.com/pippin-zk/pippin/backend"
	kernel "github.com/pippin-zk/pippin/kernels/grid/vector"
)

// compile translates valid stack code to instructions of kernels/grid/vector's machine. The
// machine's register holds the top of the stack; what lies below it is in slots, from the bottom
// on. compile also returns how many slots there are.
//
// If an element is pushed only to be the second operand of the next operation, it becomes the
// operand y of that instruction.
func compile(code []backend.MapCode) (instructions []uint32, slots int) {
	depth := 0
	emit := func(op, from, index int) {
		instructions = append(instructions, uint32(op|from|index<<kernel.IndexShift))
	}
	for i := 0; i < len(code); i++ {
		c := code[i]
		from, index := source(c, depth)
		switch {
		case from == kernel.FromNothing && isBinary(c.Op):
			// The element below is a, the top is b.
			op := operation(c.Op)
			if c.Op == backend.MapSub {
				op = kernel.MapSubFrom
			}
			depth--
			emit(op, kernel.FromSlot, depth-1)
		case from == kernel.FromNothing && c.Op != backend.MapCopy:
			emit(operation(c.Op), from, 0)
		case from != kernel.FromNothing && depth > 0 && i+1 < len(code) && isBinary(code[i+1].Op):
			i++
			emit(operation(code[i].Op), from, index)
		default:
			op, save := kernel.MapTake, 0
			if from == kernel.FromNothing {
				op = kernel.MapNone // a copy of the top
			}
			if depth > 0 {
				save = depth << kernel.SaveShift // slot depth - 1
				slots = max(slots, depth)
			}
			depth++
			emit(op|save, from, index)
		}
	}
	return instructions, slots
}

// source returns where the element lies that c pushes on a stack of that depth. It returns
// FromNothing if that is the top itself, or if c pushes none.
func source(c backend.MapCode, depth int) (from, index int) {
	switch {
	case c.Op == backend.MapLoad:
		return kernel.FromOperand, c.Arg + 1
	case c.Op == backend.MapConst:
		return kernel.FromConstant, c.Arg
	case c.Op == backend.MapCopy && c.Arg > 0:
		return kernel.FromSlot, depth - 1 - c.Arg
	}
	return kernel.FromNothing, 0
}

func isBinary(op backend.MapOp) bool {
	return op == backend.MapAdd || op == backend.MapSub || op == backend.MapMul
}

// operation returns the machine's number for an operation.
func operation(op backend.MapOp) int {
	switch op {
	case backend.MapAdd:
		return kernel.MapAdd
	case backend.MapSub:
		return kernel.MapSub
	case backend.MapMul:
		return kernel.MapMul
	case backend.MapSquare:
		return kernel.MapSquare
	case backend.MapDouble:
		return kernel.MapDouble
	}
	return kernel.MapNeg
}

// mapCode is what a map's machine reads into shared memory: operands and, from the word code on,
// its instructions.
type mapCode struct {
	bytes               []byte
	instructions, codes int
	slots               int
}

// mapCode makes the code of a valid map. address returns where a range begins.
func (f *field) mapCode(s *backend.Map, address func(backend.Range) uint64) mapCode {
	code, slots := compile(s.Code)
	p := mapCode{codes: len(code), slots: slots}
	for _, o := range append([]backend.Operand{s.Dst}, s.Args...) {
		o = o.Places()
		plain, mask, reversal := 0, 0, 32
		if o.Count&(o.Count-1) == 0 {
			mask = o.Count - 1
		}
		if o.Order == backend.Reversed && o.Count > 1 {
			reversal = 32 - bits.Len(uint(o.Count-1))
		} else if o.Rotate == 0 && (o.Stride == 0 || o.Stride == 1 && s.Count <= o.Count) {
			plain = 1
		}
		p.bytes = binary.LittleEndian.AppendUint64(p.bytes, address(o.Range))
		for _, w := range []int{plain, o.Stride, o.Rotate, o.Count, mask, reversal} {
			p.bytes = binary.LittleEndian.AppendUint32(p.bytes, uint32(w))
		}
	}
	p.instructions = len(p.bytes) / 4
	for _, w := range append(code, kernel.MapNone) { // the machine reads one instruction ahead
		p.bytes = binary.LittleEndian.AppendUint32(p.bytes, w)
	}
	for len(p.bytes)%align != 0 {
		p.bytes = append(p.bytes, 0)
	}
	return p
}

// mapEach returns how many elements a thread of a map has at a time.
func (f *field) mapEach() int {
	if f.size > 32 {
		return kernel.MapEachLong
	}
	return kernel.MapEachShort
}

// mapShared returns the bytes of shared memory for code of code bytes and for its slots.
func (f *field) mapShared(code, slots int) int {
	return code + slots*f.mapEach()*kernel.ScanThreads*int(f.size)
}
