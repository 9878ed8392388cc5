// Command cluster has proofs made by a cluster, of the statement "I know what hashes to
// this". On one machine, in two terminals:
//
//	msm cluster up --work
//	go run ./examples/cluster
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bn254mimc "github.com/consensys/gnark-crypto/ecc/bn254/fr/mimc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"
	"github.com/consensys/gnark/std/hash/mimc"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/internal/files"
	"github.com/pippin-zk/pippin/prover/groth16"
)

func main() {
	path := flag.String("ticket", "", "a client's ticket (default: that of a cluster on this machine)")
	n := flag.Int("proofs", 10, "how many")
	flag.Parse()
	logger.Disable() // gnark's own
	if *path == "" {
		dir, err := files.ClusterFolder(os.Getenv("XDG_DATA_HOME"))
		if err != nil {
			log.Fatal(err)
		}
		*path = filepath.Join(dir, "client.json")
	}
	ticket, err := cluster.ReadTicket(*path)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), os.Stdout, ticket, *n); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, ticket cluster.Ticket, n int) error {
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, new(preimage))
	if err != nil {
		return err
	}
	pk, vk, err := groth16.Setup(ccs)
	if err != nil {
		return err
	}
	client, err := cluster.Connect(ticket)
	if err != nil {
		return err
	}
	defer client.Close()
	prover, err := client.Add(ctx, ccs, pk, vk, cluster.Options{}) // uploads what is missing
	if err != nil {
		return err
	}
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error {
			witness, err := frontend.NewWitness(known(uint64(i)), ecc.BN254.ScalarField())
			if err != nil {
				return err
			}
			_, err = prover.Prove(ctx, witness) // made somewhere, verified here
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d proofs in %v, all verified\n", n, time.Since(began).Round(time.Millisecond))
	return err
}

// preimage says "I know what hashes to this".
type preimage struct {
	Secret frontend.Variable
	Hash   frontend.Variable `gnark:",public"`
}

func (c *preimage) Define(api frontend.API) error {
	h, err := mimc.NewMiMC(api)
	if err != nil {
		return err
	}
	h.Write(c.Secret)
	api.AssertIsEqual(h.Sum(), c.Hash)
	return nil
}

// known returns a number and its hash.
func known(n uint64) *preimage {
	var secret, hash fr.Element
	secret.SetUint64(n)
	b := secret.Bytes()
	h := bn254mimc.NewMiMC()
	_, _ = h.Write(b[:]) // one element, below the modulus
	hash.SetBytes(h.Sum(nil))
	return &preimage{secret, hash}
}
