package cuda

import (
	"errors"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
)

// code is the kernels on a device, loaded unit by unit when first needed.
type code struct {
	dev *driver.Device

	mu        sync.Mutex
	modules   map[string]*driver.Module
	functions map[string]function
}

// function is a kernel that is ready to launch, with the threads of its block.
type function struct {
	*driver.Function
	threads int
}

func newCode(dev *driver.Device) *code {
	return &code{dev: dev, modules: make(map[string]*driver.Module), functions: make(map[string]function)}
}

// prepare loads what every MSM needs.
func (c *code) prepare() error {
	_, err := c.function(kernels.ForAll().SortScatter)
	return err
}

func (c *code) function(e kernels.Entry) (function, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.functions[e.Symbol]; ok {
		return f, nil
	}
	m, ok := c.modules[e.Unit]
	if !ok {
		image, err := kernels.Image(e.Unit)
		if err != nil {
			return function{}, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		}
		if m, err = c.dev.LoadModule(image); err != nil {
			return function{}, fmt.Errorf("unit %s: %w", e.Unit, err)
		}
		c.modules[e.Unit] = m
	}
	f, err := m.Function(e.Symbol)
	if err != nil {
		return function{}, err
	}
	c.functions[e.Symbol] = function{f, e.Threads}
	return c.functions[e.Symbol], nil
}

func (c *code) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, m := range c.modules {
		errs = append(errs, m.Close())
	}
	clear(c.modules)
	clear(c.functions)
	return errors.Join(errs...)
}

// program is the kernels of one group.
type program struct {
	sortCount, sortScan, sortScatter         function
	runs, tasksCount, tasksOrder, tasksPlace function
	digits                                   function
	accumulate, fold, foldFinish             function
	reduce, setSums, check                   function
}

// program loads the kernels of a group.
func (c *code) program(curve backend.Curve, group backend.Group) (*program, error) {
	forCurve, ok1 := kernels.ForCurve(curve.String())
	forGroup, ok2 := kernels.ForGroup(curve.String(), group.String())
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%w: no kernels for %v %v", backend.ErrUnsupported, curve, group)
	}
	forAll := kernels.ForAll()
	p := &program{}
	for _, l := range []struct {
		to *function
		e  kernels.Entry
	}{
		{&p.sortCount, forAll.SortCount}, {&p.sortScan, forAll.SortScan}, {&p.sortScatter, forAll.SortScatter},
		{&p.runs, forAll.Runs}, {&p.tasksCount, forAll.TasksCount}, {&p.tasksOrder, forAll.TasksOrder},
		{&p.tasksPlace, forAll.TasksPlace}, {&p.digits, forCurve.Digits},
		{&p.accumulate, forGroup.Accumulate}, {&p.fold, forGroup.Fold}, {&p.foldFinish, forGroup.FoldFinish},
		{&p.reduce, forGroup.Reduce}, {&p.setSums, forGroup.SetSums}, {&p.check, forGroup.Check},
	} {
		var err error
		if *l.to, err = c.function(l.e); err != nil {
			return nil, err
		}
	}
	return p, nil
}
