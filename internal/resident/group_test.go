package resident

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestGroup: all functions run, at the same time and before Wait returns, the last
// one on the caller's goroutine; a group may be used again, and be empty.
func TestGroup(t *testing.T) {
	var g Group
	for n := range 5 {
		var begun, ended atomic.Int64
		all := make(chan struct{})
		var last string
		for i := range n {
			g.Go(func() {
				if begun.Add(1) == int64(n) {
					close(all)
				}
				<-all // hangs unless the others run too
				if i == n-1 {
					last = goroutine()
				}
				ended.Add(1)
			})
		}
		g.Wait()
		if got := ended.Load(); got != int64(n) {
			t.Errorf("%d of %d have run", got, n)
		}
		if n > 0 && last != goroutine() {
			t.Errorf("the last of %d ran on %s, the caller is %s", n, last, goroutine())
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
	if err := guarded(func() error { panic("out of luck") }); !errors.Is(err, backend.ErrInternal) || !strings.Contains(err.Error(), "out of luck") {
		t.Error(err)
	}
}

// goroutine returns the name of the goroutine that calls it, such as "goroutine 7".
func goroutine() string {
	b := make([]byte, 64)
	name, _, _ := strings.Cut(string(b[:runtime.Stack(b, false)]), " [")
	return name
}
