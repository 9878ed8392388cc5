package library

import (
	"math/big"
	"math/rand"

	"github.com/consensys/gnark-crypto/ecc"
	bls12377 "github.com/consensys/gnark-crypto/ecc/bls12-377"
	kzg377 "github.com/consensys/gnark-crypto/ecc/bls12-377/kzg"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	ecdsa256 "github.com/consensys/gnark-crypto/ecc/secp256k1/ecdsa"
	edwards "github.com/consensys/gnark-crypto/ecc/twistededwards"
	nativehash "github.com/consensys/gnark-crypto/hash"
	eddsasign "github.com/consensys/gnark-crypto/signature/eddsa"
	stockplonk "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/std/algebra/emulated/sw_bls12381"
	"github.com/consensys/gnark/std/algebra/emulated/sw_bn254"
	"github.com/consensys/gnark/std/algebra/native/sw_bls12377"
	"github.com/consensys/gnark/std/algebra/native/twistededwards"
	"github.com/consensys/gnark/std/evmprecompiles"
	"github.com/consensys/gnark/std/hash/mimc"
	"github.com/consensys/gnark/std/math/emulated"
	plonkrecursion "github.com/consensys/gnark/std/recursion/plonk"
	eddsacircuit "github.com/consensys/gnark/std/signature/eddsa"
)

// The circuits that take long: signatures, pairings, and a proof verified in a circuit.

// must ends the test, which is in a separate process: a circuit that is missing must not look like one that
// does not compile on a curve.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// signatureCircuit verifies a signature of EdDSA.
type signatureCircuit struct {
	Key       eddsacircuit.PublicKey
	Signature eddsacircuit.Signature
	Message   frontend.Variable
	on        edwards.ID
}

func (c *signatureCircuit) Define(api frontend.API) error {
	curve, err := twistededwards.NewEdCurve(api, c.on)
	if err != nil {
		return err
	}
	h, err := mimc.New(api)
	if err != nil {
		return err
	}
	return eddsacircuit.Verify(curve, c.Signature, c.Message, c.Key, h)
}

// signed makes a circuit with a signature on the Edwards curve of a field.
func signed(id ecc.ID) (circuit, assigned frontend.Circuit) {
	on, err := edwardsOf(id)
	must(err)
	hash := map[ecc.ID]nativehash.Hash{
		ecc.BN254: nativehash.MIMC_BN254, ecc.BLS12_381: nativehash.MIMC_BLS12_381,
		ecc.BLS12_377: nativehash.MIMC_BLS12_377, ecc.BW6_761: nativehash.MIMC_BW6_761,
	}[id]
	key, err := eddsasign.New(on, rand.New(rand.NewSource(1)))
	must(err)
	message := make([]byte, (id.ScalarField().BitLen()+7)/8)
	message[len(message)-1] = 7
	signature, err := key.Sign(message, hash.New())
	must(err)
	a := &signatureCircuit{Message: message}
	a.Key.Assign(on, key.Public().Bytes())
	a.Signature.Assign(on, signature)
	return &signatureCircuit{on: on}, a
}

// recoverCircuit is the precompile ECRECOVER.
type recoverCircuit struct {
	Message, R, S emulated.Element[emulated.Secp256k1Fr]
	V             frontend.Variable
	X, Y          emulated.Element[emulated.Secp256k1Fp]
}

func (c *recoverCircuit) Define(api frontend.API) error {
	key := evmprecompiles.ECRecover(api, c.Message, c.V, c.R, c.S, 0, 0)
	f, err := emulated.NewField[emulated.Secp256k1Fp](api)
	if err != nil {
		return err
	}
	f.AssertIsEqual(&key.X, &c.X)
	f.AssertIsEqual(&key.Y, &c.Y)
	return nil
}

// recovered makes a circuit with a signature of ECDSA.
func recovered(ecc.ID) (circuit, assigned frontend.Circuit) {
	key, err := ecdsa256.GenerateKey(rand.New(rand.NewSource(1)))
	must(err)
	message := []byte("a message")
	v, r, s, err := key.SignForRecover(message, nil)
	must(err)
	number := emulated.ValueOf[emulated.Secp256k1Fr]
	return &recoverCircuit{}, &recoverCircuit{
		number(ecdsa256.HashToInt(message)), number(r), number(s), v + 27,
		emulated.ValueOf[emulated.Secp256k1Fp](key.PublicKey.A.X), emulated.ValueOf[emulated.Secp256k1Fp](key.PublicKey.A.Y),
	}
}

// bnPairingCircuit is the precompile of pairings on BN254, with two of them.
type bnPairingCircuit struct {
	P [2]sw_bn254.G1Affine
	Q [2]sw_bn254.G2Affine
}

func (c *bnPairingCircuit) Define(api frontend.API) error {
	evmprecompiles.ECPair(api, []*sw_bn254.G1Affine{&c.P[0], &c.P[1]}, []*sw_bn254.G2Affine{&c.Q[0], &c.Q[1]})
	return nil
}

// bnPaired makes a circuit with points whose pairings have the product 1.
func bnPaired(ecc.ID) (circuit, assigned frontend.Circuit) {
	_, _, p, q := bn254.Generators()
	var minus bn254.G1Affine
	minus.Neg(&p)
	to, at := sw_bn254.NewG2Affine(q), sw_bn254.NewG1Affine
	return &bnPairingCircuit{}, &bnPairingCircuit{[2]sw_bn254.G1Affine{at(p), at(minus)}, [2]sw_bn254.G2Affine{to, to}}
}

// blsPairingCircuit is the precompile of pairings on BLS12-381, with two of them.
type blsPairingCircuit struct {
	P [2]sw_bls12381.G1Affine
	Q [2]sw_bls12381.G2Affine
}

