package cuda

import (
	"errors"

	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// arena is shared memory that the cards read by themselves. One card has registered it for all of
// them.
type arena struct {
	memory []byte
	hosts  []*driver.Host // one for each card that has registered it; under Backend.mu
}

// register registers the memory with the first card that can, for all cards. A lost card has taken
// its registration with it, so that another must register the memory again.
func (a *arena) register(on []*card) error {
	a.free()
	var errs []error
	for _, first := range on {
		h, err := first.Driver().RegisterHost(a.memory, true)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		a.hosts = append(a.hosts, h)
		for _, c := range on {
			if c != first {
				a.hosts = append(a.hosts, c.Driver().ShareHost(h))
			}
		}
		return nil
	}
	return errors.Join(errs...)
}

// free ends every registration.
func (a *arena) free() {
	for i := len(a.hosts) - 1; i >= 0; i-- {
		_ = a.hosts[i].Free() // if it fails, the device has failed, and the next call says so
	}
	a.hosts = nil
}

// AttachArena lets the devices read shared memory by themselves, so that the host need not copy
// what lies in it. The mapping may be read-only. It only matters for speed: after an error the
// memory is read the slow way. The caller calls detach before it unmaps the memory, and not while a
// call uses it.
func (b *Backend) AttachArena(memory []byte) (detach func(), err error) {
	end, err := b.kept.Begin()
	if err != nil {
		return nil, err
	}
	defer end()
	b.mu.Lock()
	defer b.mu.Unlock()
	_, on := b.liveLocked()
	if b.cause != nil {
		return nil, b.cause
	}
	a := &arena{memory: memory}
	if err := a.register(on); err != nil {
		return nil, err
	}
	b.arenas[a] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.arenas, a)
		a.free()
	}, nil
}
