package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consensys/gnark/logger"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
	"github.com/pippin-zk/pippin/internal/files/quickdir"
)

func TestExample(t *testing.T) {
	logger.Disable()
	dir := quickdir.New(t)
	s, err := server.Start(server.Config{Dir: dir, Listen: "127.0.0.1:0", Room: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	ticket := func(name string) cluster.Ticket {
		k, err := cluster.ReadTicket(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	ctx, stop := context.WithCancel(t.Context())
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})
	group.Go(func() error {
		return server.Manager{Ticket: ticket(server.AdminTicket)}.Run(ctx, func() { close(ready) })
	})
	<-ready
	group.Go(func() error {
		return worker.Run(ctx, worker.Config{Ticket: ticket(server.WorkerTicket), Open: worker.Provers(nil), Cache: t.TempDir()})
	})
	var out bytes.Buffer
	if err := run(t.Context(), &out, ticket(server.ClientTicket), 3); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "3 proofs") {
		t.Error(out.String())
	}
	stop()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
