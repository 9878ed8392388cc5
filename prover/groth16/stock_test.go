package groth16_test

import (
	"testing"

	"github.com/pippin-zk/pippin/prover/internal/apitest"
)

func TestStandsInForGnark(t *testing.T) {
	apitest.Check(t, "github.com/consensys/gnark/backend/groth16")
}
