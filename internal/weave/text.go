package weave

import "strings"

// The files that are added to packages.

const mainText = `package main

import _ "` + autoPackage + `"
`

const autoText = `package auto

import (
	"` + gnarkCrypto + `/bls12-377"
	"` + gnarkCrypto + `/bls12-381"
	"` + gnarkCrypto + `/bn254"
	"` + gnarkCrypto + `/bw6-761"
	"` + Module + `/msm"
	"` + Module + `/weave/internal/hook"
)

func init() {
	r := hook.FromEnvironment()
	if r == nil {
		return
	}
	bn254.PippinWeave(hook.Of(r, msm.BN254G1, (*bn254.G1Jac).FromAffine), hook.Of(r, msm.BN254G2, (*bn254.G2Jac).FromAffine))
	bls12377.PippinWeave(hook.Of(r, msm.BLS12377G1, (*bls12377.G1Jac).FromAffine), hook.Of(r, msm.BLS12377G2, (*bls12377.G2Jac).FromAffine))
	bls12381.PippinWeave(hook.Of(r, msm.BLS12381G1, (*bls12381.G1Jac).FromAffine), hook.Of(r, msm.BLS12381G2, (*bls12381.G2Jac).FromAffine))
	bw6761.PippinWeave(hook.Of(r, msm.BW6761G1, (*bw6761.G1Jac).FromAffine), hook.Of(r, msm.BW6761G2, (*bw6761.G2Jac).FromAffine))
}
`

// curveText returns the hook of a curve's package.
func curveText(pkg, curve string) string {
	var b strings.Builder
	b.WriteString(`package ` + pkg + `

import (
	"sync/atomic"

	"` + gnarkCrypto + `"
	"` + gnarkCrypto + `/` + curve + `/fr"
)

// PippinWeave installs what MultiExp asks first. A hook answers true when p is
// the sum, or an error; otherwise the stock MultiExp computes it.
func PippinWeave(
	g1 func(p *G1Jac, points []G1Affine, scalars []fr.Element, config ecc.MultiExpConfig) (bool, error),
	g2 func(p *G2Jac, points []G2Affine, scalars []fr.Element, config ecc.MultiExpConfig) (bool, error),
) {
	pippinG1.Store(&g1)
	pippinG2.Store(&g2)
}
`)
	for _, g := range []string{"G1", "G2"} {
		b.WriteString(strings.ReplaceAll(`
var pippinGROUP atomic.Pointer[func(p *GROUPJac, points []GROUPAffine, scalars []fr.Element, config ecc.MultiExpConfig) (bool, error)]

// MultiExp returns the sum of scalars[i]*points[i], from pippin's engine where that
// answers and else from PippinStockMultiExp.
func (p *GROUPJac) MultiExp(points []GROUPAffine, scalars []fr.Element, config ecc.MultiExpConfig) (*GROUPJac, error) {
	if hook := pippinGROUP.Load(); hook != nil {
		done, err := (*hook)(p, points, scalars, config)
		if err != nil {
			return nil, err
		}
		if done {
			return p, nil
		}
	}
	return p.PippinStockMultiExp(points, scalars, config)
}
`, "GROUP", g))
	}
	return b.String()
}
