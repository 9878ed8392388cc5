package cuda

import (
	"context"
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/backend/cuda/device"
	"github.com/pippin-zk/pippin/backend/cuda/msm"
	"github.com/pippin-zk/pippin/backend/cuda/vector"
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
	// Trace, when set, is told how long the stages of each turn of a call took on
	// the device, in order, with the call's context. Usage has their sums then. It
	// costs an event a stage.
	Trace func(ctx context.Context, stages []backend.StageUsage)
}

// Backend is one card.
type Backend struct {
	dev     *device.Device
	msm     *msm.Computer
	vectors *vector.Computer
	info    backend.Info
	kept    *backendutil.Residents[*msm.Bases, *vector.Space]
	gone    chan struct{} // closed when the card is lost, or by Close
}

var (
	_ backend.Backend = (*Backend)(nil)
	_ backend.Vectors = (*Backend)(nil)
	_ backend.Metered = (*Backend)(nil)
)

// Open opens a device. Where there is none, no driver or no support in this
// program, the error wraps backend.ErrUnavailable and says what to do.
func Open(o Options) (*Backend, error) {
	if err := layout.Check(); err != nil {
		return nil, err
	}
	dev, err := device.Open(o.Device, device.Options{Memory: o.Memory, Trace: o.Trace})
	if err != nil {
		return nil, err
	}
	computer, err := msm.New(dev)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	b := &Backend{
		dev: dev, msm: computer, vectors: vector.New(dev, computer), kept: backendutil.NewResidents[*msm.Bases, *vector.Space]("cuda"), gone: make(chan struct{}),
		info: backend.Info{
			Name: "cuda", Version: "kernels " + kernels.Digest(), InProcess: true, Can: backend.Capabilities{MSM: backend.CurveGroups(), Vectors: backend.Curves()},
			Devices: []backend.Device{describe(dev)},
		},
	}
	go func() {
		defer close(b.gone)
		select {
		case <-dev.Driver().Lost():
		case <-b.kept.Done():
		}
	}()
	return b, nil
}

func describe(dev *device.Device) backend.Device {
	info, memory := dev.Driver().Info(), dev.Budget()
	return backend.Device{
		Name: info.Name, Memory: uint64(memory),
		Detail: fmt.Sprintf("%v, kernels %s, %d MiB to compute with", info, kernels.Digest(), memory>>20),
	}
}

// Info describes the device; Memory is what may be used of it.
func (b *Backend) Info() backend.Info { return b.info }

// Usage is how long calls had the device, and waited for it.
func (b *Backend) Usage() backend.Usage {
	use, stages := b.dev.Usage()
	return backend.Usage{Devices: []backend.DeviceUsage{use}, Stages: stages}
}

// Done is closed when the device is lost to this process, which only a new
// process mends, or by Close.
func (b *Backend) Done() <-chan struct{} { return b.gone }

// Ping asks for nothing of the device: it says whether it was lost.
func (b *Backend) Ping(ctx context.Context) error {
	if err := b.kept.Ping(ctx); err != nil {
		return err
	}
	return b.dev.Driver().Err()
}

// AttachArena makes shared memory readable by the device itself, so that what
// lies in it is not copied on the host; the mapping may be read-only. It is a
// matter of speed: an error means that the memory is read the slow way. The
// caller calls detach before it unmaps the memory, and not while a call uses it.
func (b *Backend) AttachArena(memory []byte) (detach func(), err error) {
	end, err := b.kept.Begin()
	if err != nil {
		return nil, err
	}
	defer end()
	h, err := b.dev.Driver().RegisterHost(memory, true)
	if err != nil {
		return nil, err
	}
	return func() { _ = h.Free() }, nil // its failure is the device's, which the next call reports
}

// LoadBases copies bases to the device, or keeps them in host memory where it has
// no room.
func (b *Backend) LoadBases(ctx context.Context, bases backend.Bases) (_ backend.BasesID, err error) {
	end, err := b.kept.Begin()
	if err != nil {
		return 0, err
	}
	defer end()
	defer backendutil.Caught(&err)
	if err := backend.Ended(ctx); err != nil {
		return 0, err
	}
	if err := bases.Validate(); err != nil {
		return 0, err
	}
	kept, err := b.msm.Load(ctx, &bases)
	if err != nil {
		return 0, err
	}
	return b.kept.AddBases(kept.Loaded, kept), nil
}

// FreeBases releases bases once the calls that use them have ended.
func (b *Backend) FreeBases(ctx context.Context, id backend.BasesID) error {
	end, err := b.kept.Begin()
	if err != nil {
		return err
	}
	defer end()
	return b.kept.FreeBases(ctx, id, (*msm.Bases).Free)
}

// MSM computes a batch. Calls take turns on the device.
func (b *Backend) MSM(ctx context.Context, jobs []backend.Job) (_ [][]byte, err error) {
	end, err := b.kept.Begin()
	if err != nil {
		return nil, err
	}
	defer end()
	defer backendutil.Caught(&err)
	used, err := b.kept.UseJobs(jobs)
	if err != nil {
		return nil, err
	}
	defer b.kept.EndJobs(used)
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}
	work := make([]msm.Job, len(jobs))
	for i := range jobs {
		work[i] = msm.Job{Job: &jobs[i], Source: backendutil.Source(jobs, i), Bases: used[i].Kept}
	}
	return b.msm.Compute(ctx, work)
}

// NewSpace takes device memory for elements.
func (b *Backend) NewSpace(ctx context.Context, curve backend.Curve, count int) (_ backend.SpaceID, err error) {
	end, err := b.kept.Begin()
	if err != nil {
		return 0, err
	}
	defer end()
	defer backendutil.Caught(&err)
	s, err := b.vectors.NewSpace(ctx, curve, count)
	if err != nil {
		return 0, err
	}
	return b.kept.AddSpace(s.Loaded, s), nil
}

// FreeSpace wipes a space once the programs that use it have ended.
func (b *Backend) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	end, err := b.kept.Begin()
	if err != nil {
		return err
	}
	defer end()
	return b.kept.FreeSpace(ctx, id, (*vector.Space).Free)
}

// Run runs a program. Programs and MSMs take turns on the device.
func (b *Backend) Run(ctx context.Context, steps []backend.Step) (_ [][]byte, err error) {
	end, err := b.kept.Begin()
	if err != nil {
		return nil, err
	}
	defer end()
	defer backendutil.Caught(&err)
	used, err := b.kept.UseSteps(steps)
	if err != nil {
		return nil, err
	}
	defer b.kept.EndSteps(used)
	return b.vectors.Run(ctx, steps, vector.Used{
		Space: func(id backend.SpaceID) *vector.Space { return used.Spaces[id].Kept },
		Bases: func(id backend.BasesID) *msm.Bases { return used.Bases[id].Kept },
	})
}

// Close waits for the calls in flight and gives everything back.
func (b *Backend) Close() error {
	bases, spaces, first := b.kept.Close()
	if !first {
		return nil
	}
	var errs []error
	for _, kept := range bases {
		errs = append(errs, kept.Free())
	}
	for _, kept := range spaces {
		errs = append(errs, kept.Free())
	}
	return errors.Join(append(errs, b.vectors.Close(), b.msm.Close(), b.dev.Close())...)
}
