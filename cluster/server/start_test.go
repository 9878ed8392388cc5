package server_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
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

// TestIdentityOfOthers: an identity that another user may read or write is refused, in one line that says what to do,
// and neither it nor the tickets are written anew. With the mode that the line names it is the cluster's as before.
func TestIdentityOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	dir := quickdir.New(t)
	start := func() error {
		s, err := server.Start(server.Config{Dir: dir, Listen: "127.0.0.1:0", Room: 1 << 30})
		if err == nil {
			s.Stop()
		}
		return err
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "identity.json")
	identity := read("identity.json")
	if err := os.Remove(filepath.Join(dir, server.ClientTicket)); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o604, 0o640, 0o602, 0o620} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		err := start()
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), path+", which has secrets: chmod 600 it") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", mode, err)
		}
		if _, err := os.Stat(filepath.Join(dir, server.ClientTicket)); !errors.Is(err, os.ErrNotExist) || read("identity.json") != identity {
			t.Errorf("%v: it or a ticket was written anew (%v)", mode, err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil || read("identity.json") != identity {
		t.Errorf("after chmod 600: %v", err)
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
