// Package server is the middle of a proving cluster. Start runs a NATS server with JetStream in
// this process. A Manager keeps the streams of a cluster in order, wherever its server runs.
// Clients and workers do without this package.
package server

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	nats "github.com/nats-io/nats-server/v2/server"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/bounded"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// Config configures a server. With Dir alone it is a server on loopback.
type Config struct {
	// Dir is the folder of streams, keys and tickets. Only its user may read it.
	Dir string
	// Listen is HOST:PORT; empty means 127.0.0.1:4222, and port 0 a free one. The server speaks
	// only TLS, unless Listen and all Hosts are loopback addresses.
	Listen string
	// Hosts are the names and addresses by which others reach the server. They are in its
	// certificate. The first one is in the tickets; with Peers all are. Empty means the host of
	// Listen.
	Hosts []string
	// Clients are the names of clients that get a ticket each, in files that TicketOf names. None
	// of them sees the jobs, keys or proofs of another. A client that is no longer listed is no
	// longer let in.
	Clients []string
	// Shares are the parts of 1 of the cards' time that are reserved for clients in Clients,
	// together at most 1. Clients without one divide what is left.
	Shares map[string]float64
	// Workers are the names of workers that get a ticket each, in files that WorkerTicketOf names.
	// A worker that is no longer listed is no longer let in.
	Workers []string
	// Peers are the addresses, HOST:PORT, at which the other servers of this cluster listen for
	// each other. With Peers, each stream is on three servers, or on all if there are fewer, and
	// one server may be away. Each server needs its own Dir with a copy of the first one's
	// identity.json, the same Hosts, in which a host may have a port, and its own Name.
	Peers []string
	// ListenPeers is the address at which the server listens for Peers.
	ListenPeers string
	// Name is the name of this server among its peers; empty means "pippin".
	Name string
	// Rotate makes new tickets and a new key for witnesses. The old tickets are no longer let in.
	// Workers with new tickets still open what was sealed before.
	Rotate bool
	// Room is the most bytes on disk. The folder keeps it: 0 means the number that is kept there. A
	// new folder gets half of what is free.
	Room int64
	// Log gets what the server says. With nil nothing is logged.
	Log *slog.Logger
}

// Server is a NATS server in this process.
type Server struct {
	nats     *nats.Server
	shutdown func() // returns when nats has ended
	room     int64
	dir      string
	listen   string // address by which this machine reaches it

	name     string
	replicas int

	names  map[string]string  // of clients, by tenant
	shares map[string]float64 // parts of 1, by tenant

	log          *slog.Logger // may be nil
	id           *identity
	secure       bool // it speaks TLS
	certificate  shown
	writeTickets func() error
	stopped      chan struct{} // closed by Stop
	stop         func()
	renews       sync.WaitGroup
}

