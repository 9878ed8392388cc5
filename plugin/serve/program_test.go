//go:build linux

package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// scalars is a curve's as an element.
func scalars(curve uint32) *proto.Element { return &proto.Element{Kind: 1, Curve: curve} }

// TestServerRefusesPrograms: nothing that a host sends is believed.
func TestServerRefusesPrograms(t *testing.T) {
	h := newByHand(t)
	_, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1), Count: 10})
	invalid(t, "before Open", err)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]*proto.NewSpaceRequest{
		"no element": {Count: 1}, "an unknown kind": {Element: &proto.Element{Kind: 99, Curve: 1}, Count: 1},
		"a kind that overflows": {Element: &proto.Element{Kind: 257, Curve: 1}, Count: 1}, "words of a curve": {Element: &proto.Element{Kind: 2, Curve: 1}, Count: 1},
		"an unknown curve": {Element: scalars(5), Count: 1}, "curves that overflow": {Element: scalars(257), Count: 1}, "no curve but in 8 bits": {Element: scalars(256), Count: 1},
		"a count that overflows": {Element: scalars(1), Count: math.MaxUint64}, "a huge count": {Element: scalars(1), Count: 1 << 39},
	} {
		_, err := h.NewSpace(ctx, r)
		invalid(t, what, err)
		if remote, ok := wire.FromStatus(err); what == "a count that overflows" && (!ok || !remote.Is(backend.ErrOutOfMemory)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	reply, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1), Count: 16})
	if err != nil {
		t.Fatal(err)
	}
	space := reply.Space
	other, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(4), Count: 16})
	if err != nil {
		t.Fatal(err)
	}
	const size = 1 << 16
	in, err := shm.NewArena(size)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := shm.NewAnswerArena(size)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	give := func(id uint64, a *shm.Arena, answers bool) error {
		if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: id, Size: size}, a.File()); err != nil {
			t.Fatal(err)
		}
		_, err := h.Attach(ctx, &proto.AttachRequest{Arena: id, Size: size, Answers: answers})
		return err
	}
	invalid(t, "answers in an arena that only the host writes", give(9, in, true))
	if err := errors.Join(give(1, in, false), give(2, out, true)); err != nil {
		t.Fatal(err)
	}
	if n := h.backend.Arenas.Load(); n != 1 {
		t.Errorf("the backend was told of %d arenas, want that for inputs", n)
	}
	copy(in.Bytes(), plugintest.Random(320))

	at := func(arena, offset, length uint64) *proto.Region {
		return &proto.Region{Arena: arena, Offset: offset, Length: length}
	}
	span := func(n uint64) *proto.Range { return &proto.Range{Space: space, Count: n} }
	call := uint64(0)
	run := func(steps ...*proto.Step) (*proto.RunReply, error) {
		call++
		return h.Run(ctx, &proto.RunRequest{Call: call, Steps: steps})
	}
	write := func(w *proto.Write) *proto.Step { return &proto.Step{Step: &proto.Step_Write{Write: w}} }
	indices := func(w *proto.WriteIndices) *proto.Step {
		return &proto.Step{Step: &proto.Step_WriteIndices{WriteIndices: w}}
	}
	read := func(r *proto.Read) *proto.Step { return &proto.Step{Step: &proto.Step_Read{Read: r}} }
	gather := func(i *proto.Range) *proto.Step {
		return &proto.Step{Step: &proto.Step_Gather{Gather: &proto.Gather{Dst: &proto.Range{Space: space, Offset: 10, Count: 1}, Src: span(2), Index: i}}}
	}
	mapped := func(m *proto.Map) *proto.Step { return &proto.Step{Step: &proto.Step_Map{Map: m}} }
	proper := []*proto.Step{
		write(&proto.Write{Dst: span(10), Input: &proto.Input{Bytes: at(1, 0, 320)}}),
		read(&proto.Read{Src: span(10), Answer: at(2, 0, 320)}), read(&proto.Read{Src: span(1)}),
	}
	works := func(when string) {
		t.Helper()
		reply, err := run(proper...)
		if err != nil || !bytes.Equal(out.Bytes()[:320], in.Bytes()[:320]) || len(reply.Answers[1]) != 0 || !bytes.Equal(reply.Answers[2], in.Bytes()[:32]) {
			t.Fatalf("%s: %v", when, err)
		}
	}
	works("a proper program")
	operand := &proto.Operand{Range: span(1)}
	for what, s := range map[string]*proto.Step{
		"no step":                   {},
		"an empty write":            write(&proto.Write{}),
		"no write":                  write(nil),
		"no bytes":                  write(&proto.Write{Dst: span(10)}),
		"too few bytes":             write(&proto.Write{Dst: span(10), Input: &proto.Input{Bytes: at(1, 0, 288)}}),
		"an unknown space":          write(&proto.Write{Dst: &proto.Range{Space: 77, Count: 10}, Input: &proto.Input{Bytes: at(1, 0, 320)}}),
		"beyond the space":          write(&proto.Write{Dst: &proto.Range{Space: space, Offset: 7, Count: 10}, Input: &proto.Input{Bytes: at(1, 0, 320)}}),
		"an offset that overflows":  write(&proto.Write{Dst: &proto.Range{Space: space, Offset: math.MaxUint64, Count: 10}, Input: &proto.Input{Bytes: at(1, 0, 320)}}),
		"a count that overflows":    write(&proto.Write{Dst: span(1<<63 + 10), Input: &proto.Input{Bytes: at(1, 0, 320)}}),
		"bytes beyond the arena":    write(&proto.Write{Dst: span(10), Input: &proto.Input{Bytes: at(1, size-312, 320)}}),
		"bytes of no arena":         write(&proto.Write{Dst: span(10), Input: &proto.Input{Bytes: at(3, 0, 320)}}),
		"bytes among answers":       write(&proto.Write{Dst: span(10), Input: &proto.Input{Bytes: at(2, 0, 320)}}),
		"a counter among answers":   write(&proto.Write{Dst: span(10), Input: &proto.Input{Bytes: at(1, 0, 320), Progress: at(2, 0, 64)}}),
		"a counter without room":    write(&proto.Write{Dst: span(10), Input: &proto.Input{Bytes: at(1, 0, 320), Progress: at(1, 0, 7)}}),
		"a counter without bytes":   write(&proto.Write{Dst: span(0), Input: &proto.Input{Progress: at(1, 0, 64)}}),
		"odd indices":               indices(&proto.WriteIndices{Dst: span(1), Bytes: at(1, 0, 30)}),
		"indices without room":      indices(&proto.WriteIndices{Dst: span(1), Bytes: at(1, 0, 64)}),
		"indices among answers":     indices(&proto.WriteIndices{Dst: span(1), Bytes: at(2, 0, 32)}),
		"an answer among inputs":    read(&proto.Read{Src: span(1), Answer: at(1, 0, 32)}),
		"an answer beyond":          read(&proto.Read{Src: span(1), Answer: at(2, size, 32)}),
		"an answer at an odd place": read(&proto.Read{Src: span(1), Answer: at(2, 4, 32)}),
		"an index out of range":     gather(&proto.Range{Space: space, Offset: 9, Count: 1}),
		"an index that overlaps":    gather(&proto.Range{Space: space, Offset: 10, Count: 1}),
		"half an operation":         mapped(&proto.Map{Count: 1, Dst: operand, Code: []uint32{1}}),
		"an unknown operation":      mapped(&proto.Map{Count: 1, Dst: operand, Code: []uint32{99, 0}}),
		"an argument out of range":  mapped(&proto.Map{Count: 1, Dst: operand, Code: []uint32{0, math.MaxUint32}}),
		"an order that is none":     {Step: &proto.Step_Evaluate{Evaluate: &proto.Evaluate{Src: []*proto.Range{span(1)}, Order: 2, Point: plugintest.Element(1)}}},
		"a point of no length":      {Step: &proto.Step_Evaluate{Evaluate: &proto.Evaluate{Src: []*proto.Range{span(1)}}}},
		"nothing to evaluate":       {Step: &proto.Step_Evaluate{Evaluate: &proto.Evaluate{Point: plugintest.Element(1)}}},
		"two curves":                {Step: &proto.Step_Invert{Invert: &proto.Invert{Dst: span(1), Src: &proto.Range{Space: other.Space, Count: 1}}}},
		"unknown bases":             {Step: &proto.Step_Job{Job: &proto.Job{Bases: 7, Count: 1, Src: span(1)}}},
		"a huge batch":              {Step: &proto.Step_Transform{Transform: &proto.Transform{Dst: span(2), Src: span(2), Batch: math.MaxUint64}}},
	} {
		_, err := run(s)
		if what == "an index out of range" { // a value, not a number of the message
			if remote, ok := wire.FromStatus(err); !ok || !errors.Is(remote, backend.ErrInvalidInput) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		invalid(t, what, err)
	}
	_, err = run(make([]*proto.Step, wire.MaxSteps+1)...)
	invalid(t, "too many steps", err)
	_, err = h.FreeSpace(ctx, &proto.FreeSpaceRequest{Space: 99})
	invalid(t, "freeing what is not there", err)
	works("after the refusals")

	// As many spaces as there may be, and all of them freed.
	before := h.backend.Spaces()
	for range maxSpaces - before {
		if _, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1)}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1)})
	invalid(t, "one space too many", err)
	if _, err := h.FreeSpace(ctx, &proto.FreeSpaceRequest{Space: space}); err != nil {
		t.Error(err)
	}
	_, err = run(proper...)
	invalid(t, "a freed space", err)
	if _, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1)}); err != nil {
		t.Errorf("one space after another was freed: %v", err)
	}
}

