package msm

import (
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/device"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// program is the kernels of one group.
type program struct {
	sortCount   device.Kernel[kernel.SortCount]
	sortScan    device.Kernel[kernel.SortScan]
	sortScatter device.Kernel[kernel.SortScatter]
	runs        device.Kernel[kernel.Runs]
	tasksCount  device.Kernel[kernel.TasksCount]
	tasksOrder  device.Kernel[kernel.TasksOrder]
	tasksPlace  device.Kernel[kernel.TasksPlace]
	digits      device.Kernel[kernel.Digits]
	accumulate  device.Kernel[kernel.Accumulate]
	fold        device.Kernel[kernel.Fold]
	foldFinish  device.Kernel[kernel.FoldFinish]
	reduce      device.Kernel[kernel.Reduce]
	planes      device.Kernel[kernel.Planes]
	multiples   device.Kernel[kernel.Multiples]
	check       device.Kernel[kernel.Check]

	// For bases in Edwards form:
	prepare           device.Kernel[kernel.Prepare]
	preparedMultiples device.Kernel[kernel.PreparedMultiples]
}

// newProgram loads the kernels of a group, for bases in Edwards form or not.
func newProgram(d *device.Device, curve backend.Curve, group backend.Group, edwards bool) (*program, error) {
	name := group.String()
	if edwards {
		name += "-edwards"
	}
	forAll := kernel.ForCommon()
	forCurve, ok1 := kernel.ForCurve(curve.String())
	forGroup, ok2 := kernel.ForGroup(curve.String(), name)
	forForm, ok3 := kernel.ForForm(curve.String(), name)
	if !ok1 || !ok2 || edwards && !ok3 {
		return nil, fmt.Errorf("%w: no kernels for %v %s", backend.ErrUnsupported, curve, name)
	}
	p := &program{}
	err := errors.Join(
		p.sortCount.Load(d, forAll.SortCount),
		p.sortScan.Load(d, forAll.SortScan),
		p.sortScatter.Load(d, forAll.SortScatter),
		p.runs.Load(d, forAll.Runs),
		p.tasksCount.Load(d, forAll.TasksCount),
		p.tasksOrder.Load(d, forAll.TasksOrder),
		p.tasksPlace.Load(d, forAll.TasksPlace),
		p.digits.Load(d, forCurve.Digits),
		p.accumulate.Load(d, forGroup.Accumulate),
		p.fold.Load(d, forGroup.Fold),
		p.foldFinish.Load(d, forGroup.FoldFinish),
		p.reduce.Load(d, forGroup.Reduce),
		p.planes.Load(d, forGroup.Planes),
		p.multiples.Load(d, forGroup.Multiples),
		p.check.Load(d, forGroup.Check),
	)
	if edwards {
		err = errors.Join(err, p.prepare.Load(d, forForm.Prepare), p.preparedMultiples.Load(d, forForm.PreparedMultiples))
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}