// Start starts a server. It returns when the server has recovered its streams and written its
// tickets. Errors wrap backend.ErrInvalidInput or backend.ErrUnavailable.
func Start(cfg Config) (*Server, error) {
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:4222"
	}
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is no address such as 127.0.0.1:4222: %w", backend.ErrInvalidInput, cfg.Listen, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%w: port %q: %w", backend.ErrInvalidInput, port, err)
	}
	if len(cfg.Hosts) == 0 {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return nil, fmt.Errorf("%w: %s is every address of this machine: say by which names others reach it",
				backend.ErrInvalidInput, cfg.Listen)
		}
		cfg.Hosts = []string{host}
	}
	// Whoever connects to an address other than loopback must find TLS there.
	secure := !wire.Loopback(host) || slices.ContainsFunc(cfg.Hosts, func(h string) bool { return !wire.Loopback(hostOf(h)) })
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	if err := os.Chmod(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	if err := checkShares(cfg.Clients, cfg.Shares); err != nil {
		return nil, err
	}
	id, err := loadIdentity(cfg)
	if err != nil {
		return nil, fmt.Errorf("the cluster's identity: %w", err)
	}
	store := filepath.Join(cfg.Dir, "jetstream")
	if err := checkOld(store); err != nil {
		return nil, err
	}
	opts := &nats.Options{
		ServerName: cmp.Or(cfg.Name, "pippin"), Host: host, Port: int(number), NoSigs: true, NoLog: cfg.Log == nil,
		JetStream: true, StoreDir: store, SyncAlways: true, JetStreamMaxStore: unbounded,
		MaxPayload: maxPayload, PingInterval: 5 * time.Second, MaxPingsOut: 2, AuthTimeout: namedWithin,
	}
	if number == 0 {
		opts.Port = nats.RANDOM_PORT
	}
	if err := id.accounts(cfg, opts); err != nil {
		return nil, err
	}
	s := &Server{
		dir: cfg.Dir, name: opts.ServerName, replicas: min(mostReplicas, len(cfg.Peers)+1),
		log: cfg.Log, id: id, secure: secure, stopped: make(chan struct{}),
	}
	s.stop = sync.OnceFunc(func() { close(s.stopped) })
	if err := s.certificate.set(id); err != nil {
		return nil, err
	}
	scheme := "nats"
	if secure {
		scheme = "tls"
		opts.TLS, opts.TLSTimeout, opts.TLSConfig = true, namedWithin-1, s.certificate.config(nil)
	}
	if len(cfg.Peers) > 0 {
		if err := s.routes(opts, cfg); err != nil {
			return nil, err
		}
	}
	n, err := nats.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	if cfg.Log != nil {
		n.SetLoggerV2(logger{cfg.Log, bounded.New(cfg.Log)}, false, false, false)
	}
	s.nats, s.shutdown = n, func() { n.Shutdown(); n.WaitForShutdown() }
	if s.names, s.shares, err = id.tenants(cfg.Clients, cfg.Shares); err != nil {
		return nil, err
	}
	n.Start()
	if n.Addr() == nil || !n.JetStreamEnabled() {
		s.Stop()
		return nil, fmt.Errorf("%w: the server at %s does not come up: is the address taken, can %s be written?",
			backend.ErrUnavailable, cfg.Listen, store)
	}
	at := n.Addr().(*net.TCPAddr)
	s.listen = at.String()
	if at.IP.IsUnspecified() {
		s.listen = net.JoinHostPort("localhost", strconv.Itoa(at.Port))
	}
	reached := addresses(scheme, cfg, at.Port)
	s.writeTickets = func() error { return s.id.writeTickets(cfg.Dir, reached, secure, cfg.Clients, cfg.Workers) }
	err = s.makeRoom(cfg, store)
	if err == nil {
		err = s.writeTickets()
	}
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	s.renews.Go(s.renewing)
	return s, nil
}

// namedWithin is how many seconds a new connection has to say who it is, its TLS among them. A process
// on a busy machine can stand still for more than the two seconds that NATS gives by itself.
const namedWithin = 6

// maxPayload is the most bytes of one message.
const maxPayload = 1 << 20

// checkOld refuses the folder of a version in which all tenants shared streams. Those streams are
// in $G, the account that NATS uses if none is named.
func checkOld(store string) error {
	old, err := filepath.Glob(filepath.Join(store, "jetstream", "$G", "streams", "pippin_*"))
	if err == nil && len(old) > 0 {
		err = errOld
	}
	return err
}

// mostReplicas is the most servers that hold one stream.
const mostReplicas = 3

// hostOf returns the host of HOST or HOST:PORT.
func hostOf(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	return s
}

// addresses returns the URL in the tickets: that of the first host, or those of all hosts if these
// are peers.
func addresses(scheme string, cfg Config, port int) string {
	var all []string
	for _, h := range cfg.Hosts {
		if _, _, err := net.SplitHostPort(h); err != nil {
			h = net.JoinHostPort(h, strconv.Itoa(port))
		}
		all = append(all, scheme+"://"+h)
	}
	if len(cfg.Peers) == 0 {
		return all[0]
	}
	return strings.Join(all, ",")
}

// peersName is the name that NATS compares before two servers become peers. Servers of a version in
// which tenants shared streams have another one, "pippin": beside them a server with accounts would
// take part in the elections for streams that it cannot have.
const peersName = "pippin-accounts"

