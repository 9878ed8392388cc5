package wire

import (
	"math"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
)

// Encoded is the message of a step, but for where its bytes are and whether they are
// still being written.
type Encoded struct {
	*proto.Step
	// Input is the place for that in the message; nil where the step has no input.
	Input *proto.Input
	// Indices is the place for a table of indices, which is complete.
	Indices **proto.Region
	// Looks tells that values decide whether the step fails: ones that the host has
	// not seen.
	Looks bool
}

// FromStep makes a message of a step of a valid program.
func FromStep(s backend.Step) (e Encoded) {
	e.Step = fromStep(s)
	switch w := e.GetStep().(type) {
	case *proto.Step_Write:
		e.Input = w.Write.Input
	case *proto.Step_Job:
		e.Input = w.Job.Input
	case *proto.Step_WriteIndices:
		e.Indices = &w.WriteIndices.Bytes
	case *proto.Step_Gather, *proto.Step_Compute:
		e.Looks = true
	}
	e.Looks = e.Looks || e.Input.GetCheck() || e.GetWrite().GetEncoding() != 0
	return e
}

func fromStep(s backend.Step) *proto.Step {
	switch s := s.(type) {
	case backend.Write:
		return &proto.Step{Step: &proto.Step_Write{Write: &proto.Write{Dst: toRange(s.Dst), Input: &proto.Input{Check: s.Check}, Encoding: uint32(s.Encoding)}}}
	case backend.WriteIndices:
		return &proto.Step{Step: &proto.Step_WriteIndices{WriteIndices: &proto.WriteIndices{Dst: toRange(s.Dst)}}}
	case backend.Read:
		return &proto.Step{Step: &proto.Step_Read{Read: &proto.Read{Src: toRange(s.Src), Encoding: uint32(s.Encoding)}}}
	case backend.Gather:
		return &proto.Step{Step: &proto.Step_Gather{Gather: &proto.Gather{
			Dst: toRange(s.Dst), Src: toRange(s.Src), Index: toRange(s.Index),
		}}}
	case backend.Transform:
		return &proto.Step{Step: &proto.Step_Transform{Transform: &proto.Transform{
			Dst: toRange(s.Dst), Src: toRange(s.Src), Batch: uint64(s.Batch), Inverse: s.Inverse,
			From: uint32(s.From), To: uint32(s.To), Shift: s.Shift,
		}}}
	case backend.Map:
		m := &proto.Map{Count: uint64(s.Count), Dst: toOperand(s.Dst), Constants: s.Constants}
		for _, a := range s.Args {
			m.Args = append(m.Args, toOperand(a))
		}
		for _, c := range s.Code {
			m.Code = append(m.Code, uint32(c.Op), uint32(c.Arg))
		}
		return &proto.Step{Step: &proto.Step_Map{Map: m}}
	case backend.Powers:
		return &proto.Step{Step: &proto.Step_Powers{Powers: &proto.Powers{Dst: toRange(s.Dst), First: s.First, Ratio: s.Ratio}}}
	case backend.Invert:
		return &proto.Step{Step: &proto.Step_Invert{Invert: &proto.Invert{Dst: toRange(s.Dst), Src: toRange(s.Src)}}}
	case backend.Products:
		return &proto.Step{Step: &proto.Step_Products{Products: &proto.Products{
			Dst: toRange(s.Dst), Src: toRange(s.Src), Exclusive: s.Exclusive,
		}}}
	case backend.Evaluate:
		return &proto.Step{Step: &proto.Step_Evaluate{Evaluate: &proto.Evaluate{Src: toRanges(s.Src), Order: uint32(s.Order), Point: s.Point}}}
	case backend.Divide:
		return &proto.Step{Step: &proto.Step_Divide{Divide: &proto.Divide{Dst: toRange(s.Dst), Src: toRange(s.Src), Point: s.Point}}}
	case backend.Job:
		j := &proto.Job{
			Bases: uint64(s.Bases), Offset: uint64(s.Offset), Count: uint64(s.Count),
			Input: &proto.Input{Check: s.Check}, SameAs: uint32(s.SameAs),
		}
		j.Src, j.Dst = toOptional(s.Src), toOptional(s.Dst)
		return &proto.Step{Step: &proto.Step_Job{Job: j}}
	case backend.Compute:
		return &proto.Step{Step: &proto.Step_Compute{Compute: &proto.Compute{
			Op: uint32(s.Op), Dst: toBatch(s.Dst), A: toBatch(s.A), B: toBatch(s.B), M: toBatch(s.M), Carry: toBatch(s.Carry),
			Degree: uint32(s.Degree), Public: s.Public,
		}}}
	case backend.MultiplyPoints:
		return &proto.Step{Step: &proto.Step_MultiplyPoints{MultiplyPoints: &proto.MultiplyPoints{
			Dst: toRange(s.Dst), Src: toRange(s.Src), Scalars: toOptional(s.Scalars), Terms: uint64(s.Terms),
		}}}
	case backend.AddPoints:
		return &proto.Step{Step: &proto.Step_AddPoints{AddPoints: &proto.AddPoints{
			Dst: toRange(s.Dst), Plus: toRanges(s.Plus), Minus: toRanges(s.Minus),
		}}}
	case backend.CheckPoints:
		return &proto.Step{Step: &proto.Step_CheckPoints{CheckPoints: &proto.CheckPoints{Src: toRange(s.Src), Subgroup: s.Subgroup}}}
	}
	return &proto.Step{}
}

