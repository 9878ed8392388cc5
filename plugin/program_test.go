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
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// everything returns a program with every kind of step and every field in use.
func everything(a, b backend.SpaceID, bases backend.BasesID, elements []byte) []backend.Step {
	in := func(s backend.SpaceID, offset, count int) backend.Range {
		return backend.Range{Space: s, Offset: offset, Count: count}
	}
	n := len(elements) / 32
	return []backend.Step{
		backend.Write{Dst: in(a, 0, n), Input: backend.Input{Bytes: elements}},
		backend.Write{Dst: in(b, 100, 3), Input: backend.Input{Bytes: elements[:96], Check: true}},
		backend.Write{Dst: in(b, 5, 0)},
		backend.WriteIndices{Dst: in(b, 200, 2), Indices: []uint32{5, 4, 3, 2, 1, 0, 9, 9, 9}},
		backend.Gather{Dst: in(b, 300, 9), Src: in(a, 7, 10), Index: in(b, 200, 2)},
		backend.SparseProduct{Dst: in(b, 320, 10), Src: in(a, 7, 10), Entries: 9, Rows: in(b, 200, 2), Columns: in(b, 202, 2),
			Factors: in(b, 204, 2), Values: in(b, 100, 3)},
		backend.Transform{Dst: in(b, 512, 16), Src: in(a, 3, 6), Batch: 2, Shift: plugintest.Element(9)},
		backend.Transform{Dst: in(b, 512, 16), Src: in(b, 512, 16), Inverse: true, From: backend.Reversed, To: backend.Natural},
		backend.Transform{Dst: in(b, 512, 16), Src: in(b, 512, 16), From: backend.Natural, To: backend.Reversed},
		backend.Map{
			Count: 20, Dst: backend.Operand{Range: in(b, 600, 64), Stride: 3, Rotate: -1, Order: backend.Reversed},
			Args: []backend.Operand{
				{Range: in(a, 30, 7), Stride: -2, Rotate: math.MinInt64},
				{Range: in(b, 600, 64), Stride: 3, Rotate: -1, Order: backend.Reversed},
			},
			Constants: append(plugintest.Element(1), plugintest.Element(2)...),
			Code: []backend.MapCode{
				{Op: backend.MapLoad, Arg: 1}, {Op: backend.MapConst, Arg: 1}, {Op: backend.MapMul}, {Op: backend.MapCopy},
				{Op: backend.MapLoad}, {Op: backend.MapSub}, {Op: backend.MapAdd}, {Op: backend.MapSquare},
				{Op: backend.MapDouble}, {Op: backend.MapNeg},
			},
		},
		backend.Powers{Dst: in(b, 700, 11), First: plugintest.Element(3), Ratio: plugintest.Element(4)},
		backend.Invert{Dst: in(b, 720, 11), Src: in(b, 700, 11)},
		backend.Products{Dst: in(b, 740, 11), Src: in(b, 700, 11), Exclusive: true},
		backend.Products{Dst: in(b, 760, 11), Src: in(b, 700, 11)},
		backend.Evaluate{Src: []backend.Range{in(b, 700, 16), in(a, 50, 2)}, Order: backend.Reversed, Point: plugintest.Element(5)},
		backend.Divide{Dst: in(b, 780, 10), Src: in(b, 740, 11), Point: plugintest.Element(6)},
		backend.Job{Bases: bases, Offset: 2, Count: 8, Src: in(b, 740, 8)},
		backend.Read{Src: in(b, 0, 1000)}, // in shared memory
		backend.Read{Src: in(b, 740, 8)},  // in the reply
		backend.Read{Src: in(a, 0, n)},
		backend.Read{Src: in(a, 0, 0)},
	}
}

