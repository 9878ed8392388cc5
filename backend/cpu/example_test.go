package cpu_test

import (
	"fmt"

	"github.com/pippin-zk/pippin/backend/cpu"
)

// The CPU backend computes by gnark-crypto, on every curve and in both groups.
func ExampleNew() {
	b := cpu.New(cpu.Options{})
	defer b.Close()
	for _, c := range b.Info().Can.MSMCurves() {
		fmt.Println(c)
	}
	// Output:
	// bn254
	// bls12-377
	// bls12-381
	// bw6-761
}
