package rapidsnark_test

import (
	"fmt"
	"os"

	"github.com/pippin-zk/pippin/engine"
	prover "github.com/pippin-zk/pippin/prover/circom/rapidsnark"
)

// A program with go-rapidsnark has these calls.
func Example() {
	var e *engine.Engine // of pippin.New
	prover.Use(e)        // the one line that is new
	var files [3][]byte
	for i, name := range []string{"circuit.zkey", "witness.wtns", "verification_key.json"} {
		b, err := os.ReadFile("../testdata/cubic/" + name)
		if err != nil {
			fmt.Println(err)
			return
		}
		files[i] = b
	}
	proof, err := prover.Groth16Prover(files[0], files[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(proof.PubSignals, prover.VerifyGroth16(*proof, files[2]))
	// Output: [35 5] <nil>
}
