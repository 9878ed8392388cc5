// Package server is the middle of a proving cluster: a NATS server with JetStream in
// this process (Start), and what keeps the streams of a cluster in order wherever
// their server is (Manage). Clients and workers do without this package.
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

// Config configures a server. Its zero value but for Dir is one on loopback.
type Config struct {
	// Dir is the folder of streams, keys and tickets, the user's alone.
	Dir string
	// Listen is HOST:PORT, 127.0.0.1:4222 when it is empty; port 0 takes a free
	// one. Anything but a loopback address is served by TLS only.
	Listen string
	// Hosts are the names and addresses by which others reach the server, for its
	// certificate and the tickets. The first one is the tickets'. Listen's host
	// when there are none.
	Hosts []string
	// Clients are the names of clients with tickets of their own, in files that TicketOf
	// names. None sees the jobs, keys or proofs of another. Whoever is not listed any
	// more is not let in.
	Clients []string
	// Shares are parts of the cards' time, of 1, that are reserved for clients in
	// Clients, together at most 1. Clients without one divide what is left.
	Shares map[string]float64
	// Workers are the names of workers with tickets of their own, in files that
	// WorkerTicketOf names. Whoever is not listed any more is not let in.
	Workers []string
	// Peers are addresses, HOST:PORT, at which the other servers of this cluster listen for
	// each other; then streams are on three servers, or all if there are fewer, and one may
	// be away. Each server has a Dir of its own with a copy of the first one's identity.json,
	// the same Hosts, in which a host may have a port, and a Name.
	Peers []string
	// ListenPeers is the address for the others, with Peers.
	ListenPeers string
	// Name is this server's among its peers, "pippin" when it is empty.
	Name string
	// Rotate makes new tickets and a new key for witnesses, and lets in none of the old
	// tickets. Workers with new ones still open what was sealed before.
	Rotate bool
	// Room is the most bytes on disk, and is kept in Dir. When it is 0 it is the one
	// kept there; a new folder gets half of what is free.
	Room int64
	// Log has what the server says; nil is nowhere.
	Log *slog.Logger
}

// Server is a NATS server in this process.
type Server struct {
	nats     *nats.Server
	shutdown func() // returns when nats has ended
	room     int64
	dir      string
	listen   string // address at which this machine reaches it

	name     string
	replicas int

	names  map[string]string  // of tenants
	shares map[string]float64 // of tenants

	log          *slog.Logger // may be nil
	id           *identity
	secure       bool // TLS is spoken
	certificate  shown
	writeTickets func() error
	stopped      chan struct{} // closed by Stop
	stop         func()
	renews       sync.WaitGroup
}

// Start starts a server, which has recovered its streams and written its tickets when
// this returns. Errors wrap backend.ErrInvalidInput or backend.ErrUnavailable.
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
	// Whoever is sent to another address than loopback must find TLS there.
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
		MaxPayload: maxPayload, PingInterval: 5 * time.Second, MaxPingsOut: 2,
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
		opts.TLS, opts.TLSTimeout, opts.TLSConfig = true, 5, s.certificate.config(nil)
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

// maxPayload is the most bytes of a message.
const maxPayload = 1 << 20

// checkOld refuses the folder of a version in which all tenants shared streams. They are in the
// account that NATS has where none is named.
func checkOld(store string) error {
	old, err := filepath.Glob(filepath.Join(store, "jetstream", "$G", "streams", "pippin_*"))
	if err == nil && len(old) > 0 {
		err = errOld
	}
	return err
}

// mostReplicas is on how many servers a stream is.
const mostReplicas = 3

// hostOf returns the host of HOST or HOST:PORT.
func hostOf(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	return s
}

// addresses returns what is the tickets' URL: the first host, or all where they are servers
// that are peers.
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

// routes has a server speak with its peers: by TLS, with the cluster's certificate on both
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
	opts.Cluster = nats.ClusterOpts{Name: "pippin", Host: host, Port: int(number), TLSConfig: s.certificate.config(roots), TLSTimeout: 5}
	for _, peer := range cfg.Peers {
		if _, _, err := net.SplitHostPort(peer); err != nil {
			return fmt.Errorf("%w: %q is no peer's address such as server2:6222: %w", backend.ErrInvalidInput, peer, err)
		}
		opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats-route", Host: peer})
	}
	return nil
}

// checkShares refuses shares of nobody, and more than there is.
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

// tenants returns the names and shares of the clients that have tickets of their own.
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

