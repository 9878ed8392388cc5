package worker_test

import (
	"context"
	"log"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/worker"
	"github.com/pippin-zk/pippin/engine"
)

// This example is a worker for circuits with hints that msm cluster work does not know. Packages
// with hints register them when they are imported.
func ExampleRun() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	e, err := pippin.New(ctx, engine.Config{Backend: "cuda", Fallbacks: []string{"cpu"}, Observer: worker.Observe()})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ticket, err := cluster.ReadTicket("worker.json")
	if err != nil {
		log.Fatal(err)
	}
	// Run works until SIGTERM. Then the jobs in hand are ended or given back.
	if err := worker.Run(ctx, worker.Config{Ticket: ticket, Open: worker.Provers(e), Cache: "keys", Log: slog.Default()}); err != nil {
		log.Fatal(err)
	}
}
