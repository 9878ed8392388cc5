package proving

import "sync"

// Calls counts the calls in flight of what can be closed. The zero value is open.
type Calls struct {
	mu       sync.Mutex
	inFlight sync.WaitGroup // none begins after closed
	closed   bool
}

// Begin enters a call, which End leaves. It returns false once Close was called.
func (c *Calls) Begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.inFlight.Add(1)
	return true
}

// End leaves a call.
func (c *Calls) End() { c.inFlight.Done() }

// Closed reports whether Close was called.
func (c *Calls) Closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Close lets no further call begin, and waits for those in flight. It returns false if it was called
// before.
func (c *Calls) Close() (first bool) {
	c.mu.Lock()
	first = !c.closed
	c.closed = true
	c.mu.Unlock()
	c.inFlight.Wait()
	return first
}