// TestProgram: every kind of step arrives as it was sent, and so do the answers. A program gives
// the same answers through the plugin as in this process.
func TestProgram(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	here := &fake.Backend{}
	b := plugintest.NewBN(10)
	const n = 200_000 // 6.4 MB: several chunks
	elements := plugintest.Random(32 * n)
	type prepared struct {
		v     backend.Programs
		steps []backend.Step
	}
	var both []prepared
	for _, v := range []interface {
		backend.Backend
		backend.Programs
	}{c, here} {
		both = append(both, prepared{
			v, everything(plugintest.Space(t, v, n), plugintest.Space(t, v, 1000), plugintest.Load(t, v, b.Bases()), elements),
		})
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
	// Elements in a buffer are read in place.
	buf, err := c.Alloc(ctx, len(elements))
	if err != nil {
		t.Fatal(err)
	}
	copy(buf.Bytes(), elements)
	held := c.pool.InUse()
	a := backend.Range{Space: 1, Count: n}
	got, err := c.Run(ctx, []backend.Step{backend.Write{Dst: a,
		Input: backend.Input{Bytes: buf.Bytes(), Ready: func(context.Context, int) error {
			if use := c.pool.InUse(); use != held {
				t.Errorf("%d bytes more in use for what is in shared memory", use-held)
			}
			return nil
		}}}, backend.Read{Src: a}})
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
		if _, err := c.Run(ctx, plugintest.WriteRead(id, elements[:32])); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("a freed space: %v", err)
		}
	}
	settled(t, c, 0)
}

// TestManyIndices: indices have no counter, so even many of them are copied before the request is
// sent.
func TestManyIndices(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	const n = inlineBytes/4 + 1
	elements := backend.IndexElements(backend.BN254, n)
	id := plugintest.Space(t, c, elements)
	all := backend.Range{Space: id, Count: elements}
	indices := make([]uint32, n)
	for i := range indices {
		indices[i] = uint32(i)
	}
	got, err := c.Run(ctx, []backend.Step{backend.WriteIndices{Dst: all, Indices: indices}, backend.Read{Src: all}})
	if err != nil {
		t.Fatal(err)
	}
	if want := shm.IndexBytes(indices); !bytes.Equal(got[1][:len(want)], want) {
		t.Error("other indices are there")
	}
}

// TestProgramLeavesNothing: afterwards nothing that was written or read is left in shared memory,
// whichever way it crossed.
func TestProgramLeavesNothing(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	const n = 10_000 // too long for the copy before the request
	elements := plugintest.Random(32 * n)
	id := plugintest.Space(t, c, n)
	for _, p := range []*shm.Pool{c.pool, c.replies} {
		probe, err := p.Keep(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer probe.Release()
		arena := probe.Arena().Bytes()
		if _, err = c.Run(ctx, plugintest.WriteRead(id, elements)); err != nil {
			t.Fatal(err)
		}
		plugintest.Eventually(t, time.Minute, "regions are wiped", func() bool { return p.InUse() == shm.PageSize })
		if bytes.Contains(arena, elements[:64]) || bytes.Contains(arena, elements[32*n-64:]) {
			t.Error("elements are still in an arena")
		}
	}
}

// TestProgramReady: the plugin begins before the elements are there and waits for each. If Ready
// fails, so does the call.
func TestProgramReady(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	const n = 200_000
	source := plugintest.Random(32 * n)
	id := plugintest.Space(t, c, n)
	all := backend.Range{Space: id, Count: n}
	elements := make([]byte, 32*n)
	var written int
	got, err := c.Run(ctx, []backend.Step{backend.Write{Dst: all,
		Input: backend.Input{Bytes: elements, Ready: func(_ context.Context, k int) error {
			if k < written || k > n {
				t.Errorf("Ready(%d) after %d, of %d", k, written, n)
			}
			copy(elements[32*written:32*k], source[32*written:])
			written = k
			return nil
		}}}, backend.Read{Src: all}})
	if err != nil || written != n || !bytes.Equal(got[1], source) {
		t.Errorf("%d of %d, %v", written, n, err)
	}
	broken := errors.New("the witness failed")
	_, err = c.Run(ctx, []backend.Step{backend.Write{Dst: all,
		Input: backend.Input{Bytes: elements, Ready: func(_ context.Context, k int) error {
			if k > n/2 {
				return broken
			}
			return nil
		}}}})
	if !errors.Is(err, broken) || !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("%v", err)
	}
	settled(t, c, 0)
}