// Tenants returns what clients are called and which shares are theirs, by tenant, for
// Manager.
func (s *Server) Tenants() (names map[string]string, shares map[string]float64) {
	return s.names, s.shares
}

// Ticket returns the ticket of a name, such as AdminTicket, for this machine: it reaches
// the server where it listens, whether or not its host's name resolves here.
func (s *Server) Ticket(name string) (wire.Ticket, error) {
	t, err := wire.ReadTicket(filepath.Join(s.dir, name))
	t.Dial = s.listen
	return t, err
}

// Replicas returns on how many servers streams are, for Manager.
func (s *Server) Replicas() int { return s.replicas }

// Name returns the server's name, for Manager.
func (s *Server) Name() string { return s.name }

// Room returns how many bytes the server may take on disk.
func (s *Server) Room() int64 { return s.room }

// catchesUp is how long a server among peers may be behind them, and how long a server may
// take to make its streams.
const catchesUp = time.Minute

// Wait returns when ctx ends, or with an error when the server has ended or cannot
// write a stream any more, as after its disk was full, even when that has room again:
// it is to be started again then.
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

// How long NATS may take. When a disk is full its removal of messages from a stream may wait
// for a lock that it has itself (PurgeEx, flushPendingMsgs and rebuildState of nats-server
// 2.15.2's filestore), and its end waits for that.
const (
	answersWithin  = 10 * time.Second // when it is asked how it is
	endsWithin     = 30 * time.Second // in order
	endsWithinLost = 2 * time.Second  // without its store, in which nothing is written any more
)

// inTime returns what f returns, or false when it has not returned in time.
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

// hasStore reports whether the server runs and has not given up its store.
func (s *Server) hasStore() bool { return s.nats.Running() && s.nats.JetStreamEnabled() }

// making tells whether a stream of the cluster is not there. The server calls itself ill while
// it makes one, since the stream's folder is there first, and a slow disk takes seconds for
// the rest.
func (s *Server) making() bool {
	lacks, in := inTime(func() bool {
		info, err := s.nats.Jsz(nil)
		return err == nil && info.Streams < len(wire.Shared(0, 1))+len(s.names)*len(wire.Own("", 0, 0, 1))
	}, answersWithin)
	return in && lacks
}

// Healthy returns an error if the server has ended or has lost its store. Of a server among
// peers streams may be behind.
func (s *Server) Healthy() error {
	lost := fmt.Errorf("%w: the server has lost its store, is the disk of %s full?", backend.ErrUnavailable, s.dir)
	if !s.hasStore() { // the health of the server only does not say so
		return lost
	}
	if problem := s.health(&nats.HealthzOptions{JSServerOnly: s.replicas > 1}); problem != nil {
		return fmt.Errorf("%w %w", lost, problem)
	}
	return nil
}

// health returns what NATS says is wrong with the server, or that it does not answer.
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

// CaughtUp returns an error while streams of this server among peers are behind the others'.
// The next one may be taken away when it is nil.
func (s *Server) CaughtUp() error {
	if problem := s.health(nil); problem != nil {
		return fmt.Errorf("%w: the server is behind its peers: %w", backend.ErrUnavailable, problem)
	}
	return nil
}

// Stop ends the server and returns when it has ended, or has not within half a minute: then
// the process is to end. What was accepted is on the disk.
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

// logger has the server's log go to ours.
type logger struct {
	log   *slog.Logger
	heard *bounded.Log // what NATS says of connections, which whoever connects can repeat
}

// ofConnection is in what NATS says of one: each subject that it may not use, for example.
const ofConnection = " - cid:"

func (l logger) Noticef(f string, v ...any) { l.log.Debug("nats: " + fmt.Sprintf(f, v...)) }
func (l logger) Fatalf(f string, v ...any)  { l.log.Error("nats: " + fmt.Sprintf(f, v...)) }
func (l logger) Debugf(f string, v ...any)  { l.log.Debug("nats: " + fmt.Sprintf(f, v...)) }

func (l logger) Warnf(f string, v ...any) {
	text := "nats: " + fmt.Sprintf(f, v...)
	if strings.Contains(text, ofConnection) {
		l.heard.Warn("connections", text)
		return
	}
	l.log.Warn(text)
}

func (l logger) Errorf(f string, v ...any) {
	text := "nats: " + fmt.Sprintf(f, v...)
	if strings.Contains(text, ofConnection) {
		l.heard.Warn("connections", text)
		return
	}
	l.log.Error(text)
}
func (l logger) Tracef(string, ...any) {}
