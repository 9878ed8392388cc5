//go:build linux

package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

var ctx = context.Background()

func settled(t *testing.T, c *Client, held int64) {
	t.Helper()
	c.outside.Wait()
	plugintest.Eventually(t, time.Minute, "shared memory is given back", func() bool {
		return c.pool.InUse() == held
	})
}

func TestBatch(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	const n = 50_000
	b := plugintest.NewBN(n)
	id := plugintest.Load(t, c, b.Bases())
	g2 := backend.Bases{Curve: backend.BLS12381, Group: backend.G2, Count: 9, Bytes: plugintest.Random(9 * 192)}
	id2 := plugintest.Load(t, c, g2)
	other := plugintest.BN{
		Loaded: backend.Elements{Element: backend.PointOf(g2.Curve, g2.Group), Count: 9},
		Points: g2.Bytes, Scalars: plugintest.Random(9 * 32),
	}
	s := b.Scalars
	jobs := []backend.Job{
		{Bases: id, Count: n, Input: backend.Input{Bytes: s}},
		{Bases: id, Offset: 1, Count: 7, Input: backend.Input{Bytes: s[:7*32]}},
		{Bases: id2, Count: 9, Input: backend.Input{Bytes: other.Scalars}},
		{Bases: id, Count: n, SameAs: 1},
		{Bases: id, Offset: n, Count: 0},
		{Bases: id, Offset: 3, Count: 7, SameAs: 2},
		{Bases: id, Offset: 5, Count: n - 5, Input: backend.Input{Bytes: s[5*32:]}},
	}
	got, err := c.MSM(ctx, jobs)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]byte{b.Want(), b.WantOf(1, 7, s[:7*32]), other.Want(), b.Want(), b.WantOf(n, 0, nil),
		b.WantOf(3, 7, s[:7*32]), b.WantOf(5, n-5, s[5*32:])}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("job %d is wrong", i)
		}
	}
	if got, err := c.MSM(ctx, nil); err != nil || len(got) != 0 {
		t.Errorf("empty batch: %v, %v", got, err)
	}
	for name, job := range map[string]backend.Job{
		"unknown bases": {Bases: 99, Count: 1, Input: backend.Input{Bytes: s[:32]}},
		"short scalars": {Bases: id, Count: 2, Input: backend.Input{Bytes: s[:32]}},
		"long scalars":  {Bases: id, Count: 1, Input: backend.Input{Bytes: s[:64]}},
		"out of range":  {Bases: id, Offset: n, Count: 1, Input: backend.Input{Bytes: s[:32]}},
		"negative":      {Bases: id, Offset: -1, Count: 1, Input: backend.Input{Bytes: s[:32]}},
		"same as none":  {Bases: id, Count: 1, SameAs: 1},
	} {
		if _, err := c.MSM(ctx, []backend.Job{job}); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.MSM(ctx, make([]backend.Job, wire.MaxSteps+1)); err == nil {
		t.Error("a huge batch")
	}
	if err := c.FreeBases(ctx, id); err != nil {
		t.Error(err)
	}
	if err := c.FreeBases(ctx, id); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("freed twice: %v", err)
	}
	settled(t, c, 0)
}

