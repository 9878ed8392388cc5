package resident

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// TestGroup: all functions run, at the same time and before Wait returns, the last
// one on the caller's goroutine; a group may be used again, and be empty.
func TestGroup(t *testing.T) {
	var g Group
	var ended [5]atomic.Int64
	for n := range ended {
		var begun atomic.Int64
		all := make(chan struct{})
		var last string
		for i := range n {
			g.Go(func() {
				if begun.Add(1) == int64(n) {
					close(all)
				}
				select {
				case <-all:
				case <-time.After(5 * time.Second):
					t.Error("the others do not run at the same time")
				}
				if i == n-1 {
					last = goroutine()
				}
				ended[n].Add(1)
			})
		}
		g.Wait()
		if n > 0 && last != goroutine() {
			t.Errorf("the last of %d ran on %s, the caller is %s", n, last, goroutine())
		}
		for i := range ended {
			if got := ended[i].Load(); got != int64(i) && i <= n {
				t.Errorf("of %d functions %d have run", i, got)
			}
		}
	}
}

// TestCaught: a panic is an error of the backend, and anything else stays as it is.
func TestCaught(t *testing.T) {
	own := errors.New("own")
	guarded := func(f func() error) (err error) {
		defer Caught(&err)
		return f()
	}
	if err := guarded(func() error { return own }); err != own {
		t.Error(err)
	}
	err := guarded(func() error { panic("out of luck") })
	if !errors.Is(err, backend.ErrInternal) || !strings.Contains(err.Error(), "out of luck") {
		t.Error(err)
	}
}

// goroutine returns the name of the goroutine that calls it, such as "goroutine 7".
func goroutine() string {
	b := make([]byte, 64)
	name, _, _ := strings.Cut(string(b[:runtime.Stack(b, false)]), " [")
	return name
}
