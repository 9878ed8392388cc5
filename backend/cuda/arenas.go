package cuda

import (
	"errors"

	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// arena is shared memory that the cards read by themselves: one has registered it,
// and the others know.
type arena struct {
	memory []byte
	hosts  []*driver.Host // the one that registered it first; under Backend.mu
}

// register registers the memory with the first card that can do so, for all of them. A
// card that was lost has taken its registration with it.
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

// free ends what register began.
func (a *arena) free() {
	for i := len(a.hosts) - 1; i >= 0; i-- {
		_ = a.hosts[i].Free() // its failure is the device's, which the next call reports
	}
	a.hosts = nil
}

// AttachArena makes shared memory readable by the devices themselves, so that what
// lies in it is not copied on the host; the mapping may be read-only. It is a
// matter of speed: an error means that the memory is read the slow way. The
// caller calls detach before it unmaps the memory, and not while a call uses it.
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
