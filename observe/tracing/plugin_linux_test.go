package tracing

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
)

// square says "I know a square root of Y".
type square struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *square) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.X, c.X), c.Y)
	return nil
}

// receiver takes the spans that a plugin sends by OTLP: name to parent, trace.
type receiver struct {
	mu    sync.Mutex
	spans map[string][2]string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	b, err := io.ReadAll(q.Body)
	var m collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(b, &m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, res := range m.ResourceSpans {
		for _, scope := range res.ScopeSpans {
			for _, s := range scope.Spans {
				r.spans[hex.EncodeToString(s.ParentSpanId)] = [2]string{s.Name, hex.EncodeToString(s.TraceId)}
			}
		}
	}
}

// TestProofThroughAPlugin: one trace leads from a proof through the engine and the
// connection into the plugin's process.
func TestProofThroughAPlugin(t *testing.T) {
	dir, err := os.MkdirTemp("", "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	build := exec.Command("go", "build", "-o", dir+"/", "../../cmd/msm-backend-cpu")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := &receiver{spans: map[string][2]string{}}
	server := httptest.NewServer(r)
	defer server.Close()
	to, p := inMemory(t)
	e, err := pippin.New(t.Context(), engine.Config{
		Backend: "plugin:cpu", Observer: Observer(p),
		Open: pippin.Opener(pippin.Options{
			PluginDirs: []string{dir}, GRPC: Host(p),
			Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL, "OTEL_BSP_SCHEDULE_DELAY=10"},
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &square{})
	if err != nil {
		t.Fatal(err)
	}
	pk, _, err := groth16.Setup(ccs)
	if err != nil {
		t.Fatal(err)
	}
	prover, err := groth16.NewProver(e, ccs, pk)
	if err != nil {
		t.Fatal(err)
	}
	defer prover.Close()
	w, err := frontend.NewWitness(&square{X: 3, Y: 9}, ecc.BN254.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	to.Reset()
	if _, err := prover.Prove(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	byID, names := map[string]tracetest.SpanStub{}, map[string]tracetest.SpanStub{}
	for _, s := range to.GetSpans() {
		byID[s.SpanContext.SpanID().String()] = s
		names[s.Name] = s
	}
	for _, name := range []string{"pippin.prove", "pippin.solve", "pippin.call"} {
		if _, ok := names[name]; !ok {
			t.Errorf("no span %s", name)
		}
	}
	// From a request's span up to the proof.
	found := ""
	for id, s := range byID {
		if !strings.HasSuffix(s.Name, "/MSM") && !strings.HasSuffix(s.Name, "/Run") {
			continue
		}
		var way []string
		for at, ok := s, true; ok; at, ok = byID[at.Parent.SpanID().String()] {
			way = append(way, at.Name)
		}
		if way[len(way)-1] != "pippin.prove" || len(way) < 4 {
			t.Errorf("the way of %s is %q", s.Name, way)
		}
		found = id
	}
	if found == "" {
		t.Fatalf("no request has a span: %v", names)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		r.mu.Lock()
		its, ok := r.spans[found]
		r.mu.Unlock()
		if ok {
			if its[1] != byID[found].SpanContext.TraceID().String() {
				t.Errorf("another trace: %v", its)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the plugin sent no span below %s", byID[found].Name)
		}
	}
}
