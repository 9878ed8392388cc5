package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/observe/tracing"
)

// Spans collects what an engine of this process and its plugins do. Its methods may be called
// from several goroutines.
type Spans struct {
	provider *sdktrace.TracerProvider
	server   *http.Server
	address  string

	mu   sync.Mutex
	all  []Span
	last time.Time // when one came
}

// Span is a part of what was done: its name as tracing gives it, whether it was in a plugin,
// and when.
type Span struct {
	Name       string
	Plugin     bool
	Start, End time.Time
	// LeftOut is how many stages of the device have no span below this one, since it had too
	// many.
	LeftOut int
	trace   string
}

// How long a plugin keeps spans before it sends them, and how long nothing may come until all
// are taken to be here.
const (
	spansDelay = 100 * time.Millisecond
	spansQuiet = 5 * spansDelay
)

// mostSpans bounds what a plugin may send at a time, in bytes.
const mostSpans = 16 << 20

// Collect begins to collect, at an address of this machine's loopback, until Close.
func Collect() (*Spans, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("%w: no address for plugins' spans: %w", backend.ErrUnavailable, err)
	}
	s := &Spans{address: l.Addr().String()}
	s.provider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(own{s}))
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }() // until Close
	return s, nil
}

// Close ends collecting.
func (s *Spans) Close(ctx context.Context) error {
	return errors.Join(s.provider.Shutdown(ctx), s.server.Close())
}

// Observer is an engine's, whose phases are collected.
func (s *Spans) Observer() engine.Observer { return tracing.Observer(s.provider) }

// Connection traces the connections of plugins, which have to be opened with Environment too.
func (s *Spans) Connection() []grpc.DialOption { return tracing.Host(s.provider) }

// Environment has plugins send their spans here.
func (s *Spans) Environment() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + s.address, fmt.Sprintf("OTEL_BSP_SCHEDULE_DELAY=%d", spansDelay.Milliseconds()),
		"OTEL_BSP_MAX_QUEUE_SIZE=65536"} // none is thrown away
}

// Trace begins a trace of what is done with the context; of gives its spans by id.
func (s *Spans) Trace(ctx context.Context) (_ context.Context, id string, end func()) {
	ctx, span := s.provider.Tracer("github.com/pippin-zk/pippin/cmd").Start(ctx, "trace", trace.WithNewRoot())
	return ctx, span.SpanContext().TraceID().String(), func() { span.End() }
}

// Of returns the spans of a trace by when they began, once no more have come for some time.
func (s *Spans) Of(ctx context.Context, id string) ([]Span, error) {
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := slices.DeleteFunc(slices.Clone(s.all), func(p Span) bool { return p.trace != id })
	slices.SortStableFunc(mine, func(a, b Span) int { return a.Start.Compare(b.Start) })
	return mine, nil
}

// settle returns when no span has come for some time.
func (s *Spans) settle(ctx context.Context) error {
	began := time.Now()
	for {
		s.mu.Lock()
		last := s.last
		s.mu.Unlock()
		if last.Before(began) {
			last = began
		}
		left := time.Until(last.Add(spansQuiet))
		if left <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return backend.Ended(ctx)
		case <-time.After(left):
		}
	}
}

func (s *Spans) add(p Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.last = append(s.all, p), time.Now()
}

// own exports the spans of this process.
type own struct{ to *Spans }

func (o own) ExportSpans(_ context.Context, all []sdktrace.ReadOnlySpan) error {
	for _, p := range all {
		o.to.add(Span{Name: p.Name(), Start: p.StartTime(), End: p.EndTime(), trace: p.SpanContext().TraceID().String()})
	}
	return nil
}

func (own) Shutdown(context.Context) error { return nil }

// ServeHTTP takes what a plugin sends by OTLP.
func (s *Spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostSpans))
	var sent collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &sent)
	}
	if err != nil {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	for _, of := range sent.GetResourceSpans() {
		for _, by := range of.GetScopeSpans() {
			for _, p := range by.GetSpans() {
				span := Span{Name: p.GetName(), Plugin: true, trace: fmt.Sprintf("%x", p.GetTraceId()),
					Start: time.Unix(0, int64(p.GetStartTimeUnixNano())), End: time.Unix(0, int64(p.GetEndTimeUnixNano()))}
				for _, a := range p.GetAttributes() {
					if a.GetKey() == tracing.StagesLeftOut {
						span.LeftOut += int(a.GetValue().GetIntValue())
					}
				}
				s.add(span)
			}
		}
	}
}
