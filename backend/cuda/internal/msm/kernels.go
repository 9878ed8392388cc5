package msm

import (
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// groupKernels is the kernels of one group.
type groupKernels struct {
	binsCount   device.Kernel[kernel.BinsCount]
	binsScatter device.Kernel[kernel.BinsScatter]
	binsBegin   device.Kernel[kernel.BinsBegin]
	restCount   device.Kernel[kernel.RestCount]
	restScatter device.Kernel[kernel.RestScatter]
	runs        device.Kernel[kernel.Runs]
	tasksPlace  device.Kernel[kernel.TasksPlace]
	accumulate  device.Kernel[kernel.Accumulate]
	fold        device.Kernel[kernel.Fold]
	reduce      device.Kernel[kernel.Reduce]
	planes      device.Kernel[kernel.Planes]
	joins       device.Kernel[kernel.Joins]
	multiples   device.Kernel[kernel.Multiples]
	check       device.Kernel[kernel.Check]

	// For pairs of affine points:
	pairsThere  device.Kernel[kernel.PairsThere]
	pairsInvert device.Kernel[kernel.PairsInvert]
	pairsBack   device.Kernel[kernel.PairsBack]

	// Without buckets:
	direct device.Kernel[kernel.Direct]

	// For affine sums of tasks:
	affineSums device.Kernel[kernel.AffineSums]

	// For bases in the form for digits modulo six units:
	prepareUnits device.Kernel[kernel.PrepareUnits]

	// For bases in Edwards form:
	prepare           device.Kernel[kernel.Prepare]
	preparedMultiples device.Kernel[kernel.PreparedMultiples]
}

// loadKernels loads the kernels of a group, for bases in a form.
func loadKernels(d *device.Device, curve backend.Curve, group backend.Group, form msmplan.Form) (*groupKernels, error) {
	name, digits := form.Of(group.String()), curve.String()
	if form == msmplan.Units {
		digits = form.Of(digits)
	}
	forAll := kernel.ForCommon()
	forCurve, ok1 := kernel.ForCurve(digits)
	forGroup, ok2 := kernel.ForGroup(curve.String(), name)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%w: no kernels for %v %s", backend.ErrUnsupported, curve, name)
	}
	p := &groupKernels{}
	err := errors.Join(
		p.binsCount.Load(d, forCurve.BinsCount),
		p.binsScatter.Load(d, forCurve.BinsScatter),
		p.binsBegin.Load(d, forAll.BinsBegin),
		p.restCount.Load(d, forAll.RestCount),
		p.restScatter.Load(d, forAll.RestScatter),
		p.runs.Load(d, forAll.Runs),
		p.tasksPlace.Load(d, forAll.TasksPlace),
		p.accumulate.Load(d, forGroup.Accumulate),
		p.fold.Load(d, forGroup.Fold),
		p.reduce.Load(d, forGroup.Reduce),
		p.planes.Load(d, forGroup.Planes),
		p.joins.Load(d, forGroup.Joins),
		p.multiples.Load(d, forGroup.Multiples),
		p.check.Load(d, forGroup.Check),
	)
	if k, ok := kernel.ForPairs(curve.String(), name); ok {
		err = errors.Join(err, p.pairsThere.Load(d, k.PairsThere), p.pairsInvert.Load(d, k.PairsInvert), p.pairsBack.Load(d, k.PairsBack))
	}
	if k, ok := kernel.ForAffine(curve.String(), name); ok {
		err = errors.Join(err, p.affineSums.Load(d, k.AffineSums))
	}
	if k, ok := kernel.ForSmall(curve.String(), name); ok {
		err = errors.Join(err, p.loadDirect(d, k.Direct))
	}
	if k, ok := kernel.ForForm(curve.String(), name); ok {
		err = errors.Join(err, p.prepare.Load(d, k.Prepare), p.preparedMultiples.Load(d, k.PreparedMultiples))
	}
	if k, ok := kernel.ForUnits(curve.String(), name); ok {
		err = errors.Join(err, p.prepareUnits.Load(d, k.PrepareUnits))
	}
	if err != nil {
		return nil, err
	}
	most := mostShared(d)
	return p, errors.Join(p.binsScatter.SetMaxDynamicShared(most), p.restScatter.SetMaxDynamicShared(most))
}

// mostShared returns the dynamic shared memory that a block of the sort may have on a card, in
// bytes. Kernels declare a little more.
func mostShared(d *device.Device) int { return d.Driver().Info().SharedPerBlock - 1<<10 }

// loadDirect loads the kernel without buckets. It asks for as much of a multiprocessor's memory as
// shared memory as all its blocks need that fit beside each other.
func (p *groupKernels) loadDirect(d *device.Device, k kernels.Kernel[kernel.Direct]) error {
	const reserved = 1 << 10 // of a block, by the system
	if err := p.direct.Load(d, k); err != nil {
		return err
	}
	blocks, err1 := p.direct.Occupancy(k.Threads, 0)
	a, err2 := p.direct.Attributes()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	all := d.Driver().Info().SharedPerMultiprocessor
	return p.direct.SetSharedCarveout(min(100, (100*blocks*(a.Shared+reserved)-1)/all+1))
}
