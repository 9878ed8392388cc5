// Command plonk-woven proves the knowledge of a preimage with PLONK. It is
// gnark's alone: nothing of pippin is imported here. Built with
//
//	go build -toolexec="msm weave" ./examples/plonk-woven
//
// it proves by pippin's prover, on the backend that the environment names.
package main

import (
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	mimcnative "github.com/consensys/gnark-crypto/ecc/bn254/fr/mimc"
	"github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"
	"github.com/consensys/gnark/std/hash/mimc"
	"github.com/consensys/gnark/test/unsafekzg"
)

// chain hashes a secret again and again.
type chain struct {
	length int
	Secret frontend.Variable
	End    frontend.Variable `gnark:",public"`
}

func (c *chain) Define(api frontend.API) error {
	at := c.Secret
	for range c.length {
		h, err := mimc.NewMiMC(api)
		if err != nil {
			return err
		}
		h.Write(at)
		at = h.Sum()
	}
	api.AssertIsEqual(at, c.End)
	return nil
}

// end returns the last hash of a chain, computed outside of the circuit.
func end(secret fr.Element, length int) fr.Element {
	at := secret
	for range length {
		h := mimcnative.NewMiMC()
		b := at.Bytes()
		h.Write(b[:])
		at.SetBytes(h.Sum(nil))
	}
	return at
}

func main() {
	length := flag.Int("length", 40, "hashes in the chain, some 330 constraints each")
	proofs := flag.Int("proofs", 3, "proofs to make")
	flag.Parse()
	logger.Disable() // gnark's own
	if err := run(*length, *proofs); err != nil {
		log.Fatal(err)
	}
}

func run(length, proofs int) error {
	field := ecc.BN254.ScalarField()
	ccs, err := frontend.Compile(field, scs.NewBuilder, &chain{length: length})
	if err != nil {
		return err
	}
	// A trusted setup that nobody should trust, made here.
	srs, lagrange, err := unsafekzg.NewSRS(ccs)
	if err != nil {
		return err
	}
	pk, vk, err := plonk.Setup(ccs, srs, lagrange)
	if err != nil {
		return err
	}
	for range proofs {
		var secret fr.Element
		secret.MustSetRandom()
		witness, err := frontend.NewWitness(&chain{Secret: secret, End: end(secret, length)}, field)
		if err != nil {
			return err
		}
		start := time.Now()
		proof, err := plonk.Prove(ccs, pk, witness)
		if err != nil {
			return err
		}
		took := time.Since(start)
		public, err := witness.Public()
		if err != nil {
			return err
		}
		if err := plonk.Verify(proof, vk, public); err != nil {
			return err
		}
		fmt.Printf("proved %d constraints in %v, verified\n", ccs.GetNbConstraints(), took.Round(time.Millisecond))
	}
	return nil
}
