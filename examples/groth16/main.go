// Command groth16 proves the knowledge of a message with a given hash, with
// gnark's circuits, keys and witnesses, and pippin in the place of one import.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
)

func main() {
	message := flag.String("message", "attack at dawn", "what to prove the knowledge of")
	name := flag.String("backend", "", "backend of the MSMs: cpu, plugin:cpu, cuda; empty names none: in this process")
	hash := flag.String("hash", "sha256", "sha256, or mimc for a small circuit")
	flag.Parse()
	logger.Disable() // gnark's own
	s, err := statementOf(*hash, []byte(*message))
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), *name, s); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, name string, s statement) error {
	if name != "" {
		e, err := pippin.New(ctx, engine.Config{Backend: name})
		if err != nil {
			return err
		}
		defer e.Close()
		groth16.Use(e) // from here on, every Prove of the program
		defer groth16.Use(nil)
	}
	n, err := prove(s)
	if err != nil {
		return err
	}
	fmt.Printf("proved and verified %d constraints\n", n)
	return nil
}
