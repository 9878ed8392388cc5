package server_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/pippin-zk/pippin/cluster/server"
)

// The server in a program of yours. Workers and clients get their tickets as files that only their
// user can read.
func ExampleStart() {
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
	admin, err := s.Ticket(server.AdminTicket)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	// Run makes the streams and then looks after them until ctx ends.
	err = server.Manager{Ticket: admin}.Run(ctx, func() {
		fmt.Println("ready")
		stop()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: ready
}
