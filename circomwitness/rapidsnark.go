package circomwitness

import (
	"context"
	"maps"
	"math/big"
	"slices"
)

// Calculator calculates witnesses, as go-rapidsnark's type of the same name. With sanityCheck the
// circuit looks at its assertions. Calls at a time are safe.
type Calculator interface {
	// CalculateWitness returns the values of all wires.
	CalculateWitness(inputs map[string]any, sanityCheck bool) ([]*big.Int, error)
	// CalculateBinWitness returns their bytes, little-endian.
	CalculateBinWitness(inputs map[string]any, sanityCheck bool) ([]byte, error)
	// CalculateWTNSBin returns a .wtns file.
	CalculateWTNSBin(inputs map[string]any, sanityCheck bool) ([]byte, error)
}

// NewCalculator compiles the WebAssembly of a circuit, as Compile does. What it takes stays until
// the program ends.
func NewCalculator(wasm []byte) (Calculator, error) {
	c, err := Compile(context.Background(), wasm)
	if err != nil {
		return nil, err
	}
	return calculator{c}, nil
}

// ParseInputs reads an input.json, for a Calculator. Lists and objects stay, each number is a
// *big.Int.
func ParseInputs(inputsJSON []byte) (map[string]any, error) {
	inputs, err := parse(inputsJSON)
	if err != nil {
		return nil, err
	}
	v, err := parsed(inputs)
	if err != nil {
		return nil, refuse("inputs: %w", err)
	}
	return v.(map[string]any), nil
}

// parsed returns a value with its numbers read.
func parsed(v any) (_ any, err error) {
	switch x := v.(type) {
	case map[string]any:
		x = maps.Clone(x)
		for name := range x {
			if x[name], err = parsed(x[name]); err != nil {
				return nil, err
			}
		}
		return x, nil
	case []any:
		x = slices.Clone(x)
		for i := range x {
			if x[i], err = parsed(x[i]); err != nil {
				return nil, err
			}
		}
		return x, nil
	}
	return number(v)
}

// calculator is a Circuit as a Calculator.
type calculator struct{ *Circuit }

func (c calculator) CalculateWTNSBin(inputs map[string]any, sanityCheck bool) ([]byte, error) {
	return c.calculate(context.Background(), inputs, sanityCheck)
}

func (c calculator) CalculateBinWitness(inputs map[string]any, sanityCheck bool) ([]byte, error) {
	b, err := c.CalculateWTNSBin(inputs, sanityCheck)
	if err != nil {
		return nil, err
	}
	return b[len(b)-4*c.words*c.wires:], nil
}

func (c calculator) CalculateWitness(inputs map[string]any, sanityCheck bool) ([]*big.Int, error) {
	b, err := c.CalculateBinWitness(inputs, sanityCheck)
	if err != nil {
		return nil, err
	}
	defer clear(b)
	all := make([]*big.Int, 0, c.wires)
	for value := range slices.Chunk(b, 4*c.words) {
		slices.Reverse(value)
		all = append(all, new(big.Int).SetBytes(value))
	}
	return all, nil
}
