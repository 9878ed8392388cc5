// Package tracing has what an engine does as spans of OpenTelemetry: a proof,
// its calls, what each did on which backend, across the boundary to a plugin, and
// there the stages on a card.
//
//	e, err := pippin.New(ctx, engine.Config{
//		Backend:  "cuda",
//		Observer: tracing.Observer(provider),
//		Open:     pippin.Opener(pippin.Options{GRPC: tracing.Host(provider)}),
//	})
//
// Spans have names, sizes and errors, never a scalar.
package tracing

import (
	"context"
	"path"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// scope names who makes the spans.
const scope = "github.com/pippin-zk/pippin/observe/tracing"

// Observer makes a span of every phase, below that of the caller's context.
func Observer(p trace.TracerProvider) engine.Observer { return observer{p.Tracer(scope)} }

type observer struct{ tracer trace.Tracer }

func (o observer) Begin(ctx context.Context, p engine.Phase) (context.Context, func(error)) {
	ctx, span := o.tracer.Start(ctx, "pippin."+string(p.Kind))
	if span.IsRecording() {
		if p.Backend != "" {
			span.SetAttributes(attribute.String("pippin.backend", p.Backend))
		}
		if p.Jobs > 0 {
			span.SetAttributes(attribute.Int("pippin.jobs", p.Jobs))
		}
		if p.Points > 0 {
			span.SetAttributes(attribute.Int("pippin.points", p.Points))
		}
	}
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// Host traces the host's side of plugins' connections, pippin.Options.GRPC: a span
// of every request that computes, whose plugin continues the trace.
func Host(p trace.TracerProvider) []grpc.DialOption {
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(options(p)...))}
}

// Plugin traces a plugin's side, an argument of serve.Plugin.
func Plugin(p trace.TracerProvider) grpc.ServerOption {
	return grpc.StatsHandler(otelgrpc.NewServerHandler(options(p)...))
}

func options(p trace.TracerProvider) []otelgrpc.Option {
	return []otelgrpc.Option{
		otelgrpc.WithTracerProvider(p),
		otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(func(i *stats.RPCTagInfo) bool { return computes(i.FullMethodName) }),
	}
}

// Carried returns where ctx is in a trace, as the fields of W3C's Trace Context, for
// cluster.Client.Trace. Nil means in none.
func Carried(ctx context.Context) map[string]string {
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields)
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// Job begins the span of a cluster's job below that of the client, for worker.Config.Span.
func Job(p trace.TracerProvider) func(ctx context.Context, job string, carried map[string]string) (context.Context, func(error)) {
	tracer := p.Tracer(scope)
	return func(ctx context.Context, job string, carried map[string]string) (context.Context, func(error)) {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(carried))
		ctx, span := tracer.Start(ctx, "pippin.job", trace.WithSpanKind(trace.SpanKindConsumer),
			trace.WithAttributes(attribute.String("pippin.job", job)))
		return ctx, func(err error) {
			if err != nil {
				span.SetStatus(codes.Error, err.Error())
			}
			span.End()
		}
	}
}

// computes tells requests that take time from those that keep house.
func computes(method string) bool {
	switch path.Base(method) {
	case "Run", "LoadBases", "NewSpace":
		return true
	}
	return false
}

// mostStages is the most spans that one turn of a device may make.
const mostStages = 1024

// StagesLeftOut is the attribute of a request's span that says how many stages have no span,
// where a turn has more than 1024.
const StagesLeftOut = "pippin.stages_left_out"

// Stages makes cuda.Options.Trace: spans of what a device has just done,
// one after the other until now, below the span of ctx.
func Stages(ctx context.Context, stages []backend.StageUsage) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return
	}
	at := time.Now()
	for _, s := range stages {
		at = at.Add(-s.Busy)
	}
	if more := len(stages) - mostStages; more > 0 {
		parent.SetAttributes(attribute.Int(StagesLeftOut, more))
		stages = stages[:mostStages]
	}
	tracer := parent.TracerProvider().Tracer(scope)
	for _, s := range stages {
		_, span := tracer.Start(ctx, "pippin.stage."+s.Name, trace.WithTimestamp(at))
		at = at.Add(s.Busy)
		span.End(trace.WithTimestamp(at))
	}
}
