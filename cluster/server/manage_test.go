package server_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	nats "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/internal/files/quickdir"
)

// TestServersThatDoNotFit: on a server without JetStream, or one that has other streams with these
// names, the manager says so and ends.
func TestServersThatDoNotFit(t *testing.T) {
	for _, k := range []struct {
		name, says string
		stream     jetstream.StreamConfig
	}{
		{"no JetStream", "no JetStream", jetstream.StreamConfig{}},
		{"another's stream", wire.Jobs, jetstream.StreamConfig{Name: wire.Jobs, Storage: jetstream.MemoryStorage}},
		{"an older version's", "then remove its streams", jetstream.StreamConfig{Name: wire.Queue, Subjects: []string{wire.QueuePrefix + ">"}}},
	} {
		t.Run(k.name, func(t *testing.T) {
			s, err := nats.NewServer(&nats.Options{
				Host: "127.0.0.1", Port: nats.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: k.stream.Name != "", StoreDir: quickdir.New(t),
			})
			if err != nil {
				t.Fatal(err)
			}
			go s.Start()
			defer func() { s.Shutdown(); s.WaitForShutdown() }()
			if !s.ReadyForConnections(time.Minute) {
				t.Fatal("the server does not come up")
			}
			ticket := cluster.Ticket{URL: s.ClientURL()}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if k.stream.Name != "" {
				link, err := ticket.Connect("test")
				if err != nil {
					t.Fatal(err)
				}
				defer link.Close()
				if _, err := link.JS.CreateStream(ctx, k.stream); err != nil {
					t.Fatal(err)
				}
			}
			err = server.Manager{Ticket: ticket}.Run(ctx, func() { t.Error("it is ready") })
			if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), k.says) || ctx.Err() != nil {
				t.Error(err)
			}
			t.Log(err)
		})
	}
}
