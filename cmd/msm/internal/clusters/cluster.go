// Package clusters has the commands of msm that link NATS: servers, workers and clients of a cluster.
package clusters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/logger"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
	"github.com/pippin-zk/pippin/cmd/internal/telemetry"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/clustermetrics"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/files"
	"github.com/pippin-zk/pippin/internal/known"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/observe/metrics"
	"github.com/pippin-zk/pippin/observe/tracing"
	"github.com/pippin-zk/pippin/prover/circom"
)

// app is the command, with what is done here.
type app struct{ *cli.App }

// Link gives a program the commands of a cluster.
func Link(a *cli.App) {
	logger.Disable() // gnark's, which writes to stdout
	a.Link(cli.Cluster, app{a}.clusterCommand)
}

func (a app) clusterCommand(c *cobra.Command) {
	c.Long = `Prove on several machines: jobs lie on a server (up) until a worker (work) has proved
them. docs/howto/cluster.md says how to set one up.`
	c.Example = `  msm cluster up --work                               a cluster on this machine
  msm cluster up --listen :4222 --host prover0.example
  msm cluster work --backend cuda --ticket worker.json   on each machine with cards
  msm cluster status`
	c.Args = cli.NoArguments
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(a.clusterUp(), a.clusterWork(), a.clusterProve(), a.clusterStatus(), a.clusterDrain(),
		a.clusterCancel(), a.clusterRetry(), a.clusterKeys())
}

// clusterDir returns the folder of a cluster's server, and of its tickets on that machine.
func (a app) clusterDir(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	dir, err := files.ClusterFolder(a.Getenv("XDG_DATA_HOME"))
	if err != nil {
		return "", cli.Usage(fmt.Errorf("no folder for the cluster: %w; or name one", err))
	}
	return dir, nil
}

// ticket reads the ticket of a flag, or the one of that name which a server on this
// machine has written.
func (a app) ticket(flag, name string) (t cluster.Ticket, err error) {
	if flag == "" {
		dir, err := a.clusterDir("")
		if err != nil {
			return t, err
		}
		flag = filepath.Join(dir, name)
	}
	if t, err = cluster.ReadTicket(flag); err != nil {
		return t, cli.Usage(err)
	}
	return t, nil
}

const ticketHelp = "file that msm cluster up wrote (default: the one of a cluster on this machine)"

// upFlags is the command line of msm cluster up.
type upFlags struct {
	dir, listen, room, join string
	metrics                 string
	name, listenPeers       string
	peers                   []string
	hosts, clients, workers []string
	rotate, work            bool
	worker                  workFlags
}

func (a app) clusterUp() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:         "up",
		Annotations: map[string]string{cli.ConfigName: "cluster-up"},
		Short:       "Run the server of a cluster",
		Long: `Run the server of a cluster, NATS with JetStream in this process, and keep its streams
in order. With --join the server is another one, and this keeps the streams in order
only. Tickets for workers (worker.json), clients (client.json) and administrators
(admin.json) are written into the folder; they are secrets.

Addresses other than loopback are served by TLS, to holders of tickets.`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.up(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.dir, "dir", "", "folder for jobs, keys and tickets (default: pippin/cluster in $XDG_DATA_HOME, ~/.local/share)")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:4222", "address")
	flags.StringSliceVar(&f.hosts, "host", nil, "names and addresses by which others reach it, the one for tickets first")
	flags.StringSliceVar(&f.clients, "client", nil, "clients that get a ticket of their own, client-NAME.json, "+
		"and see nothing of each other's; NAME=60% reserves that share of the cards' time. Who is not listed any more is not let in")
	flags.StringSliceVar(&f.workers, "worker", nil,
		"workers that get a ticket of their own, worker-NAME.json, in place of one for all. Who is not listed any more is not let in")
	flags.StringSliceVar(&f.peers, "peer", nil, "addresses of the other servers of this cluster, HOST:PORT of their --listen-peers")
	flags.StringVar(&f.listenPeers, "listen-peers", ":6222", "address for them")
	flags.StringVar(&f.name, "name-of-server", "", "among its peers (default the host's)")
	flags.BoolVar(&f.rotate, "rotate", false,
		"begin with new tickets and a new key for witnesses; the old tickets are refused, jobs that wait are proved")
	flags.StringVar(&f.room, "room", "", "most bytes on disk, such as 100GiB (default: as before in "+
		"this folder, in a new one half of what is free)")
	flags.StringVar(&f.join, "join", "", "an administrator's ticket for a NATS server that is there, instead of one in this process")
	flags.BoolVar(&f.work, "work", false, "be a worker too")
	flags.StringVar(&f.metrics, "metrics", "", metricsHelp)
	f.worker.add(flags)
	a.Configurable(c)
	return c
}