// curious is a backend that keeps what it answered and tries what it was given.
type curious struct {
	*fake.Backend
	answers [][]byte
	try     func(in backend.Input, count int)
}

func (c *curious) Run(ctx context.Context, steps []backend.Step) (answers [][]byte, err error) {
	for _, step := range steps {
		backend.WithInput(step, func(in *backend.Input, count int) { c.try(*in, count) })
	}
	answers, err = c.Backend.Run(ctx, steps)
	c.answers = slices.Clone(answers)
	return answers, err
}

// TestInputsAndAnswers: a backend cannot wait for more input than there is, and what it
// answers to shared memory is wiped where it was: it may be secret.
func TestInputsAndAnswers(t *testing.T) {
	const count, size = 10, 320
	b := &curious{Backend: &fake.Backend{}}
	h := serveByHand(t, b, b.Backend)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1), Count: count})
	if err != nil {
		t.Fatal(err)
	}
	all, err := shm.NewArena(1 << 12)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	out, err := shm.NewAnswerArena(1 << 12)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, a := range []*shm.Arena{all, out} {
		if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: a.ID(), Size: 1 << 12}, a.File()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Attach(ctx, &proto.AttachRequest{Arena: a.ID(), Size: 1 << 12, Answers: a.Answers()}); err != nil {
			t.Fatal(err)
		}
	}
	copy(all.Bytes()[64:], plugintest.Random(size))
	binary.LittleEndian.PutUint64(all.Bytes(), size/2)
	tried := 0
	b.try = func(in backend.Input, count int) {
		if tried++; cap(in.Bytes) != len(in.Bytes) {
			t.Errorf("%d bytes of input, and %d beside them", len(in.Bytes), cap(in.Bytes)-len(in.Bytes))
		}
		within, cancel := context.WithTimeout(ctx, 100*time.Millisecond) // nothing has to wait
		defer cancel()
		ready := func(n int) {
			if err := in.Ready(within, n); err != nil {
				t.Errorf("%d elements of %d: %v", n, count, err)
			}
		}
		ready(0)
		ready(count / 2)
		if err := in.Ready(within, count/2+1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one element more than there is: %v", err)
		}
		binary.LittleEndian.PutUint64(all.Bytes(), size)
		ready(count)
		for _, n := range []int{-1, count + 1, math.MaxInt} {
			if err := in.Ready(within, n); backend.FaultOf(err) != backend.FaultBackend {
				t.Errorf("a backend that waits for %d elements of %d is not refused: %v", n, count, err)
			}
		}
	}
	whole := &proto.Range{Space: space.Space, Count: count}
	_, err = h.Run(ctx, &proto.RunRequest{Call: 1, Steps: []*proto.Step{
		{Step: &proto.Step_Write{Write: &proto.Write{
			Dst: whole, Input: &proto.Input{Bytes: wire.Region(all, 64, size), Progress: wire.Region(all, 0, 8)},
		}}},
		{Step: &proto.Step_Read{Read: &proto.Read{Src: whole, Answer: wire.Region(out, 0, size)}}},
	}})
	if err != nil || tried != 1 {
		t.Fatalf("%v, %d inputs", err, tried)
	}
	if !bytes.Equal(out.Bytes()[:size], all.Bytes()[64:64+size]) {
		t.Error("a wrong answer")
	}
	if len(b.answers) != 2 || len(b.answers[1]) != size || !bytes.Equal(b.answers[1], make([]byte, size)) {
		t.Error("the answer is still where the backend put it")
	}

	// The host learns of an answer that is not as long as its place.
	clear(out.Bytes())
	b.try = nil
	reply, err := h.Run(ctx, &proto.RunRequest{Call: 2, Steps: []*proto.Step{
		{Step: &proto.Step_Read{Read: &proto.Read{Src: whole, Answer: wire.Region(out, 0, size+8)}}},
	}})
	if err != nil || !bytes.Equal(reply.Answers[0], all.Bytes()[64:64+size]) || !bytes.Equal(out.Bytes()[:size], make([]byte, size)) {
		t.Errorf("an answer of another length: %v", err)
	}
}
