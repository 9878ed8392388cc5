package msm

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// Computer computes MSMs on one card. Its methods may be called concurrently;
// calls take turns on the card.
type Computer struct {
	dev *device.Device

	// For tests; both may be nil.
	tune    func(*msmplan.Params) // changes what plans are made by
	planned func(*msmplan.Plan)   // is told the plan of every MSM that is computed

	tuning msmplan.Tuning

	// Of the multiples of bases: what there is, what makes them, one at a time, until
	// Close.
	tables     tables
	builders   *semaphore.Weighted
	background context.Context
	stop       context.CancelFunc

	plans msmplan.Cache
	pipe  pipe // under the turn
}

// New makes a computer on a card, which stays the caller's and outlives it.
// Kernels that do not fit the card are found now, not in the first call.
func New(d *device.Device) (*Computer, error) {
	if _, err := device.Load(d, kernel.ForCommon().RestScatter); err != nil {
		return nil, err
	}
	c := &Computer{dev: d, builders: semaphore.NewWeighted(1)}
	if err := c.Tune(nil); err != nil {
		return nil, err
	}
	c.background, c.stop = context.WithCancel(context.Background())
	for i := range 2 {
		for _, e := range []**driver.Event{&c.pipe.copied[i], &c.pipe.read[i], &c.pipe.sorted[i], &c.pipe.done[i]} {
			var err error
			if *e, err = d.Driver().NewEvent(false); err != nil {
				return nil, errors.Join(err, c.Close())
			}
		}
	}
	return c, nil
}

// Tune makes plans by a table of the card's own, nil for none. It is called before the
// first MSM; its error is that of msmplan.TuningFor.
func (c *Computer) Tune(own *msmplan.Table) error {
	info := c.dev.Driver().Info()
	tuning, err := msmplan.TuningFor(info.Name, info.Compute.String(), info.Multiprocessors, own)
	if err == nil {
		c.tuning = tuning
	}
	return err
}

// Tuning returns what plans are made by.
func (c *Computer) Tuning() msmplan.Tuning { return c.tuning }

// Quiet stops what is computed in the background, for good, and waits for it.
func (c *Computer) Quiet() {
	c.stop()
	_ = c.builders.Acquire(context.Background(), 1) // nobody else gets it any more
}

// Close ends the computer. No call may be in flight, and no bases may be left.
func (c *Computer) Close() error {
	c.stop()
	var errs []error
	for i := range 2 {
		for _, e := range []*driver.Event{c.pipe.copied[i], c.pipe.read[i], c.pipe.sorted[i], c.pipe.done[i]} {
			if e != nil {
				errs = append(errs, e.Close())
			}
		}
	}
	return errors.Join(errs...)
}
