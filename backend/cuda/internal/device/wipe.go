package device

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/memory"
)

// unwiped is memory whose secrets could not be overwritten. It is given back once they are; else it ends
// with the context.
type unwiped struct {
	sync.Mutex
	kept []*driver.Memory
}

// overwrite overwrites all of a memory. It needs no turn.
func (d *Device) overwrite(m *driver.Memory) error {
	return errors.Join(d.wiper.Fill(m.Span(), 0), d.wiper.Synchronize())
}

// wiped gives back memory that was overwritten, or keeps it if err says that it was not. What was kept
// before is tried again.
func (d *Device) wiped(m *driver.Memory, err error) error {
	switch {
	case d.driver.Err() != nil: // a lost device's memory ends with the process
		return d.free(m)
	case err != nil:
		d.unwiped.Lock()
		defer d.unwiped.Unlock()
		d.unwiped.kept = append(d.unwiped.kept, m)
		return fmt.Errorf("%w; %d bytes of the card stay taken until they can be overwritten", err, m.Size())
	}
	d.retry()
	return d.free(m)
}

// retry gives back kept memory that can be overwritten now.
func (d *Device) retry() {
	d.unwiped.Lock()
	defer d.unwiped.Unlock()
	d.unwiped.kept = slices.DeleteFunc(d.unwiped.kept, func(m *driver.Memory) bool {
		return d.overwrite(m) == nil && d.free(m) == nil
	})
}

// eraser overwrites what threads leave behind: their stacks, up to a size, and the shared memory of
// all multiprocessors.
type eraser struct {
	kernel       Kernel[memory.Overwrite]
	stacks, wide driver.Launch
}

// eraser returns the eraser for stacks of that many bytes.
func (d *Device) eraser(stack int64) (*eraser, error) {
	k, ok := memory.Covering(int(stack))
	if !ok {
		return nil, fmt.Errorf("%w: a kernel leaves %d bytes of secrets on the stack of a thread, which "+
			"nothing overwrites: compile it so that it spills less",
			backend.ErrUnsupported, stack)
	}
	d.erasers.Lock()
	defer d.erasers.Unlock()
	if e, ok := d.erasers.of[k.Overwrite.Symbol]; ok {
		return e, nil
	}
	f, err := d.code.kernel(k.Overwrite.Entry)
	if err != nil {
		return nil, err
	}
	info := d.driver.Info()
	if err := f.SetMaxDynamicShared(info.SharedPerBlock); err != nil {
		return nil, err
	}
	blocks, err := f.Occupancy(k.Overwrite.Threads, 0)
	if err != nil {
		return nil, err
	}
	// The launch is cooperative: all blocks are there at the same time, so that they reach every
	// place on the device.
	block := driver.Dim{X: k.Overwrite.Threads}
	e := &eraser{
		kernel: Kernel[memory.Overwrite]{Function: f.Function, Threads: k.Overwrite.Threads, left: &d.stack},
		stacks: driver.Launch{Grid: driver.Dim{X: info.Multiprocessors * blocks}, Block: block, Cooperative: info.Cooperative},
		wide: driver.Launch{
			Grid: driver.Dim{X: info.Multiprocessors}, Block: block, Shared: info.SharedPerBlock, Cooperative: info.Cooperative,
		},
	}
	d.erasers.of[k.Overwrite.Symbol] = e
	return e, nil
}

// erase queues the overwriting of what kernels have left since the last time.
func (d *Device) erase(s *driver.Stream) error {
	stack := d.stack.Load()
	e, err := d.eraser(stack)
	if err != nil {
		return err
	}
	if stack > 0 {
		if err := e.kernel.LaunchShaped(s, e.stacks, memory.Overwrite{}); err != nil {
			return err
		}
	}
	if err := e.kernel.LaunchShaped(s, e.wide, memory.Overwrite{SharedWords: e.wide.Shared / 4}); err != nil {
		return err
	}
	d.stack.CompareAndSwap(stack, 0)
	return nil
}