const metricsHelp = "address of /metrics, /healthz and /readyz, such as :9465, which is on loopback, or 0.0.0.0:9465 (default none)"

// serveMetrics serves metrics and checks at an address until ctx ends. That it cannot
// listen there is an error at once.
func (a app) serveMetrics(ctx context.Context, group *errgroup.Group, address string, healthy,
	ready func() error, all ...prometheus.Collector) error {
	if address == "" {
		return nil
	}
	l, err := metrics.Listen(address)
	if err != nil {
		return err
	}
	g := metrics.Registry(all...)
	group.Go(func() error {
		return metrics.Serve(ctx, l, g, metrics.Check{Path: "/healthz", OK: healthy}, metrics.Check{Path: "/readyz", OK: ready})
	})
	return nil
}

// up runs the server of a cluster, or keeps another one's streams in order, until ctx ends.
func (a app) up(ctx context.Context, f upFlags) (err error) {
	if f.dir, err = a.clusterDir(f.dir); err != nil {
		return err
	}
	seen := new(clustermetrics.Server)
	u := upkeep{manager: server.Manager{Log: a.events(), Figures: seen.Set}, healthy: func() error { return nil }, ready: seen.Ready}
	if f.room != "" {
		if u.manager.Room, err = bytesOf("room", f.room); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	if f.join != "" {
		err = a.join(&f, &u)
	} else {
		var s *server.Server
		if s, err = a.serveCluster(&f, &u); err == nil {
			defer s.Stop()
			group.Go(func() error { return s.Wait(ctx) })
		}
	}
	if err != nil {
		return err
	}
	collectors := []prometheus.Collector{seen}
	if f.work {
		f.worker.meter, f.worker.engine = clustermetrics.NewWorker(), metrics.New()
		collectors = append(collectors, f.worker.meter, f.worker.engine)
	} else {
		collectors = append(collectors, buildInfo())
	}
	if err := a.serveMetrics(ctx, group, f.metrics, u.healthy, u.ready, collectors...); err != nil {
		return errors.Join(err, stopAll(cancel, group))
	}
	group.Go(func() error {
		return u.manager.Run(ctx, func() {
			fmt.Fprintf(a.Stdout, "the cluster is up at %s, tickets are in %s\n", u.manager.Ticket.URL, f.dir)
			if f.work {
				group.Go(func() error { return a.work(ctx, f.worker) })
			}
		})
	})
	return group.Wait()
}

// upkeep is what up runs, and how others learn that all is well.
type upkeep struct {
	manager        server.Manager
	healthy, ready func() error
}

// join prepares the upkeep of a cluster whose NATS server is somebody else's.
func (a app) join(f *upFlags, u *upkeep) error {
	t, err := a.ticket(f.join, "")
	if err != nil {
		return err
	}
	if err := server.Join(f.dir, t); err != nil {
		return err
	}
	f.worker.ticket = filepath.Join(f.dir, server.WorkerTicket)
	u.manager.Ticket, err = cluster.ReadTicket(filepath.Join(f.dir, server.AdminTicket))
	return err
}

// serveCluster starts a server in this process, and prepares its upkeep. The caller stops it.
func (a app) serveCluster(f *upFlags, u *upkeep) (s *server.Server, err error) {
	if len(f.peers) > 0 && f.name == "" {
		if f.name, err = os.Hostname(); err != nil {
			return nil, err
		}
	}
	clients, shares, err := sharesOf(f.clients)
	if err != nil {
		return nil, err
	}
	s, err = server.Start(server.Config{
		Dir: f.dir, Listen: f.listen, Hosts: f.hosts, Clients: clients, Shares: shares, Workers: f.workers,
		Peers: f.peers, ListenPeers: f.listenPeers, Name: f.name, Rotate: f.rotate, Room: u.manager.Room, Log: a.events(),
	})
	if err != nil {
		return nil, err
	}
	own := server.WorkerTicket
	if len(f.workers) > 0 {
		own = server.WorkerTicketOf(f.workers[0])
	}
	f.worker.own, err = s.Ticket(own)
	if err == nil {
		u.manager.Ticket, err = s.Ticket(server.AdminTicket)
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	m := &u.manager
	m.Names, m.Shares = s.Tenants()
	m.Replicas, m.Room = s.Replicas(), s.Room()
	u.healthy = s.Healthy
	if len(f.peers) > 0 {
		m.Name = s.Name()
		looked := u.ready
		u.ready = func() error { return errors.Join(looked(), s.CaughtUp()) }
	}
	return s, nil
}

// buildInfo is pippin_build_info of a server, which has no engine that says it.
func buildInfo() prometheus.Collector {
	b := build.This()
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "pippin_build_info", Help: "What this program was built from; the value is 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "goversion": runtime.Version()}})
	g.Set(1)
	return g
}

// stopAll ends what a group does.
func stopAll(cancel context.CancelFunc, group *errgroup.Group) error {
	cancel()
	return group.Wait()
}

// sharesOf reads clients as NAME or NAME=PERCENT%.
func sharesOf(flags []string) (clients []string, shares map[string]float64, err error) {
	shares = map[string]float64{}
	for _, text := range flags {
		name, share, has := strings.Cut(text, "=")
		clients = append(clients, name)
		if !has {
			continue
		}
		percent, err := strconv.ParseFloat(strings.TrimSuffix(share, "%"), 64)
		if err != nil {
			return nil, nil, cli.Usage(fmt.Errorf("--client %s: want NAME or NAME=60%%", text))
		}
		shares[name] = percent / 100
	}
	return clients, shares, nil
}

// events returns the log of what runs for long: what went wrong, and with -v everything.
func (a app) events() *slog.Logger {
	if a.Verbose {
		return a.Logger()
	}
	return a.LogTo(slog.LevelWarn)
}

// bytesOf reads a number of bytes.
func bytesOf(flag, s string) (int64, error) {
	n, err := units.ParseBytes(s)
	if err != nil {
		return 0, cli.Usage(fmt.Errorf("--%s: %w", flag, err))
	}
	return n, nil
}

// workFlags is the command line of msm cluster work.
type workFlags struct {
	ticket, backend, name, cache, cacheRoom string
	jobs, circuits                          int
	stall, drain                            time.Duration
	own                                     cluster.Ticket // of a server in this process, in place of a file
	metrics                                 string
	meter                                   *clustermetrics.Worker // where somebody else serves it,
	engine                                  *metrics.Metrics       // and this
}

// add adds the flags but for the ticket's.
func (f *workFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.backend, "backend", "cpu", "that proves: cpu, cuda, plugin:NAME, plugin:PATH")
	flags.StringVar(&f.name, "name", "", "of the worker (default: of the host and the process)")
	flags.StringVar(&f.cache, "cache", "", "folder for keys (default: cluster in msm's cache folder)")
	flags.StringVar(&f.cacheRoom, "cache-room", "64GiB", "most bytes of keys there")
	flags.IntVar(&f.jobs, "jobs", 2, "proofs at a time; two for each card")
	flags.IntVar(&f.circuits, "circuits", 4, "circuits whose keys stay in memory")
	flags.DurationVar(&f.stall, "stall", 5*time.Minute, "without progress a proof has failed then")
	flags.DurationVar(&f.drain, "drain", 30*time.Second, "for proofs that have begun when it is to end")
}

func (a app) clusterWork() *cobra.Command {
	var f workFlags
	c := &cobra.Command{
		Use:         "work",
		Annotations: map[string]string{cli.ConfigName: "cluster-work"},
		Short:       "Prove the jobs of a cluster",
		Long: `Prove the jobs of a cluster, until a signal or msm cluster drain. Keys are fetched when
a job needs them, and kept on disk. Proofs that have begun are ended first, for as
long as --drain says; then they are another worker's. After SIGUSR1, for a machine that
is about to be taken away, they are so at once.`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.work(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.ticket, "ticket", "", ticketHelp)
	flags.StringVar(&f.metrics, "metrics", "", metricsHelp)
	f.add(flags)
	a.Configurable(c)
	return c
}

func (a app) work(ctx context.Context, f workFlags) (err error) {
	cfg := worker.Config{Name: f.name, Jobs: f.jobs, Circuits: f.circuits, Stall: f.stall, Drain: f.drain, Log: a.events()}
	if f.jobs < 1 || f.circuits < 1 {
		return cli.Usage(errors.New("--jobs and --circuits must be at least 1"))
	}
	if cfg.Ticket = f.own; cfg.Ticket.URL == "" {
		if cfg.Ticket, err = a.ticket(f.ticket, server.WorkerTicket); err != nil {
			return err
		}
	}
	if cfg.CacheBytes, err = bytesOf("cache-room", f.cacheRoom); err != nil {
		return err
	}
	if cfg.Cache = f.cache; cfg.Cache == "" {
		dir, err := a.CacheDir("")
		if err != nil {
			return err
		}
		cfg.Cache = filepath.Join(dir, "cluster")
	}
	traces, end, err := telemetry.Tracing(ctx)
	if err != nil {
		return err
	}
	defer end()
	conf := engine.Config{Backend: f.backend, Open: a.Opener(), Log: a.events(), Observer: worker.Observe(), Known: known.All()}
	if traces != nil {
		cfg.Span, conf.Open = tracing.Job(traces), a.OpenerWith(tracing.Host(traces))
		conf.Observer = engine.Observers(conf.Observer, tracing.Observer(traces))
	}
	ofEngine := f.engine
	if ofEngine == nil {
		ofEngine = metrics.New()
	}
	engine, err := engine.New(ctx, ofEngine.Config(conf))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	ofEngine.Watch(engine)
	cfg.Open, cfg.Health = worker.Provers(engine), new(worker.Health)
	if f.meter == nil {
		f.meter = clustermetrics.NewWorker()
	}
	cfg.Meter = f.meter
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx)) // while it drains too
	group := new(errgroup.Group)
	defer func() { err = errors.Join(err, stopAll(cancel, group)) }()
	if err := a.serveMetrics(serving, group, f.metrics, func() error { return nil }, cfg.Health.Ready, ofEngine, f.meter); err != nil {
		return err
	}
	notice, stop := onNotice()
	defer stop()
	cfg.HandBack = notice
	fmt.Fprintf(a.Stdout, "working for %s on %s\n", cfg.Ticket.URL, f.backend)
	return worker.Run(ctx, cfg)
}

