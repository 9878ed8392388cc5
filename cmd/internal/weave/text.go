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
	bn254.PippinWeave(hook.Of(r, msm.BN254G1, (*bn254.G1Jac).FromAffine), hook.Of(r, msm.BN254G2, (*bn254.G2Jac).FromAffine),
		hook.MultiplesOf(r, msm.BN254G1), hook.MultiplesOf(r, msm.BN254G2), hook.ToLagrangeOf(r, msm.BN254G1))
	bls12377.PippinWeave(hook.Of(r, msm.BLS12377G1, (*bls12377.G1Jac).FromAffine), hook.Of(r, msm.BLS12377G2, (*bls12377.G2Jac).FromAffine),
		hook.MultiplesOf(r, msm.BLS12377G1), hook.MultiplesOf(r, msm.BLS12377G2), hook.ToLagrangeOf(r, msm.BLS12377G1))
	bls12381.PippinWeave(hook.Of(r, msm.BLS12381G1, (*bls12381.G1Jac).FromAffine), hook.Of(r, msm.BLS12381G2, (*bls12381.G2Jac).FromAffine),
		hook.MultiplesOf(r, msm.BLS12381G1), hook.MultiplesOf(r, msm.BLS12381G2), hook.ToLagrangeOf(r, msm.BLS12381G1))
	bw6761.PippinWeave(hook.Of(r, msm.BW6761G1, (*bw6761.G1Jac).FromAffine), hook.Of(r, msm.BW6761G2, (*bw6761.G2Jac).FromAffine),
		hook.MultiplesOf(r, msm.BW6761G1), hook.MultiplesOf(r, msm.BW6761G2), hook.ToLagrangeOf(r, msm.BW6761G1))
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

// PippinWeave installs what MultiExp, BatchScalarMultiplication and ToLagrangeG1 ask
// first. A hook of MultiExp answers true when p is the sum, the others the points; or an
// error. Otherwise the stock function computes it.
func PippinWeave(
	g1 func(p *G1Jac, points []G1Affine, scalars []fr.Element, config ecc.MultiExpConfig) (bool, error),
	g2 func(p *G2Jac, points []G2Affine, scalars []fr.Element, config ecc.MultiExpConfig) (bool, error),
	multiplesG1 func(base *G1Affine, scalars []fr.Element) []G1Affine,
	multiplesG2 func(base *G2Affine, scalars []fr.Element) []G2Affine,
	toLagrangeG1 func(powers []G1Affine) ([]G1Affine, error),
) {
	pippinG1.Store(&g1)
	pippinG2.Store(&g2)
	pippinMultiplesG1.Store(&multiplesG1)
	pippinMultiplesG2.Store(&multiplesG2)
	pippinToLagrangeG1.Store(&toLagrangeG1)
}

var pippinToLagrangeG1 atomic.Pointer[func(powers []G1Affine) ([]G1Affine, error)]

// PippinToLagrangeG1 is what package kzg asks first.
func PippinToLagrangeG1(powers []G1Affine) ([]G1Affine, error) {
	if hook := pippinToLagrangeG1.Load(); hook != nil {
		return (*hook)(powers)
	}
	return nil, nil
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

var pippinMultiplesGROUP atomic.Pointer[func(base *GROUPAffine, scalars []fr.Element) []GROUPAffine]

// BatchScalarMultiplicationGROUP returns the products of base and each scalar, from
// pippin's engine where that answers and else from the stock function.
func BatchScalarMultiplicationGROUP(base *GROUPAffine, scalars []fr.Element) []GROUPAffine {
	if hook := pippinMultiplesGROUP.Load(); hook != nil {
		if products := (*hook)(base, scalars); products != nil {
			return products
		}
	}
	return pippinStockBatchScalarMultiplicationGROUP(base, scalars)
}
`, "GROUP", g))
	}
	return b.String()
}

// keysText returns the hook of a curve's package kzg.
func keysText(curve string) string {
	return `package kzg

import curve "` + gnarkCrypto + `/` + curve + `"

// ToLagrangeG1 returns a key in Lagrange form, from pippin's engine where that answers and
// else from the stock function.
func ToLagrangeG1(coeffs []curve.G1Affine) ([]curve.G1Affine, error) {
	if points, err := curve.PippinToLagrangeG1(coeffs); points != nil || err != nil {
		return points, err
	}
	return pippinStockToLagrangeG1(coeffs)
}
`
}
