package server_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/server"
)

// TestAddressIsTaken: a second server at an address does not wait for the first to end.
func TestAddressIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	s, err := server.Start(server.Config{Dir: t.TempDir(), Listen: l.Addr().String(), Room: 1 << 30})
	if err == nil {
		s.Stop()
	}
	if !errors.Is(err, backend.ErrUnavailable) || time.Since(began) > time.Minute {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
