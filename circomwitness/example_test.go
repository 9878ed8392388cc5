package circomwitness_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pippin-zk/pippin/circomwitness"
)

// The files are those of "circom --wasm" and of snarkjs's users.
func Example() {
	ctx := context.Background()
	wasm, err := os.ReadFile("circuit.wasm")
	if err != nil {
		fmt.Println(err)
		return
	}
	circuit, err := circomwitness.Compile(ctx, wasm) // once
	if err != nil {
		fmt.Println(err)
		return
	}
	defer circuit.Close()
	wtns, err := circuit.Calculate(ctx, []byte(`{"x": "3", "shift": 5}`)) // as often as you like, from any goroutine
	if err != nil {
		fmt.Println(err)
		return
	}
	defer clear(wtns) // they are secret
	fmt.Println(circuit.Wires(), len(wtns))
}
