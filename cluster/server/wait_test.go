package server

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/internal/files/quickdir"
)

// TestStoreOfPeerIsLost: when the disk of a server among peers is full, NATS gives up its store and
// does not take it up again. The server must end then, so that it is started again. Once it ran on
// without its store for ever, and did not end when it was told to.
func TestStoreOfPeerIsLost(t *testing.T) {
	var ports []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().String())
	}
	s, err := Start(Config{Dir: quickdir.New(t), Listen: "127.0.0.1:0", ListenPeers: "127.0.0.1:0", Peers: ports, Name: "a", Room: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Healthy(); err != nil {
		t.Fatal("a server whose peers are away: ", err)
	}
	if err := s.nats.ShutdownJetStream(); err != nil { // as NATS itself does when the disk is full
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Wait(ctx); err == nil {
		t.Error("it goes on without its store")
	}
	shutdown := s.shutdown
	defer shutdown()
	never := make(chan struct{})
	defer close(never)
	s.shutdown = func() { <-never } // as NATS, which may wait for itself then
	began := time.Now()
	s.Stop()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it ends after %v", took)
	}
}
