// Package fake is a backend for tests of the plugin layer: its "points" are
// digests of the bytes that an MSM would read, so that one wrong byte on the
// way shows, without any arithmetic.
package fake

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// Backend keeps copies of its bases. The fields are set before use.
type Backend struct {
	// Step is how many scalars are waited for at a time; 0 is all.
	Step int
	// Delay is slept in every MSM, or until its context ends.
	Delay time.Duration
	// Room is how many bytes of bases there may be; 0 is no limit.
	Room int64
	// Started is called at the start of an MSM, Cancelled when its context
	// ended first.
	Started, Cancelled func()

	mu        sync.Mutex
	bases     map[backend.BasesID]loaded
	last      backend.BasesID
	spaces    map[backend.SpaceID]space
	lastSpace backend.SpaceID
	closed    bool
	tested    atomic.Bool
	// Arenas counts the attached arenas, Files the loads from a file, Pieces
	// those of the others.
	Arenas, Files, Pieces atomic.Int64
}

type loaded struct {
	backend.Elements
	bytes []byte
}

// Info implements backend.Backend.
func (b *Backend) Info() backend.Info {
	return backend.Info{
		Name: "fake", Version: "1", InProcess: true, Can: backend.Capabilities{
			MSM: backend.CurveGroups(), Elements: backend.SpaceElements(), Numbers: backend.NumberOps(),
		},
		Devices: []backend.Device{{Name: "sha256", Memory: 1 << 40, Detail: fmt.Sprintf("%d arenas, %d files, %d pieces",
			b.Arenas.Load(), b.Files.Load(), b.Pieces.Load())}},
	}
}

// Ping implements backend.Backend.
func (b *Backend) Ping(ctx context.Context) error { return backend.Ended(ctx) }

// Usage implements backend.Metered: what no backend counts, so that it is known
// again.
func (b *Backend) Usage() backend.Usage {
	retired := ""
	if b.tested.Load() {
		retired = "tested"
	}
	return backend.Usage{
		Devices: []backend.DeviceUsage{{Busy: time.Minute, Waited: time.Second, Calls: 7, Energy: 1234, Multiples: 4096, Retired: retired}},
		Stages:  []backend.StageUsage{{Name: "digest", Busy: time.Hour}},
	}
}

// Test implements backend.Tester: it retires the device.
func (b *Backend) Test(ctx context.Context) error {
	b.tested.Store(true)
	return backend.Ended(ctx)
}

// Done implements backend.Backend: a fake goes only with its process.
func (b *Backend) Done() <-chan struct{} { return nil }

// LoadBases implements backend.Backend.
func (b *Backend) LoadBases(ctx context.Context, bases backend.Bases) (backend.BasesID, error) {
	if err := bases.Validate(); err != nil {
		return 0, err
	}
	if bases.File != nil {
		b.Files.Add(1)
	}
	if !b.fits(bases.Size()) {
		return 0, fmt.Errorf("%w: %d bytes of bases", backend.ErrOutOfMemory, bases.Size())
	}
	l := loaded{Elements: bases.Elements()}
	for p, err := range bases.All() {
		if err != nil {
			return 0, err
		}
		b.Pieces.Add(1)
		l.bytes = append(l.bytes, p...)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bases == nil {
		b.bases = map[backend.BasesID]loaded{}
	}
	b.last++
	b.bases[b.last] = l
	return b.last, nil
}

// fits reports whether there is room for more bases.
func (b *Backend) fits(size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.bases {
		size += int64(len(l.bytes))
	}
	return b.Room == 0 || size <= b.Room
}

// Bases returns how many sets of bases there are.
func (b *Backend) Bases() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.bases)
}

// FreeBases implements backend.Backend.
func (b *Backend) FreeBases(_ context.Context, id backend.BasesID) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.bases[id]; !ok {
		return fmt.Errorf("%w: bases %d", backend.ErrInvalidInput, id)
	}
	delete(b.bases, id)
	return nil
}

// MSM implements backend.Backend.
func (b *Backend) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	return b.Run(ctx, backend.Steps(jobs))
}

// pause waits for Delay.
func (b *Backend) pause(ctx context.Context) {
	if b.Delay > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(b.Delay):
		}
	}
}

// read takes an input of count elements as it comes.
func (b *Backend) read(ctx context.Context, in backend.Input, count int, to io.Writer) error {
	step := b.Step
	if step <= 0 {
		step = max(count, 1)
	}
	size := len(in.Bytes) / max(count, 1)
	for at := 0; at < count; at += step {
		end := min(at+step, count)
		if err := in.Wait(ctx, end); err != nil {
			if ctx.Err() != nil && b.Cancelled != nil {
				b.Cancelled()
			}
			return err
		}
		_, _ = to.Write(in.Bytes[at*size : end*size])
	}
	if err := ctx.Err(); err != nil {
		if b.Cancelled != nil {
			b.Cancelled()
		}
		return err
	}
	return nil
}

// Point returns the answer for bases and the SHA-256 of the scalars.
func Point(l backend.Elements, bases []byte, offset, count int, scalars []byte) []byte {
	size := l.Bytes()
	h := sha256.New()
	h.Write(bases[offset*size : (offset+count)*size])
	h.Write(scalars)
	return stretch(h.Sum(nil), size)
}

// stretch returns size bytes that follow from a digest.
func stretch(sum []byte, size int) []byte {
	out := make([]byte, 0, size+32)
	for i := uint32(0); len(out) < size; i++ {
		part := sha256.Sum256(binary.LittleEndian.AppendUint32(sum[:32:32], i))
		out = append(out, part[:]...)
	}
	return out[:size]
}

// AttachArena lets a plugin tell of shared memory.
func (b *Backend) AttachArena(mem []byte) (func(), error) {
	b.Arenas.Add(1)
	return func() { b.Arenas.Add(-1) }, nil
}

// Close implements backend.Backend.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}
