package metrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
)

// mortal is a CPU backend that dies when told to.
type mortal struct {
	backend.Backend
	done chan struct{}
	die  func()
}

func (m *mortal) Unwrap() backend.Backend { return m.Backend }

// Usage has stages, which the CPU has not: one comes twice and one is no text.
func (m *mortal) Usage() backend.Usage {
	inner, _ := backend.As[backend.Metered](m.Backend)
	u := inner.Usage()
	u.Stages = []backend.StageUsage{{Name: "sort", Busy: time.Second}, {Name: "\xff"}, {Name: "sort", Busy: time.Second}}
	return u
}

func (m *mortal) Done() <-chan struct{} { return m.done }

func (m *mortal) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	select {
	case <-m.done:
		return nil, fmt.Errorf("%w: it died", backend.ErrGone)
	default:
		return m.Backend.MSM(ctx, jobs)
	}
}

// world opens "cpu", and "mortal" as long as that may be.
type world struct {
	mu   sync.Mutex
	last *mortal
	none bool // no mortal opens
}

func (w *world) open(_ context.Context, name string) (backend.Backend, error) {
	b := cpu.New(cpu.Options{})
	if name != "mortal" {
		return b, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.none {
		return nil, fmt.Errorf("%w: no mortal", backend.ErrUnavailable)
	}
	w.last = &mortal{Backend: b, done: make(chan struct{})}
	w.last.die = sync.OnceFunc(func() { close(w.last.done) })
	return w.last, nil
}

func (w *world) kill(none bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.none = none
	w.last.die()
}

// watched is an engine with its metrics.
func watched(t *testing.T, cfg engine.Config) (*engine.Engine, *Metrics) {
	t.Helper()
	m := New()
	e, err := engine.New(t.Context(), m.Config(cfg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	m.Watch(e)
	return e, m
}

// ask has an engine compute one MSM of n points.
func ask(ctx context.Context, t *testing.T, e *engine.Engine, n int) error {
	t.Helper()
	_, _, g, _ := bn254.Generators()
	points, scalars := slices.Repeat([]bn254.G1Affine{g}, n), make([]fr.Element, n)
	for i := range scalars {
		scalars[i].SetUint64(uint64(i + 1))
	}
	b, err := msm.BN254G1.Load(t.Context(), e, points)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.MSM(ctx, scalars)
	return err
}

// value is that of a metric with these labels, as NAME=VALUE; of a histogram the
// count. -1 is none.
func value(t *testing.T, c prometheus.Collector, name string, labels ...string) float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var has []string
			for _, l := range m.GetLabel() {
				has = append(has, l.GetName()+"="+l.GetValue())
			}
			if f.GetName() != name || slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
				continue
			}
			switch {
			case m.Counter != nil:
				return m.Counter.GetValue()
			case m.Gauge != nil:
				return m.Gauge.GetValue()
			default:
				return float64(m.Histogram.GetSampleCount())
			}
		}
	}
	return -1
}

