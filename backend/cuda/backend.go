package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/kernels"
)

// Options of Open. The zero value is the default.
type Options struct {
	// Device is the ordinal of the device.
	Device int
	// Memory bounds the device memory for bases and work, in bytes: 0 is
	// what is free when the backend is opened, less a reserve for code.
	Memory int64
}

// reserve is device memory left to the driver: code, stacks of threads.
const reserve = 1 << 30

// Backend is one device.
type Backend struct {
	dev  *driver.Device
	code *code
	info backend.Info

	// turn is held by the call that uses the device's work memory: it is a
	// channel of one place, so that waiting ends with a context.
	turn  chan struct{}
	desk  *desk // under turn, like plans and trace
	plans map[input]*plan
	trace func(phases map[string]time.Duration)
	tune  func(*tuning) // changes the tables for tests; may be nil

	bases *backendutil.Residents[*resident]
	gone  chan struct{} // closed when the device is lost, or by Close

	mu     sync.Mutex
	budget int64 // bytes for bases and work
	used   int64 // bytes of bases and work
}

var _ backend.Backend = (*Backend)(nil)

// Open opens a device. Where there is none, no driver or no support in this
// program, the error wraps backend.ErrUnavailable and says what to do.
func Open(o Options) (*Backend, error) {
	if err := layout.Check(); err != nil {
		return nil, err
	}
	dev, err := driver.Open(o.Device, driver.Options{})
	if err != nil {
		return nil, err
	}
	b, err := newBackend(dev, o)
	if err != nil {
		dev.Close()
		return nil, err
	}
	return b, nil
}

func newBackend(dev *driver.Device, o Options) (*Backend, error) {
	free, _, err := dev.MemInfo()
	if err != nil {
		return nil, err
	}
	b := &Backend{
		dev: dev, code: newCode(dev),
		turn: make(chan struct{}, 1), plans: make(map[input]*plan), bases: backendutil.NewResidents[*resident]("cuda"),
		budget: max(free-reserve, free/2),
	}
	if o.Memory > 0 {
		b.budget = min(o.Memory, b.budget)
	}
	di := dev.Info()
	b.info = backend.Info{
		Name: "cuda", Version: "kernels " + kernels.Digest(), Can: backend.Capabilities{MSM: backend.CurveGroups()},
		Devices: []backend.Device{{
			Name: di.Name, Memory: uint64(b.budget),
			Detail: fmt.Sprintf("%v, kernels %s, %d MiB for MSMs", di, kernels.Digest(), b.budget>>20),
		}},
	}
	// Kernels that do not fit the device are found now, not in the first call.
	if err := b.code.prepare(); err != nil {
		return nil, err
	}
	b.desk, err = newDesk(dev)
	if err != nil {
		return nil, err
	}
	b.gone = make(chan struct{})
	go func() {
		defer close(b.gone)
		select {
		case <-b.dev.Lost():
		case <-b.bases.Done():
		}
	}()
	return b, nil
}

// Info describes the device; Memory is what MSMs may use of it.
func (b *Backend) Info() backend.Info { return b.info }

// Done is closed when the device is lost to this process, which only a new
// process mends, or by Close.
func (b *Backend) Done() <-chan struct{} { return b.gone }

// Ping asks for nothing of the device: it says whether it was lost.
func (b *Backend) Ping(ctx context.Context) error {
	select {
	case <-b.dev.Lost():
		return fmt.Errorf("%w: the device was lost", backend.ErrGone)
	default:
		return b.bases.Ping(ctx)
	}
}

// AttachArena makes shared memory readable by the device itself, so that what
// lies in it is not copied on the host; the mapping may be read-only. It is a
// matter of speed: an error means that the memory is read the slow way. The
// caller calls detach before it unmaps the memory, and not while a call uses it.
func (b *Backend) AttachArena(memory []byte) (detach func(), err error) {
	end, err := b.bases.Begin()
	if err != nil {
		return nil, err
	}
	defer end()
	h, err := b.dev.RegisterHost(memory, true)
	if err != nil {
		return nil, err
	}
	return func() { _ = h.Free() }, nil // its failure is the device's, which the next call reports
}

// take waits for the turn to use the work memory; give ends it.
func (b *Backend) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Backend) give() { <-b.turn }

// Close waits for the calls in flight and gives everything back.
func (b *Backend) Close() error {
	left, first := b.bases.Close()
	if !first {
		return nil
	}
	var errs []error
	for _, r := range left {
		errs = append(errs, r.free())
	}
	return errors.Join(append(errs, b.desk.close(), b.code.close(), b.dev.Close())...)
}
