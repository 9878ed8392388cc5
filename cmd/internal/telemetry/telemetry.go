// Package telemetry serves pippin's own plugins with the metrics and traces that
// their environment asks for:
//
//	PIPPIN_PLUGIN_METRICS         address of metrics, see metrics.Listen
//	PIPPIN_PLUGIN_DUMPS           1: see serve.AllowDumps
//	PIPPIN_PLUGIN_LOCK            1: see serve.LockArenas
//	OTEL_EXPORTER_OTLP_ENDPOINT   where spans are sent, with the other
//	                              variables of OpenTelemetry's OTLP exporter
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/observe/metrics"
	"github.com/pippin-zk/pippin/observe/tracing"
	"github.com/pippin-zk/pippin/plugin/serve"
)

// flushLimit is how long the last spans may take to be sent.
const flushLimit = time.Second

// traced reports whether spans are wanted.
func traced() bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Serve calls serve.Plugin, with metrics and traces if they are asked for.
func Serve(open serve.Opener) {
	if os.Getenv("PIPPIN_PLUGIN_DUMPS") == "1" {
		serve.AllowDumps()
	}
	if os.Getenv("PIPPIN_PLUGIN_LOCK") == "1" {
		serve.LockArenas()
	}
	open = metrics.Plugin(os.Getenv("PIPPIN_PLUGIN_METRICS"), open)
	if !traced() {
		serve.Plugin(open)
		return
	}
	p, err := provider(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "no traces:", err)
		serve.Plugin(open)
		return
	}
	serve.Plugin(open, tracing.Plugin(p))
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		slog.Warn("the last spans were not sent", "cause", err)
	}
}

// Tracing returns what sends spans where the environment says, nil where it says nothing, and
// a function that sends the last ones.
func Tracing(ctx context.Context) (p trace.TracerProvider, end func(), err error) {
	if !traced() {
		return nil, func() {}, nil
	}
	own, err := provider(ctx)
	if err != nil {
		return nil, nil, err
	}
	return own, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushLimit)
		defer cancel()
		if err := own.Shutdown(ctx); err != nil {
			slog.Warn("the last spans were not sent", "cause", err)
		}
	}, nil
}

// provider sends spans where the environment says.
func provider(ctx context.Context) (*sdktrace.TracerProvider, error) {
	to, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	own, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(filepath.Base(os.Args[0])), semconv.ServiceVersion(build.This().Version)),
		resource.WithProcessPID(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(to), sdktrace.WithResource(own)), nil
}
