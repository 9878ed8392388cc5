package device

import (
	"errors"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
)

// code is the kernels on a device, loaded unit by unit when first needed.
type code struct {
	dev *driver.Device

	mu      sync.Mutex
	modules map[string]*driver.Module
	kernels map[string]*driver.Function
}

// Kernel is a kernel with parameters P that is ready to launch, with the threads
// of its block.
type Kernel[P kernels.Params] struct {
	*driver.Function
	Threads int
}

func newCode(dev *driver.Device) *code {
	return &code{dev: dev, modules: make(map[string]*driver.Module), kernels: make(map[string]*driver.Function)}
}

// Load loads a kernel, once. It needs no turn. Where there is no code for this
// card, the error wraps backend.ErrUnavailable and says what to do.
func Load[P kernels.Params](d *Device, k kernels.Kernel[P]) (Kernel[P], error) {
	f, err := d.code.kernel(k.Entry)
	return Kernel[P]{f, k.Threads}, err
}

func (c *code) kernel(e kernels.Entry) (*driver.Function, error) {
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
			return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		}
		if m, err = c.dev.LoadModule(image); err != nil {
			return nil, fmt.Errorf("unit %s: %w", e.Unit, err)
		}
		c.modules[e.Unit] = m
	}
	f, err := m.Function(e.Symbol)
	if err != nil {
		return nil, err
	}
	c.kernels[e.Symbol] = f
	return f, nil
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

// Launch starts the kernel with enough threads for items in x, and sets in y.
func (k *Kernel[P]) Launch(s *driver.Stream, items, sets int, p P) error {
	blocks := (items + k.Threads - 1) / k.Threads
	if blocks == 0 {
		return nil
	}
	return k.LaunchShaped(s, driver.Launch{Grid: driver.Dim{X: blocks, Y: sets}, Block: driver.Dim{X: k.Threads}}, p)
}

// LaunchShaped starts the kernel in a shape of its own.
func (k *Kernel[P]) LaunchShaped(s *driver.Stream, l driver.Launch, p P) error {
	words := p.Words()
	params := make([]driver.Param, len(words))
	for i, w := range words {
		params[i] = driver.Param(w)
	}
	return k.Function.Launch(s, l, params...)
}

// Address is where memory begins, for a kernel.
func Address(s driver.Span) kernels.Pointer { return kernels.Pointer(s.Param()) }
