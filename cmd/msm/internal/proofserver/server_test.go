package proofserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/circom"
)

func fileOf(t testing.TB, name string) []byte {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "prover", "circom", "testdata", "cubic", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// prover stands for a key: a proof takes until it is released.
type prover struct {
	proof   *circom.Proof
	release chan struct{}
	now     atomic.Int32
	most    atomic.Int32
}

func (p *prover) Prove(ctx context.Context, w circom.Witness, _ ...circom.ProveOption) (*circom.Proof, error) {
	n := p.now.Add(1)
	defer p.now.Add(-1)
	for m := p.most.Load(); n > m && !p.most.CompareAndSwap(m, n); m = p.most.Load() {
	}
	select {
	case <-p.release:
		return p.proof, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// served is a server with the circuits slow, of a prover, and inputs, whose witness is calculated.
type served struct {
	*httptest.Server
	*prover
	server *Server
	t      *testing.T
	seen   []byte // the body that was calculated last
}

func serve(t *testing.T, cfg Config) *served {
	p, err := circom.ParseProof(fileOf(t, "proof.json"), fileOf(t, "public.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := &served{prover: &prover{proof: p, release: make(chan struct{})}, t: t}
	wtns := fileOf(t, "witness.wtns")
	cfg.Circuits = []Circuit{{Name: "slow", Prove: s.Prove}, {Name: "inputs", Prove: s.Prove,
		Calculate: func(_ context.Context, b []byte) ([]byte, error) {
			s.seen = b
			if !json.Valid(b) {
				return nil, fmt.Errorf("%w: no JSON", backend.ErrInvalidInput)
			}
			return bytes.Clone(wtns), nil
		}}}
	s.server = New(cfg)
	s.Server = httptest.NewServer(s.server.Handler())
	t.Cleanup(s.Server.Close)
	t.Cleanup(s.server.Close)
	return s
}

// ask makes a request and returns the answer.
func (s *served) ask(method, path string, body []byte) (int, map[string]any) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var fields map[string]any
	if len(b) > 0 && answer.Header.Get("Content-Type") == "application/json" {
		if err := json.Unmarshal(b, &fields); err != nil {
			s.t.Fatalf("%s: %v", b, err)
		}
	}
	return answer.StatusCode, fields
}

// until asks after an input until it has a state.
func (s *served) until(path, state string) map[string]any {
	s.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, a := s.ask("GET", path, nil); a["status"] == state {
			return a
		}
	}
	_, a := s.ask("GET", path, nil)
	s.t.Fatalf("%s: %v, want %s", path, a, state)
	return nil
}

var few = Config{Jobs: 2, Queue: 2, Body: 4 << 10, Keep: 3}

// TestRapidsnarkClient goes the way of rapidsnark's clients: input, status until it is there.
func TestRapidsnarkClient(t *testing.T) {
	s := serve(t, few)
	if status, a := s.ask("GET", "/status", nil); status != 200 || a["status"] != ready {
		t.Errorf("%d %v", status, a)
	}
	if status, _ := s.ask("POST", "/start", nil); status != 200 {
		t.Errorf("start: %d", status)
	}
	status, a := s.ask("POST", "/input/inputs", []byte(`{"x": 3}`))
	if status != 200 {
		t.Fatalf("%d %v", status, a)
	}
	s.until("/status", busy)
	close(s.release)
	a = s.until("/status", success)
	p, err := circom.ParseProof([]byte(a["proof"].(string)), []byte(a["pubData"].(string)))
	if err != nil || len(p.Public) != 2 {
		t.Errorf("%v, %v", a, err)
	}
	s.server.running.Wait()
	if bytes.Contains(s.seen, []byte("x")) {
		t.Errorf("the input is left in memory: %q", s.seen)
	}
}

// TestProve waits for the proof, of a witness.
func TestProve(t *testing.T) {
	s := serve(t, few)
	close(s.release)
	status, a := s.ask("POST", "/prove/slow", fileOf(t, "witness.wtns"))
	if status != 200 || fmt.Sprint(a["pub_signals"]) != "[35 5]" || a["proof"].(map[string]any)["protocol"] != "groth16" {
		t.Errorf("%d %v", status, a)
	}
}

// TestRefused has requests that are wrong.
func TestRefused(t *testing.T) {
	s := serve(t, few)
	close(s.release)
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/prove/nothing", "", 404, "no such circuit"},
		{"/input/nothing", "", 404, "no such circuit"},
		{"/prove/slow", `{"x": 1}`, 400, "send a witness"},
		{"/prove/inputs", `{"x": `, 400, "no JSON"},
		{"/prove/slow", "wtns and more", 400, "wtns"},
		{"/input/slow", strings.Repeat("x", 5<<10), 413, "too large"},
		{"/cancel/nobody", "", 404, "no such input"},
	} {
		status, a := s.ask("POST", c.path, []byte(c.body))
		if said, _ := a["error"].(string); status != c.status || !strings.Contains(said, c.want) {
			t.Errorf("%s %.20q: %d %v, want %d and %q", c.path, c.body, status, a, c.status, c.want)
		}
	}
	if status, _ := s.ask("GET", "/status/nobody", nil); status != 404 {
		t.Errorf("status of nobody: %d", status)
	}
	if status, _ := s.ask("GET", "/input/slow", nil); status != 405 {
		t.Errorf("GET /input: %d", status)
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.taken != 0 {
		t.Errorf("%d places are not given back", s.server.taken)
	}
}

// TestQueueIsBounded fills the server: two are proved at a time, two wait, the fifth is refused.
func TestQueueIsBounded(t *testing.T) {
	s := serve(t, few)
	var ids []string
	for i := range 4 {
		status, a := s.ask("POST", "/input/slow", fileOf(t, "witness.wtns"))
		if status != 200 {
			t.Fatalf("input %d: %d %v", i, status, a)
		}
		ids = append(ids, a["id"].(string))
	}
	if status, a := s.ask("POST", "/input/slow", fileOf(t, "witness.wtns")); status != 503 {
		t.Errorf("a fifth: %d %v", status, a)
	}
	for since := time.Now(); s.most.Load() < 2 && time.Since(since) < 10*time.Second; time.Sleep(time.Millisecond) {
	}
	for range 2 {
		s.release <- struct{}{}
	}
	close(s.release)
	for _, id := range ids[1:] { // three are kept
		s.until("/status/"+id, success)
	}
	if most := s.most.Load(); most != 2 {
		t.Errorf("%d proofs at a time, want 2", most)
	}
	if status, _ := s.ask("POST", "/prove/slow", fileOf(t, "witness.wtns")); status != 200 {
		t.Errorf("after that: %d", status)
	}
	if status, _ := s.ask("GET", "/status/"+ids[0], nil); status != 404 {
		t.Errorf("the oldest proof is kept: %d", status)
	}
}

// TestCancel ends a proof that is being made and one that waits. Others go on.
func TestCancel(t *testing.T) {
	s := serve(t, Config{Jobs: 1, Queue: 3, Body: 4 << 10, Keep: 9})
	var ids []string
	for range 3 {
		_, a := s.ask("POST", "/input/slow", fileOf(t, "witness.wtns"))
		ids = append(ids, a["id"].(string))
	}
	for _, path := range []string{"/cancel", "/cancel/" + ids[0]} { // the last one, then the first
		if status, _ := s.ask("POST", path, nil); status != 200 {
			t.Errorf("%s: %d", path, status)
		}
	}
	s.until("/status/"+ids[0], aborted)
	s.until("/status/"+ids[2], aborted)
	s.release <- struct{}{}
	s.until("/status/"+ids[1], success)
}

// TestCallerGoes ends the proof of a caller who has gone.
func TestCallerGoes(t *testing.T) {
	s := serve(t, few)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/prove/slow", bytes.NewReader(fileOf(t, "witness.wtns")))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for s.now.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.until("/status", aborted)
}

// TestClose ends what is under way and refuses what comes later.
func TestClose(t *testing.T) {
	s := serve(t, few)
	if status, _ := s.ask("POST", "/input/slow", fileOf(t, "witness.wtns")); status != 200 {
		t.Fatal(status)
	}
	s.server.Close()
	s.until("/status", aborted)
	if status, _ := s.ask("POST", "/input/slow", fileOf(t, "witness.wtns")); status != 503 {
		t.Errorf("after the end: %d", status)
	}
}

// TestManyCallers asks from many goroutines at once. Every proof is answered or refused, and all is
// counted.
func TestManyCallers(t *testing.T) {
	s := serve(t, few)
	close(s.release)
	var good, full atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 5 {
				switch status, a := s.ask("POST", "/prove/slow", fileOf(t, "witness.wtns")); status {
				case 200:
					good.Add(1)
				case 503:
					full.Add(1)
				default:
					t.Errorf("%d %v", status, a)
				}
			}
		})
	}
	all.Wait()
	if good.Load()+full.Load() != 80 || good.Load() == 0 {
		t.Errorf("%d proofs, %d refused", good.Load(), full.Load())
	}
	r := prometheus.NewRegistry()
	r.MustRegister(s.server.Collectors()...)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "pippin_circom_jobs_total" && int32(f.GetMetric()[0].GetCounter().GetValue()) != good.Load() {
			t.Errorf("%v jobs are counted, %d were proved", f.GetMetric()[0], good.Load())
		}
	}
	if len(families) != 2 {
		t.Errorf("%d metrics", len(families))
	}
}
