package oracle

import (
	"math/big"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
)

// Group is a group of one of the four curves with gnark-crypto's generator.
type Group struct {
	Curve
	Generator Point
	Order     *big.Int
}

func newGroup(c backend.Curve, g backend.Group) Group {
	x, y := curves.Generator(c, g)
	f := Field{P: c.BaseField(), Degree: len(x)}
	if f.Degree > 1 {
		f.NonResidue = curves.Of(c).NonResidue
	}
	b := f.Sub(f.Mul(y, y), f.Mul(f.Mul(x, x), x))
	return Group{Curve{f, b}, Point{x, y}, c.ScalarField()}
}

// Groups returns G1 and G2 of the four curves, under names such as "bn254_g1".
func Groups() map[string]Group {
	all := map[string]Group{}
	for _, of := range backend.CurveGroups() {
		all[curves.ID(of.Curve).String()+"_"+of.Group.String()] = newGroup(of.Curve, of.Group)
	}
	return all
}
