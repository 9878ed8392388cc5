package main

import (
	"crypto/sha256"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bn254mimc "github.com/consensys/gnark-crypto/ecc/bn254/fr/mimc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/hash/mimc"
	"github.com/consensys/gnark/std/hash/sha2"
	"github.com/consensys/gnark/std/math/uints"
)

// statement is a circuit and an assignment that satisfies it.
type statement struct{ circuit, assignment frontend.Circuit }

// statementOf returns the statement "I know a message with this hash".
func statementOf(hash string, message []byte) (statement, error) {
	switch hash {
	case "sha256":
		return sha256Statement(message), nil
	case "mimc":
		return mimcStatement(message)
	}
	return statement{}, fmt.Errorf("unknown hash %q (sha256, mimc)", hash)
}

// sha256Circuit takes bytes: 165 thousand constraints for a short message.
type sha256Circuit struct {
	Message []uints.U8
	Digest  [32]uints.U8 `gnark:",public"`
}

func (c *sha256Circuit) Define(api frontend.API) error {
	bytes, err := uints.NewBytes(api)
	if err != nil {
		return err
	}
	h, err := sha2.New(api)
	if err != nil {
		return err
	}
	h.Write(c.Message)
	for i, b := range h.Sum() {
		bytes.AssertIsEqual(b, c.Digest[i])
	}
	return nil
}

func sha256Statement(message []byte) statement {
	c := &sha256Circuit{Message: uints.NewU8Array(message)}
	digest := sha256.Sum256(message)
	copy(c.Digest[:], uints.NewU8Array(digest[:]))
	return statement{&sha256Circuit{Message: make([]uints.U8, len(message))}, c}
}

// mimcCircuit takes one scalar: a few hundred constraints.
type mimcCircuit struct {
	Message frontend.Variable
	Digest  frontend.Variable `gnark:",public"`
}

func (c *mimcCircuit) Define(api frontend.API) error {
	h, err := mimc.NewMiMC(api)
	if err != nil {
		return err
	}
	h.Write(c.Message)
	api.AssertIsEqual(h.Sum(), c.Digest)
	return nil
}

func mimcStatement(message []byte) (statement, error) {
	var m fr.Element
	m.SetBytes(message)
	b := m.Bytes()
	h := bn254mimc.NewMiMC()
	if _, err := h.Write(b[:]); err != nil {
		return statement{}, err
	}
	return statement{&mimcCircuit{}, &mimcCircuit{b[:], h.Sum(nil)}}, nil
}
