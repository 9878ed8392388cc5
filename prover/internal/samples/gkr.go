package samples

import (
	"reflect"

	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/gkrapi"
	"github.com/consensys/gnark/std/gkrapi/gkr"
)

// gate connects inputs by a function.
type gate interface {
	Gate(gkr.GateFunction, ...gkr.Variable) gkr.Variable
}

// xyy is a circuit of GKR for x y y.
func xyy(g gate, x, y gkr.Variable) gkr.Variable { return g.Gate(product, g.Gate(product, x, y), y) }

// products returns X[i] Y[i] Y[i] for each i, by GKR. From gnark v0.15 on its circuits get
// their instances one by one; before, they were imported together.
func (c *layered) products(api frontend.API) ([]frontend.Variable, error) {
	switch make := any(gkrapi.New).(type) {
	case func(frontend.API) (*gkrapi.API, error):
		g, err := make(api)
		if err != nil {
			return nil, err
		}
		return c.oneByOne(g)
	case func() *gkrapi.API:
		return c.together(api, make())
	}
	panic("an unknown gkrapi.New")
}

func (c *layered) oneByOne(g gate) (products []frontend.Variable, err error) {
	input := g.(interface{ NewInput() gkr.Variable }).NewInput
	x, y := input(), input()
	out := xyy(g, x, y)
	compiled, err := called[interface {
		AddInstance(map[gkr.Variable]frontend.Variable) (map[gkr.Variable]frontend.Variable, error)
	}](reflect.ValueOf(g).MethodByName("Compile"), "MIMC")
	if err != nil {
		return nil, err
	}
	for i := range c.X {
		values, err := compiled.AddInstance(map[gkr.Variable]frontend.Variable{x: c.X[i], y: c.Y[i]})
		if err != nil {
			return nil, err
		}
		products = append(products, values[out])
	}
	return products, nil
}

func (c *layered) together(api frontend.API, g gate) ([]frontend.Variable, error) {
	input := g.(interface {
		Import([]frontend.Variable) (gkr.Variable, error)
	}).Import
	x, err := input(c.X[:])
	if err != nil {
		return nil, err
	}
	y, err := input(c.Y[:])
	if err != nil {
		return nil, err
	}
	out := xyy(g, x, y)
	solved, err := called[interface {
		Export(gkr.Variable) []frontend.Variable
		Verify(string, ...frontend.Variable) error
	}](reflect.ValueOf(g).MethodByName("Solve"), api)
	if err != nil {
		return nil, err
	}
	return solved.Export(out), solved.Verify("MIMC")
}

// called calls a method that returns a T, of a type that only some versions have, and an error.
func called[T any](method reflect.Value, in any) (t T, err error) {
	out := method.Call([]reflect.Value{reflect.ValueOf(in)})
	if err, _ := out[1].Interface().(error); err != nil {
		return t, err
	}
	return out[0].Interface().(T), nil
}