// clusterProveFlags is the command line of msm cluster prove.
type clusterProveFlags struct {
	ticket, system, curve       string
	circuit, proving, verifying string
	zkey                        string
	solidity                    bool
	flying, priority            int
	within                      time.Duration
	name                        string
	after                       []string
}

func (a app) clusterProve() *cobra.Command {
	var f clusterProveFlags
	c := &cobra.Command{
		Use:   "prove WITNESS...",
		Short: "Have witnesses proved by a cluster",
		Long: `Have full witnesses proved by a cluster, and verify the proofs. Circuit, keys and
witnesses are files as gnark writes them (WriteTo, WriteRawTo). The proof of a witness
is written to a file beside it, with the ending .proof.

With --zkey, key and witnesses are snarkjs's and circom's: .zkey and .wtns. Proof and public
signals are written as snarkjs does, with the endings .proof.json and .public.json.`,
		Example: `  msm cluster prove --system groth16 --curve bn254 --circuit c.r1cs --proving-key c.pk ` +
			`--verifying-key c.vk first.wtns second.wtns
  msm cluster prove --zkey circuit.zkey first.wtns second.wtns`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(errors.New("no witness is named"))
			}
			if f.name != "" && len(args) > 1 {
				return cli.Usage(errors.New("--name is of one job: name one witness"))
			}
			if err := f.check(c.Flags()); err != nil {
				return cli.Usage(err)
			}
			return a.clusterProofs(c.Context(), f, args)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.ticket, "ticket", "", ticketHelp)
	flags.StringVar(&f.system, "system", cluster.Groth16, cluster.Groth16+", "+cluster.Plonk)
	flags.StringVar(&f.curve, "curve", "bn254", strings.Join(cli.Texts(backend.Curves()), ", "))
	flags.StringVar(&f.circuit, "circuit", "", "file of the constraint system")
	flags.StringVar(&f.proving, "proving-key", "", "file")
	flags.StringVar(&f.verifying, "verifying-key", "", "file")
	flags.StringVar(&f.zkey, "zkey", "", "file of a circuit of circom, in the place of the flags before")
	flags.BoolVar(&f.solidity, "solidity", false, "for verifiers that gnark exports to Solidity")
	flags.IntVar(&f.flying, "in-flight", 64, "witnesses on their way at a time")
	flags.IntVar(&f.priority, "priority", 0, "jobs of this client with a higher one are begun first")
	flags.StringVar(&f.name, "name", "", "of the job of one witness: a second job of that name is the first one")
	flags.StringSliceVar(&f.after, "after", nil,
		"names of jobs that must be proved before these are begun, submitted by anybody with this ticket")
	flags.DurationVar(&f.within, "within", 0, "proofs that are not begun then are not made (default no limit)")
	return c
}

