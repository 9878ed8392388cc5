package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin/examples/internal/demo"
)

func TestServer(t *testing.T) {
	if why := demo.NoPlugins(); why != "" {
		t.Skip(why)
	}
	logger.Disable()
	var spans atomic.Int64 // requests with spans, of the plugins' too
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" {
			spans.Add(1)
		}
	}))
	defer collector.Close()
	for system, kills := range map[string]int{"groth16": 2, "plonk": 3} {
		t.Run(system, func(t *testing.T) {
			if system == "groth16" {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
			}
			var out bytes.Buffer
			err := run(t.Context(), io.MultiWriter(&out, t.Output()), options{
				system: system, links: 2, workers: 3, proofs: 10, kills: kills, plugin: demo.Plugin,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"swapped: plugin:cpu", "restarted: plugin:cpu", "swapped: cpu", "all verified"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output has no %q", want)
				}
			}
		})
	}
	if spans.Load() == 0 {
		t.Error("no spans were sent")
	}
	if err := run(t.Context(), io.Discard, options{system: "x", plugin: demo.Plugin}); err == nil {
		t.Error("a proof system that is unknown is taken")
	}
}
