package main

import (
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/lookup/logderivlookup"
	"github.com/consensys/gnark/std/math/bits"
	"github.com/consensys/gnark/std/math/bitslice"
	"github.com/consensys/gnark/std/math/emulated"
	"github.com/consensys/gnark/std/rangecheck"
)

// gadgets has what gnark's library solves by hints: bits, parts, ranges, tables, emulated numbers.
type gadgets struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *gadgets) Define(api frontend.API) error {
	digits := bits.ToBinary(api, c.X)
	low, high := bitslice.Partition(api, c.X, 11, bitslice.WithNbDigits(32))
	rangecheck.New(api).Check(high, 21)
	table := logderivlookup.New(api)
	for i := range 20 {
		table.Insert(api.Add(low, i))
	}
	found := table.Lookup(bits.FromBinary(api, digits[:4]), c.Y)
	field, err := emulated.NewField[emulated.Secp256k1Fp](api)
	if err != nil {
		return err
	}
	e := field.FromBits(digits[:64]...)
	e = field.Mul(field.Add(e, e), field.Sub(e, field.NewElement(5)))
	api.AssertIsDifferent(api.Add(found[0], found[1], e.Limbs[0]), 0)
	return nil
}