// check refuses flags that do not go together.
func (f *clusterProveFlags) check(flags *pflag.FlagSet) error {
	if f.flying < 1 {
		return errors.New("see --in-flight")
	}
	if f.zkey == "" {
		if _, err := backend.ParseCurve(f.curve); err != nil {
			return fmt.Errorf("--curve: %w", err)
		}
		if f.circuit == "" || f.proving == "" || f.verifying == "" {
			return errors.New("--circuit, --proving-key and --verifying-key are needed, or --zkey")
		}
		return nil
	}
	for _, other := range []string{"system", "curve", "circuit", "proving-key", "verifying-key", "solidity"} {
		if flags.Changed(other) {
			return fmt.Errorf("--zkey has the circuit and its keys in it: leave out --%s", other)
		}
	}
	return nil
}

func (a app) clusterProofs(ctx context.Context, f clusterProveFlags, files []string) (err error) {
	t, err := a.ticket(f.ticket, server.ClientTicket)
	if err != nil {
		return err
	}
	c, err := cluster.Connect(t)
	if err != nil {
		return err
	}
	defer c.Close()
	traces, end, err := telemetry.Tracing(ctx)
	if err != nil {
		return err
	}
	defer end()
	if traces != nil {
		c.Trace(tracing.Carried)
		var over func(error)
		ctx, over = tracing.Observer(traces).Begin(ctx, engine.Phase{Kind: engine.PhaseProve, Jobs: len(files)})
		defer func() { over(err) }()
	}
	add := a.gnarkFiles
	if f.zkey != "" {
		add = a.circomFiles
	}
	prove, err := add(ctx, c, f)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(f.flying)
	var saying sync.Mutex
	for _, file := range files {
		group.Go(func() error {
			began := time.Now()
			proof, err := prove(ctx, file)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			saying.Lock()
			defer saying.Unlock()
			_, err = fmt.Fprintf(a.Stdout, "%s after %v\n", proof, time.Since(began).Round(time.Millisecond))
			return err
		})
	}
	return group.Wait()
}

