package wire

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/files"
)

// Ticket is what one needs to take part in a cluster. It is a secret: whoever has a
// worker's reads every witness.
type Ticket struct {
	// URL is nats://HOST:PORT, of a loopback address only, or tls://HOST:PORT; several
	// servers of one cluster with commas.
	URL string `json:"url"`
	// Roots are the certificates, in PEM, one of which must have signed the
	// server's; the system's when it is empty.
	Roots string `json:"roots,omitempty"`
	// Seed is the nkey that one logs in with.
	Seed string `json:"seed,omitempty"`
	// Seal is the key that witnesses are encrypted with, for clients.
	Seal string `json:"seal,omitempty"`
	// Open is the key that opens them, for workers.
	Open string `json:"open,omitempty"`
	// OpenBefore are the keys that opened witnesses before Open did, for jobs that waited
	// while keys were changed.
	OpenBefore []string `json:"open_before,omitempty"`
	// Fingerprint is that of the key in Seal, for administrators, who make it known
	// in the cluster.
	Fingerprint string `json:"fingerprint,omitempty"`

	// Dial is HOST:PORT to connect to in place of URL's, whose name need not resolve
	// here then. The certificate is still compared with URL's.
	Dial string `json:"-"`

	path string // file that it was read from
}

// Tenant returns what begins the subjects of a ticket's jobs and keys and of the
// answers to its requests: part of the public nkey. All who have the ticket share it.
func (t Ticket) Tenant() (string, error) {
	if t.Seed == "" {
		return "anyone", nil
	}
	key, err := nkeys.FromSeed([]byte(t.Seed))
	if err != nil {
		return "", fmt.Errorf("%w: the ticket's nkey: %w", backend.ErrInvalidInput, err)
	}
	public, err := key.PublicKey()
	if err != nil {
		return "", fmt.Errorf("%w: the ticket's nkey: %w", backend.ErrInvalidInput, err)
	}
	return TenantOf(public), nil
}

// TenantOf returns the tenant of a public nkey.
func TenantOf(public string) string { return public[:20] }

// Inbox returns the prefix of the subjects at which a tenant gets answers.
func Inbox(tenant string) string { return "_INBOX." + tenant }

// ReadTicket reads a ticket from a file that others cannot read.
func ReadTicket(path string) (t Ticket, err error) {
	st, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return t, fmt.Errorf("%w: no ticket %s: msm cluster up writes it", backend.ErrInvalidInput, path)
	}
	if err != nil {
		return t, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	rights, err := files.RightsOf(path, st)
	if err != nil {
		return t, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	if runtime.GOOS != "windows" && rights.Others(files.MayAll) {
		return t, fmt.Errorf("%w: other users may read or write %s, which has secrets: chmod 600 it", backend.ErrInvalidInput, path)
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return t, fmt.Errorf("%w: ticket %s: %w", backend.ErrInvalidInput, path, err)
	}
	t.path = path
	return t, nil
}

// rootCerts returns the certificates that vouch for the server: those of the ticket's file as
// it is now, if it still is this ticket.
func (t Ticket) rootCerts() (*x509.CertPool, error) {
	roots := t.Roots
	if t.path != "" {
		if now, err := ReadTicket(t.path); err == nil && now.Seed == t.Seed && now.Roots != "" {
			roots = now.Roots
		}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(roots)) {
		return nil, fmt.Errorf("%w: the ticket's roots are no certificates", backend.ErrInvalidInput)
	}
	return pool, nil
}

// Write writes the ticket to a file of the user's alone.
func (t Ticket) Write(path string) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return maybe.WriteFile(path, append(text, '\n'), 0o600)
}

// Loopback reports whether a host is this machine's own address.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// check refuses to speak in the clear, or to somebody that anybody can be, where
// others may listen.
func (t Ticket) check() (secure bool, err error) {
	for i, text := range strings.Split(t.URL, ",") {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return false, fmt.Errorf("%w: %q is no address such as tls://host:4222", backend.ErrInvalidInput, text)
		}
		if i > 0 && secure != (u.Scheme == "tls") {
			return false, fmt.Errorf("%w: %s: either all servers speak TLS or none", backend.ErrInvalidInput, t.URL)
		}
		secure = u.Scheme == "tls"
		if Loopback(u.Hostname()) {
			continue
		}
		if !secure {
			return false, fmt.Errorf("%w: %s is not on this machine: only tls:// is spoken there", backend.ErrInvalidInput, text)
		}
		if t.Seed == "" {
			return false, fmt.Errorf("%w: %s is not on this machine: a ticket with an nkey is needed", backend.ErrInvalidInput, text)
		}
	}
	return secure, nil
}

// How soon a connection that has fallen silent is noticed: after two pings. And how
// long a new one may take, on machines that are busy.
const (
	pingEvery   = 2 * time.Second
	pingsLost   = 2
	dialsWithin = 5 * time.Second
)

// dialer is the one address that it connects to.
type dialer string

// Dial connects, whatever address is asked for.
func (d dialer) Dial(network, _ string) (net.Conn, error) {
	return net.DialTimeout(network, string(d), dialsWithin)
}

// Connect connects, and connects again whenever the connection breaks, until it is
// closed.
func (t Ticket) Connect(name string, more ...nats.Option) (*Link, error) {
	secure, err := t.check()
	if err != nil {
		return nil, err
	}
	tenant, err := t.Tenant()
	if err != nil {
		return nil, err
	}
	opts := []nats.Option{
		nats.Name(name), nats.Timeout(dialsWithin), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsLost), nats.IgnoreDiscoveredServers(), nats.NoCallbacksAfterClientClose(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // requests have errors of their own
		nats.ReconnectBufSize(-1), // what could not be sent is repeated by whoever asked
		nats.CustomInboxPrefix(Inbox(tenant)),
	}
	if t.Dial != "" {
		opts = append(opts, nats.SetCustomDialer(dialer(t.Dial)), nats.SkipHostLookup())
	}
	if secure {
		cfg := &tls.Config{MinVersion: tls.VersionTLS13} // for the name of the server that is tried
		if t.Roots != "" {
			if cfg.RootCAs, err = t.rootCerts(); err != nil {
				return nil, err
			}
			opts = append(opts, func(o *nats.Options) error { o.RootCAsCB = t.rootCerts; return nil }) // at each connection
		}
		opts = append(opts, nats.Secure(cfg))
	}
	if t.Seed != "" {
		key, err := nkeys.FromSeed([]byte(t.Seed))
		if err != nil {
			return nil, fmt.Errorf("%w: the ticket's nkey: %w", backend.ErrInvalidInput, err)
		}
		public, err := key.PublicKey()
		if err != nil {
			return nil, fmt.Errorf("%w: the ticket's nkey: %w", backend.ErrInvalidInput, err)
		}
		opts = append(opts, nats.Nkey(public, key.Sign))
	}
	nc, err := nats.Connect(t.URL, append(opts, more...)...)
	if err != nil {
		return nil, fmt.Errorf("%w: no cluster at %s: %w", backend.ErrUnavailable, t.URL, err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	return &Link{Conn: nc, JS: js, Replicas: 1, Manages: t.Seal == "" && t.Open == ""}, nil
}
