package samples

import (
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/math/emulated"
	"github.com/consensys/gnark/std/math/emulated/emparams"
)

// Modular multiplies modulo a number of the witness, as the precompile MODEXP does. Hints of
// gnark's library divide by it.
type Modular struct {
	A, B, M  emulated.Element[emparams.Mod1e256]
	Products int
}

func (c *Modular) Define(api frontend.API) error {
	f, err := emulated.NewField[emparams.Mod1e256](api)
	if err != nil {
		return err
	}
	for i := range c.Products {
		a := f.Add(&c.A, f.NewElement(i))
		f.ModAssertIsEqual(f.ModMul(a, &c.B, &c.M), f.ModMul(&c.B, a, &c.M), &c.M)
	}
	return nil
}

// ModularBy returns an assignment with a modulus, which may be one that no hint can divide by.
func ModularBy(modulus int) *Modular {
	value := emulated.ValueOf[emparams.Mod1e256]
	return &Modular{A: value(12), B: value(5), M: value(modulus)}
}
