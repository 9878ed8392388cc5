package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/nats-io/nkeys"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// The tickets that a server writes into its folder.
const (
	AdminTicket  = "admin.json"  // status and drain, and what the server itself does
	ClientTicket = "client.json" // proofs
	WorkerTicket = "worker.json"
)

// TicketOf returns the name of the ticket of a client in Config.Clients.
func TicketOf(client string) string { return "client-" + client + ".json" }

// identity is what makes a cluster the same one after a restart, in a file of the
// user's alone.
type identity struct {
	Admin, Client, Worker string            // seeds of nkeys
	Clients               map[string]string // seeds of the clients that have a ticket of their own
	Seal, Open            string            // of witnesses
	Hosts                 []string
	Certificate, Key      string // in PEM, for Hosts
}

// validity is that of certificates. They begin a day early, for clocks that go wrong.
const validity = 5 * 365 * 24 * time.Hour

// loadIdentity reads the identity of a folder, or makes one, with seeds for all clients. The certificate is made
// anew when it is for other hosts, or will not be valid for a month; without hosts
// there is none.
func loadIdentity(dir string, hosts, clients []string) (*identity, error) {
	path := filepath.Join(dir, "identity.json")
	id := new(identity)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		for _, seed := range []*string{&id.Admin, &id.Client, &id.Worker} {
			if *seed, err = newSeed(); err != nil {
				return nil, err
			}
		}
		if id.Seal, id.Open, err = wire.NewSealing(); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(text, id); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", backend.ErrInvalidInput, path, err)
		}
	}
	for _, name := range clients {
		if !wire.Name.MatchString(name) {
			return nil, fmt.Errorf("%w: %q is no client's name: letters, digits, - and _, at most 64", backend.ErrInvalidInput, name)
		}
		if id.Clients[name] == "" {
			seed, err := newSeed()
			if err != nil {
				return nil, err
			}
			if id.Clients == nil {
				id.Clients = map[string]string{}
			}
			id.Clients[name] = seed
		}
	}
	if len(hosts) > 0 && (!slices.Equal(id.Hosts, hosts) || !id.lasts(time.Now().AddDate(0, 1, 0))) {
		if err := id.certify(hosts); err != nil {
			return nil, err
		}
	}
	if text, err = json.MarshalIndent(id, "", "  "); err != nil {
		return nil, err
	}
	return id, maybe.WriteFile(path, text, 0o600)
}

func newSeed() (string, error) {
	k, err := nkeys.CreateUser()
	if err != nil {
		return "", err
	}
	seed, err := k.Seed()
	return string(seed), err
}

// lasts reports whether the certificate is valid until then.
func (id *identity) lasts(until time.Time) bool {
	block, _ := pem.Decode([]byte(id.Certificate))
	if block == nil {
		return false
	}
	c, err := x509.ParseCertificate(block.Bytes)
	return err == nil && until.Before(c.NotAfter)
}

// certify makes a certificate that vouches for itself. Tickets have it, and nothing
// else is trusted by their holders.
func (id *identity) certify(hosts []string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "pippin cluster"},
		NotBefore: now.AddDate(0, 0, -1), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	id.Hosts = hosts
	id.Certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	id.Key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return nil
}

func (id *identity) tls() (*tls.Config, error) {
	c, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key))
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c}}, nil
}

// Join prepares a folder for a cluster on a server that is somebody else's: it writes
// tickets for clients and workers that log in as the administrator's ticket does, with
// keys for witnesses that the server does not know. Seeds of users that may do less
// can be put into the tickets by hand.
func Join(dir string, admin cluster.Ticket) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	id, err := loadIdentity(dir, nil, nil)
	if err != nil {
		return fmt.Errorf("the cluster's identity: %w", err)
	}
	id.Admin, id.Client, id.Worker, id.Certificate = admin.Seed, admin.Seed, admin.Seed, admin.Roots
	return id.writeTickets(dir, admin.URL, admin.Roots != "", nil)
}

// writeTickets writes what clients, workers and administrators need to come here.
func (id *identity) writeTickets(dir, url string, secure bool, clients []string) error {
	tickets := map[string]wire.Ticket{
		AdminTicket:  {Seed: id.Admin, Fingerprint: wire.Fingerprint(id.Seal)},
		ClientTicket: {Seed: id.Client, Seal: id.Seal},
		WorkerTicket: {Seed: id.Worker, Open: id.Open},
	}
	for _, name := range clients {
		tickets[TicketOf(name)] = wire.Ticket{Seed: id.Clients[name], Seal: id.Seal}
	}
	for name, t := range tickets {
		t.URL = url
		if secure {
			t.Roots = id.Certificate
		}
		if err := t.Write(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
