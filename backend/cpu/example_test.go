package cpu_test

import (
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
)

// The CPU backend computes by gnark-crypto, on every curve and in both groups.
func ExampleNew() {
	b := cpu.New(cpu.Options{})
	defer b.Close()
	fmt.Println(slices.Equal(b.Info().Can.MSMCurves(), backend.Curves()))
	// Output: true
}
