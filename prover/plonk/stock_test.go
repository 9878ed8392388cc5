package plonk_test

import (
	"testing"

	"github.com/pippin-zk/pippin/prover/internal/standin"
)

func TestStandsInForGnark(t *testing.T) {
	standin.Check(t, "github.com/consensys/gnark/backend/plonk")
}