// TestZeroCopy changes a buffer after the request was sent. The answer is that of the changed
// scalars only if the plugin reads them in place.
func TestZeroCopy(t *testing.T) {
	var log plugintest.Capture
	s := spec(t, "delay=300")
	s.Logger = log.Logger()
	c := mustOpen(t, s)
	const n = 10_000
	b := plugintest.NewBN(n)
	id := plugintest.Load(t, c, b.Bases())
	buf, err := c.Alloc(ctx, 32*n+64)
	if err != nil {
		t.Fatal(err)
	}
	held := c.pool.InUse()
	for name, off := range map[string]int{"start": 0, "middle": 64} {
		mine := buf.Bytes()[off:][:32*n]
		copy(mine, b.Scalars)
		starts := strings.Count(log.String(), "started")
		done := make(chan []byte, 1)
		go func() {
			got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: mine}}})
			if err != nil {
				t.Error(err)
				done <- nil
				return
			}
			done <- got[0]
		}()
		plugintest.Eventually(t, time.Minute, "the plugin began", func() bool { return strings.Count(log.String(), "started") > starts })
		if use := c.pool.InUse(); use != held {
			t.Errorf("%s: %d bytes more in use during the call", name, use-held)
		}
		mine[5] ^= 0xff
		changed := bytes.Clone(mine)
		if !bytes.Equal(<-done, b.WantOf(0, n, changed)) {
			t.Errorf("%s: the answer is not that of the buffer's scalars", name)
		}
	}
	// Unaligned scalars are copied, and the answer is right.
	copy(buf.Bytes()[4:], b.Scalars)
	got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: buf.Bytes()[4:][:32*n]}}})
	if err != nil || !bytes.Equal(got[0], b.Want()) {
		t.Errorf("unaligned: %v", err)
	}
	settled(t, c, held)
	arena := buf.(*buffer).region.Arena().Bytes()
	buf.Free()
	buf.Free()
	settled(t, c, 0)
	if !bytes.Equal(arena, make([]byte, len(arena))) {
		t.Error("a freed buffer's scalars are still in the arena")
	}
	empty, err := c.Alloc(ctx, 0)
	if err != nil || len(empty.Bytes()) != 0 {
		t.Errorf("empty buffer: %v", err)
	}
	empty.Free()
	if _, err := c.Alloc(ctx, -1); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("negative buffer: %v", err)
	}
}

// TestFreeWaits: a buffer is not freed during a call that reads it.
func TestFreeWaits(t *testing.T) {
	var log plugintest.Capture
	s := spec(t, "delay=200")
	s.Logger = log.Logger()
	c := mustOpen(t, s)
	b := plugintest.NewBN(100)
	id := plugintest.Load(t, c, b.Bases())
	buf, err := c.Alloc(ctx, 3200)
	if err != nil {
		t.Fatal(err)
	}
	copy(buf.Bytes(), b.Scalars)
	var returned atomic.Bool
	done := make(chan error, 1)
	go func() {
		got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 100, Input: backend.Input{Bytes: buf.Bytes()}}})
		if err == nil && !bytes.Equal(got[0], b.Want()) {
			err = errors.New("wrong answer: the buffer was wiped under the call")
		}
		returned.Store(true)
		done <- err
	}()
	plugintest.Eventually(t, time.Minute, "the plugin began", func() bool { return strings.Contains(log.String(), "started") })
	buf.Free()
	time.Sleep(20 * time.Millisecond)
	if !returned.Load() {
		t.Error("Free returned before the call")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	settled(t, c, 0)
}

// TestWiped finds the scalars in the arena during a call, and nowhere after.
// TestFreeBasesDoesNotOvertake frees bases while a call that uses them is on
// its way to the plugin: its scalars are asked for before it has arrived.
func TestFreeBasesDoesNotOvertake(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	b := plugintest.NewBN(20)
	for range 300 {
		id := plugintest.Load(t, c, b.Bases())
		freed := make(chan error, 1)
		job := backend.Job{Bases: id, Count: 20, Input: backend.Input{Bytes: b.Scalars, Ready: func(context.Context, int) error {
			go func() { freed <- c.FreeBases(ctx, id) }()
			select {
			case err := <-freed:
				return fmt.Errorf("freed while a call uses them: %w", err)
			case <-time.After(time.Millisecond):
				return nil
			}
		}}}
		got, err := c.MSM(ctx, []backend.Job{job})
		if err != nil || !bytes.Equal(got[0], b.Want()) {
			t.Fatal(err)
		}
		if err := <-freed; err != nil {
			t.Fatal(err)
		}
		if err := c.FreeBases(ctx, id); !errors.Is(err, backend.ErrInvalidInput) {
			t.Fatalf("freed twice: %v", err)
		}
	}
}

