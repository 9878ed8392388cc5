package tracing

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

func inMemory(t *testing.T) (*tracetest.InMemoryExporter, *sdktrace.TracerProvider) {
	t.Helper()
	to := tracetest.NewInMemoryExporter()
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(to))
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return to, p
}

// TestObserver: phases are spans with what is known of them, those within below.
func TestObserver(t *testing.T) {
	to, p := inMemory(t)
	o := Observer(p)
	ctx, endCall := o.Begin(t.Context(), engine.Phase{Kind: engine.PhaseCall})
	_, endMSM := o.Begin(ctx, engine.Phase{Kind: engine.PhaseMSM, Backend: "cuda", Jobs: 2, Points: 1 << 20})
	endMSM(errors.New("lost"))
	endCall(nil)
	spans := to.GetSpans()
	if len(spans) != 2 || spans[0].Name != "pippin.msm" || spans[1].Name != "pippin.call" {
		t.Fatalf("%+v", spans)
	}
	if spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() || spans[0].Status.Code != codes.Error ||
		spans[0].Status.Description != "lost" {
		t.Errorf("%+v", spans[0])
	}
	if len(spans[0].Attributes) != 3 || len(spans[1].Attributes) != 0 || spans[1].Status.Code == codes.Error {
		t.Errorf("%v, %v", spans[0].Attributes, spans[1])
	}
}

// TestJob: the span of a cluster's job is below its client's, whatever process that is in.
func TestJob(t *testing.T) {
	to, p := inMemory(t)
	if Carried(t.Context()) != nil {
		t.Error("there is no trace, and something is carried")
	}
	ctx, client := p.Tracer("").Start(t.Context(), "client")
	carried := Carried(ctx)
	ctx, end := Job(p)(context.Background(), "a.b-1", carried)
	if !trace.SpanFromContext(ctx).IsRecording() {
		t.Error("what the job does is not traced")
	}
	end(errors.New("lost"))
	client.End()
	spans := to.GetSpans()
	if len(spans) != 2 || spans[0].Name != "pippin.job" || spans[0].Parent.SpanID() != client.SpanContext().SpanID() ||
		spans[0].SpanContext.TraceID() != client.SpanContext().TraceID() || spans[0].Status.Code != codes.Error {
		t.Errorf("%+v", spans)
	}
}

// TestStages: one after the other until now, no more than a trace can show.
func TestStages(t *testing.T) {
	to, p := inMemory(t)
	Stages(t.Context(), []backend.StageUsage{{Name: "sort", Busy: time.Second}}) // nobody traces
	ctx, parent := p.Tracer("").Start(t.Context(), "call")
	Stages(ctx, []backend.StageUsage{{Name: "digits", Busy: time.Second}, {Name: "sort", Busy: 2 * time.Second}})
	spans := to.GetSpans()
	if len(spans) != 2 || spans[0].Name != "pippin.stage.digits" || spans[1].Name != "pippin.stage.sort" {
		t.Fatalf("%+v", spans)
	}
	if d, s := spans[0], spans[1]; d.EndTime.Sub(d.StartTime) != time.Second ||
		s.EndTime.Sub(s.StartTime) != 2*time.Second || !s.StartTime.Equal(d.EndTime) ||
		time.Since(s.EndTime) < 0 || d.Parent.SpanID() != trace.SpanFromContext(ctx).SpanContext().SpanID() {
		t.Errorf("%+v", spans)
	}
	to.Reset()
	Stages(ctx, make([]backend.StageUsage, mostStages+5))
	if n := len(to.GetSpans()); n != mostStages {
		t.Errorf("%d spans", n)
	}
	parent.End()
	if s := to.GetSpans()[mostStages]; len(s.Attributes) != 1 || s.Attributes[0].Value.AsInt64() != 5 {
		t.Errorf("%v", s.Attributes)
	}
}
