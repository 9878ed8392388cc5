package main

import (
	"crypto/sha256"
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	secp256k1fr "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/algebra/emulated/sw_emulated"
	"github.com/consensys/gnark/std/math/emulated"
	"github.com/consensys/gnark/std/signature/ecdsa"
)

// A statement is a circuit with an assignment that satisfies it.
type statement struct {
	title               string
	circuit, assignment frontend.Circuit
}

// newStatement knows the circuits by the names of the flag -circuit.
func newStatement(name string) (statement, error) {
	switch name {
	case "sha256":
		return sha256Statement("one block of input, fifty-five bytes at the very most")
	case "ecdsa":
		return ecdsaStatement([]byte("a message worth signing")), nil
	}
	return statement{}, fmt.Errorf("unknown circuit %q (sha256, ecdsa)", name)
}

type (
	secp256k1Fp = emulated.Secp256k1Fp
	secp256k1Fr = emulated.Secp256k1Fr
)

// signed states: I know a signature of Message under the public key. Its
// range checks bring a Pedersen commitment: 185,198 constraints.
type signed struct {
	Signature ecdsa.Signature[secp256k1Fr]
	Message   emulated.Element[secp256k1Fr]             `gnark:",public"`
	Key       ecdsa.PublicKey[secp256k1Fp, secp256k1Fr] `gnark:",public"`
}

// Define implements frontend.Circuit.
func (c *signed) Define(api frontend.API) error {
	c.Key.Verify(api, sw_emulated.GetCurveParams[secp256k1Fp](), &c.Message, &c.Signature)
	return nil
}

// ecdsaStatement signs the digest of message with a fixed key and a fixed
// nonce, so that every run proves the same; never sign like this elsewhere.
func ecdsaStatement(message []byte) statement {
	digest := sha256.Sum256(message)
	var z, key, nonce, r, s secp256k1fr.Element
	z.SetBytes(digest[:])
	key.SetString("0x5eed0000000000000000000000000000000000000000000000000000c0ffee01")
	nonce.SetString("0x0ddba11000000000000000000000000000000000000000000000000000000b0b")

	// (r, s): r is the x coordinate of nonce*G, s = (z + r*key) / nonce.
	at := multiple(&nonce)
	r.SetBigInt(at.X.BigInt(new(big.Int)))
	s.Mul(&r, &key).Add(&s, &z).Div(&s, &nonce)

	public := multiple(&key)
	return statement{
		title:   "ECDSA on secp256k1",
		circuit: &signed{},
		assignment: &signed{
			Signature: ecdsa.Signature[secp256k1Fr]{
				R: emulated.ValueOf[secp256k1Fr](r),
				S: emulated.ValueOf[secp256k1Fr](s),
			},
			Message: emulated.ValueOf[secp256k1Fr](z),
			Key: ecdsa.PublicKey[secp256k1Fp, secp256k1Fr]{
				X: emulated.ValueOf[secp256k1Fp](public.X),
				Y: emulated.ValueOf[secp256k1Fp](public.Y),
			},
		},
	}
}

func multiple(k *secp256k1fr.Element) secp256k1.G1Affine {
	var p secp256k1.G1Affine
	p.ScalarMultiplicationBase(k.BigInt(new(big.Int)))
	return p
}