func TestWiped(t *testing.T) {
	var log plugintest.Capture
	s := spec(t, "delay=200")
	s.Logger = log.Logger()
	c := mustOpen(t, s)
	const n = 40_000 // one is too long for the copy before the request, one is short
	b := plugintest.NewBN(n)
	id := plugintest.Load(t, c, b.Bases())
	probe, err := c.pool.Keep(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Release()
	held := c.pool.InUse()
	done := make(chan error, 1)
	go func() {
		_, err := c.MSM(ctx, []backend.Job{
			{Bases: id, Count: n, Input: backend.Input{Bytes: b.Scalars}}, {Bases: id, Count: 3, Input: backend.Input{Bytes: b.Scalars[:96]}},
		})
		done <- err
	}()
	plugintest.Eventually(t, time.Minute, "the plugin began", func() bool { return strings.Contains(log.String(), "started") })
	arena := probe.Arena().Bytes()
	mark := b.Scalars[:64]
	plugintest.Eventually(t, time.Minute, "both copies are in the arena", func() bool { return bytes.Count(arena, mark) == 2 })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	settled(t, c, held)
	if bytes.Contains(arena, mark) || bytes.Contains(arena, b.Scalars[32*n-64:]) {
		t.Error("scalars are still in the arena after the call")
	}
}

// TestReady: the plugin begins before the scalars are there, and waits for each.
func TestReady(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	const n = 200_000 // 6.4 MB: several chunks
	b := plugintest.NewBN(n)
	id := plugintest.Load(t, c, b.Bases())
	buf, err := c.Alloc(ctx, 32*n)
	if err != nil {
		t.Fatal(err)
	}
	defer buf.Free()
	held := c.pool.InUse()
	for name, scalars := range map[string][]byte{"copied": make([]byte, 32*n), "in place": buf.Bytes()} {
		var written, last atomic.Int64
		var mu sync.Mutex
		cond := sync.NewCond(&mu)
		go func() {
			for at := 0; at < n; {
				to := min(at+17_000, n)
				copy(scalars[32*at:32*to], b.Scalars[32*at:])
				mu.Lock()
				written.Store(int64(to))
				cond.Broadcast()
				mu.Unlock()
				at = to
				time.Sleep(time.Millisecond)
			}
		}()
		ready := func(_ context.Context, k int) error {
			if int64(k) < last.Swap(int64(k)) || k > n {
				t.Errorf("%s: Ready(%d) after a larger one, or beyond the end", name, k)
			}
			mu.Lock()
			defer mu.Unlock()
			for written.Load() < int64(k) {
				cond.Wait()
			}
			return nil
		}
		got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: scalars, Ready: ready}}})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got[0], b.Want()) {
			t.Errorf("%s: wrong answer", name)
		}
		if last.Load() != n {
			t.Errorf("%s: waited for %d of %d", name, last.Load(), n)
		}
	}
	// If Ready fails, the call fails at once.
	broken := errors.New("the witness failed")
	for name, scalars := range map[string][]byte{"copied": b.Scalars, "in place": buf.Bytes()} {
		_, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: n,
			Input: backend.Input{Bytes: scalars, Ready: func(_ context.Context, k int) error {
				if k > n/2 {
					return broken
				}
				return nil
			}}}})
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	settled(t, c, held)
}