// routes makes a server connect with its peers: by TLS, with the cluster's certificate on both
// sides.
func (s *Server) routes(opts *nats.Options, cfg Config) error {
	host, port, err := net.SplitHostPort(cfg.ListenPeers)
	if err != nil {
		return fmt.Errorf("%w: %q is no address for peers such as :6222: %w", backend.ErrInvalidInput, cfg.ListenPeers, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("%w: port %q: %w", backend.ErrInvalidInput, port, err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(s.id.Certificate))
	opts.Cluster = nats.ClusterOpts{Name: peersName, Host: host, Port: int(number), TLSConfig: s.certificate.config(roots), TLSTimeout: 5}
	for _, peer := range cfg.Peers {
		if _, _, err := net.SplitHostPort(peer); err != nil {
			return fmt.Errorf("%w: %q is no peer's address such as server2:6222: %w", backend.ErrInvalidInput, peer, err)
		}
		opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats-route", Host: peer})
	}
	return nil
}

// checkShares refuses a share for a client that is not listed, a share that is not above 0, and
// shares that are more than 1 together.
func checkShares(clients []string, shares map[string]float64) error {
	sum := 0.0
	for name, share := range shares {
		if !slices.Contains(clients, name) || share <= 0 {
			return fmt.Errorf("%w: a share of %v for %q: want a client with a ticket of its own and a number above 0",
				backend.ErrInvalidInput, share, name)
		}
		sum += share
	}
	if sum > 1+1e-9 {
		return fmt.Errorf("%w: clients have shares of %.0f %% together", backend.ErrInvalidInput, 100*sum)
	}
	return nil
}

// tenants returns the names of all clients, and the shares of those that have one, by tenant.
func (id *identity) tenants(clients []string, shares map[string]float64) (names map[string]string, parts map[string]float64, err error) {
	names, parts = map[string]string{}, map[string]float64{}
	for name, seed := range id.clientSeeds(clients) {
		tenant, err := wire.Ticket{Seed: seed}.Tenant()
		if err != nil {
			return nil, nil, err
		}
		names[tenant] = name
		if share, has := shares[name]; has {
			parts[tenant] = share
		}
	}
	return names, parts, nil
}

// Tenants returns the names of clients and the shares of those that have one, by tenant. A Manager
// takes both.
func (s *Server) Tenants() (names map[string]string, shares map[string]float64) {
	return s.names, s.shares
}

// Ticket returns a ticket of the folder, such as AdminTicket, for use on this machine. It connects
// to the address where the server listens, even if the host's name does not resolve here.
func (s *Server) Ticket(name string) (wire.Ticket, error) {
	t, err := wire.ReadTicket(filepath.Join(s.dir, name))
	t.Dial = s.listen
	return t, err
}

// Replicas returns how many servers hold each stream. A Manager takes it.
func (s *Server) Replicas() int { return s.replicas }

// Name returns the server's name. A Manager takes it.
func (s *Server) Name() string { return s.name }

// Room returns how many bytes the server may take on disk.
func (s *Server) Room() int64 { return s.room }

// catchesUp is how long a server may be behind its peers, and how long a server may take to make
// its streams.
const catchesUp = time.Minute

// Wait returns nil when ctx ends. It returns an error when the server has ended, or can no longer
// write a stream, as after its disk was full. A server does not recover from that when the disk has
// room again: start it again.
func (s *Server) Wait(ctx context.Context) error {
	well := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		err := s.Healthy()
		if err == nil {
			well = time.Now()
			continue
		}
		if !s.hasStore() {
			return err
		}
		patience := catchesUp
		if s.replicas == 1 && !s.making() {
			patience = 2 * time.Second
		}
		if time.Since(well) > patience {
			return err
		}
	}
}

// How long NATS may take. When a disk is full, its removal of messages from a stream may wait for a
// lock that it holds itself (PurgeEx, flushPendingMsgs and rebuildState in the filestore of
// nats-server 2.15.2). Its shutdown then waits for the removal.
const (
	answersWithin  = 10 * time.Second // to say how it is
	endsWithin     = 30 * time.Second // to shut down with its store
	endsWithinLost = 2 * time.Second  // to shut down without its store, which is no longer written
)

// inTime returns the result of f, or false if f has not returned in time. f then goes on by itself.
func inTime[T any](f func() T, within time.Duration) (v T, in bool) {
	said := make(chan T, 1)
	go func() { said <- f() }()
	select {
	case v = <-said:
		return v, true
	case <-time.After(within):
		return v, false
	}
}

// hasStore reports whether the server runs and still uses its store.
func (s *Server) hasStore() bool { return s.nats.Running() && s.nats.JetStreamEnabled() }

// making reports whether a stream of the cluster is missing. NATS calls itself ill while it makes a
// stream, because it makes the stream's folder first, and a slow disk takes seconds for the rest.
func (s *Server) making() bool {
	lacks, in := inTime(func() bool {
		info, err := s.nats.Jsz(nil)
		return err == nil && info.Streams < len(wire.Shared(0, 1))+len(s.names)*len(wire.Own("", 0, 0, 1))
	}, answersWithin)
	return in && lacks
}

// Healthy returns an error if the server has ended or has lost its store. Streams of a server among
// peers may be behind: that is no error here, CaughtUp reports it.
func (s *Server) Healthy() error {
	lost := fmt.Errorf("%w: the server has lost its store, is the disk of %s full?", backend.ErrUnavailable, s.dir)
	if !s.hasStore() { // JSServerOnly does not report this
		return lost
	}
	if problem := s.health(&nats.HealthzOptions{JSServerOnly: s.replicas > 1}); problem != nil {
		return fmt.Errorf("%w %w", lost, problem)
	}
	return nil
}

// health returns an error with what NATS says is wrong with the server, or one that says that NATS
// does not answer.
func (s *Server) health(of *nats.HealthzOptions) error {
	h, in := inTime(func() *nats.HealthStatus { return s.nats.Healthz(of) }, answersWithin)
	switch {
	case !in:
		return fmt.Errorf("no answer for %v", answersWithin)
	case h.StatusCode != http.StatusOK:
		return errors.New(h.Error)
	}
	return nil
}

// CaughtUp returns an error while streams of this server are behind those of its peers. When it
// returns nil, the next server may be taken away.
func (s *Server) CaughtUp() error {
	if problem := s.health(nil); problem != nil {
		return fmt.Errorf("%w: the server is behind its peers: %w", backend.ErrUnavailable, problem)
	}
	return nil
}

// Stop shuts the server down. It returns when the server has ended, and after half a minute even if
// it has not: end the process then. What the server has accepted is on the disk.
func (s *Server) Stop() {
	s.stop()
	s.renews.Wait()
	within := endsWithin
	if !s.hasStore() {
		within = endsWithinLost
	}
	if _, in := inTime(func() struct{} { s.shutdown(); return struct{}{} }, within); !in && s.log != nil {
		s.log.Warn("cluster: the server does not end in order", "for", within)
	}
}

// logger passes what NATS logs to the server's log.
type logger struct {
	log   *slog.Logger
	heard *bounded.Log // bounded: what NATS says of connections, because whoever connects can make it say more
}

// ofConnection is part of each line that NATS logs of a connection, such as one for each subject
// that it may not use.
const ofConnection = " - cid:"

func (l logger) Noticef(f string, v ...any) { l.log.Debug("nats: " + fmt.Sprintf(f, v...)) }
func (l logger) Fatalf(f string, v ...any)  { l.log.Error("nats: " + fmt.Sprintf(f, v...)) }
func (l logger) Debugf(f string, v ...any)  { l.log.Debug("nats: " + fmt.Sprintf(f, v...)) }

func (l logger) Warnf(f string, v ...any)  { l.tell(l.log.Warn, f, v) }
func (l logger) Errorf(f string, v ...any) { l.tell(l.log.Error, f, v) }

// tell writes a line by to, or as a bounded warning if it is about a connection.
func (l logger) tell(to func(string, ...any), f string, v []any) {
	text := "nats: " + fmt.Sprintf(f, v...)
	if strings.Contains(text, ofConnection) {
		l.heard.Warn("connections", text)
		return
	}
	to(text)
}

func (l logger) Tracef(string, ...any) {}
