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

// scalars returns a curve's scalars as an element.
func scalars(curve uint32) *proto.Element { return &proto.Element{Kind: 1, Curve: curve} }

// TestServerRefusesPrograms: the server believes nothing that a host sends.
func TestServerRefusesPrograms(t *testing.T) {
	h := newByHand(t)
	_, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1), Count: 10})
	invalid(t, "before Open", err)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]*proto.NewSpaceRequest{
		"no element": {Count: 1}, "an unknown kind": {Element: &proto.Element{Kind: 99, Curve: 1}, Count: 1},
		"a kind that overflows": {Element: &proto.Element{Kind: 257, Curve: 1}, Count: 1},
		"words of a curve":      {Element: &proto.Element{Kind: 2, Curve: 1}, Count: 1},
		"an unknown curve":      {Element: scalars(5), Count: 1}, "curves that overflow": {Element: scalars(257), Count: 1},
		"no curve but in 8 bits": {Element: scalars(256), Count: 1},
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
	space := backend.SpaceID(reply.Space)
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
	span := func(n int) backend.Range { return backend.Range{Space: space, Count: n} }
	bytesOf := func(r *proto.Region) *proto.Place { return &proto.Place{Bytes: r} }
	counted := func(r, progress *proto.Region) *proto.Place { return &proto.Place{Bytes: r, Progress: progress} }
	call := uint64(0)
	run := func(program []byte, places ...*proto.Place) (*proto.RunReply, error) {
		call++
		return h.Run(ctx, &proto.RunRequest{Call: call, Program: program, Places: places})
	}
	const n = 10
	written, read := backend.Write{Dst: span(n)}, backend.Read{Src: span(1)}
	proper := backend.EncodeSteps([]backend.Step{written, backend.Read{Src: span(n)}, read})
	places := []*proto.Place{bytesOf(at(1, 0, 320)), {Step: 1, Bytes: at(2, 0, 320)}}
	works := func(when string) {
		t.Helper()
		reply, err := run(proper, places...)
		if err != nil || !bytes.Equal(out.Bytes()[:320], in.Bytes()[:320]) || len(reply.Answers[1]) != 0 ||
			!bytes.Equal(reply.Answers[2], in.Bytes()[:32]) {
			t.Fatalf("%s: %v", when, err)
		}
	}
	works("a proper program")
	gather := func(i backend.Range) backend.Gather {
		return backend.Gather{Dst: backend.Range{Space: space, Offset: 10, Count: 1}, Src: span(2), Index: i}
	}
	operation := func(op backend.MapOp, arg int) backend.Map {
		return backend.Map{Count: 1, Dst: backend.Operand{Range: span(1)}, Code: []backend.MapCode{{Op: op, Arg: arg}}}
	}
	element := plugintest.Element(1)
	for what, c := range map[string]struct {
		step  backend.Step
		place *proto.Place
	}{
		"no step":                     {nil, nil},
		"an empty write":              {backend.Write{}, nil},
		"no bytes":                    {written, nil},
		"a place of no bytes":         {written, &proto.Place{}},
		"too few bytes":               {written, bytesOf(at(1, 0, 288))},
		"an unknown space":            {backend.Write{Dst: backend.Range{Space: 77, Count: n}}, bytesOf(at(1, 0, 320))},
		"beyond the space":            {backend.Write{Dst: backend.Range{Space: space, Offset: 7, Count: n}}, bytesOf(at(1, 0, 320))},
		"an offset that overflows":    {backend.Write{Dst: backend.Range{Space: space, Offset: -1, Count: n}}, bytesOf(at(1, 0, 320))},
		"a count that overflows":      {backend.Write{Dst: span(math.MinInt + n)}, bytesOf(at(1, 0, 320))},
		"a huge count":                {backend.Write{Dst: span(math.MaxInt)}, bytesOf(at(1, 0, 320))},
		"bytes beyond the arena":      {written, bytesOf(at(1, size-312, 320))},
		"bytes of no arena":           {written, bytesOf(at(3, 0, 320))},
		"bytes among answers":         {written, bytesOf(at(2, 0, 320))},
		"a counter among answers":     {written, counted(at(1, 0, 320), at(2, 0, 64))},
		"a counter without room":      {written, counted(at(1, 0, 320), at(1, 0, 7))},
		"a counter without bytes":     {backend.Write{Dst: span(0)}, counted(nil, at(1, 0, 64))},
		"an unknown encoding":         {backend.Write{Dst: span(n), Encoding: 99}, bytesOf(at(1, 0, 320))},
		"odd indices":                 {backend.WriteIndices{Dst: span(1)}, bytesOf(at(1, 0, 30))},
		"indices without room":        {backend.WriteIndices{Dst: span(1)}, bytesOf(at(1, 0, 64))},
		"indices among answers":       {backend.WriteIndices{Dst: span(1)}, bytesOf(at(2, 0, 32))},
		"indices with a counter":      {backend.WriteIndices{Dst: span(1)}, counted(at(1, 0, 32), at(1, 64, 64))},
		"an answer among inputs":      {read, bytesOf(at(1, 0, 32))},
		"an answer beyond":            {read, bytesOf(at(2, size, 32))},
		"an answer at an odd place":   {read, bytesOf(at(2, 4, 32))},
		"an answer with a counter":    {read, counted(at(2, 0, 32), at(1, 64, 64))},
		"a place without a use":       {backend.Invert{Dst: span(1), Src: span(1)}, bytesOf(at(1, 0, 32))},
		"a place of a step after all": {backend.Invert{Dst: span(1), Src: span(1)}, &proto.Place{Step: 1, Bytes: at(1, 0, 32)}},
		"an index out of range":       {gather(backend.Range{Space: space, Offset: 9, Count: 1}), nil},
		"an index that overlaps":      {gather(backend.Range{Space: space, Offset: 10, Count: 1}), nil},
		"an unknown operation":        {operation(99, 0), nil},
		"an operation that overflows": {operation(-1, 0), nil},
		"an argument out of range":    {operation(backend.MapLoad, math.MaxUint32), nil},
		"an argument below zero":      {operation(backend.MapLoad, math.MinInt), nil},
		"an order that is none":       {backend.Evaluate{Src: []backend.Range{span(1)}, Order: 2, Point: element}, nil},
		"a point of no length":        {backend.Evaluate{Src: []backend.Range{span(1)}}, nil},
		"nothing to evaluate":         {backend.Evaluate{Point: element}, nil},
		"two curves":                  {backend.Invert{Dst: span(1), Src: backend.Range{Space: backend.SpaceID(other.Space), Count: 1}}, nil},
		"unknown bases":               {backend.Job{Bases: 7, Count: 1, Src: span(1)}, nil},
		"a huge batch":                {backend.Transform{Dst: span(2), Src: span(2), Batch: math.MaxInt}, nil},
	} {
		var asked []*proto.Place
		if c.place != nil {
			asked = append(asked, c.place)
		}
		_, err := run(backend.EncodeSteps([]backend.Step{c.step}), asked...)
		if what == "an index out of range" { // this is in a value, not in a number of the message
			if remote, ok := wire.FromStatus(err); !ok || !errors.Is(remote, backend.ErrInvalidInput) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		invalid(t, what, err)
	}
	for what, program := range map[string][]byte{
		"no program": nil, "half a program": proper[:len(proper)-1], "more than a program": append(bytes.Clone(proper), 0),
	} {
		_, err = run(program, places...)
		refused(t, what, err)
	}
	for what, wrong := range map[string][]*proto.Place{
		"places in another order": {places[1], places[0]}, "a place twice": {places[0], places[0], places[1]},
	} {
		_, err = run(proper, wrong...)
		refused(t, what, err)
	}
	_, err = run(backend.EncodeSteps(make([]backend.Step, wire.MaxSteps+1)))
	refused(t, "too many steps", err)
	_, err = h.FreeSpace(ctx, &proto.FreeSpaceRequest{Space: 99})
	invalid(t, "freeing what is not there", err)
	works("after the refusals")

	// Allocate as many spaces as are allowed, and free all of them.
	before := h.backend.Spaces()
	for range maxSpaces - before {
		if _, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1)}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1)})
	invalid(t, "one space too many", err)
	if _, err := h.FreeSpace(ctx, &proto.FreeSpaceRequest{Space: reply.Space}); err != nil {
		t.Error(err)
	}
	_, err = run(proper, places...)
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

