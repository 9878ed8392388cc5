package resident

import (
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// Group runs functions, which do not panic, at the same time: the last one on the
// goroutine that waits for them all, so that where there is one nobody need be
// woken. The zero value is ready. Go and Wait are for one goroutine.
type Group struct {
	others sync.WaitGroup
	last   func()
}

// Go adds a function. It runs from the next Go or Wait on.
func (g *Group) Go(f func()) {
	if g.last != nil {
		g.others.Go(g.last)
	}
	g.last = f
}

// Wait runs the last function and returns when all have ended.
func (g *Group) Wait() {
	if g.last != nil {
		g.last()
	}
	g.others.Wait()
	g.last = nil
}

// Caught turns a panic of this goroutine into an error that wraps
// backend.ErrInternal. It is to be deferred.
func Caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: panic: %v", backend.ErrInternal, p)
	}
}
