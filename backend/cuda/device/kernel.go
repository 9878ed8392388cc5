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
	kernels map[string]Kernel
}

// Kernel is a kernel that is ready to launch, with the threads of its block.
type Kernel struct {
	*driver.Function
	Threads int
}

func newCode(dev *driver.Device) *code {
	return &code{dev: dev, modules: make(map[string]*driver.Module), kernels: make(map[string]Kernel)}
}

// Kernel loads a kernel, once. It needs no turn. Where there is no code for this
// card, the error wraps backend.ErrUnavailable.
func (d *Device) Kernel(e kernels.Entry) (Kernel, error) { return d.code.kernel(e) }

func (c *code) kernel(e kernels.Entry) (Kernel, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.kernels[e.Symbol]; ok {
		return f, nil
	}
	m, ok := c.modules[e.Unit]
	if !ok {
		image, err := kernels.Image(e.Unit)
		if err != nil {
			return Kernel{}, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		}
		if m, err = c.dev.LoadModule(image); err != nil {
			return Kernel{}, fmt.Errorf("unit %s: %w", e.Unit, err)
		}
		c.modules[e.Unit] = m
	}
	f, err := m.Function(e.Symbol)
	if err != nil {
		return Kernel{}, err
	}
	c.kernels[e.Symbol] = Kernel{f, e.Threads}
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

// Launch starts the kernel with enough threads for items in x, and sets in y.
func (k Kernel) Launch(s *driver.Stream, items int64, sets int, params ...driver.Param) error {
	blocks := (items + int64(k.Threads) - 1) / int64(k.Threads)
	if blocks == 0 {
		return nil
	}
	return k.Function.Launch(s, driver.Launch{Grid: driver.Dim{X: int(blocks), Y: sets}, Block: driver.Dim{X: k.Threads}}, params...)
}
