// Package metrics has what an operator wants to know of an engine, for
// Prometheus:
//
//	m := metrics.New()
//	e, err := pippin.New(ctx, m.Config(engine.Config{Backend: "cuda"}))
//	if err != nil {
//		return err
//	}
//	m.Watch(e)
//	prometheus.MustRegister(m)
//
// docs/howto/observe.md lists the metrics. Of several engines in one program each
// has a Metrics of its own, registered with a label:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"engine": "a"}, registry).MustRegister(m)
package metrics

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/build"
)

// Metrics collects what one engine counts and how long its phases take. Safe for
// concurrent use.
type Metrics struct {
	engine atomic.Pointer[Engine]

	phases *prometheus.HistogramVec
	points *prometheus.CounterVec
	events *prometheus.CounterVec
}

// Engine is what is watched: one of package engine or of package msm.
type Engine interface{ Stats() engine.Stats }

var (
	_ prometheus.Collector = (*Metrics)(nil)
	_ engine.Observer      = (*Metrics)(nil)
)

// New makes metrics for one engine that is not there yet: see Config and Watch.
func New() *Metrics {
	return &Metrics{
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pippin_phase_duration_seconds",
			Help: "Duration of the phases of calls. A call is a phase without a backend; wait is its wait for one.",
			// 0.5 ms to 131 s
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 19),
		}, []string{"phase", "backend", "outcome"}),
		points: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pippin_msm_points_total",
			Help: "Points of the MSMs that a backend computed, commitments of programs included.",
		}, []string{"backend"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pippin_events_total",
			Help: "What happened to backends. fell_back_lasting is the beginning of a degraded time and returned its end; fell_back is one call.",
		}, []string{"event", "backend"}),
	}
}

// Config returns cfg with m told of phases and events, beside whom cfg tells.
func (m *Metrics) Config(cfg engine.Config) engine.Config {
	cfg.Observer = engine.Observers(cfg.Observer, m)
	on := cfg.OnEvent
	cfg.OnEvent = func(ev engine.Event) {
		m.event(ev)
		if on != nil {
			on(ev)
		}
	}
	return cfg
}

// Watch collects the state of an engine from now on. A closed one may be
// watched.
func (m *Metrics) Watch(e Engine) { m.engine.Store(&e) }

// Begin implements engine.Observer.
func (m *Metrics) Begin(ctx context.Context, p engine.Phase) (context.Context, func(error)) {
	began := time.Now()
	return ctx, func(err error) {
		outcome := "ok"
		if err != nil {
			outcome = "error"
		}
		backend := label(p.Backend)
		m.phases.WithLabelValues(string(p.Kind), backend, outcome).Observe(time.Since(began).Seconds())
		if err == nil && (p.Kind == engine.PhaseMSM || p.Kind == engine.PhaseProgram) {
			m.points.WithLabelValues(backend).Add(float64(p.Points))
		}
	}
}

// event counts an event.
func (m *Metrics) event(ev engine.Event) {
	kind := strings.ReplaceAll(string(ev.Kind), " ", "_")
	if ev.Kind == engine.EventFallback && ev.Lasting {
		kind += "_lasting"
	}
	m.events.WithLabelValues(kind, label(ev.Backend)).Inc()
}

// label makes text of what may be a path.
func label(s string) string { return strings.ToValidUTF8(s, "?") }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	m.phases.Describe(to)
	m.points.Describe(to)
	m.events.Describe(to)
	for _, d := range descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.phases.Collect(to)
	m.points.Collect(to)
	m.events.Collect(to)
	collectBuild(to)
	if e := m.engine.Load(); e != nil {
		collectStats(to, (*e).Stats())
	}
}

// collectBuild tells what this program was built from.
func collectBuild(to chan<- prometheus.Metric) {
	b := build.This()
	gauge(to, buildInfo, 1, b.Version, b.Commit, runtime.Version())
}