func TestCancel(t *testing.T) {
	const n = 200_000
	b := plugintest.NewBN(n)
	t.Run("before", func(t *testing.T) {
		c := mustOpen(t, spec(t, ""))
		id := plugintest.Load(t, c, b.Bases())
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := c.MSM(ended, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: b.Scalars}}}); err != context.Canceled {
			t.Error(err)
		}
		if _, err := c.LoadBases(ended, b.Bases()); err != context.Canceled {
			t.Error(err)
		}
		if _, err := c.Alloc(ended, 1); err != context.Canceled {
			t.Error(err)
		}
	})
	t.Run("during copy", func(t *testing.T) {
		var log plugintest.Capture
		s := spec(t, "")
		s.Logger = log.Logger()
		c := mustOpen(t, s)
		id := plugintest.Load(t, c, b.Bases())
		scalars := bytes.Clone(b.Scalars)
		running, cancel := context.WithCancel(ctx)
		half := make(chan struct{})
		done := make(chan error, 1)
		go func() {
			_, err := c.MSM(running,
				[]backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: scalars, Ready: func(ctx context.Context, k int) error {
					if k < n/2 {
						return nil
					}
					close(half)
					<-ctx.Done()
					return ctx.Err()
				}}}})
			done <- err
		}()
		<-half
		plugintest.Eventually(t, time.Minute, "the plugin began", func() bool { return strings.Contains(log.String(), "started") })
		cancel()
		if err := <-done; err != context.Canceled {
			t.Error(err)
		}
		settled(t, c, 0)
		plugintest.Check(t, c, 1000)
	})
	t.Run("in the middle of a chunk", func(t *testing.T) {
		c := mustOpen(t, spec(t, ""))
		id := plugintest.Load(t, c, b.Bases())
		scalars := bytes.Clone(b.Scalars)
		running, cancel := context.WithCancel(ctx)
		var asking atomic.Int32
		_, err := c.MSM(running,
			[]backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: scalars, Ready: func(_ context.Context, k int) error {
				if k > n/2 { // and ignores its context
					asking.Add(1)
					cancel()
					time.Sleep(20 * time.Millisecond)
					asking.Add(-1)
				}
				return nil
			}}}})
		if err != context.Canceled || asking.Load() != 0 {
			t.Errorf("%v; %d times still at work", err, asking.Load())
		}
		clear(scalars) // the race detector sees whether they are still read
		settled(t, c, 0)
	})
	t.Run("during compute", func(t *testing.T) {
		var log plugintest.Capture
		s := spec(t, "delay=60000")
		s.Logger = log.Logger()
		c := mustOpen(t, s)
		id := plugintest.Load(t, c, b.Bases())
		scalars := bytes.Clone(b.Scalars)
		running, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			_, err := c.MSM(running, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: scalars}}})
			done <- err
		}()
		plugintest.Eventually(t, time.Minute, "the plugin began", func() bool { return strings.Contains(log.String(), "started") })
		cancel()
		if err := <-done; err != context.Canceled {
			t.Error(err)
		}
		clear(scalars)
		plugintest.Eventually(t, time.Minute, "the backend saw it", func() bool { return strings.Contains(log.String(), "cancelled") })
		settled(t, c, 0)
	})
	t.Run("deaf", func(t *testing.T) {
		c := mustOpen(t, spec(t, "deaf"))
		c.graces.abandoned = 100 * time.Millisecond
		id := plugintest.Load(t, c, b.Bases())
		buf, err := c.Alloc(ctx, 320)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		jobs := []backend.Job{{Bases: id, Count: 1000, Input: backend.Input{Bytes: b.Scalars[:32000]}},
			{Bases: id, Count: 10, Input: backend.Input{Bytes: buf.Bytes()}}}
		begin := time.Now()
		if _, err := c.MSM(short, jobs); err != context.DeadlineExceeded {
			t.Error(err)
		}
		buf.Free() // it must not wait for a deaf plugin
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("returned after %v", d)
		}
		time.Sleep(50 * time.Millisecond)
		if c.pool.InUse() < 36000 {
			t.Error("memory that the plugin still reads was given back")
		}
		c.Close()
		if use := c.pool.InUse(); use != 0 {
			t.Errorf("%d bytes in use after Close", use)
		}
	})
	t.Run("load", func(t *testing.T) {
		s := spec(t, "")
		s.StagingBytes = 3 << 16
		c := mustOpen(t, s)
		running, cancel := context.WithCancel(ctx)
		pieces := func(yield func([]byte, error) bool) {
			for at := 0; at < len(b.Points); at += 1 << 16 {
				if at > 1<<20 {
					cancel()
				}
				if !yield(b.Points[at:min(at+1<<16, len(b.Points))], nil) {
					return
				}
			}
		}
		if _, err := c.LoadBases(running, backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n,
			Pieces: pieces}); err != context.Canceled {
			t.Error(err)
		}
		c.outside.Wait()
		plugintest.Eventually(t, time.Minute, "staging is given back", func() bool { return c.staging.InUse() == 0 })
		plugintest.Check(t, c, 1000)
	})
}

