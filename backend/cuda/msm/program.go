package msm

import (
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/device"
	"github.com/pippin-zk/pippin/kernels"
)

// program is the kernels of one group.
type program struct {
	sortCount, sortScan, sortScatter         device.Kernel
	runs, tasksCount, tasksOrder, tasksPlace device.Kernel
	digits                                   device.Kernel
	accumulate, fold, foldFinish             device.Kernel
	reduce, setSums, check                   device.Kernel
}

// newProgram loads the kernels of a group.
func newProgram(d *device.Device, curve backend.Curve, group backend.Group) (*program, error) {
	forCurve, ok1 := kernels.ForCurve(curve.String())
	forGroup, ok2 := kernels.ForGroup(curve.String(), group.String())
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%w: no kernels for %v %v", backend.ErrUnsupported, curve, group)
	}
	forAll := kernels.ForAll()
	p := &program{}
	for _, l := range []struct {
		to *device.Kernel
		e  kernels.Entry
	}{
		{&p.sortCount, forAll.SortCount}, {&p.sortScan, forAll.SortScan}, {&p.sortScatter, forAll.SortScatter},
		{&p.runs, forAll.Runs}, {&p.tasksCount, forAll.TasksCount}, {&p.tasksOrder, forAll.TasksOrder},
		{&p.tasksPlace, forAll.TasksPlace}, {&p.digits, forCurve.Digits},
		{&p.accumulate, forGroup.Accumulate}, {&p.fold, forGroup.Fold}, {&p.foldFinish, forGroup.FoldFinish},
		{&p.reduce, forGroup.Reduce}, {&p.setSums, forGroup.SetSums}, {&p.check, forGroup.Check},
	} {
		var err error
		if *l.to, err = d.Kernel(l.e); err != nil {
			return nil, err
		}
	}
	return p, nil
}
