//go:build linux

package plugin

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

func mustSpace(t testing.TB, v backend.Vectors, n int) backend.SpaceID {
	t.Helper()
	id, err := v.NewSpace(context.Background(), backend.BN254, n)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// writeRead writes elements of BN254 to a space and reads them.
func writeRead(space backend.SpaceID, elements []byte) []backend.Step {
	all := backend.Range{Space: space, Count: len(elements) / 32}
	return []backend.Step{backend.Write{Dst: all, Bytes: elements}, backend.Read{Src: all}}
}

// element is a valid element of BN254.
func element(v byte) []byte { return append(make([]byte, 30), v, 0) }

// everything is a program with every kind of step, and every field in use.
func everything(a, b backend.SpaceID, bases backend.BasesID, elements []byte) []backend.Step {
	in := func(s backend.SpaceID, offset, count int) backend.Range {
		return backend.Range{Space: s, Offset: offset, Count: count}
	}
	n := len(elements) / 32
	return []backend.Step{
		backend.Write{Dst: in(a, 0, n), Bytes: elements},
		backend.Write{Dst: in(b, 100, 3), Bytes: elements[:96], Check: true},
		backend.Write{Dst: in(b, 5, 0)},
		backend.WriteIndices{Dst: in(b, 200, 2), Indices: []uint32{5, 4, 3, 2, 1, 0, 9, 9, 9}},
		backend.Gather{Dst: in(b, 300, 9), Src: in(a, 7, 10), Index: in(b, 200, 2)},
		backend.Transform{Dst: in(b, 512, 16), Src: in(a, 3, 6), Batch: 2, Shift: element(9)},
		backend.Transform{Dst: in(b, 512, 16), Src: in(b, 512, 16), Inverse: true, From: backend.Reversed, To: backend.Natural},
		backend.Transform{Dst: in(b, 512, 16), Src: in(b, 512, 16), From: backend.Natural, To: backend.Reversed},
		backend.Map{
			Count: 20, Dst: backend.Operand{Range: in(b, 600, 64), Stride: 3, Rotate: -1, Order: backend.Reversed},
			Args: []backend.Operand{
				{Range: in(a, 30, 7), Stride: -2, Rotate: math.MinInt64},
				{Range: in(b, 600, 64), Stride: 3, Rotate: -1, Order: backend.Reversed},
			},
			Constants: append(element(1), element(2)...),
			Code: []backend.MapCode{
				{Op: backend.MapLoad, Arg: 1}, {Op: backend.MapConst, Arg: 1}, {Op: backend.MapMul}, {Op: backend.MapCopy},
				{Op: backend.MapLoad}, {Op: backend.MapSub}, {Op: backend.MapAdd}, {Op: backend.MapSquare}, {Op: backend.MapDouble}, {Op: backend.MapNeg},
			},
		},
		backend.Powers{Dst: in(b, 700, 11), First: element(3), Ratio: element(4)},
		backend.Invert{Dst: in(b, 720, 11), Src: in(b, 700, 11)},
		backend.Products{Dst: in(b, 740, 11), Src: in(b, 700, 11), Exclusive: true},
		backend.Products{Dst: in(b, 760, 11), Src: in(b, 700, 11)},
		backend.Evaluate{Src: []backend.Range{in(b, 700, 16), in(a, 50, 2)}, Order: backend.Reversed, Point: element(5)},
		backend.Divide{Dst: in(b, 780, 10), Src: in(b, 740, 11), Point: element(6)},
		backend.Commit{Bases: bases, Offset: 2, Src: in(b, 740, 8)},
		backend.Read{Src: in(b, 0, 1000)}, // in shared memory
		backend.Read{Src: in(b, 740, 8)},  // in the reply
		backend.Read{Src: in(a, 0, n)},
		backend.Read{Src: in(a, 0, 0)},
	}
}

// TestProgram: every kind of step arrives as it was sent, and so do the answers:
// a program through the plugin does what it does in this process.
func TestProgram(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	here := &fake.Backend{}
	b := newBN(10)
	const n = 200_000 // 6.4 MB: several chunks
	elements := random(32 * n)
	type prepared struct {
		v     backend.Vectors
		steps []backend.Step
	}
	var both []prepared
	for _, v := range []interface {
		backend.Backend
		backend.Vectors
	}{c, here} {
		both = append(both, prepared{v, everything(mustSpace(t, v, n), mustSpace(t, v, 1000), mustLoad(t, v, b.bases()), elements)})
	}
	if !reflect.DeepEqual(both[0].steps, both[1].steps) {
		t.Fatal("the ids differ, and with them the digests")
	}
	for range 2 {
		var answers [2][][]byte
		for i, p := range both {
			var err error
			if answers[i], err = p.v.Run(ctx, p.steps); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range answers[1] {
			if got := answers[0][i]; !bytes.Equal(got, want) {
				t.Errorf("step %d (%T) answers %d bytes, want %d, or others", i, both[0].steps[i], len(got), len(want))
			}
		}
		if got := answers[0][len(answers[0])-2]; !bytes.Equal(got, elements) {
			t.Error("what was written is not what is read")
		}
	}
	if got, err := c.Run(ctx, nil); err != nil || len(got) != 0 {
		t.Errorf("no steps: %v, %v", got, err)
	}
	// Elements in a buffer are read where they are.
	buf, err := c.Alloc(ctx, len(elements))
	if err != nil {
		t.Fatal(err)
	}
	copy(buf.Bytes(), elements)
	held := c.pool.InUse()
	a := backend.Range{Space: 1, Count: n}
	got, err := c.Run(ctx, []backend.Step{backend.Write{Dst: a, Bytes: buf.Bytes(), Ready: func(context.Context, int) error {
		if use := c.pool.InUse(); use != held {
			t.Errorf("%d bytes more in use for what is in shared memory", use-held)
		}
		return nil
	}}, backend.Read{Src: a}})
	if err != nil || !bytes.Equal(got[1], elements) {
		t.Errorf("from a buffer: %v", err)
	}
	buf.Free()
	for _, id := range []backend.SpaceID{1, 2} {
		if err := c.FreeSpace(ctx, id); err != nil {
			t.Error(err)
		}
		if err := c.FreeSpace(ctx, id); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("freed twice: %v", err)
		}
		if _, err := c.Run(ctx, writeRead(id, elements[:32])); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("a freed space: %v", err)
		}
	}
	settled(t, c, 0)
}