// eventually waits for what happens in the background.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// TestLifeOfABackend: what happens to a backend is in the metrics, in words that
// tell one call from a lasting state and the end of that.
func TestLifeOfABackend(t *testing.T) {
	var w world
	e, m := watched(t, engine.Config{
		Open: w.open, Backend: "mortal", Patience: -1, RetryPause: 10 * time.Millisecond,
		RetryMax: 10 * time.Millisecond, Check: engine.CheckCurve,
	})
	is := func(want float64, name string, labels ...string) {
		t.Helper()
		if got := value(t, m, name, labels...); got != want {
			t.Errorf("%s%v is %v, want %v", name, labels, got, want)
		}
	}
	if err := ask(t.Context(), t, e, 10); err != nil {
		t.Fatal(err)
	}
	is(10, "pippin_msm_points_total", "backend=mortal")
	is(1, "pippin_phase_duration_seconds", "phase=msm", "backend=mortal", "outcome=ok")
	is(0, "pippin_degraded")
	is(1, "pippin_backend_state", "backend=mortal", "state=ready")
	is(0, "pippin_backend_state", "backend=mortal", "state=broken")
	is(1, "pippin_backend_preferred", "backend=mortal")
	is(0, "pippin_backend_preferred", "backend=cpu")
	for _, r := range engine.Reasons() {
		is(0, "pippin_fallback_calls_total", "reason="+string(r))
	}
	is(0, "pippin_backend_resident_bytes", "backend=mortal") // closed again
	if n := value(t, m, "pippin_device_busy_seconds_total", "backend=mortal", "device=0"); n <= 0 {
		t.Errorf("busy for %v s", n)
	}
	is(2, "pippin_stage_seconds_total", "backend=mortal", "stage=sort")
	answered := value(t, m, "pippin_calls_total", "outcome=answered") // loads are calls

	w.kill(true)
	if err := ask(t.Context(), t, e, 10); err != nil {
		t.Fatal(err)
	}
	is(1, "pippin_degraded")
	is(1, "pippin_backend_deaths_total", "backend=mortal")
	is(10, "pippin_msm_points_total", "backend=cpu")
	if n := value(t, m, "pippin_fallback_calls_total", "reason=gone"); n < 1 {
		t.Errorf("%v calls fell back", n)
	}
	if n := value(t, m, "pippin_calls_total", "outcome=answered"); n <= answered {
		t.Errorf("%v answered, %v before", n, answered)
	}
	eventually(t, "the event of the fall-back", func() bool {
		return value(t, m, "pippin_events_total", "event=fell_back_lasting", "backend=cpu") == 1
	})
	is(-1, "pippin_events_total", "event=returned")

	w.mu.Lock()
	w.none = false
	w.mu.Unlock()
	eventually(t, "the event of the return", func() bool {
		return value(t, m, "pippin_events_total", "event=returned", "backend=mortal") == 1
	})
	is(0, "pippin_degraded")
	is(1, "pippin_backend_restarts_total", "backend=mortal")

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(gone, t, e, 10); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	is(1, "pippin_calls_total", "outcome=canceled")
	is(0, "pippin_calls_total", "outcome=failed")
}

// crowded is a CPU backend that has no room for bases.
type crowded struct{ backend.Backend }

func (crowded) LoadBases(context.Context, backend.Bases) (backend.BasesID, error) {
	return 0, backend.ErrOutOfMemory
}

// TestARefusingBackend: of a backend that lives and refuses every call, the metrics say so, and why
// other backends answer.
func TestARefusingBackend(t *testing.T) {
	e, m := watched(t, engine.Config{Backend: "crowded", Open: func(_ context.Context, name string) (backend.Backend, error) {
		if name == "crowded" {
			return crowded{cpu.New(cpu.Options{})}, nil
		}
		return cpu.New(cpu.Options{}), nil
	}})
	for range 3 {
		if err := ask(t.Context(), t, e, 10); err != nil {
			t.Fatal(err)
		}
	}
	for want, of := range map[float64][]string{
		0: {"pippin_backend_state", "state=ready", "backend=crowded"}, 1: {"pippin_backend_state", "state=refusing", "backend=crowded"},
		6: {"pippin_fallback_calls_total", "reason=memory"}, // loads are calls
	} {
		if got := value(t, m, of[0], of[1:]...); got != want {
			t.Errorf("%v is %v, want %v", of, got, want)
		}
	}
	if got := value(t, m, "pippin_degraded"); got != 1 {
		t.Errorf("degraded: %v", got)
	}
}

// TestConventions: names, units and help are as Prometheus wants them, and every
// metric is in the document.
func TestConventions(t *testing.T) {
	var w world
	e, m := watched(t, engine.Config{Open: w.open, Backend: "mortal"})
	if err := ask(t.Context(), t, e, 10); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an event", func() bool { return value(t, m, "pippin_events_total") > 0 })
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(m)
	problems, err := testutil.GatherAndLint(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	doc, err := os.ReadFile("../../docs/howto/observe.md")
	if err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) < 25 {
		t.Errorf("only %d metrics", len(families))
	}
	for _, f := range families {
		if !strings.Contains(string(doc), "`"+f.GetName()) {
			t.Errorf("docs/howto/observe.md has no %s", f.GetName())
		}
	}

	t.Run("promtool", func(t *testing.T) {
		promtool, err := exec.LookPath("promtool")
		if err != nil {
			t.Skip("promtool is not here (package prometheus has it)")
		}
		rec := httptest.NewRecorder()
		promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = rec.Body
		if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	})
}

