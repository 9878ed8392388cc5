package telemetry

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/observe/tracing"
)

// TestSpans: a trace has the phases of this process and what a plugin sends, by their
// beginning, and nothing of another trace.
func TestSpans(t *testing.T) {
	s, err := Collect()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	url, ok := strings.CutPrefix(s.Environment()[0], "OTEL_EXPORTER_OTLP_ENDPOINT=")
	if !ok || len(s.Connection()) == 0 {
		t.Fatalf("%q, %d options of connections", s.Environment(), len(s.Connection()))
	}
	ctx, id, end := s.Trace(t.Context())
	_, solved := s.Observer().Begin(ctx, engine.Phase{Kind: engine.PhaseSolve})
	solved(nil)
	end()
	_, other, endOther := s.Trace(ctx)
	endOther()
	if other == id {
		t.Error("two traces are one")
	}
	at := uint64(time.Now().Add(-time.Hour).UnixNano())
	var trace []byte
	for i := range 16 {
		b := 0
		for _, digit := range id[2*i : 2*i+2] {
			b = 16*b + strings.IndexRune("0123456789abcdef", digit)
		}
		trace = append(trace, byte(b))
	}
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*wire.ResourceSpans{{ScopeSpans: []*wire.ScopeSpans{
		{Spans: []*wire.Span{{TraceId: trace, Name: "pippin.stage.sort", StartTimeUnixNano: at, EndTimeUnixNano: at + 1e6,
			Attributes: []*common.KeyValue{{Key: tracing.StagesLeftOut, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: 4}}}},
		}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body   []byte
		status int
	}{{body, http.StatusOK}, {[]byte("x"), http.StatusBadRequest}, {make([]byte, mostSpans+1), http.StatusBadRequest}} {
		answer, err := http.Post(url+"/v1/traces", "application/x-protobuf", bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%d bytes: status %d, want %d", len(c.body), answer.StatusCode, c.status)
		}
	}
	spans, err := s.Of(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range spans {
		names = append(names, p.Name)
		if p.Plugin != (p.Name == "pippin.stage.sort") || p.Plugin != (p.LeftOut == 4) || p.Plugin && p.End.Sub(p.Start) != time.Millisecond {
			t.Errorf("%+v", p)
		}
	}
	if want := []string{"pippin.stage.sort", "trace", "pippin.solve"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Of(ended, id); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