// TestProgramLeavesNothing: what was written and read is nowhere in shared
// memory afterwards, whichever way it went.
func TestProgramLeavesNothing(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	const n = 10_000 // one more than the inline copy takes
	elements := random(32 * n)
	id := mustSpace(t, c, n)
	for _, p := range []*shm.Pool{c.pool, c.replies} {
		probe, err := p.Keep(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer probe.Release()
		arena := probe.Arena().Bytes()
		if _, err = c.Run(ctx, writeRead(id, elements)); err != nil {
			t.Fatal(err)
		}
		eventually(t, 10*time.Second, "regions are wiped", func() bool { return p.InUse() == shm.PageSize })
		if bytes.Contains(arena, elements[:64]) || bytes.Contains(arena, elements[32*n-64:]) {
			t.Error("elements are still in an arena")
		}
	}
}

// TestProgramReady: the plugin begins before the elements are there, waits for
// each, and an error of Ready is the call's.
func TestProgramReady(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	const n = 200_000
	source := random(32 * n)
	id := mustSpace(t, c, n)
	all := backend.Range{Space: id, Count: n}
	elements := make([]byte, 32*n)
	var written int
	got, err := c.Run(ctx, []backend.Step{backend.Write{Dst: all, Bytes: elements, Ready: func(_ context.Context, k int) error {
		if k < written || k > n {
			t.Errorf("Ready(%d) after %d, of %d", k, written, n)
		}
		copy(elements[32*written:32*k], source[32*written:])
		written = k
		return nil
	}}, backend.Read{Src: all}})
	if err != nil || written != n || !bytes.Equal(got[1], source) {
		t.Errorf("%d of %d, %v", written, n, err)
	}
	broken := errors.New("the witness failed")
	_, err = c.Run(ctx, []backend.Step{backend.Write{Dst: all, Bytes: elements, Ready: func(_ context.Context, k int) error {
		if k > n/2 {
			return broken
		}
		return nil
	}}})
	if !errors.Is(err, broken) || !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("%v", err)
	}
	settled(t, c, 0)
}

