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
	if HasGKR() {
		return c.oneByOne(api)
	}
	return c.together(api, any(gkrapi.New).(func() *gkrapi.API)())
}

// GKR is what gkrapi.API is from gnark v0.15 on.
type GKR interface {
	gate
	NewInput() gkr.Variable
	Add(a, b gkr.Variable) gkr.Variable
	Mul(a, b gkr.Variable) gkr.Variable
}

// Instances are those of a circuit of GKR, from gnark v0.15 on.
type Instances interface {
	AddInstance(map[gkr.Variable]frontend.Variable) (map[gkr.Variable]frontend.Variable, error)
	GetValue(v gkr.Variable, instance int) frontend.Variable
}

// HasGKR reports whether this gnark has GKR whose instances come one by one.
func HasGKR() bool {
	_, ok := any(gkrapi.New).(func(frontend.API) (*gkrapi.API, error))
	return ok
}

// NewGKR returns the beginning of a circuit of GKR. HasGKR must hold.
func NewGKR(api frontend.API) (GKR, error) {
	g, err := any(gkrapi.New).(func(frontend.API) (*gkrapi.API, error))(api)
	if err != nil {
		return nil, err
	}
	return any(g).(GKR), nil
}

// Compile ends a circuit of GKR.
func Compile(g GKR) (Instances, error) {
	return called[Instances](reflect.ValueOf(g).MethodByName("Compile"), "MIMC")
}

func (c *layered) oneByOne(api frontend.API) (products []frontend.Variable, err error) {
	g, err := NewGKR(api)
	if err != nil {
		return nil, err
	}
	x, y := g.NewInput(), g.NewInput()
	out := xyy(g, x, y)
	compiled, err := Compile(g)
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