// TestObservingIsCheap: a phase costs one allocation, beside milliseconds of work;
// without an observer the engine allocates nothing for it.
func TestObservingIsCheap(t *testing.T) {
	m := New()
	p := engine.Phase{Kind: engine.PhaseMSM, Backend: "cpu", Points: 1 << 20}
	if n := testing.AllocsPerRun(1000, func() {
		_, end := m.Begin(context.Background(), p)
		end(nil)
	}); n > 1 {
		t.Errorf("%v allocations a phase", n)
	}
	var w world
	e, err := engine.New(t.Context(), engine.Config{Open: w.open})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if n := testing.AllocsPerRun(1000, func() {
		_, end := e.Observe(context.Background(), p)
		end(nil)
	}); n > 0 {
		t.Errorf("%v allocations a phase that nobody observes", n)
	}
}

func BenchmarkPhase(b *testing.B) {
	m := New()
	p := engine.Phase{Kind: engine.PhaseMSM, Backend: "cpu", Points: 1 << 20}
	b.ReportAllocs()
	for b.Loop() {
		_, end := m.Begin(context.Background(), p)
		end(nil)
	}
}

// TestListen: loopback unless asked for more, and sockets for one user.
func TestListen(t *testing.T) {
	for address, want := range map[string]string{":0": "127.0.0.1", "127.0.0.1:0": "127.0.0.1", "0.0.0.0:0": "0.0.0.0"} {
		l, err := Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		if host, _, _ := net.SplitHostPort(l.Addr().String()); host != want && !(want == "0.0.0.0" && host == "::") {
			t.Errorf("%s listens at %v", address, l.Addr())
		}
		l.Close()
	}
	dir, err := os.MkdirTemp("", "m") // a short path
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	l, err := Listen("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if _, err := Listen("unix:" + path); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("a second one: %v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // as one that was killed
	l.Close()
	if l, err = Listen("unix:" + path); err != nil {
		t.Fatalf("after its death: %v", err)
	}
	l.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen("unix:" + path); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("a file in its place: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file: %v", err)
	}
}

// TestPluginWaitsForItsAddress: a plugin whose address is taken works, and serves
// when it becomes free.
func TestPluginWaitsForItsAddress(t *testing.T) {
	taken, err := Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	open := func(context.Context, *slog.Logger) (backend.Backend, error) { return cpu.New(cpu.Options{}), nil }
	b, err := Plugin(taken.Addr().String(), open)(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	taken.Close()
	eventually(t, "its metrics", func() bool {
		r, err := http.Get("http://" + taken.Addr().String() + "/metrics")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		var body bytes.Buffer
		_, err = body.ReadFrom(r.Body)
		return err == nil && strings.Contains(body.String(), `pippin_device_calls_total{backend="cpu",device="0"} 0`) &&
			strings.Contains(body.String(), "process_cpu_seconds_total")
	})
}

// TestPluginAddress: an address that cannot be listened on is an error before the backend is
// opened; one that another process has still is not.
func TestPluginAddress(t *testing.T) {
	opened := 0
	open := func(context.Context, *slog.Logger) (backend.Backend, error) {
		opened++
		return cpu.New(cpu.Options{}), nil
	}
	for _, bad := range []string{"nonsense", "unix:" + filepath.Join(t.TempDir(), "no", "s"), "192.0.2.1:9465"} {
		if b, err := Plugin(bad, open)(t.Context(), slog.New(slog.DiscardHandler)); !errors.Is(err, backend.ErrUnavailable) ||
			!strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v, %v", bad, b, err)
		}
	}
	if opened > 0 {
		t.Error("a backend was opened")
	}
	l, err := Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := Plugin(l.Addr().String(), open)(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
