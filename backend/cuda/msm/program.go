package msm

import (
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/device"
	"github.com/pippin-zk/pippin/kernels"
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
	setSums     device.Kernel[kernel.SetSums]
	check       device.Kernel[kernel.Check]
}

// newProgram loads the kernels of a group.
func newProgram(d *device.Device, curve backend.Curve, group backend.Group) (*program, error) {
	forAll := kernel.ForCommon()
	forCurve, ok1 := kernel.ForCurve(curve.String())
	forGroup, ok2 := kernel.ForGroup(curve.String(), group.String())
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%w: no kernels for %v %v", backend.ErrUnsupported, curve, group)
	}
	p := &program{}
	err := errors.Join(
		load(d, &p.sortCount, forAll.SortCount),
		load(d, &p.sortScan, forAll.SortScan),
		load(d, &p.sortScatter, forAll.SortScatter),
		load(d, &p.runs, forAll.Runs),
		load(d, &p.tasksCount, forAll.TasksCount),
		load(d, &p.tasksOrder, forAll.TasksOrder),
		load(d, &p.tasksPlace, forAll.TasksPlace),
		load(d, &p.digits, forCurve.Digits),
		load(d, &p.accumulate, forGroup.Accumulate),
		load(d, &p.fold, forGroup.Fold),
		load(d, &p.foldFinish, forGroup.FoldFinish),
		load(d, &p.reduce, forGroup.Reduce),
		load(d, &p.setSums, forGroup.SetSums),
		load(d, &p.check, forGroup.Check),
	)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func load[P kernels.Params](d *device.Device, to *device.Kernel[P], k kernels.Kernel[P]) (err error) {
	*to, err = device.Load(d, k)
	return err
}
