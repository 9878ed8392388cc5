package cluster_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
	"github.com/pippin-zk/pippin/prover/groth16"
)

// root is the circuit "I know a square root of this number".
type root struct {
	Root   frontend.Variable
	Square frontend.Variable `gnark:",public"`
}

func (c *root) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.Root, c.Root), c.Square)
	return nil
}

// This example runs a server, its manager, a worker and a client in one process. Elsewhere each is
// a separate program: msm cluster up, msm cluster work, and whatever needs proofs.
func Example() {
	dir, err := os.MkdirTemp("", "cluster")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := server.Start(server.Config{Dir: dir, Listen: "127.0.0.1:0", Room: 1 << 30})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Stop()
	tickets := map[string]cluster.Ticket{}
	for _, name := range []string{server.AdminTicket, server.WorkerTicket, server.ClientTicket} {
		if tickets[name], err = s.Ticket(name); err != nil {
			log.Fatal(err)
		}
	}
	running, stop := context.WithCancel(context.Background())
	group, running := errgroup.WithContext(running)
	ready := make(chan struct{})
	group.Go(func() error {
		return server.Manager{Ticket: tickets[server.AdminTicket]}.Run(running, func() { close(ready) })
	})
	<-ready
	group.Go(func() error {
		return worker.Run(running, worker.Config{Ticket: tickets[server.WorkerTicket], Open: worker.Provers(nil), Cache: dir + "/cache"})
	})

	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, new(root))
	if err != nil {
		log.Fatal(err)
	}
	pk, vk, err := groth16.Setup(ccs)
	if err != nil {
		log.Fatal(err)
	}
	client, err := cluster.Connect(tickets[server.ClientTicket])
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	prover, err := client.Add(ctx, ccs, pk, vk, cluster.Options{}) // uploads what is missing
	if err != nil {
		log.Fatal(err)
	}
	witness, err := frontend.NewWitness(&root{Root: 3, Square: 9}, ecc.BN254.ScalarField())
	if err != nil {
		log.Fatal(err)
	}
	if _, err := prover.Prove(ctx, witness); err != nil { // made by the worker, verified here
		log.Fatal(err)
	}
	fmt.Println("proved and verified")
	stop()
	if err := group.Wait(); err != nil {
		log.Fatal(err)
	}
	// Output: proved and verified
}