// TestProgramCancelled: a cancelled program returns when the caller's memory is no longer read. If
// the plugin computes on all the same, it keeps its memory until Close.
func TestProgramCancelled(t *testing.T) {
	for _, mode := range []string{"delay=60000", "deaf"} {
		t.Run(mode, func(t *testing.T) {
			var log plugintest.Capture
			s := spec(t, mode)
			s.Logger = log.Logger()
			c := mustOpen(t, s)
			c.graces.abandoned = 100 * time.Millisecond
			const n = 10_000
			id := plugintest.Space(t, c, n)
			elements := plugintest.Random(32 * n)
			running, cancel := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() {
				_, err := c.Run(running, plugintest.WriteRead(id, elements))
				done <- err
			}()
			plugintest.Eventually(t, time.Minute, "the program is on its way", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.replies.InUse() > 0
			})
			if mode != "deaf" {
				plugintest.Eventually(t, time.Minute, "the plugin began", func() bool { return strings.Contains(log.String(), "started") })
			}
			cancel()
			if err := <-done; err != context.Canceled {
				t.Error(err)
			}
			clear(elements) // the race detector sees whether they are still read
			if mode != "deaf" {
				plugintest.Eventually(t, time.Minute, "the backend saw it", func() bool { return strings.Contains(log.String(), "cancelled") })
				settled(t, c, 0)
			}
			c.Close()
			if use := c.pool.InUse() + c.replies.InUse(); use != 0 {
				t.Errorf("%d bytes in use after Close", use)
			}
		})
	}
}

// TestAbandonedProgramsComeFirst: the program after one that was given up finds the space as if
// that one had run, in whatever lane it may be late.
func TestAbandonedProgramsComeFirst(t *testing.T) {
	c := mustOpen(t, spec(t, "late"))
	const n = 20 // so short that all of it is in one message
	id := plugintest.Space(t, c, n)
	first, second := plugintest.Random(32*n), plugintest.Random(32*n)
	first[0], second[0] = 1, 2 // the first one is late
	for range 10 {
		given, giveUp := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			_, err := c.Run(given, plugintest.WriteRead(id, first))
			done <- err
		}()
		plugintest.Eventually(t, time.Minute, "it is in a lane", func() bool { return c.lanes.busy() > 0 })
		giveUp()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got, err := c.Run(ctx, plugintest.WriteRead(id, second)); err != nil || !bytes.Equal(got[1], second) {
			t.Fatal("it reads what another wrote", err)
		}
		time.Sleep(30 * time.Millisecond)
		if got, err := c.Run(ctx, plugintest.WriteRead(id, second)[1:]); err != nil || !bytes.Equal(got[0], second) {
			t.Fatal("what was written last is not what is there", err)
		}
	}
	// A caller that does not want to wait need not.
	within, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	for range 2 {
		if _, err := c.Run(within, plugintest.WriteRead(id, first)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	plugintest.Eventually(t, time.Minute, "nothing is kept of them", func() bool {
		c.abandoned.mu.Lock()
		defer c.abandoned.mu.Unlock()
		return len(c.abandoned.of) == 0
	})
	settled(t, c, 0)
}

// TestFreeSpaceWaits: a space is not freed during a program that uses it. A space that was never
// handed to its caller is freed in the plugin.
func TestFreeSpaceWaits(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	elements := plugintest.Random(3200)
	for range 100 {
		id := plugintest.Space(t, c, 100)
		freed := make(chan error, 1)
		write := plugintest.WriteRead(id, elements)
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
	if _, err := c.NewSpace(ctx, backend.ScalarOf(backend.BN254), -1); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a negative space: %v", err)
	}
	if _, err := c.NewSpace(ctx, backend.ScalarOf(9), 1); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a space of no curve: %v", err)
	}
	for _, huge := range []int{1 << 32, 1 << 45, math.MaxInt} {
		if _, err := c.NewSpace(ctx, backend.ScalarOf(backend.BN254), huge); !errors.Is(err, backend.ErrOutOfMemory) {
			t.Errorf("a space of %d elements: %v", huge, err)
		}
	}
	plugintest.Check(t, c, 10)
}