func (c *blsPairingCircuit) Define(api frontend.API) error {
	evmprecompiles.ECPairBLS(api, []*sw_bls12381.G1Affine{&c.P[0], &c.P[1]}, []*sw_bls12381.G2Affine{&c.Q[0], &c.Q[1]})
	return nil
}

// blsPaired does what bnPaired does.
func blsPaired(ecc.ID) (circuit, assigned frontend.Circuit) {
	_, _, p, q := bls12381.Generators()
	var minus bls12381.G1Affine
	minus.Neg(&p)
	to, at := sw_bls12381.NewG2Affine(q), sw_bls12381.NewG1Affine
	return &blsPairingCircuit{}, &blsPairingCircuit{[2]sw_bls12381.G1Affine{at(p), at(minus)}, [2]sw_bls12381.G2Affine{to, to}}
}

// nativePairingCircuit computes pairings on BLS12-377 in the field of BW6-761.
type nativePairingCircuit struct {
	P [2]sw_bls12377.G1Affine
	Q [2]sw_bls12377.G2Affine
}

func (c *nativePairingCircuit) Define(api frontend.API) error {
	return sw_bls12377.NewPairing(api).PairingCheck([]*sw_bls12377.G1Affine{&c.P[0], &c.P[1]}, []*sw_bls12377.G2Affine{&c.Q[0], &c.Q[1]})
}

// nativePaired does what bnPaired does.
func nativePaired(id ecc.ID) (circuit, assigned frontend.Circuit) {
	if id != ecc.BW6_761 {
		return nil, nil
	}
	_, _, p, q := bls12377.Generators()
	var minus bls12377.G1Affine
	minus.Neg(&p)
	to, at := sw_bls12377.NewG2Affine(q), sw_bls12377.NewG1Affine
	return &nativePairingCircuit{}, &nativePairingCircuit{[2]sw_bls12377.G1Affine{at(p), at(minus)}, [2]sw_bls12377.G2Affine{to, to}}
}

// product is the circuit whose proof another verifies.
type product struct {
	A, B frontend.Variable
	C    frontend.Variable `gnark:",public"`
}

func (c *product) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.A, c.B), c.C)
	return nil
}

// plonkCircuit verifies a proof of PLONK over BLS12-377.
type plonkCircuit struct {
	Proof  plonkrecursion.Proof[sw_bls12377.ScalarField, sw_bls12377.G1Affine, sw_bls12377.G2Affine]
	Key    plonkrecursion.VerifyingKey[sw_bls12377.ScalarField, sw_bls12377.G1Affine, sw_bls12377.G2Affine] `gnark:"-"`
	Public plonkrecursion.Witness[sw_bls12377.ScalarField]
}

func (c *plonkCircuit) Define(api frontend.API) error {
	v, err := plonkrecursion.NewVerifier[sw_bls12377.ScalarField, sw_bls12377.G1Affine, sw_bls12377.G2Affine, sw_bls12377.GT](api)
	if err != nil {
		return err
	}
	return v.AssertProof(c.Key, c.Proof, c.Public)
}

// plonkVerified makes a circuit with a proof.
func plonkVerified(id ecc.ID) (_, _ frontend.Circuit) {
	if id != ecc.BW6_761 {
		return nil, nil
	}
	circuit, assigned, err := plonkProof(id.ScalarField())
	must(err)
	return circuit, assigned
}

func plonkProof(outer *big.Int) (circuit, assigned *plonkCircuit, err error) {
	inner := ecc.BLS12_377.ScalarField()
	ccs, err := frontend.Compile(inner, scs.NewBuilder[constraint.U64], &product{})
	if err != nil {
		return nil, nil, err
	}
	canonical, domain := stockplonk.SRSSize(ccs)
	srs, err := kzg377.NewSRS(uint64(canonical), big.NewInt(7))
	if err != nil {
		return nil, nil, err
	}
	lagrange := &kzg377.SRS{Vk: srs.Vk}
	if lagrange.Pk.G1, err = kzg377.ToLagrangeG1(srs.Pk.G1[:domain]); err != nil {
		return nil, nil, err
	}
	pk, vk, err := stockplonk.Setup(ccs, srs, lagrange)
	if err != nil {
		return nil, nil, err
	}
	full, err := frontend.NewWitness(&product{3, 5, 15}, inner)
	if err != nil {
		return nil, nil, err
	}
	public, err := full.Public()
	if err != nil {
		return nil, nil, err
	}
	proof, err := stockplonk.Prove(ccs, pk, full, plonkrecursion.GetNativeProverOptions(outer, inner))
	if err != nil {
		return nil, nil, err
	}
	assigned = &plonkCircuit{}
	assigned.Proof, err = plonkrecursion.ValueOfProof[sw_bls12377.ScalarField, sw_bls12377.G1Affine, sw_bls12377.G2Affine](proof)
	if err != nil {
		return nil, nil, err
	}
	if assigned.Public, err = plonkrecursion.ValueOfWitness[sw_bls12377.ScalarField](public); err != nil {
		return nil, nil, err
	}
	circuit = &plonkCircuit{
		Proof:  plonkrecursion.PlaceholderProof[sw_bls12377.ScalarField, sw_bls12377.G1Affine, sw_bls12377.G2Affine](ccs),
		Public: plonkrecursion.PlaceholderWitness[sw_bls12377.ScalarField](ccs),
	}
	circuit.Key, err = plonkrecursion.ValueOfVerifyingKey[sw_bls12377.ScalarField, sw_bls12377.G1Affine, sw_bls12377.G2Affine](vk)
	return circuit, assigned, err
}
