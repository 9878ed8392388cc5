package server

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/internal/files/quickdir"
)

// TestRenewal: a certificate that ends soon is renewed while the server runs. Connections stay,
// whoever has an old ticket can connect again, and the tickets contain the new certificate.
func TestRenewal(t *testing.T) {
	dir := quickdir.New(t)
	s, err := Start(Config{Dir: dir, Listen: "127.0.0.1:0", Hosts: []string{"prover.invalid"}, Room: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	if err := s.renew(time.Now()); err != nil {
		t.Fatal(err)
	}
	first := s.id
	// The same server half a year before its certificate ends.
	old := *s.id
	if err := old.certify(old.Hosts, time.Now().Add(-validity+renewBefore/2)); err != nil {
		t.Fatal(err)
	}
	s.id = &old
	if err := s.certificate.set(&old); err != nil {
		t.Fatal(err)
	}
	if err := s.writeTickets(); err != nil {
		t.Fatal(err)
	}
	ticket := func() wire.Ticket {
		t.Helper()
		k, err := s.Ticket(AdminTicket)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	file := ticket()
	text, err := os.ReadFile(filepath.Join(dir, AdminTicket))
	if err != nil {
		t.Fatal(err)
	}
	memory := wire.Ticket{Dial: file.Dial} // a ticket that does not look at its file again
	if err := json.Unmarshal(text, &memory); err != nil {
		t.Fatal(err)
	}
	var all []*nats.Conn
	for _, k := range []wire.Ticket{file, memory} {
		nc, err := k.Connect("test")
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		all = append(all, nc.Conn)
	}
	if err := s.renew(time.Now()); err != nil {
		t.Fatal(err)
	}
	if s.id.Certificate == old.Certificate || s.id.Key != first.Key {
		t.Fatal("no new certificate of the same key")
	}
	if ticket().Roots != s.id.Certificate {
		t.Error("the tickets have another certificate")
	}
	written := new(identity)
	if text, err = os.ReadFile(filepath.Join(dir, identityFile)); err == nil {
		err = json.Unmarshal(text, written)
	}
	if err != nil || written.Certificate != s.id.Certificate {
		t.Error("the folder has another certificate", err)
	}
	for i, nc := range all {
		if nc.IsClosed() || nc.Stats().Reconnects > 0 {
			t.Error("a connection broke")
		}
		again := make(chan struct{}, 1)
		nc.SetReconnectHandler(func(*nats.Conn) { again <- struct{}{} })
		if err := nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-again:
		case <-time.After(time.Minute):
			t.Fatal("not connected again", i, nc.LastError())
		}
		state, err := nc.TLSConnectionState()
		if err != nil {
			t.Fatal(err)
		}
		if shown := state.PeerCertificates[0]; !shown.NotAfter.After(time.Now().Add(renewBefore)) {
			t.Error("the certificate from before is shown")
		}
	}
	// When the old certificate has ended, holders of old tickets refuse the server; those of new
	// ones do not.
	block, _ := pem.Decode([]byte(s.id.Certificate))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		roots string
		well  bool
	}{{old.Certificate, false}, {s.id.Certificate, true}} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(k.roots))
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "prover.invalid",
			CurrentTime: time.Now().Add(renewBefore)}); (err == nil) != k.well {
			t.Error(k.well, err)
		}
	}
}

// TestCertificateByOtherClocks: a new certificate is valid on machines whose clocks are an hour
// behind or ahead of the server's.
func TestCertificateByOtherClocks(t *testing.T) {
	now := time.Now()
	var id identity
	if err := id.certify([]string{"server.example"}, now); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(id.Certificate))
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c)
	for _, by := range []time.Duration{-time.Hour, 0, time.Hour} {
		if _, err := c.Verify(x509.VerifyOptions{DNSName: "server.example", Roots: roots, CurrentTime: now.Add(by)}); err != nil {
			t.Errorf("%v: %v", by, err)
		}
	}
}