func TestLoadBases(t *testing.T) {
	s := spec(t, "")
	s.StagingBytes = 3 << 16
	c := mustOpen(t, s)
	const n = 30_000 // 1.9 MB through 192 KiB
	b := plugintest.NewBN(n)
	file, err := os.Create(filepath.Join(t.TempDir(), "bases"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(append(make([]byte, 123), b.Points...)); err != nil {
		t.Fatal(err)
	}
	ragged := func(yield func([]byte, error) bool) {
		for at, step := 0, 1; at < len(b.Points); step = step*3 + 1 {
			to := min(at+step, len(b.Points))
			p := bytes.Clone(b.Points[at:to])
			if !yield(p, nil) {
				return
			}
			clear(p) // it is valid only until the next one is asked for
			at = to
		}
	}
	base := b.Bases()
	base.Bytes = nil
	from := func(f func(*backend.Bases)) backend.Bases {
		x := base
		f(&x)
		return x
	}
	sources := map[string]backend.Bases{
		"bytes":  b.Bases(),
		"file":   from(func(x *backend.Bases) { x.File, x.FileOffset = file, 123 }),
		"pieces": from(func(x *backend.Bases) { x.Pieces = ragged }),
	}
	var wg sync.WaitGroup
	for name, src := range sources {
		for range 3 { // together they need more slots than there are
			wg.Go(func() {
				id, err := c.LoadBases(ctx, src)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: b.Scalars}}})
				if err != nil || !bytes.Equal(got[0], b.Want()) {
					t.Errorf("%s: wrong answer (%v)", name, err)
				}
			})
		}
	}
	wg.Wait()
	if use := c.staging.InUse(); use != 0 {
		t.Errorf("%d bytes of staging in use", use)
	}
	boom := errors.New("disk on fire")
	for name, c2 := range map[string]struct {
		b    backend.Bases
		want error
	}{
		"source fails": {from(func(x *backend.Bases) {
			x.Pieces = func(yield func([]byte, error) bool) { _ = yield(b.Points[:100_000], nil) && yield(nil, boom) }
		}), boom},
		"too short": {from(func(x *backend.Bases) {
			x.Pieces = func(yield func([]byte, error) bool) { yield(b.Points[:100], nil) }
		}), backend.ErrInvalidInput},
		"too long": {from(func(x *backend.Bases) {
			x.Pieces = func(yield func([]byte, error) bool) {
				for range 2 {
					if !yield(b.Points, nil) {
						return
					}
				}
			}
		}), backend.ErrInvalidInput},
		"short file":    {from(func(x *backend.Bases) { x.File, x.FileOffset = file, 124 }), backend.ErrInvalidInput},
		"length":        {from(func(x *backend.Bases) { x.Bytes = b.Points[1:] }), backend.ErrInvalidInput},
		"unknown curve": {from(func(x *backend.Bases) { x.Bytes, x.Curve = b.Points, 77 }), backend.ErrInvalidInput},
	} {
		if _, err := c.LoadBases(ctx, c2.b); !errors.Is(err, c2.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.outside.Wait()
	if use := c.staging.InUse(); use != 0 {
		t.Errorf("%d bytes of staging in use after errors", use)
	}
	plugintest.Check(t, c, 100)
}

// TestFileIsReadByPlugin: the plugin gets the file's descriptor, for reading only.
func TestFileIsReadByPlugin(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "bases"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ro, err := readOnly(file)
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	if _, err := ro.Write([]byte{1}); err == nil {
		t.Error("the plugin could write to the bases file")
	}
	if _, err := ro.ReadAt(make([]byte, 1), 0); err != io.EOF {
		t.Errorf("reading: %v", err)
	}
}

// TestHalfLoad: the backend gives up in the middle of the bases.
func TestHalfLoad(t *testing.T) {
	s := spec(t, "half-load")
	s.StagingBytes = 3 << 14
	c := mustOpen(t, s)
	b := plugintest.NewBN(50_000)
	if _, err := c.LoadBases(ctx, b.Bases()); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("%v", err)
	}
	if use := c.staging.InUse(); use != 0 {
		t.Errorf("%d bytes of staging in use", use)
	}
}

