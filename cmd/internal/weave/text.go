package weave

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The files that are added to packages.

const mainText = `package main

import _ "` + autoPackage + `"
`

// autoText returns the function of weave/auto that installs the hooks, with or without those of the provers.
func autoText(proves bool) string {
	if !proves {
		return autoMSMs
	}
	imports := "\t\"" + gnarkCrypto + "\"\n\t\"" + proversPackage + "\"\n"
	var install strings.Builder
	install.WriteString("\tif !r.Proves() {\n\t\treturn\n\t}\n")
	for _, name := range slices.Sorted(maps.Keys(systems)) {
		at, title := gnarkModule+"/backend/"+name, strings.ToUpper(name[:1])+name[1:]
		imports += "\t\"" + at + "\"\n"
		fmt.Fprintf(&install, "\t%s.PippinWeave(provers.Prove%s(r), provers.Setup%s(r))\n", name, title, title)
		for _, curve := range slices.Sorted(maps.Keys(curves)) {
			alias := name + "_" + curves[curve]
			imports += "\t" + alias + " \"" + at + "/" + curve + "\"\n"
			fmt.Fprintf(&install, "\t%s.PippinWeave(provers.Read%s[%s.ProvingKey](r, ecc.%s))\n", alias, title, alias,
				strings.ToUpper(strings.ReplaceAll(curve, "-", "_")))
		}
	}
	return strings.NewReplacer(
		"\t\""+hookPackage+"\"\n", "\t\""+hookPackage+"\"\n"+imports,
		"hook.FromEnvironment()", "provers.FromEnvironment()",
		"\n}\n", "\n"+install.String()+"}\n",
	).Replace(autoMSMs)
}

const autoMSMs = `package auto

import (
	"` + gnarkCrypto + `/bls12-377"
	"` + gnarkCrypto + `/bls12-381"
	"` + gnarkCrypto + `/bn254"
	"` + gnarkCrypto + `/bw6-761"
	"` + Module + `/msm"
	"` + hookPackage + `"
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

// systemTexts are the hooks of the packages that programs call, by their names.
var systemTexts = map[string]string{
	"groth16": callsText("groth16", "", "r1cs constraint.ConstraintSystem", "r1cs"),
	"plonk": callsText("plonk", "\t\""+gnarkCryptoModule+"/kzg\"\n",
		"ccs constraint.ConstraintSystem, srs, srsLagrange kzg.SRS", "ccs, srs, srsLagrange"),
}

// callsText returns the hooks of a proof system's package, whose Setup has the parameters and the arguments that
// are given.
func callsText(pkg, imports, parameters, arguments string) string {
	return strings.NewReplacer("PKG", pkg, "IMPORTS", imports, "PARAMETERS", parameters, "ARGUMENTS", arguments).Replace(`package PKG

import (
IMPORTS	"` + gnarkModule + `/backend"
	"` + gnarkModule + `/backend/witness"
	"` + gnarkModule + `/constraint"
)

// PippinWeave installs what Prove and Setup ask first. A hook answers neither a result nor an error where the stock
// function is to compute.
func PippinWeave(
	prove func(ccs constraint.ConstraintSystem, pk ProvingKey, fullWitness witness.Witness, opts []backend.ProverOption) (Proof, error),
	setup func(PARAMETERS) (ProvingKey, VerifyingKey, error),
) {
	pippinProve, pippinSetup = prove, setup
	close(pippinWoven)
}

// The hooks may be read once pippinWoven is closed: this package imports nothing that is atomic.
var (
	pippinWoven = make(chan struct{})
	pippinProve func(constraint.ConstraintSystem, ProvingKey, witness.Witness, []backend.ProverOption) (Proof, error)
	pippinSetup func(PARAMETERS) (ProvingKey, VerifyingKey, error)
)

// Prove returns a proof, from pippin's prover where that answers and else from the stock function.
func Prove(ccs constraint.ConstraintSystem, pk ProvingKey, fullWitness witness.Witness, opts ...backend.ProverOption) (Proof, error) {
	select {
	case <-pippinWoven:
		if proof, err := pippinProve(ccs, pk, fullWitness, opts); proof != nil || err != nil {
			return proof, err
		}
	default:
	}
	return pippinStockProve(ccs, pk, fullWitness, opts...)
}

// Setup returns keys, from pippin's set-up where that answers and else from the stock function.
func Setup(PARAMETERS) (ProvingKey, VerifyingKey, error) {
	select {
	case <-pippinWoven:
		if pk, vk, err := pippinSetup(ARGUMENTS); pk != nil || err != nil {
			return pk, vk, err
		}
	default:
	}
	return pippinStockSetup(ARGUMENTS)
}
`)
}

// keyText returns the hook of a curve's package of a proof system.
func keyText(pkg string) string {
	return `package ` + pkg + `

import "io"

// PippinWeave installs what ReadFrom of a proving key asks first. The hook answers a reader of the same bytes where the
// stock method is to read them.
func PippinWeave(read func(pk *ProvingKey, r io.Reader) (stock io.Reader, n int64, err error)) {
	pippinRead = read
	close(pippinWoven)
}

// The hook may be read once pippinWoven is closed.
var (
	pippinWoven = make(chan struct{})
	pippinRead  func(*ProvingKey, io.Reader) (io.Reader, int64, error)
)

// ReadFrom reads a key, by pippin where that answers and else by the stock method.
func (pk *ProvingKey) ReadFrom(r io.Reader) (int64, error) {
	select {
	case <-pippinWoven:
		stock, n, err := pippinRead(pk, r)
		if stock == nil {
			return n, err
		}
		r = stock
	default:
	}
	return pk.pippinStockReadFrom(r)
}
`
}
