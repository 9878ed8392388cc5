package vector

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
)

// execution is a program in its turn.
type execution struct {
	*program
	dev    *driver.Device
	turn   *device.Turn
	work   driver.Span
	pinned *driver.Host

	events  []*driver.Event
	uploads []upload        // those for which no step has waited
	touched []backend.Range // by steps for which no upload has waited

	ended [2]*driver.Event // by work memory of MSMs: the last one there has ended; nil if that is on Compute

	queued int  // elements since the last mark
	long   bool // there was a mark
	marks  [2]*driver.Event
}

// upload is a range that is being written, and the event that it is.
type upload struct {
	backend.Range
	done *driver.Event
}

// begin takes the memory and sends the frame.
func (p *program) begin(c *Computer, turn *device.Turn) (_ *execution, err error) {
	x := &execution{program: p, dev: c.dev.Driver(), turn: turn}
	if x.work, err = turn.Work(max(p.layout.Size, 1), p.secret); err != nil {
		return nil, err
	}
	pinned := p.msmPinned() // the results of MSMs come last
	for _, m := range p.commits {
		for _, r := range m.rounds {
			pinned = max(pinned, p.msmPinned()+r.pinned.Off+r.pinned.Size)
		}
	}
	if x.pinned, err = turn.Results(pinned); err != nil {
		return nil, err
	}
	for _, a := range p.addresses {
		binary.LittleEndian.PutUint64(p.frame[a.at:], uint64(x.scratchFrom(a.scratch)))
	}
	frame := x.pinned.Span().Slice(0, int64(len(p.frame)))
	copy(frame.Bytes(), p.frame)
	err = errors.Join(
		turn.Mark("start"),
		turn.Compute.Upload(p.frameAt.In(x.work), frame),
		turn.Compute.Fill(p.answersAt.In(x.work), 0xff),
		turn.Mark("frame"),
	)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// msmPinned returns where the MSMs' results begin in pinned memory, after the frame and the
// answers.
func (p *program) msmPinned() int64 {
	return device.Align(int64(len(p.frame))) + device.Align(p.answers)
}

// answerSpan returns the pinned memory to which the answers come back.
func (x *execution) answerSpan() driver.HostSpan {
	return x.pinned.Span().Slice(device.Align(int64(len(x.frame))), x.answers)
}

// answered returns an answer that has come back.
func (x *execution) answered(at, size int64) []byte { return x.answerSpan().Slice(at, size).Bytes() }

// end waits for everything, answers included.
func (x *execution) end() error {
	for _, u := range x.uploads {
		if err := x.turn.Compute.Wait(u.done); err != nil {
			return err
		}
	}
	for i := range x.ended {
		if err := x.free(i); err != nil {
			return err
		}
	}
	if err := x.turn.Compute.Download(x.answerSpan(), x.answersAt.In(x.work)); err != nil {
		return err
	}
	if err := x.turn.Compute.Synchronize(); err != nil {
		return err
	}
	x.turn.Waited()
	return nil
}

// free has the kernels wait until a work memory of MSMs is free.
func (x *execution) free(i int) error {
	e := x.ended[i]
	if e == nil {
		return nil
	}
	x.ended[i] = nil
	return x.turn.Compute.Wait(e)
}

// commit queues MSMs. Their end runs beside what follows if it can, unless the program goes on with the
// point or phases are measured.
func (x *execution) commit(ctx context.Context, round *commitRound, goesOn bool) error {
	at := round.number % len(x.msmAt)
	if err := x.free(at); err != nil {
		return err
	}
	beside := !goesOn && !x.turn.Marks() && round.MayEndBeside()
	work := x.msmAt[at].In(x.work).Slice(0, round.Work())
	if err := round.Queue(ctx, x.turn, work, x.results(round), beside); err != nil || !beside {
		return err
	}
	e, err := x.event()
	if err != nil {
		return err
	}
	x.ended[at] = e
	return x.turn.Beside.Record(e)
}

// results returns the pinned memory to which the results of MSMs come back.
func (x *execution) results(round *commitRound) driver.HostSpan {
	return x.pinned.Span().Slice(x.msmPinned()+round.pinned.Off, round.pinned.Size)
}

// points returns the points of a commit, which the card has computed.
func (x *execution) points(m *commit) ([][]byte, error) {
	for i := 0; i < len(m.rounds) && len(m.points) < len(m.scalars); i++ {
		some, err := m.rounds[i].Answers(x.results(&m.rounds[i]).Bytes())
		if err != nil {
			return nil, err
		}
		m.points = append(m.points, some...)
	}
	return m.points, nil
}

func (x *execution) close() {
	for _, e := range x.events {
		e.Close()
	}
}

// inFrame, inAnswers and scratchFrom return addresses for kernels.
func (x *execution) inFrame(at int) kernels.Pointer {
	return device.Address(x.frameAt.In(x.work)) + kernels.Pointer(at)
}
func (x *execution) inAnswers(at int64) kernels.Pointer {
	return device.Address(x.answersAt.In(x.work)) + kernels.Pointer(at)
}
func (x *execution) scratchFrom(at int64) kernels.Pointer {
	return device.Address(x.scratchAt.In(x.work)) + kernels.Pointer(at)
}

func (x *execution) event() (*driver.Event, error) {
	e, err := x.dev.NewEvent(false)
	if err == nil {
		x.events = append(x.events, e)
	}
	return e, err
}

// touch makes the kernels wait for the uploads to ranges that they are about to touch.
func (x *execution) touch(rs []backend.Range) error {
	for _, r := range rs {
		x.queued += r.Count
		x.touched = append(x.touched, r)
		left := x.uploads[:0]
		for _, u := range x.uploads {
			if !overlap(u.Range, r) {
				left = append(left, u)
				continue
			}
			if err := x.turn.Compute.Wait(u.done); err != nil {
				return err
			}
		}
		x.uploads = left
	}
	return nil
}

func overlap(a, b backend.Range) bool {
	return a.Space == b.Space && a.Offset < b.Offset+b.Count && b.Offset < a.Offset+a.Count
}

// upload copies an input to a range as it becomes ready, beside the kernels that do not touch the
// range. If the input is shorter, the rest of the range becomes zero.
func (x *execution) upload(ctx context.Context, to backend.Range, in backend.Input) error {
	for _, r := range x.touched {
		if !overlap(r, to) {
			continue
		}
		e, err := x.event()
		if err != nil {
			return err
		}
		if err := errors.Join(x.turn.Compute.Record(e), x.turn.Copy.Wait(e)); err != nil {
			return err
		}
		x.touched = x.touched[:0]
		break
	}
	span := x.span(to)
	if err := x.send(ctx, span, in, int(x.bytesOf(to))); err != nil {
		return err
	}
	size := int64(len(in.Bytes))
	if err := x.turn.Copy.Fill(span.Slice(size, span.Size()-size), 0); err != nil {
		return err
	}
	done, err := x.event()
	if err != nil {
		return err
	}
	x.uploads = append(x.uploads, upload{to, done})
	return x.turn.Copy.Record(done)
}

// send copies an input to the card as it becomes ready. An element has each bytes.
func (x *execution) send(ctx context.Context, to driver.Span, in backend.Input, each int) error {
	const part = 16 << 20
	for from := 0; from < len(in.Bytes); from += part {
		piece := in.Bytes[from:min(from+part, len(in.Bytes))]
		if err := in.Wait(ctx, (from+len(piece))/each); err != nil {
			return err
		}
		if err := x.turn.Send(to.Slice(int64(from), int64(len(piece))), piece); err != nil {
			return err
		}
	}
	return nil
}

// uploadScratch copies an input to scratch, after the kernels queued before it and before those
// queued later. An element has each bytes.
func (x *execution) uploadScratch(ctx context.Context, in backend.Input, each int) error {
	before, err := x.event()
	if err != nil {
		return err
	}
	after, err := x.event()
	if err != nil {
		return err
	}
	if err := errors.Join(x.turn.Compute.Record(before), x.turn.Copy.Wait(before)); err != nil {
		return err
	}
	if err := x.send(ctx, x.scratchAt.In(x.work), in, each); err != nil {
		return err
	}
	return errors.Join(x.turn.Copy.Record(after), x.turn.Compute.Wait(after))
}

// mostQueued is the elements between two marks in the queue: some tens of milliseconds.
var mostQueued = 1 << 28 // tests change it

// pace waits for what was queued long ago, so that a cancelled program ends soon. A program over
// numbers lets others use the card meanwhile.
func (x *execution) pace(ctx context.Context) error {
	if x.queued < mostQueued {
		return nil
	}
	x.queued, x.long = 0, true
	if err := x.turn.Pause(ctx); err != nil {
		return err
	}
	if x.marks[0] == nil {
		for i := range x.marks {
			var err error
			if x.marks[i], err = x.event(); err != nil {
				return err
			}
		}
	}
	x.marks[0], x.marks[1] = x.marks[1], x.marks[0]
	if err := x.turn.Compute.Record(x.marks[0]); err != nil {
		return err
	}
	return x.marks[1].Synchronize() // returns at once if it was never recorded
}

// cut reports whether the turn must end before the next step: it has been long, and others wait.
// Programs over numbers pause instead.
func (x *execution) cut(d *device.Device) bool {
	return x.long && x.numbers == nil && d.Contended()
}