// TestProgramCancelled: a cancelled program returns when nothing of the caller's
// is read any more; one that goes on nevertheless keeps its memory until Close.
func TestProgramCancelled(t *testing.T) {
	for _, mode := range []string{"delay=60000", "deaf"} {
		t.Run(mode, func(t *testing.T) {
			var log capture
			s := spec(t, mode)
			s.Logger = log.logger()
			c := mustOpen(t, s)
			c.graces.abandoned = 100 * time.Millisecond
			const n = 10_000
			id := mustSpace(t, c, n)
			elements := random(32 * n)
			running, cancel := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() {
				_, err := c.Run(running, writeRead(id, elements))
				done <- err
			}()
			eventually(t, 10*time.Second, "the program is on its way", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.replies.InUse() > 0
			})
			if mode != "deaf" {
				eventually(t, 10*time.Second, "the plugin began", func() bool { return strings.Contains(log.String(), "started") })
			}
			cancel()
			if err := <-done; err != context.Canceled {
				t.Error(err)
			}
			clear(elements) // the race detector knows if they are still read
			if mode != "deaf" {
				eventually(t, 10*time.Second, "the backend saw it", func() bool { return strings.Contains(log.String(), "cancelled") })
				settled(t, c, 0)
			}
			c.Close()
			if use := c.pool.InUse() + c.replies.InUse(); use != 0 {
				t.Errorf("%d bytes in use after Close", use)
			}
		})
	}
}