// options returns the options of all jobs.
func (f *clusterProveFlags) options() cluster.JobOptions {
	when := cluster.JobOptions{Priority: f.priority, Name: f.name, After: f.after}
	if f.within > 0 {
		when.Deadline = time.Now().Add(f.within)
	}
	return when
}

// proveFunc gets the witness of a file proved, and returns the name of the file with the proof.
type proveFunc func(ctx context.Context, witness string) (proof string, err error)

// gnarkFiles adds a circuit and keys of gnark's to a cluster.
func (a app) gnarkFiles(ctx context.Context, c *cluster.Client, f clusterProveFlags) (proveFunc, error) {
	curve, err := backend.ParseCurve(f.curve)
	if err != nil {
		return nil, err
	}
	p, err := c.AddFrom(ctx, cluster.Work{System: f.system, Curve: curve.String(), Solidity: f.solidity},
		fileOf(f.circuit), fileOf(f.proving), fileOf(f.verifying))
	if err != nil {
		return nil, err
	}
	p = p.With(f.options())
	return func(ctx context.Context, file string) (string, error) {
		return file + ".proof", proveFile(ctx, p, curves.ID(curve), file)
	}, nil
}

// circomFiles adds a key of snarkjs's to a cluster.
func (a app) circomFiles(ctx context.Context, c *cluster.Client, f clusterProveFlags) (proveFunc, error) {
	key, err := os.Open(f.zkey)
	if err != nil {
		return nil, err
	}
	defer key.Close()
	about, err := key.Stat()
	if err != nil {
		return nil, err
	}
	p, err := c.AddCircom(ctx, key, about.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.zkey, err)
	}
	if !p.Key().Contributed {
		a.Note("nobody has contributed to " + f.zkey + ": whoever made it can prove what is false")
	}
	p = p.With(f.options())
	return func(ctx context.Context, file string) (string, error) {
		return file + ".proof.json", proveWtns(ctx, p, file)
	}, nil
}