func toRanges(all []backend.Range) (w []*proto.Range) {
	for _, r := range all {
		w = append(w, toRange(r))
	}
	return w
}

// toOptional makes a message of a range, none of the zero range.
func toOptional(r backend.Range) *proto.Range {
	if r == (backend.Range{}) {
		return nil
	}
	return toRange(r)
}

func toBatch(b backend.Batch) *proto.Batch {
	if b == (backend.Batch{}) {
		return nil
	}
	return &proto.Batch{Space: uint64(b.Space), Offset: uint64(b.Offset), Words: uint64(b.Words), Count: uint64(b.Count)}
}

func toRange(r backend.Range) *proto.Range {
	return &proto.Range{Space: uint64(r.Space), Offset: uint64(r.Offset), Count: uint64(r.Count)}
}

func toOperand(o backend.Operand) *proto.Operand {
	return &proto.Operand{Range: toRange(o.Range), Stride: int64(o.Stride), Rotate: int64(o.Rotate), Order: uint32(o.Order)}
}

// Memory is the shared memory that a request names.
type Memory interface {
	// Input returns an input of count elements.
	Input(in *proto.Input, count int) (backend.Input, error)
	// Indices returns the indices in a region, none for nil.
	Indices(r *proto.Region) ([]uint32, error)
}