// TestInputsAndAnswers: a backend cannot wait for more input than there is. An answer that goes to
// shared memory is wiped where it was, because it may be secret.
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
	whole := backend.Range{Space: backend.SpaceID(space.Space), Count: count}
	_, err = h.Run(ctx, &proto.RunRequest{
		Call:    1,
		Program: backend.EncodeSteps([]backend.Step{backend.Write{Dst: whole}, backend.Read{Src: whole}}),
		Places: []*proto.Place{
			{Step: 0, Bytes: wire.Region(all, 64, size), Progress: wire.Region(all, 0, 8)},
			{Step: 1, Bytes: wire.Region(out, 0, size)},
		},
	})
	if err != nil || tried != 1 {
		t.Fatalf("%v, %d inputs", err, tried)
	}
	if !bytes.Equal(out.Bytes()[:size], all.Bytes()[64:64+size]) {
		t.Error("a wrong answer")
	}
	if len(b.answers) != 2 || len(b.answers[1]) != size || !bytes.Equal(b.answers[1], make([]byte, size)) {
		t.Error("the answer is still where the backend put it")
	}

	// The host receives an answer that is not as long as its place.
	clear(out.Bytes())
	b.try = nil
	reply, err := h.Run(ctx, asked(2, backend.Read{Src: whole}, wire.Region(out, 0, size+8), nil))
	if err != nil || !bytes.Equal(reply.Answers[0], all.Bytes()[64:64+size]) || !bytes.Equal(out.Bytes()[:size], make([]byte, size)) {
		t.Errorf("an answer of another length: %v", err)
	}
}
