package device

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
)

// code is the kernels on a device. Each unit is loaded when it is first needed.
type code struct {
	dev *driver.Device

	mu      sync.Mutex
	modules map[string]*driver.Module
	kernels map[string]loaded
}

// Kernel is a kernel with parameters P that is ready to launch. It knows how many threads its block
// has.
type Kernel[P kernels.Params] struct {
	*driver.Function
	Threads int

	stack int64         // bytes that a thread leaves behind
	left  *atomic.Int64 // Device.stack
}

func newCode(dev *driver.Device) *code {
	return &code{dev: dev, modules: make(map[string]*driver.Module), kernels: make(map[string]loaded)}
}

// Load loads a kernel and the kernel that overwrites its stacks, each once. It needs no turn. If
// there is no code for this card, the error wraps backend.ErrUnavailable and says what to do.
func Load[P kernels.Params](d *Device, k kernels.Kernel[P]) (Kernel[P], error) {
	f, err := d.code.kernel(k.Entry)
	if err != nil {
		return Kernel[P]{}, err
	}
	if _, err := d.eraser(f.stack); err != nil {
		return Kernel[P]{}, err
	}
	return Kernel[P]{f.Function, k.Threads, f.stack, &d.stack}, nil
}

// Load sets k to what the function Load returns. It is for lists of kernels.
func (k *Kernel[P]) Load(d *Device, of kernels.Kernel[P]) (err error) {
	*k, err = Load(d, of)
	return err
}

// loaded is a kernel with any parameters.
type loaded struct {
	*driver.Function
	stack int64
}

// kernel returns the function of an entry. For the first entry of a unit it loads the unit's module
// for this card.
func (c *code) kernel(e kernels.Entry) (loaded, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.kernels[e.Symbol]; ok {
		return f, nil
	}
	m, ok := c.modules[e.Unit]
	if !ok {
		on := c.dev.Info().Compute
		image, err := kernels.Image(e.Unit, on.Major, on.Minor)
		if err != nil {
			return loaded{}, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		}
		if m, err = c.dev.LoadModule(image); err != nil {
			return loaded{}, fmt.Errorf("unit %s: %w", e.Unit, err)
		}
		c.modules[e.Unit] = m
	}
	f, err := m.Function(e.Symbol)
	if err != nil {
		return loaded{}, err
	}
	// The table covers the architectures in the repository and the functions that the kernel calls.
	// The driver knows about this card.
	a, err := f.Attributes()
	if err != nil {
		return loaded{}, err
	}
	c.kernels[e.Symbol] = loaded{f, int64(max(e.Stack, a.Local))}
	return c.kernels[e.Symbol], nil
}

func (c *code) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, m := range c.modules {
		errs = append(errs, m.Close())
	}
	clear(c.modules)
	clear(c.kernels)
	return errors.Join(errs...)
}

// Launch launches the kernel with enough threads for items in x, and sets in y.
func (k *Kernel[P]) Launch(s *driver.Stream, items, sets int, p P) error {
	blocks := (items + k.Threads - 1) / k.Threads
	if blocks == 0 {
		return nil
	}
	return k.LaunchShaped(s, driver.Launch{Grid: driver.Dim{X: blocks, Y: sets}, Block: driver.Dim{X: k.Threads}}, p)
}

// LaunchShaped launches the kernel in the shape l.
func (k *Kernel[P]) LaunchShaped(s *driver.Stream, l driver.Launch, p P) error {
	words := p.Words()
	params := make([]driver.Param, len(words))
	for i, w := range words {
		params[i] = driver.Param(w)
	}
	for left := k.left.Load(); left < k.stack && !k.left.CompareAndSwap(left, k.stack); left = k.left.Load() {
	}
	return k.Function.Launch(s, l, params...)
}

// Address returns where memory begins, for a kernel.
func Address(s driver.Span) kernels.Pointer { return kernels.Pointer(s.Param()) }
