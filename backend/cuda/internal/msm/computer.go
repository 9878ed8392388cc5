package msm

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// Computer computes MSMs on one card. Its methods may be called concurrently; calls take turns on
// the card.
type Computer struct {
	dev *device.Device

	// For tests; both may be nil.
	tune    func(*msmplan.Params) // changes the parameters of plans
	planned func(*msmplan.Plan)   // gets the plan of every MSM that is computed

	tuning msmplan.Tuning

	// For the multiples of bases: the tables, and the one that is being made, until Close.
	tables     tables
	builders   *semaphore.Weighted
	background context.Context
	stop       context.CancelFunc

	plans msmplan.Cache
	pipe  pipe // under the turn
}

// New makes a computer on a card, which still belongs to the caller and outlives it. It finds now,
// and not in the first call, if kernels do not fit the card.
func New(d *device.Device) (*Computer, error) {
	if _, err := device.Load(d, kernel.ForCommon().RestScatter); err != nil {
		return nil, err
	}
	c := &Computer{dev: d, builders: semaphore.NewWeighted(1)}
	if err := c.Tune(nil); err != nil {
		return nil, err
	}
	c.background, c.stop = context.WithCancel(context.Background())
	for _, e := range c.pipe.all() {
		var err error
		if *e, err = d.Driver().NewEvent(false); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Tune makes plans by the tuning table own of the card; nil means none. It must be called before
// the first MSM. Its errors are those of msmplan.TuningFor.
func (c *Computer) Tune(own *msmplan.Table) error {
	info := c.dev.Driver().Info()
	tuning, err := msmplan.TuningFor(info.Name, info.Compute.String(), info.Multiprocessors, own)
	if err == nil {
		c.tuning = tuning
	}
	return err
}

// Tuning returns the tuning by which plans are made.
func (c *Computer) Tuning() msmplan.Tuning { return c.tuning }

// Quiet stops background computations for good, and waits until they have stopped.
func (c *Computer) Quiet() {
	c.stop()
	_ = c.builders.Acquire(context.Background(), 1) // it is never released
}

// Close ends the computer. No call may be in flight, and all bases must be freed.
func (c *Computer) Close() error {
	c.stop()
	var errs []error
	for _, e := range c.pipe.all() {
		if *e != nil {
			errs = append(errs, (*e).Close())
		}
	}
	return errors.Join(errs...)
}
