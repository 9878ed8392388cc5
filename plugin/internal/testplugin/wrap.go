package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
)

// wrapped misbehaves in its calls.
type wrapped struct {
	*fake.Backend
	mode string
}

func wrap(mode string, b *fake.Backend) backend.Backend {
	switch mode {
	case "panic", "crash", "deaf", "odd-error", "gone", "half-load", "blames", "late", "hints":
		return &wrapped{b, mode}
	}
	return b
}

func (w *wrapped) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	if err := w.misbehave(); err != nil {
		return nil, err
	}
	return w.Backend.MSM(ctx, jobs)
}

func (w *wrapped) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	if first, ok := steps[0].(backend.Write); ok && w.mode == "late" && first.Bytes[0] == 1 {
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond) // it is cancelled and runs on
		return w.Backend.Run(context.WithoutCancel(ctx), steps)
	}
	if err := w.misbehave(); err != nil {
		return nil, err
	}
	return w.Backend.Run(ctx, steps)
}

// misbehave does what the mode says, in the middle of a call.
func (w *wrapped) misbehave() error {
	switch w.mode {
	case "panic":
		panic("in the middle of a call")
	case "crash":
		go func() { panic("in a goroutine of the backend") }()
		time.Sleep(time.Hour)
	case "deaf":
		time.Sleep(time.Hour) // also to its context
	case "odd-error":
		return os.ErrDeadlineExceeded
	case "gone":
		return backend.ErrGone
	case "blames":
		return fmt.Errorf("%w: it was the caller", backend.ErrInvalidInput)
	}
	return nil
}

func (w *wrapped) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	if w.mode == "half-load" {
		for range b.All() {
			return 0, backend.ErrOutOfMemory
		}
	}
	if w.mode == "hints" {
		return 0, fmt.Errorf("%w: %+v", backend.ErrInvalidInput, b.Hints)
	}
	return w.Backend.LoadBases(ctx, b)
}