// ToStep makes a step of a message of the host's, which is not trusted: what cannot
// be expressed or reached is refused. Its bytes are in mem.
func ToStep(w *proto.Step, mem Memory) (backend.Step, error) {
	var n numbers
	var step backend.Step
	var err error
	switch w := w.GetStep().(type) {
	case *proto.Step_Write:
		s := backend.Write{Dst: n.span(w.Write.GetDst()), Encoding: n.encoding(w.Write.GetEncoding())}
		s.Input, err = mem.Input(w.Write.GetInput(), s.Dst.Count)
		step = s
	case *proto.Step_WriteIndices:
		s := backend.WriteIndices{Dst: n.span(w.WriteIndices.GetDst())}
		s.Indices, err = mem.Indices(w.WriteIndices.GetBytes())
		step = s
	case *proto.Step_Read:
		step = backend.Read{Src: n.span(w.Read.GetSrc()), Encoding: n.encoding(w.Read.GetEncoding())}
	case *proto.Step_Gather:
		g := w.Gather
		step = backend.Gather{Dst: n.span(g.GetDst()), Src: n.span(g.GetSrc()), Index: n.span(g.GetIndex())}
	case *proto.Step_Transform:
		t := w.Transform
		step = backend.Transform{
			Dst: n.span(t.GetDst()), Src: n.span(t.GetSrc()), Batch: n.of(t.GetBatch()), Inverse: t.GetInverse(),
			From: n.order(t.GetFrom()), To: n.order(t.GetTo()), Shift: t.GetShift(),
		}
	case *proto.Step_Map:
		m := backend.Map{Count: n.of(w.Map.GetCount()), Dst: n.operand(w.Map.GetDst()), Constants: w.Map.GetConstants()}
		for _, a := range w.Map.GetArgs() {
			m.Args = append(m.Args, n.operand(a))
		}
		code := w.Map.GetCode()
		if len(code)%2 != 0 {
			return nil, Refused("half an operation")
		}
		for ; len(code) > 0; code = code[2:] {
			m.Code = append(m.Code, backend.MapCode{Op: backend.MapOp(n.of(uint64(code[0]))), Arg: n.of(uint64(code[1]))})
		}
		step = m
	case *proto.Step_Powers:
		step = backend.Powers{Dst: n.span(w.Powers.GetDst()), First: w.Powers.GetFirst(), Ratio: w.Powers.GetRatio()}
	case *proto.Step_Invert:
		step = backend.Invert{Dst: n.span(w.Invert.GetDst()), Src: n.span(w.Invert.GetSrc())}
	case *proto.Step_Products:
		p := w.Products
		step = backend.Products{Dst: n.span(p.GetDst()), Src: n.span(p.GetSrc()), Exclusive: p.GetExclusive()}
	case *proto.Step_Evaluate:
		step = backend.Evaluate{Src: n.spans(w.Evaluate.GetSrc()), Order: n.order(w.Evaluate.GetOrder()), Point: w.Evaluate.GetPoint()}
	case *proto.Step_Divide:
		step = backend.Divide{Dst: n.span(w.Divide.GetDst()), Src: n.span(w.Divide.GetSrc()), Point: w.Divide.GetPoint()}
	case *proto.Step_Job:
		j := w.Job
		s := backend.Job{
			Bases: backend.BasesID(j.GetBases()), Offset: n.of(j.GetOffset()), Count: n.of(j.GetCount()),
			SameAs: n.of(uint64(j.GetSameAs())), Src: n.span(j.GetSrc()), Dst: n.span(j.GetDst()),
		}
		s.Input, err = mem.Input(j.GetInput(), s.Count)
		step = s
	case *proto.Step_Compute:
		c := w.Compute
		step = backend.Compute{
			Op: backend.NumberOp(n.of(uint64(c.GetOp()))), Dst: n.batch(c.GetDst()), A: n.batch(c.GetA()), B: n.batch(c.GetB()),
			M: n.batch(c.GetM()), Carry: n.batch(c.GetCarry()), Degree: n.of(uint64(c.GetDegree())), Public: c.GetPublic(),
		}
	case *proto.Step_MultiplyPoints:
		m := w.MultiplyPoints
		step = backend.MultiplyPoints{
			Dst: n.span(m.GetDst()), Src: n.span(m.GetSrc()), Scalars: n.span(m.GetScalars()), Terms: n.of(m.GetTerms()),
		}
	case *proto.Step_AddPoints:
		step = backend.AddPoints{Dst: n.span(w.AddPoints.GetDst()), Plus: n.spans(w.AddPoints.GetPlus()), Minus: n.spans(w.AddPoints.GetMinus())}
	case *proto.Step_CheckPoints:
		step = backend.CheckPoints{Src: n.span(w.CheckPoints.GetSrc()), Subgroup: w.CheckPoints.GetSubgroup()}
	default:
		return nil, Refused("a step of no known kind")
	}
	if err == nil && n.large {
		err = Refused("a number is out of range")
	}
	return step, err
}

// numbers are those of a message as a backend has them.
type numbers struct{ large bool }

// MaxNumber bounds what a host counts, so that nothing overflows.
const MaxNumber = 1 << 40

func (n *numbers) of(v uint64) int {
	if v > MaxNumber {
		n.large = true
		return 0
	}
	return int(v)
}

func (n *numbers) order(v uint32) backend.Order { return backend.Order(n.of(uint64(v))) }

func (n *numbers) span(r *proto.Range) backend.Range {
	return backend.Range{Space: backend.SpaceID(r.GetSpace()), Offset: n.of(r.GetOffset()), Count: n.of(r.GetCount())}
}

func (n *numbers) spans(all []*proto.Range) (r []backend.Range) {
	for _, w := range all {
		r = append(r, n.span(w))
	}
	return r
}

func (n *numbers) encoding(v uint32) backend.Encoding {
	if v > math.MaxUint8 {
		n.large = true
	}
	return backend.Encoding(v)
}

func (n *numbers) batch(b *proto.Batch) backend.Batch {
	return backend.Batch{Space: backend.SpaceID(b.GetSpace()), Offset: n.of(b.GetOffset()), Words: n.of(b.GetWords()), Count: n.of(b.GetCount())}
}

func (n *numbers) operand(o *proto.Operand) backend.Operand {
	return backend.Operand{
		Range: n.span(o.GetRange()), Stride: int(o.GetStride()), Rotate: int(o.GetRotate()), Order: n.order(o.GetOrder()),
	}
}
