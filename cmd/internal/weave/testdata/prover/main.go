// Command prover is a program that knows nothing of pippin: MSMs in every
// group, keys, and proofs. Its other files have the cases; a program without one of them
// does without its cases, and without snark.go it needs gnark-crypto only. The tests build it
// stock and woven.
//
//	prover CASE...
//
// Every case checks its results and prints "CASE ok", or the program fails.
package main

import (
	"errors"
	"fmt"
	"os"
)

var cases = map[string]func() error{}

var errWrong = errors.New("wrong result")

func main() {
	for _, name := range os.Args[1:] {
		run, ok := cases[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such case:", name)
			os.Exit(2)
		}
		if err := run(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
		fmt.Println(name, "ok")
	}
}
