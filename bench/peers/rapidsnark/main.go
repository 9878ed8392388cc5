// Command rapidsnark proves as rapidsnark's program prover does, with the library of go-rapidsnark: it
// stands for that program in msm bench circom where nobody has built it. It is a module by itself, in no
// workspace, and its library is C++ with cgo.
//
//	cd bench/peers/rapidsnark && GOWORK=off go build -o FOLDER/rapidsnark
//	msm bench circom --rapidsnark FOLDER/rapidsnark
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/iden3/go-rapidsnark/prover"
)

func main() {
	if err := prove(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// prove writes the proof and the public signals of a key and a witness.
func prove(files []string) error {
	if len(files) != 4 {
		return errors.New("KEY.zkey WITNESS.wtns PROOF.json PUBLIC.json are wanted")
	}
	key, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	witness, err := os.ReadFile(files[1])
	if err != nil {
		return err
	}
	proof, public, err := prover.Groth16ProverRaw(key, witness)
	if err != nil {
		return err
	}
	if err := os.WriteFile(files[2], []byte(proof), 0o600); err != nil {
		return err
	}
	return os.WriteFile(files[3], []byte(public), 0o600)
}