// TestHints: the backend gets each hint as it was given.
func TestHints(t *testing.T) {
	c := mustOpen(t, spec(t, "hints"))
	for _, hints := range []backend.Hints{{}, {Check: true}, {Multiples: 7}, {Uniform: true}} {
		b := plugintest.NewBN(10).Bases()
		b.Hints = hints
		if _, err := c.LoadBases(ctx, b); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%+v", hints)) {
			t.Errorf("%+v: %v", hints, err)
		}
	}
}

func TestConcurrentCalls(t *testing.T) {
	s := spec(t, "")
	s.Budget = 8 << 20
	c := mustOpen(t, s)
	const n = 40_000
	b := plugintest.NewBN(n)
	id := plugintest.Load(t, c, b.Bases())
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 6 {
				count := 1 + (g*7919+i*104729)%n
				run, cancel := ctx, context.CancelFunc(func() {})
				if i == 3 {
					run, cancel = context.WithTimeout(ctx, time.Millisecond)
				}
				got, err := c.MSM(run, []backend.Job{
					{Bases: id, Count: count, Input: backend.Input{Bytes: b.Scalars[:32*count]}},
					{Bases: id, Offset: n - count, Count: count, SameAs: 1},
				})
				cancel()
				switch {
				case i == 3 && errors.Is(err, context.DeadlineExceeded):
				case err != nil:
					t.Error(err)
				case !bytes.Equal(got[0], b.WantOf(0, count, b.Scalars[:32*count])),
					!bytes.Equal(got[1], b.WantOf(n-count, count, b.Scalars[:32*count])):
					t.Error("wrong answer")
				}
			}
		})
	}
	wg.Wait()
	settled(t, c, 0)
}

func TestOutOfSharedMemory(t *testing.T) {
	s := spec(t, "")
	s.Budget = 4 << 20
	c := mustOpen(t, s)
	b := plugintest.NewBN(200_000)
	id := plugintest.Load(t, c, b.Bases())
	_, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 200_000, Input: backend.Input{Bytes: b.Scalars}}})
	if !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("%v", err)
	}
	if _, err := c.Alloc(ctx, 5<<20); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("%v", err)
	}
	got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 50_000, Input: backend.Input{Bytes: b.Scalars[:32*50_000]}}})
	if err != nil || !bytes.Equal(got[0], b.WantOf(0, 50_000, b.Scalars[:32*50_000])) {
		t.Errorf("smaller work after it: %v", err)
	}
}

// TestArenasAreGivenUp: an arena that the pool drops is unmapped by the plugin too.
func TestArenasAreGivenUp(t *testing.T) {
	s := spec(t, "dumps") // its memory is looked at
	s.Budget = 8 << 20
	c := mustOpen(t, s)
	b := plugintest.NewBN(200_000)
	id := plugintest.Load(t, c, b.Bases())
	for _, n := range []int{10, 60_000, 100_000, 200_000} {
		if _, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: b.Scalars[:32*n]}}}); err != nil {
			t.Fatal(err)
		}
		settled(t, c, 0)
	}
	c.outside.Wait()
	mapped := func() int {
		m, err := os.ReadFile("/proc/" + processOf(c).ID() + "/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(m), "pippin-arena")
	}
	c.arenas.mu.Lock()
	want, last := len(c.arenas.attached), slices.Max(slices.Collect(maps.Keys(c.arenas.attached)))
	c.arenas.mu.Unlock()
	if want == int(last) || want == 0 {
		t.Fatalf("no arena was given up: %d attached", want)
	}
	if got := mapped(); got != want {
		t.Errorf("%d arenas mapped at the plugin, want %d", got, want)
	}
}