// TestProgramsOfAKilledPlugin: programs that run when the plugin is killed return ErrGone at once.
// Their spaces are lost too.
func TestProgramsOfAKilledPlugin(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 4
	}
	spec := spec(t, "")
	spec.Memory = NewMemory(0)
	defer spec.Memory.Close()
	const n = 30_000
	elements := plugintest.Random(32 * n)
	for range rounds {
		c, err := Open(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		id := plugintest.Space(t, c, n)
		time.AfterFunc(rand.N(20*time.Millisecond), func() { _ = processOf(c).Kill(ctx) })
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					got, err := c.Run(ctx, plugintest.WriteRead(id, elements))
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
		if _, err := c.NewSpace(ctx, backend.ScalarOf(backend.BN254), 1); !errors.Is(err, backend.ErrGone) {
			t.Errorf("after the death: %v", err)
		}
		c.Close()
		plugintest.Eventually(t, time.Minute, "answers are given back", func() bool { return c.replies.InUse() == 0 })
	}
	plugintest.Eventually(t, time.Minute, "shared memory is given back", func() bool { return spec.Memory.pool.InUse() == 0 })
}

// TestProgramsThatFail: a fault of the plugin accuses no caller. What only the plugin can check is
// believed. What a plugin does not accept is refused here.
func TestProgramsThatFail(t *testing.T) {
	for mode, want := range map[string]error{
		"panic": backend.ErrGone, "odd-error": backend.ErrGone, "gone": backend.ErrGone, "blames": backend.ErrInternal,
	} {
		t.Run(mode, func(t *testing.T) {
			c := mustOpen(t, spec(t, mode))
			id := plugintest.Space(t, c, 2)
			steps := plugintest.WriteRead(id, plugintest.Random(64))
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
	id := plugintest.Space(t, c, 1<<19)
	point := backend.Range{Space: id, Count: 1}
	many := backend.Evaluate{Point: plugintest.Element(1)}
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
		"too large a write": {plugintest.WriteRead(id, make([]byte, 8<<20)), backend.ErrOutOfMemory},
		"out of the space":  {plugintest.WriteRead(id, make([]byte, 32<<20)), backend.ErrInvalidInput},
		"no bases":          {[]backend.Step{backend.Job{Bases: 1, Count: point.Count, Src: point}}, backend.ErrInvalidInput},
	} {
		if what == "too many steps" {
			for range wire.MaxSteps + 1 {
				f.steps = append(f.steps, backend.Invert{Dst: point, Src: point})
			}
		}
		if _, err := c.Run(ctx, f.steps); !errors.Is(err, f.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	plugintest.Check(t, c, 10)
	settled(t, c, 0)
	// Many small reads do not fit into one reply and cross in shared memory.
	var reads []backend.Step
	for range wire.MaxSteps {
		reads = append(reads, backend.Read{Src: backend.Range{Space: id, Count: 32}})
	}
	if got, err := c.Run(ctx, reads); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("%d small reads with a budget of %d: %d answers, %v", len(reads), s.Budget, len(got), err)
	}
	if got, err := c.Run(ctx, reads[:1500]); err != nil || len(got) != 1500 || len(got[1499]) != 1024 {
		t.Errorf("1500 small reads: %v", err)
	}
}

// TestNumbersArrive: every operation arrives as it was sent, with every field in use. The fake's
// answers depend on all fields.
func TestNumbersArrive(t *testing.T) {
	here, there := &fake.Backend{}, mustOpen(t, spec(t, ""))
	batch := func(space backend.SpaceID, offset, words, count int) backend.Batch {
		return backend.Batch{Space: space, Offset: offset, Words: words, Count: count}
	}
	run := func(v backend.Programs) [][]byte {
		id, err := v.NewSpace(t.Context(), backend.Word(), 3000)
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
			backend.Write{Dst: all, Input: backend.Input{Bytes: words}},
			backend.Compute{Op: backend.NumAdd, Dst: dst, A: a, B: b, Carry: batch(id, 900, 1, 9)},
			backend.Compute{Op: backend.NumExpMod, Dst: batch(id, 400, 4, 9), A: a, B: batch(id, 700, 2, 1), M: m, Public: true},
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
