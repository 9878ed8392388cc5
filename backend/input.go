package backend

import (
	"context"
	"errors"
	"fmt"
)

// Input is elements that a caller passes with a call: the scalars of a Job, or what a Write writes.
// They may be secret and belong to the caller: a backend reads them only during the call, and wipes
// its copies.
type Input struct {
	// Bytes holds the elements at any address; if that is no multiple of 8, they may be copied
	// first. Memory of an Allocator is recognised by its address.
	Bytes []byte
	// Ready, if set, blocks until the first n elements are written. A backend calls it before it
	// reads them, with n never decreasing. It may call those of several inputs at the same time. If
	// Ready fails, so does the call: its error wraps Ready's and, unless that is the context's,
	// ErrInvalidInput.
	Ready func(ctx context.Context, n int) error
	// Check asks the backend to refuse a scalar not below r, and a point with a coordinate not
	// below q. For words it refuses nothing.
	Check bool
}

// Wait waits for the first n elements. It returns the error of the call if Ready fails.
func (in *Input) Wait(ctx context.Context, n int) error {
	if in.Ready == nil {
		return Ended(ctx)
	}
	err := in.Ready(ctx, n)
	if err == nil || isEnd(err) {
		return err
	}
	return fmt.Errorf("%w: input that does not come: %w", ErrInvalidInput, err)
}

// has checks that the bytes are those of elements e in an encoding.
func (in *Input) has(e Elements, c Encoding) error {
	if n, size := len(in.Bytes), c.Bytes(e.Element); n%size != 0 || n/size != e.Count {
		return fmt.Errorf("%d bytes for %d %v, %d bytes each", n, e.Count, e.Element, size)
	}
	return nil
}

// Job is one MSM: the sum over k below Count of scalar k times base Offset+k. Its answer is an
// affine point of Curve.PointBytes bytes. Backend.MSM takes jobs, and programs take them as steps.
type Job struct {
	Bases         BasesID
	Offset, Count int

	// Input holds Count scalars of Curve.ScalarBytes each, unless SameAs or Src is set.
	Input
	// SameAs, if above zero, means the scalars of job SameAs-1 of the same batch, or of the step of
	// that number. That must be an earlier Job with the same Count and with an Input.
	SameAs int
	// Src, if it names a space, is a range of it with the Count scalars. In programs only.
	Src Range
	// Dst, if it names a space, is where the job writes its point: one point of the bases' group.
	// Then the job has no answer. In programs only.
	Dst Range
}

// Steps returns a batch of MSMs as a program with a step for each job.
func Steps(jobs []Job) []Step {
	steps := make([]Step, len(jobs))
	for i, j := range jobs {
		steps[i] = j
	}
	return steps
}

// Jobs returns a program as a batch for Backend.MSM if all of its steps are MSMs that name no
// space. It returns false for any other program.
func Jobs(steps []Step) ([]Job, bool) {
	jobs := make([]Job, len(steps))
	for i, s := range steps {
		j, ok := s.(Job)
		if !ok || j.Src.Space != 0 || j.Dst.Space != 0 {
			return nil, false
		}
		jobs[i] = j
	}
	return jobs, true
}

// Run runs a program on a backend. It calls MSM for a batch of MSMs, which every backend can
// compute, and otherwise Programs.Run.
func Run(ctx context.Context, b Backend, steps []Step) ([][]byte, error) {
	if jobs, ok := Jobs(steps); ok {
		return b.MSM(ctx, jobs)
	}
	p, ok := As[Programs](b)
	if !ok {
		return nil, fmt.Errorf("%w: programs", ErrUnsupported)
	}
	return p.Run(ctx, steps)
}

func (s Job) visit(v visitor) Step {
	v.bases(&s.Bases, &s.Offset, &s.Count)
	v.flag(&s.Check)
	v.number(&s.SameAs)
	v.optional(&s.Src, false)
	v.optional(&s.Dst, true)
	if s.Check {
		v.refuses()
	}
	if s.Src.Space == 0 && s.SameAs == 0 {
		v.given(&s.Input, s.Count)
	}
	return s
}

func (s Job) answer(in Memory) Elements {
	if s.Dst.Space != 0 {
		return Elements{}
	}
	bases, _ := in.Bases(s.Bases)
	return Elements{bases.Element, 1}
}

func (s Job) check(c *checker) error {
	b, ok := c.in.Bases(s.Bases)
	if !ok {
		return fmt.Errorf("bases %d are not loaded", s.Bases)
	}
	if err := c.within("Bases", Range{Offset: s.Offset, Count: s.Count}, b.Count); err != nil {
		return err
	}
	if err := c.toPoint(s.Dst, b.Element); err != nil {
		return err
	}
	given := s.Bytes != nil || s.Ready != nil
	switch {
	case s.Src != (Range{}):
		if given || s.SameAs != 0 {
			return errors.New("scalars of a space, and others")
		}
		if s.Src.Count != s.Count {
			return fmt.Errorf("%d scalars in Src for %d bases", s.Src.Count, s.Count)
		}
		return first(c.scalars("Src", s.Src), c.use("Bases", b.Element))
	case s.SameAs == 0:
		return s.has(Elements{ScalarOf(b.Curve), s.Count}, AsInSpaces)
	case s.SameAs < 0 || s.SameAs > c.at || given:
		return fmt.Errorf("scalars of step %d: must be an earlier one's, with none given here", s.SameAs-1)
	}
	from, ok := c.steps[s.SameAs-1].(Job)
	if ok {
		var of Elements
		of, ok = c.in.Bases(from.Bases)
		ok = ok && of.Curve == b.Curve && from.SameAs == 0 && from.Src == Range{} && from.Count == s.Count
	}
	if !ok {
		return fmt.Errorf("scalars of step %d: its curve, count and own scalars must fit", s.SameAs-1)
	}
	return nil
}

// Write copies an input to Dst. Points may be encoded. Bytes that encode no point of the curve are
// ErrInvalidInput, and the error names the first such point. Uncompressed points may be off the
// curve, and any point may be outside of the group of order r: CheckPoints finds those.
type Write struct {
	Dst Range
	Input
	Encoding Encoding
}

func (s Write) visit(v visitor) Step {
	v.writes(&s.Dst)
	v.flag(&s.Check)
	v.small((*uint8)(&s.Encoding))
	if s.Check || s.Encoding != AsInSpaces {
		v.refuses()
	}
	v.given(&s.Input, s.Dst.Count)
	return s
}

func (s Write) answer(Memory) Elements { return Elements{} }

func (s Write) check(c *checker) error {
	if err := c.inside("Dst", s.Dst, 0); err != nil {
		return err
	}
	e := c.in.element(s.Dst.Space)
	if err := s.Encoding.check(e); err != nil {
		return err
	}
	return s.has(Elements{e, s.Dst.Count}, s.Encoding)
}

// Read answers the elements of Src. If they are points, Encoding says how they are written.
type Read struct {
	Src      Range
	Encoding Encoding
}

func (s Read) visit(v visitor) Step {
	v.reads(&s.Src)
	v.small((*uint8)(&s.Encoding))
	return s
}

func (s Read) answer(in Memory) Elements {
	return s.Encoding.of(Elements{in.element(s.Src.Space), s.Src.Count})
}

func (s Read) check(c *checker) error {
	if err := c.inside("Src", s.Src, 0); err != nil {
		return err
	}
	return s.Encoding.check(c.in.element(s.Src.Space))
}
