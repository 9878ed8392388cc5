//go:build linux

package plugin

import (
	"bytes"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// count returns how many lanes a client has opened.
func (l *lanes) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// busy returns how many lanes are used by calls.
func (l *lanes) busy() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened - len(l.free)
}

// TestLanes: a single caller has one lane, and many callers have no more than is allowed. All get
// their own answers. A request without room goes through gRPC.
func TestLanes(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	x := plugintest.NewBN(1000)
	id := plugintest.Load(t, c, x.Bases())
	one := func(from, n int) bool {
		scalars := x.Scalars[32*from : 32*(from+n)]
		got, err := c.MSM(ctx, []backend.Job{{Bases: id, Offset: from, Count: n, Input: backend.Input{Bytes: scalars}}})
		if err != nil {
			t.Error(err)
			return false
		}
		return bytes.Equal(got[0], x.WantOf(from, n, scalars))
	}
	for i := range 50 {
		if !one(i, 1+i) {
			t.Fatal("a wrong answer")
		}
	}
	if n := c.lanes.count(); n != 1 {
		t.Errorf("%d lanes for one caller", n)
	}
	var callers sync.WaitGroup
	for k := range 4 * mostLanes {
		callers.Go(func() {
			for i := range 30 {
				if !one(k+i, 1+k) {
					t.Error("a wrong answer")
				}
			}
		})
	}
	callers.Wait()
	if n := c.lanes.count(); n < 2 || n > mostLanes {
		t.Errorf("%d lanes for %d callers", n, 4*mostLanes)
	}
	jobs := make([]backend.Job, wire.LaneRoom/64) // their answers alone are too long
	for i := range jobs {
		jobs[i] = backend.Job{Bases: id, Offset: i, Count: 2, Input: backend.Input{Bytes: x.Scalars[32*i : 32*(i+2)]}}
	}
	got, err := c.MSM(ctx, jobs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		if !bytes.Equal(got[i], x.WantOf(i, 2, jobs[i].Bytes)) {
			t.Fatalf("answer %d of %d is wrong", i, len(jobs))
		}
	}
}

// TestInstrumentedCalls: with options of gRPC, calls go through gRPC.
func TestInstrumentedCalls(t *testing.T) {
	s := spec(t, "")
	s.GRPC = []grpc.DialOption{grpc.WithUserAgent("test")}
	c := mustOpen(t, s)
	plugintest.Check(t, c, 10)
	if n := c.lanes.count(); n != 0 {
		t.Errorf("%d lanes", n)
	}
}
