package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pippin-zk/pippin/backend"
)

// Registry returns a registry of these collectors, and those of Go's runtime and of this process.
func Registry(cs ...prometheus.Collector) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(cs...)
	return r
}

// Listen opens an address for Serve: HOST:PORT, :PORT, which is on loopback, or
// unix:PATH, a socket for this user alone. All interfaces have to be asked for:
// 0.0.0.0:PORT. A socket that nobody listens at any more is replaced.
func Listen(address string) (net.Listener, error) {
	l, err := listen(address)
	if err != nil {
		return nil, fmt.Errorf("%w: serving metrics at %q: %w", backend.ErrUnavailable, address, err)
	}
	return l, nil
}

func listen(address string) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, "unix:")
	if !unix {
		if strings.HasPrefix(address, ":") {
			address = "127.0.0.1" + address
		}
		return net.Listen("tcp", address)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, syscall.EADDRINUSE
	} else if st, serr := os.Lstat(path); serr == nil && st.Mode()&os.ModeSocket != 0 && errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(path)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Check is a path that answers 200 while OK returns nil, and else 503 with the error, such
// as /readyz.
type Check struct {
	Path string
	OK   func() error
}

// Serve answers GET /metrics with what g gathers, and checks, until ctx ends, and closes l.
func Serve(ctx context.Context, l net.Listener, g prometheus.Gatherer, checks ...Check) error {
	mux := http.NewServeMux()
	for _, c := range checks {
		mux.HandleFunc("GET "+c.Path, func(w http.ResponseWriter, _ *http.Request) {
			if err := c.OK(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "ok")
		})
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(g, promhttp.HandlerOpts{MaxRequestsInFlight: 8}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%w: serving metrics: %w", backend.ErrInternal, err)
	}
	return nil
}

// retry is the pause before an address is tried again.
const retry = time.Second

// Plugin lets a plugin serve metrics of its backend and process at an address, ""
// for none; see Listen. An address that cannot be listened on is an error of opening it.
// One that is in use is not: two of its processes may live at the same time for a while.
// The plugin works without then, and tries again.
func Plugin(address string, open func(context.Context, *slog.Logger) (backend.Backend, error),
) func(context.Context, *slog.Logger) (backend.Backend, error) {
	if address == "" {
		return open
	}
	return func(ctx context.Context, log *slog.Logger) (backend.Backend, error) {
		l, err := Listen(address)
		if err != nil && !errors.Is(err, syscall.EADDRINUSE) {
			return nil, err
		}
		b, err := open(ctx, log)
		if err != nil {
			if l != nil {
				l.Close()
			}
			return nil, err
		}
		w := &served{Backend: b}
		go servePlugin(ctx, l, address, Registry(ofBackend{w}), log)
		return w, nil
	}
}

// servePlugin serves at l, and at the address again where that is nil or has ended.
func servePlugin(ctx context.Context, l net.Listener, address string, g prometheus.Gatherer, log *slog.Logger) {
	for told := false; ctx.Err() == nil; l = nil {
		var err error
		if l == nil {
			l, err = Listen(address)
		}
		if err == nil {
			if err = Serve(ctx, l, g); err == nil {
				return
			}
		}
		if !told {
			log.Warn("no metrics yet", "cause", err)
			told = true
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
}

// served is a backend of which somebody else may know more: a daemon that has it
// serve sessions.
type served struct {
	backend.Backend
	usage atomic.Pointer[func() backend.Usage]
}

// Unwrap lets the backend's capabilities be found.
func (w *served) Unwrap() backend.Backend { return w.Backend }

// WatchUsage implements serve.UsageWatcher.
func (w *served) WatchUsage(f func() backend.Usage) { w.usage.Store(&f) }

// counted returns what is known, false where nothing is counted.
func (w *served) counted() (backend.Usage, bool) {
	if f := w.usage.Load(); f != nil {
		return (*f)(), true
	}
	if m, ok := backend.As[backend.Metered](w.Backend); ok {
		return m.Usage(), true
	}
	return backend.Usage{}, false
}

// ofBackend collects what a backend counts itself.
type ofBackend struct{ b *served }

func (o ofBackend) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{buildInfo, busy, waited, had, stageTime, ofSessions, ofResident, ofUnheld, ofTurns, ofRecognised} {
		to <- d
	}
}

func (o ofBackend) Collect(to chan<- prometheus.Metric) {
	collectBuild(to)
	if u, ok := o.b.counted(); ok {
		collectUsage(to, label(o.b.Info().Name), u)
	}
}