// TestAbandonedProgramsComeFirst: what follows a program that was given up finds the
// space as if that had run, in whichever lane it may be late.
func TestAbandonedProgramsComeFirst(t *testing.T) {
	c := mustOpen(t, spec(t, "late"))
	const n = 20 // short: all in one message
	id := mustSpace(t, c, n)
	first, second := random(32*n), random(32*n)
	first[0], second[0] = 1, 2 // which is late
	for range 10 {
		within, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		if _, err := c.Run(within, writeRead(id, first)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		cancel()
		if got, err := c.Run(ctx, writeRead(id, second)); err != nil || !bytes.Equal(got[1], second) {
			t.Fatal("it reads what another wrote", err)
		}
		time.Sleep(30 * time.Millisecond)
		if got, err := c.Run(ctx, writeRead(id, second)[1:]); err != nil || !bytes.Equal(got[0], second) {
			t.Fatal("what was written last is not what is there", err)
		}
	}
	// Who does not want to wait need not.
	within, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	for range 2 {
		if _, err := c.Run(within, writeRead(id, first)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	if c.lanes.count() == 0 {
		t.Error("no program was in a lane")
	}
	eventually(t, 10*time.Second, "nothing is kept of them", func() bool {
		c.abandoned.mu.Lock()
		defer c.abandoned.mu.Unlock()
		return len(c.abandoned.of) == 0
	})
	settled(t, c, 0)
}

// TestFreeSpaceWaits: a space is not taken away under a program, and one that
// was never handed over is freed at the plugin.
func TestFreeSpaceWaits(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	elements := random(3200)
	for range 100 {
		id := mustSpace(t, c, 100)
		freed := make(chan error, 1)
		write := writeRead(id, elements)
		w := write[0].(backend.Write)
		w.Ready = func(context.Context, int) error {
			go func() { freed <- c.FreeSpace(ctx, id) }()
			select {
			case err := <-freed:
				return errors.Join(errors.New("freed while a program uses it"), err)
			case <-time.After(time.Millisecond):
				return nil
			}
		}
		got, err := c.Run(ctx, []backend.Step{w, write[1]})
		if err != nil || !bytes.Equal(got[1], elements) {
			t.Fatal(err)
		}
		if err := <-freed; err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.NewSpace(ctx, backend.BN254, -1); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a negative space: %v", err)
	}
	if _, err := c.NewSpace(ctx, 9, 1); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a space of no curve: %v", err)
	}
	for _, huge := range []int{1 << 32, 1 << 45, math.MaxInt} {
		if _, err := c.NewSpace(ctx, backend.BN254, huge); !errors.Is(err, backend.ErrOutOfMemory) {
			t.Errorf("a space of %d elements: %v", huge, err)
		}
	}
	check(t, c, 10)
}

// TestProgramsOfAKilledPlugin: programs that run when the plugin is killed end
// as ErrGone at once, and spaces with it.
func TestProgramsOfAKilledPlugin(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 4
	}
	sup := NewSupervisor(spec(t, ""), Policy{Restarts: 10 * rounds, Backoff: time.Microsecond, MaxBackoff: time.Microsecond})
	defer sup.Close()
	const n = 30_000
	elements := random(32 * n)
	for range rounds {
		opened, err := sup.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c := opened.(*Client)
		id := mustSpace(t, c, n)
		time.AfterFunc(rand.N(20*time.Millisecond), func() { _ = processOf(c).Kill(ctx) })
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					got, err := c.Run(ctx, writeRead(id, elements))
					if errors.Is(err, backend.ErrGone) {
						return
					}
					if err != nil || !bytes.Equal(got[1], elements) {
						t.Errorf("another answer: %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
		if _, err := c.NewSpace(ctx, backend.BN254, 1); !errors.Is(err, backend.ErrGone) {
			t.Errorf("after the death: %v", err)
		}
		c.Close()
		eventually(t, 10*time.Second, "answers are given back", func() bool { return c.replies.InUse() == 0 })
	}
	eventually(t, 10*time.Second, "shared memory is given back", func() bool { return sup.spec.pool.InUse() == 0 })
}

// TestProgramsThatFail: the plugin's own trouble accuses nobody, what only it can
// see is believed, and what it does not take is said here.
func TestProgramsThatFail(t *testing.T) {
	for mode, want := range map[string]error{
		"panic": backend.ErrGone, "odd-error": backend.ErrGone, "gone": backend.ErrGone, "blames": backend.ErrInternal,
	} {
		t.Run(mode, func(t *testing.T) {
			c := mustOpen(t, spec(t, mode))
			id := mustSpace(t, c, 2)
			steps := writeRead(id, random(64))
			_, err := c.Run(ctx, steps)
			if !errors.Is(err, want) || errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("%v", err)
			}
			if mode != "blames" {
				return
			}
			w := steps[0].(backend.Write)
			w.Check = true
			if _, err := c.Run(ctx, []backend.Step{w}); backend.FaultOf(err) != backend.FaultCaller {
				t.Errorf("an element not below r: %v", err)
			}
		})
	}
	s := spec(t, "")
	s.Budget = 4 << 20
	c := mustOpen(t, s)
	id := mustSpace(t, c, 1<<19)
	point := backend.Range{Space: id, Count: 1}
	many := backend.Evaluate{Point: element(1)}
	for range 300_000 {
		many.Src = append(many.Src, point)
	}
	for what, f := range map[string]struct {
		steps []backend.Step
		want  error
	}{
		"too many steps":    {make([]backend.Step, 0), backend.ErrUnsupported},
		"too long":          {[]backend.Step{many, many}, backend.ErrUnsupported},
		"too long answers":  {[]backend.Step{many}, backend.ErrUnsupported},
		"too large a read":  {[]backend.Step{backend.Read{Src: backend.Range{Space: id, Count: 1 << 18}}}, backend.ErrOutOfMemory},
		"too large a write": {writeRead(id, make([]byte, 8<<20)), backend.ErrOutOfMemory},
		"out of the space":  {writeRead(id, make([]byte, 32<<20)), backend.ErrInvalidInput},
		"no bases":          {[]backend.Step{backend.Commit{Bases: 1, Src: point}}, backend.ErrInvalidInput},
	} {
		if what == "too many steps" {
			for range maxSteps + 1 {
				f.steps = append(f.steps, backend.Invert{Dst: point, Src: point})
			}
		}
		if _, err := c.Run(ctx, f.steps); !errors.Is(err, f.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	check(t, c, 10)
	settled(t, c, 0)
	// Many small reads do not fit into one reply and go another way.
	var reads []backend.Step
	for range maxSteps {
		reads = append(reads, backend.Read{Src: backend.Range{Space: id, Count: 32}})
	}
	if got, err := c.Run(ctx, reads); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("%d small reads with a budget of %d: %d answers, %v", len(reads), s.Budget, len(got), err)
	}
	if got, err := c.Run(ctx, reads[:1500]); err != nil || len(got) != 1500 || len(got[1499]) != 1024 {
		t.Errorf("1500 small reads: %v", err)
	}
}

// TestServerRefusesPrograms: nothing that a host sends is believed.
func TestServerRefusesPrograms(t *testing.T) {
	h := newByHand(t)
	_, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Curve: 1, Count: 10})
	invalid(t, "before Open", err)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]*proto.NewSpaceRequest{
		"an unknown curve": {Curve: 5, Count: 1}, "curves that overflow": {Curve: 257, Count: 1}, "no curve but in 8 bits": {Curve: 256, Count: 1},
		"a count that overflows": {Curve: 1, Count: math.MaxUint64}, "a huge count": {Curve: 1, Count: 1 << 39},
	} {
		_, err := h.NewSpace(ctx, r)
		invalid(t, what, err)
	}
	reply, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Curve: 1, Count: 16})
	if err != nil {
		t.Fatal(err)
	}
	space := reply.Space
	other, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Curve: 4, Count: 16})
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
	copy(in.Bytes(), random(320))

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
		write(&proto.Write{Dst: span(10), Bytes: at(1, 0, 320)}),
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
		"too few bytes":             write(&proto.Write{Dst: span(10), Bytes: at(1, 0, 288)}),
		"an unknown space":          write(&proto.Write{Dst: &proto.Range{Space: 77, Count: 10}, Bytes: at(1, 0, 320)}),
		"beyond the space":          write(&proto.Write{Dst: &proto.Range{Space: space, Offset: 7, Count: 10}, Bytes: at(1, 0, 320)}),
		"an offset that overflows":  write(&proto.Write{Dst: &proto.Range{Space: space, Offset: math.MaxUint64, Count: 10}, Bytes: at(1, 0, 320)}),
		"a count that overflows":    write(&proto.Write{Dst: span(1<<63 + 10), Bytes: at(1, 0, 320)}),
		"bytes beyond the arena":    write(&proto.Write{Dst: span(10), Bytes: at(1, size-312, 320)}),
		"bytes of no arena":         write(&proto.Write{Dst: span(10), Bytes: at(3, 0, 320)}),
		"bytes among answers":       write(&proto.Write{Dst: span(10), Bytes: at(2, 0, 320)}),
		"a counter among answers":   write(&proto.Write{Dst: span(10), Bytes: at(1, 0, 320), Progress: at(2, 0, 64)}),
		"a counter without room":    write(&proto.Write{Dst: span(10), Bytes: at(1, 0, 320), Progress: at(1, 0, 7)}),
		"a counter without bytes":   write(&proto.Write{Dst: span(0), Progress: at(1, 0, 64)}),
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
		"an order that is none":     {Step: &proto.Step_Evaluate{Evaluate: &proto.Evaluate{Src: []*proto.Range{span(1)}, Order: 2, Point: element(1)}}},
		"a point of no length":      {Step: &proto.Step_Evaluate{Evaluate: &proto.Evaluate{Src: []*proto.Range{span(1)}}}},
		"nothing to evaluate":       {Step: &proto.Step_Evaluate{Evaluate: &proto.Evaluate{Point: element(1)}}},
		"two curves":                {Step: &proto.Step_Invert{Invert: &proto.Invert{Dst: span(1), Src: &proto.Range{Space: other.Space, Count: 1}}}},
		"unknown bases":             {Step: &proto.Step_Commit{Commit: &proto.Commit{Bases: 7, Src: span(1)}}},
		"a huge batch":              {Step: &proto.Step_Transform{Transform: &proto.Transform{Dst: span(2), Src: span(2), Batch: math.MaxUint64}}},
	} {
		_, err := run(s)
		if what == "an index out of range" { // a value, not a number of the message
			if remote, ok := fromStatus(err); !ok || !errors.Is(remote, backend.ErrInvalidInput) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		invalid(t, what, err)
	}
	_, err = run(make([]*proto.Step, maxSteps+1)...)
	invalid(t, "too many steps", err)
	_, err = h.FreeSpace(ctx, &proto.FreeSpaceRequest{Space: 99})
	invalid(t, "freeing what is not there", err)
	works("after the refusals")

	// As many spaces as there may be, and all of them freed.
	before := h.backend.Spaces()
	for range maxSpaces - before {
		if _, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Curve: 1}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = h.NewSpace(ctx, &proto.NewSpaceRequest{Curve: 1})
	invalid(t, "one space too many", err)
	if _, err := h.FreeSpace(ctx, &proto.FreeSpaceRequest{Space: space}); err != nil {
		t.Error(err)
	}
	_, err = run(proper...)
	invalid(t, "a freed space", err)
}