// proveWtns gets the witness of a .wtns file proved.
func proveWtns(ctx context.Context, p *cluster.CircomProver, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := circom.ReadWitness(f)
	if err != nil {
		return err
	}
	defer w.Wipe()
	proof, err := cli.CreateOutput(ctx, file+".proof.json")
	if err != nil {
		return err
	}
	defer proof.Close()
	public, err := cli.CreateOutput(ctx, file+".public.json")
	if err != nil {
		return err
	}
	defer public.Close()
	made, err := p.Prove(ctx, w)
	if err != nil {
		return err
	}
	text, err := made.JSON()
	if err == nil {
		err = proof.WriteBytes(text)
	}
	if err != nil {
		return err
	}
	if text, err = made.PublicJSON(); err != nil {
		return err
	}
	return public.WriteBytes(text)
}

// fileOf writes a file.
func fileOf(path string) func(io.Writer) error {
	return func(w io.Writer) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	}
}

// proveFile gets the witness of a file proved.
func proveFile(ctx context.Context, p *cluster.Prover, curve ecc.ID, file string) error {
	w, err := witness.New(curve.ScalarField())
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := w.ReadFrom(f); err != nil {
		return err
	}
	proof, err := p.Prove(ctx, w)
	if err != nil {
		return err
	}
	out, err := cli.CreateOutput(ctx, file+".proof")
	if err != nil {
		return err
	}
	defer out.Close()
	return out.Write(func(w io.Writer) error { _, err := proof.WriteTo(w); return err })
}

