package proving

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/circomwitness"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/proofserver"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/observe/metrics"
	"github.com/pippin-zk/pippin/prover/circom"
)

// circomServeFlags is the command line of msm circom serve.
type circomServeFlags struct {
	proveFlags
	listen, metrics, body string
	limits                proofserver.Config
}

func (a app) circomServe() *cobra.Command {
	var f circomServeFlags
	c := &cobra.Command{
		Use:         "serve KEY.zkey...",
		Annotations: map[string]string{cli.ConfigName: "circom"},
		Short:       "Prove circuits for programs that ask by HTTP, as rapidsnark's server does",
		Long: `Serve circuits by HTTP, with the routes and answers of rapidsnark's server. A circuit has
its key's name: NAME.zkey is asked for by POST /input/NAME. Beside the key, NAME.wasm or
NAME_js/NAME.wasm calculates witnesses; without, callers send them. Several inputs are
proved at a time, others wait, and more are refused. No input is ever in a file.

Whoever can connect can ask for proofs: put something in front that knows who may.
docs/howto/snarkjs.md has the routes.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(fmt.Errorf("no key, see %s --help", c.CommandPath()))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.serveCircom(c.Context(), f, args) },
	}
	flags := c.Flags()
	flags.StringVar(&f.backend, "backend", "cpu", "cpu, cuda, daemon, plugin:NAME, plugin:PATH")
	flags.BoolVar(&f.unchecked, "no-point-checks", false, "trust the keys' points, which saves time at the start")
	flags.StringVar(&f.listen, "listen", ":9080", "address; :PORT is on loopback, 0.0.0.0:PORT everywhere")
	flags.StringVar(&f.metrics, "metrics", "", "address of /metrics, such as :9465, which is on loopback, or 0.0.0.0:9465 (default none)")
	flags.IntVar(&f.limits.Jobs, "jobs", 2, "inputs that are proved at a time")
	flags.IntVar(&f.limits.Queue, "queue", 32, "inputs that wait; more are refused")
	flags.IntVar(&f.limits.Keep, "keep", 1000, "proofs that can be asked after later")
	flags.StringVar(&f.body, "body", "64MiB", "bytes of an input or a witness at most")
	cli.Completes(c, "backend", cli.BackendNames)
	a.Configurable(c)
	return c
}

// check reads the limits.
func (f *circomServeFlags) check() error {
	n, err := units.ParseBytes(f.body)
	if err != nil {
		return cli.Usage(fmt.Errorf("--body: %w", err))
	}
	f.limits.Body = n
	if f.limits.Jobs < 1 || f.limits.Queue < 0 || f.limits.Keep < 1 || n < 1 {
		return cli.Usage(errors.New("--jobs, --keep and --body are above 0, --queue is not below"))
	}
	return nil
}

// serveCircom serves until ctx ends.
func (a app) serveCircom(ctx context.Context, f circomServeFlags, paths []string) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	log := a.LogTo(slog.LevelInfo)
	l, err := listen(f.listen)
	if err != nil {
		return err
	}
	defer l.Close()
	watched := metrics.New()
	e, err := a.openOneWith(ctx, f.backend, func(c engine.Config) engine.Config { c.Log = log; return watched.Config(c) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	watched.Watch(e)
	all := servedCircuits{log: log}
	defer func() { err = errors.Join(err, all.close()) }()
	for _, path := range paths {
		if err := all.open(ctx, path, f.keyOptions(ctx, e)); err != nil {
			return err
		}
	}
	f.limits.Circuits = all.served
	s := proofserver.New(f.limits)
	defer s.Close()
	group, ctx := errgroup.WithContext(ctx)
	if f.metrics != "" {
		at, err := metrics.Listen(f.metrics)
		if err != nil {
			return err
		}
		registry := metrics.Registry(append(s.Collectors(), watched)...)
		group.Go(func() error {
			return metrics.Serve(ctx, at, registry, metrics.Check{Path: "/healthz", OK: func() error { return nil }})
		})
	}
	group.Go(func() error { return serveHTTP(ctx, l, s) })
	log.Info("serving", "address", l.Addr().String(), "circuits", len(all.served))
	return group.Wait()
}

// listen opens an address; a port alone is on loopback.
func listen(address string) (net.Listener, error) {
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return l, nil
}

// How long a caller may take to send its header, and its input.
const (
	headerTime = 5 * time.Second
	bodyTime   = time.Minute
)

// serveHTTP answers requests until ctx ends. The proofs under way end then, and their callers are
// told.
func serveHTTP(ctx context.Context, l net.Listener, s *proofserver.Server) error {
	h := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		s.Close()
		last, cancel := context.WithTimeout(context.Background(), headerTime)
		defer cancel()
		if h.Shutdown(last) != nil {
			h.Close()
		}
	})
	err := h.Serve(l)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// servedCircuits are those that are served, with what must be closed.
type servedCircuits struct {
	log    *slog.Logger
	served []proofserver.Circuit
	keys   []*circom.Key
	code   []*circomwitness.Circuit
}

// open loads the key of a circuit, and what calculates its witnesses if it is there.
func (c *servedCircuits) open(ctx context.Context, path string, opts []circom.KeyOption) error {
	name := strings.TrimSuffix(filepath.Base(path), ".zkey")
	for _, other := range c.served {
		if other.Name == name {
			return cli.Usage(fmt.Errorf("two keys are named %s.zkey", name))
		}
	}
	k, err := circom.OpenKey(path, opts...)
	if err != nil {
		return err
	}
	c.keys = append(c.keys, k)
	served := proofserver.Circuit{Name: name, Prove: k.Prove}
	for _, at := range []string{name + ".wasm", filepath.Join(name+"_js", name+".wasm")} {
		code, err := openCircuit(ctx, filepath.Join(filepath.Dir(path), at))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		c.code = append(c.code, code)
		served.Calculate = code.Calculate
		break
	}
	c.served = append(c.served, served)
	c.log.Info("circuit", "name", name, "curve", k.Curve().String(), "wires", k.NbWires(), "calculates", served.Calculate != nil)
	return nil
}

func (c *servedCircuits) close() (err error) {
	for _, k := range c.keys {
		err = errors.Join(err, k.Close())
	}
	for _, code := range c.code {
		err = errors.Join(err, code.Close())
	}
	return err
}
