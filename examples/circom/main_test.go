package main

import (
	"bytes"
	"testing"
)

func TestRun(t *testing.T) {
	proof, err := run(t.Context(), provingKey, witness, verificationKey)
	if err != nil {
		t.Fatal(err)
	}
	if len(proof.Public) != 2 || proof.Public[0].String() != "35" || proof.Public[1].String() != "5" {
		t.Errorf("public signals %v", proof.Public)
	}
}

// TestRunSeesAWrongWitness changes the secret: no proof comes out.
func TestRunSeesAWrongWitness(t *testing.T) {
	wrong := bytes.Clone(witness)
	wrong[len(wrong)-32]++
	if _, err := run(t.Context(), provingKey, wrong, verificationKey); err == nil {
		t.Fatal("a wrong witness was proved")
	}
}