func (a app) clusterStatus() *cobra.Command {
	var path, format string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show a cluster's jobs and workers, and the last jobs that ended without a proof",
		Args:  cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cli.OneOf("format", format, cli.Formats...); err != nil {
				return err
			}
			var s cluster.Status
			err := a.asAdmin(path, func(cl *cluster.Client) (err error) {
				s, err = cl.Status(c.Context())
				return err
			})
			if err != nil {
				return err
			}
			return cli.TableOr(format, func(w io.Writer) error { return writeCluster(w, s) },
				func(w io.Writer) error { return cli.WriteJSON(w, s) })(a.Stdout)
		},
	}
	c.Flags().StringVar(&path, "ticket", "", ticketHelp)
	cli.AddFormat(c, &format, cli.Formats)
	return c
}

// asAdmin does something with a cluster.
func (a app) asAdmin(path string, do func(*cluster.Client) error) error {
	t, err := a.ticket(path, server.AdminTicket)
	if err != nil {
		return err
	}
	c, err := cluster.Connect(t)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

func writeCluster(w io.Writer, s cluster.Status) error {
	fmt.Fprintf(w, "jobs      %d waiting, %d handed out\n", s.Waiting, s.HandedOut)
	fmt.Fprintf(w, "stored    %s, %d results to be taken, %d taken (removed a minute later)\n",
		units.FormatBytes(s.Bytes), s.Results, s.Taken)
	var rows [][]string
	for _, k := range s.Workers {
		name := k.Name
		if k.Draining {
			name += " (draining)"
		}
		rows = append(rows, []string{
			name, fmt.Sprintf("%d of %d", len(k.InHand), k.Jobs), fmt.Sprint(k.Done), fmt.Sprint(k.Failed), fmt.Sprint(k.Returned), k.LastError,
		})
	}
	for _, name := range s.Silent {
		rows = append(rows, []string{name + " (does not answer)", "", "", "", "", ""})
	}
	if err := cli.Section(w, table.Fit(w), []table.Column{
		{Head: "worker", Keep: table.Never}, {Head: "in hand", Keep: table.Never}, {Head: "done", Keep: table.Never},
		{Head: "failed", Keep: 3}, {Head: "returned", Keep: 2}, {Head: "last problem", Keep: 1},
	}, rows); err != nil {
		return err
	}
	if s.Ledger != nil {
		rows = nil
		for _, tenant := range slices.Sorted(maps.Keys(s.Ledger.Clients)) {
			u := s.Ledger.Clients[tenant]
			rows = append(rows, []string{s.Ledger.Name(tenant), fmt.Sprint(u.Proved), fmt.Sprint(u.Dead),
				fmt.Sprint(u.Cancelled), fmt.Sprint(u.Late),
				fmt.Sprintf("%.0f", u.Card), fmt.Sprintf("%.0f", u.Milliseconds)})
		}
		if err := cli.Section(w, table.Fit(w), []table.Column{
			{Head: "client", Keep: table.Never}, {Head: "proved", Keep: table.Never}, {Head: "dead", Keep: 4},
			{Head: "cancelled", Keep: 2}, {Head: "late", Keep: 1}, {Head: "backend ms", Keep: table.Never}, {Head: "worker ms", Keep: 3},
		}, rows); err != nil {
			return err
		}
	}
	rows = nil
	for _, d := range s.Dead {
		rows = append(rows, []string{d.ID, cli.Ago(d.Age), d.Reason})
	}
	return cli.Section(w, table.Fit(w), []table.Column{{Head: "dead job", Keep: table.Never},
		{Head: "when", Keep: 1}, {Head: "reason", Keep: table.Never}}, rows)
}

func (a app) clusterDrain() *cobra.Command {
	var path string
	var within time.Duration
	c := &cobra.Command{
		Use:   "drain [WORKER]",
		Short: "Have a worker, or all, end their proofs and leave",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage(errors.New("one worker, or none for all"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.asAdmin(path, func(cl *cluster.Client) error {
				return cl.Drain(c.Context(), strings.Join(args, ""), within)
			})
		},
	}
	c.Flags().StringVar(&path, "ticket", "", ticketHelp)
	c.Flags().DurationVar(&within, "within", 30*time.Second, "what has not ended then is given back to others")
	return c
}

func (a app) clusterCancel() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "cancel JOB...",
		Short: "End jobs that nobody wants any more",
		Args:  someArguments("job"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.asAdmin(path, func(cl *cluster.Client) error {
				for _, id := range args {
					in, err := cl.Cancel(c.Context(), id)
					if err != nil {
						return err
					}
					if !in {
						a.Note(id + " had ended before")
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&path, "ticket", "", ticketHelp)
	return c
}

// someArguments refuses a command line that names nothing.
func someArguments(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cli.Usage(fmt.Errorf("no %s is named, see %s --help", what, c.CommandPath()))
		}
		return nil
	}
}

func (a app) clusterRetry() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "retry [JOB...]",
		Short: "Send dead jobs again, all if none is named",
		Long: `Send jobs again that ended without a proof, all if none is named. Those that failed
through their own fault, such as a wrong witness, cannot be sent again; the witnesses of
others are kept for a day. msm cluster status lists them.`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.asAdmin(path, func(cl *cluster.Client) error {
				sent, err := cl.Retry(c.Context(), args...)
				for _, id := range sent {
					fmt.Fprintln(a.Stdout, id)
				}
				if err == nil && len(sent) < len(args) {
					err = fmt.Errorf("%d of %d jobs cannot be sent again: their witnesses are gone", len(args)-len(sent), len(args))
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&path, "ticket", "", ticketHelp)
	return c
}

func (a app) clusterKeys() *cobra.Command {
	var path, format string
	var unused time.Duration
	var remove bool
	c := &cobra.Command{
		Use:   "keys",
		Short: "List the circuits and keys that a cluster has, or remove those that nothing uses",
		Long: `List the circuits and keys that a cluster has, those first that were not used for
longest. With --unused only those are listed that no job has needed for so long and none
needs that waits; --remove removes them. A client that adds its circuit again sends them
again.`,
		Example: `  msm cluster keys --unused 720h --remove`,
		Args:    cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cli.OneOf("format", format, cli.Formats...); err != nil {
				return err
			}
			if remove && !c.Flags().Changed("unused") {
				return cli.Usage(errors.New("--remove needs --unused"))
			}
			return a.asAdmin(path, func(cl *cluster.Client) error {
				all, err := cl.Keys(c.Context())
				if err != nil {
					return err
				}
				if c.Flags().Changed("unused") {
					all = slices.DeleteFunc(all, func(k cluster.StoredKey) bool { return k.Waiting || k.Idle < unused })
				}
				if remove {
					for _, k := range all {
						if err := cl.RemoveKey(c.Context(), k); err != nil {
							return err
						}
					}
				}
				return cli.TableOr(format, func(w io.Writer) error { return writeKeys(w, all, remove) },
					func(w io.Writer) error { return cli.WriteJSON(w, all) })(a.Stdout)
			})
		},
	}
	c.Flags().StringVar(&path, "ticket", "", ticketHelp)
	c.Flags().DurationVar(&unused, "unused", 0, "only those that nothing has used for so long")
	c.Flags().BoolVar(&remove, "remove", false, "remove what --unused lists")
	cli.AddFormat(c, &format, cli.Formats)
	return c
}

func writeKeys(w io.Writer, keys []cluster.StoredKey, removed bool) error {
	var rows [][]string
	var sum uint64
	for _, k := range keys {
		sum += k.Bytes
		used := cli.Ago(k.Idle)
		if k.Waiting {
			used = "in use"
		}
		rows = append(rows, []string{k.Client, k.Digest[:16], units.FormatBytes(k.Bytes), used})
	}
	if err := cli.Section(w, table.Fit(w), []table.Column{
		{Head: "client", Keep: table.Never}, {Head: "digest", Keep: table.Never}, {Head: "at most", Keep: 1}, {Head: "used", Keep: table.Never},
	}, rows); err != nil {
		return err
	}
	what := "stored"
	if removed {
		what = "removed"
	}
	_, err := fmt.Fprintf(w, "%d %s, at most %s\n", len(keys), what, units.FormatBytes(sum))
	return err
}