func TestBackendFails(t *testing.T) {
	b := plugintest.NewBN(10)
	for mode, says := range map[string]string{
		"panic":     "panicked: in the middle of a call",
		"crash":     "panic: in a goroutine of the backend",
		"odd-error": "unexpected error",
		"gone":      "backend gone",
	} {
		t.Run(mode, func(t *testing.T) {
			c := mustOpen(t, spec(t, mode))
			id := plugintest.Load(t, c, b.Bases())
			_, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 10, Input: backend.Input{Bytes: b.Scalars}}})
			if !errors.Is(err, backend.ErrGone) || !strings.Contains(err.Error(), says) {
				t.Errorf("want ErrGone that says %q: %v", says, err)
			}
			begin := time.Now()
			if _, err := c.MSM(ctx, nil); !errors.Is(err, backend.ErrGone) {
				t.Errorf("afterwards: %v", err)
			}
			if _, err := c.Run(ctx, nil); !errors.Is(err, backend.ErrGone) {
				t.Errorf("afterwards: %v", err)
			}
			if _, err := c.LoadBases(ctx, b.Bases()); !errors.Is(err, backend.ErrGone) {
				t.Errorf("afterwards: %v", err)
			}
			if d := time.Since(begin); d > 20*time.Second { // no call waits for an answer
				t.Errorf("ErrGone took %v", d)
			}
			settled(t, c, 0)
		})
	}
}

func TestNonsense(t *testing.T) {
	b := plugintest.NewBN(10)
	id := backend.BasesID(7)
	call := func(jobs ...backend.Job) func(*Client) error {
		return func(c *Client) error {
			if _, err := c.LoadBases(ctx, b.Bases()); err != nil {
				return err
			}
			_, err := c.MSM(ctx, jobs)
			return err
		}
	}
	job := backend.Job{Bases: id, Count: 10, Input: backend.Input{Bytes: b.Scalars}}
	run := func(steps ...backend.Step) func(*Client) error {
		return func(c *Client) error {
			if _, err := c.NewSpace(ctx, backend.ScalarOf(backend.BN254), 1000); err != nil {
				t.Error(err)
			}
			_, err := c.Run(ctx, steps)
			return err
		}
	}
	write := backend.Write{Dst: backend.Range{Space: 3, Count: 1}, Input: backend.Input{Bytes: make([]byte, 32)}}
	read := func(n int) backend.Step { return backend.Read{Src: backend.Range{Space: 3, Count: n}} }
	for name, f := range map[string]func(*Client) error{
		"short point": call(job),
		"no points":   call(job, job),
		"acknowledged what was not sent": func(c *Client) error {
			x := plugintest.NewBN(3)
			_, err := c.LoadBases(ctx, x.Bases())
			return err
		},
		"id twice": func(c *Client) error {
			if _, err := c.LoadBases(ctx, b.Bases()); err != nil {
				t.Error(err)
			}
			_, err := c.LoadBases(ctx, b.Bases())
			return err
		},
		"space of no id": func(c *Client) error {
			_, err := c.NewSpace(ctx, backend.ScalarOf(backend.BN254), 1)
			return err
		},
		"space of an id that there is": func(c *Client) error {
			if _, err := c.NewSpace(ctx, backend.ScalarOf(backend.BN254), 4); err != nil {
				t.Error(err)
			}
			_, err := c.NewSpace(ctx, backend.ScalarOf(backend.BN254), 4)
			return err
		},
		"answers to nothing":  run(read(1)),
		"too few answers":     run(read(1), read(1)),
		"too long an answer":  run(write, write, read(1)),
		"too short an answer": run(write, write, read(1), read(1)),
		"unimplemented": func(c *Client) error {
			if _, err := c.LoadBases(ctx, b.Bases()); err != nil {
				t.Error(err)
			}
			return c.FreeBases(ctx, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := mustOpen(t, spec(t, "nonsense"))
			if err := f(c); !errors.Is(err, backend.ErrGone) {
				t.Errorf("%v", err)
			}
			// A given up load is cleaned up after the call has returned.
			plugintest.Eventually(t, time.Minute, "staging is given back", func() bool { return c.staging.InUse() == 0 })
			settled(t, c, 0)
		})
	}
}
