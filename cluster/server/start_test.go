package server_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/internal/files/quickdir"
)

// TestAddressIsTaken: a second server at an address fails and does not wait for the first to end.
func TestAddressIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	s, err := server.Start(server.Config{Dir: quickdir.New(t), Listen: l.Addr().String(), Room: 1 << 30})
	if err == nil {
		s.Stop()
	}
	if !errors.Is(err, backend.ErrUnavailable) || time.Since(began) > time.Minute {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// TestOldFolder: the folder of a version whose tenants shared streams is refused, in one line that
// says what to do. Nothing in the folder changes.
func TestOldFolder(t *testing.T) {
	dir := quickdir.New(t)
	old := filepath.Join(dir, "jetstream", "jetstream", "$G", "streams", "pippin_queue")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := server.Start(server.Config{Dir: dir, Listen: "127.0.0.1:0", Room: 1 << 30})
	if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "then remove") || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	if _, err := os.Stat(old); err != nil {
		t.Error(err)
	}
}

// TestSlowStreams: a server on a slow disk takes seconds to make its streams, and each one's folder
// is there before it. The server does not end for that.
func TestSlowStreams(t *testing.T) {
	dir := quickdir.New(t)
	s, err := server.Start(server.Config{Dir: dir, Listen: "127.0.0.1:0", Room: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	if err := os.MkdirAll(filepath.Join(dir, "jetstream", "jetstream", "pippin", "streams", "pippin_witnesses_x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Healthy(); err == nil {
		t.Fatal("the server is well without a stream whose folder is there, and this test checks nothing")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Wait(ctx); err != nil {
		t.Error(err)
	}
}

// TestSlowGuest: a client that stands still for 3 s before it says who it is, as on a busy machine, is still there.
func TestSlowGuest(t *testing.T) {
	t.Parallel()
	s, err := server.Start(server.Config{Dir: quickdir.New(t), Listen: "127.0.0.1:0", Room: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	ticket, err := s.Ticket(server.AdminTicket)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(ticket.URL, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	from := bufio.NewReader(conn)
	if info, err := from.ReadString('\n'); err != nil || !strings.HasPrefix(info, "INFO ") {
		t.Fatalf("the server says %q: %v", info, err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(3 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if said, err := from.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the server says %q: %v", said, err)
	}
}
