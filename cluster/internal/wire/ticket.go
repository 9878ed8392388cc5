package wire

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Ticket is what a client or a worker needs to take part in a cluster. It is a secret: who has a
// worker's ticket can read every witness.
type Ticket struct {
	// URL is tls://HOST:PORT, or nats://HOST:PORT for a loopback address. Several servers of one
	// cluster are separated by commas.
	URL string `json:"url"`
	// Roots are certificates in PEM. One of them must have signed the server's certificate. If
	// empty, the system's roots are used.
	Roots string `json:"roots,omitempty"`
	// Seed is the nkey for the login.
	Seed string `json:"seed,omitempty"`
	// Seal is the key that encrypts witnesses, for clients.
	Seal string `json:"seal,omitempty"`
	// Open is the key that decrypts witnesses, for workers.
	Open string `json:"open,omitempty"`
	// OpenBefore are earlier values of Open, for jobs that waited while the keys were changed.
	OpenBefore []string `json:"open_before,omitempty"`
	// Fingerprint is the fingerprint of the key in Seal, for administrators, who publish it in the
	// cluster.
	Fingerprint string `json:"fingerprint,omitempty"`

	// Dial is HOST:PORT to connect to instead of URL's, whose name then need not resolve on this
	// machine. The certificate must still match URL.
	Dial string `json:"-"`

	path string // file from which it was read
}

// Tenant returns the tenant of a ticket, which is part of the public nkey. The subjects of the
// ticket's jobs and keys, and of the answers to its requests, begin with it. All holders of the
// ticket share it.
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

// Inbox returns the prefix of the subjects for answers to a tenant.
func Inbox(tenant string) string { return "_INBOX." + tenant }

// ReadSecret returns what is in a file with secrets. It refuses a file that other users may read or
// write, except on Windows. Errors wrap backend.ErrInvalidInput.
func ReadSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	rights, err := files.RightsOfOpen(f, st)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	if runtime.GOOS != "windows" && rights.Others(files.MayAll) {
		return nil, fmt.Errorf("%w: other users may read or write %s, which has secrets: chmod 600 it", backend.ErrInvalidInput, path)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	return text, nil
}

// ReadTicket reads a ticket from a file, as ReadSecret does.
func ReadTicket(path string) (t Ticket, err error) {
	text, err := ReadSecret(path)
	if errors.Is(err, os.ErrNotExist) {
		return t, fmt.Errorf("%w: no ticket %s: msm cluster up writes it", backend.ErrInvalidInput, path)
	}
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(text, &t); err != nil {
		return t, fmt.Errorf("%w: ticket %s: %w", backend.ErrInvalidInput, path, err)
	}
	t.path = path
	return t, nil
}

// rootCerts returns the certificates that vouch for the server. It reads the ticket's file again,
// because the file may have a renewed certificate since, and uses that if the file still holds this
// ticket.
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

// Write writes the ticket to a file that only this user may read.
func (t Ticket) Write(path string) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return maybe.WriteFile(path, append(text, '\n'), 0o600)
}

// Loopback reports whether a host is a loopback address of this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// check refuses to connect to another machine without TLS, or without an nkey.
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

// A silent connection is noticed after pingsLost pings. dialsWithin bounds a new connection, with
// time enough for busy machines.
const (
	pingEvery   = 2 * time.Second
	pingsLost   = 2
	dialsWithin = 5 * time.Second
)

// dialer connects to one fixed address.
type dialer string

// Dial connects to the fixed address, whatever address it is asked for.
func (d dialer) Dial(network, _ string) (net.Conn, error) {
	return net.DialTimeout(network, string(d), dialsWithin)
}

// Connect connects to the cluster. Whenever the connection breaks, it is made again, until it is
// closed. Errors wrap backend.ErrInvalidInput or backend.ErrUnavailable.
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
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // requests return their errors
		nats.ReconnectBufSize(-1), // buffers nothing: whoever asked repeats what could not be sent
		nats.CustomInboxPrefix(Inbox(tenant)),
	}
	if t.Dial != "" {
		opts = append(opts, nats.SetCustomDialer(dialer(t.Dial)), nats.SkipHostLookup())
	}
	if secure {
		cfg := &tls.Config{MinVersion: tls.VersionTLS13} // the library sets the name of the server that it tries
		if t.Roots != "" {
			if cfg.RootCAs, err = t.rootCerts(); err != nil {
				return nil, err
			}
			opts = append(opts, func(o *nats.Options) error { o.RootCAsCB = t.rootCerts; return nil }) // called at each connection
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