// TestNumbersArrive has every operation, with every field in use, arrive as it was:
// the fake's answers depend on all of it.
func TestNumbersArrive(t *testing.T) {
	here, there := &fake.Backend{}, mustOpen(t, spec(t, ""))
	batch := func(space backend.SpaceID, offset, words, count int) backend.Batch {
		return backend.Batch{Space: space, Offset: offset, Words: words, Count: count}
	}
	run := func(v backend.Vectors) [][]byte {
		id, err := v.NewSpace(t.Context(), backend.Words, 3000)
		if err != nil {
			t.Fatal(err)
		}
		all := backend.Range{Space: id, Count: 3000}
		words := make([]byte, 12000)
		for i := range words {
			words[i] = byte(i * i)
		}
		a, b, m, dst := batch(id, 3, 4, 9), batch(id, 100, 4, 9), batch(id, 200, 4, 1), batch(id, 300, 4, 9)
		answers, err := v.Run(t.Context(), []backend.Step{
			backend.Write{Dst: all, Bytes: words},
			backend.Compute{Op: backend.NumAdd, Dst: dst, A: a, B: b, Carry: batch(id, 900, 1, 9)},
			backend.Compute{Op: backend.NumExpMod, Dst: batch(id, 400, 4, 9), A: a, B: batch(id, 700, 2, 1), M: m},
			backend.Compute{Op: backend.NumGFMul, Dst: batch(id, 500, 4, 9), A: a, B: b, Degree: 113},
			backend.Compute{Op: backend.NumPowerSums, Dst: batch(id, 600, 4, 3), A: a, M: m},
			backend.Read{Src: all},
		})
		if err != nil {
			t.Fatal(err)
		}
		return answers
	}
	if want, got := run(here), run(there); !bytes.Equal(want[5], got[5]) {
		t.Error("the program that arrives is another one")
	}
}
