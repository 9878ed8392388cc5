// Package proofserver proves circom's circuits for programs that ask by HTTP. Its routes and answers
// are those of rapidsnark's server, but it takes several inputs at a time, and none cancels another.
//
//	POST /input/CIRCUIT   takes inputs or a witness, and answers {"id": ID} at once
//	GET  /status[/ID]     tells of the last input, or of one: busy, success, failed, aborted; ready before the first
//	POST /cancel[/ID]     ends the last one, or one
//	POST /start, /stop    do nothing, as rapidsnark's
//	POST /prove/CIRCUIT   answers when the proof is there, as go-rapidsnark's type ZKProof
//
// A body is an input.json, or a .wtns file, which it is told from by its first four bytes. It is in
// memory only, and overwritten after its proof.
package proofserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/circom"
)

// Circuit is a circuit that is served.
type Circuit struct {
	Name string
	// Prove proves, as the method of a circom.Key.
	Prove func(context.Context, circom.Witness, ...circom.ProveOption) (*circom.Proof, error)
	// Calculate returns the .wtns file of an input.json. Nil takes witnesses only.
	Calculate func(ctx context.Context, input []byte) ([]byte, error)
}

// Config says what is served, and within which limits, all above 0.
type Config struct {
	Circuits []Circuit
	Jobs     int   // proofs at a time
	Queue    int   // inputs that wait
	Body     int64 // bytes of an input or a witness
	Keep     int   // proofs that are kept for GET /status
}

// Server is the server's state. Use New.
type Server struct {
	cfg      Config
	circuits map[string]*Circuit
	slots    chan struct{} // one for each proof at a time
	ctx      context.Context
	end      context.CancelFunc
	running  sync.WaitGroup

	ended *prometheus.CounterVec
	took  *prometheus.HistogramVec

	mu      sync.Mutex
	taken   int    // inputs that wait or are proved
	jobs    []*job // in the order of their coming
	closing bool
}

// The states of a job, in rapidsnark's words.
const (
	busy    = "busy"
	success = "success"
	failed  = "failed"
	aborted = "aborted"
	ready   = "ready" // of a server that has no job yet
)

// job is an input.
type job struct {
	id      string
	circuit *Circuit
	ctx     context.Context
	cancel  context.CancelFunc

	// Server.mu guards what becomes of it.
	state string
	proof *circom.Proof
	err   error
}

// New makes a server.
func New(cfg Config) *Server {
	s := &Server{
		cfg: cfg, circuits: map[string]*Circuit{}, slots: make(chan struct{}, cfg.Jobs),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pippin_circom_jobs_total", Help: "Inputs whose proof was made (success), refused or impossible (failed), or cancelled (aborted).",
		}, []string{"circuit", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pippin_circom_job_duration_seconds", Help: "From an input to its proof, the witness and the wait for others included.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 16),
		}, []string{"circuit"}),
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	for i := range cfg.Circuits {
		s.circuits[cfg.Circuits[i].Name] = &cfg.Circuits[i]
	}
	return s
}

// Collectors returns the server's metrics.
func (s *Server) Collectors() []prometheus.Collector {
	return []prometheus.Collector{s.ended, s.took}
}

// Close ends the proofs that are being made, and waits for their end. Inputs that come later are
// refused.
func (s *Server) Close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.end()
	s.running.Wait()
}

// Handler returns what answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /input/{circuit}", s.input)
	mux.HandleFunc("POST /prove/{circuit}", s.prove)
	mux.HandleFunc("GET /status", s.status)
	mux.HandleFunc("GET /status/{id}", s.status)
	mux.HandleFunc("POST /cancel", s.cancel)
	mux.HandleFunc("POST /cancel/{id}", s.cancel)
	mux.HandleFunc("POST /start", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /stop", func(http.ResponseWriter, *http.Request) {})
	return mux
}

// input takes an input, whose proof is asked after later.
func (s *Server) input(w http.ResponseWriter, r *http.Request) {
	j, body := s.take(s.ctx, w, r)
	if j == nil {
		return
	}
	go s.work(j, body)
	answer(w, http.StatusOK, map[string]string{"id": j.id})
}

// prove proves while the caller waits. The proof ends when the caller goes.
func (s *Server) prove(w http.ResponseWriter, r *http.Request) {
	j, body := s.take(r.Context(), w, r)
	if j == nil {
		return
	}
	defer context.AfterFunc(s.ctx, j.cancel)()
	s.work(j, body)
	s.mu.Lock()
	state, proof, err := j.state, j.proof, j.err
	s.mu.Unlock()
	switch state {
	case aborted:
		refuse(w, http.StatusServiceUnavailable, errAborted)
	case failed:
		refuse(w, statusOf(err), err)
	default:
		answerProof(w, proof)
	}
}

var (
	errFull    = errors.New("too many inputs wait: try again later")
	errAborted = errors.New("the proof was cancelled")
	errCircuit = errors.New("there is no such circuit")
	errJob     = errors.New("there is no such input, or its proof is kept no longer")
	errInputs  = fmt.Errorf("%w: no WebAssembly of this circuit is here: send a witness, a .wtns file", backend.ErrInvalidInput)
)

// take reads a request's body as a job, if there is room, which work gives back. Else it has
// answered, and returns nil.
func (s *Server) take(ctx context.Context, w http.ResponseWriter, r *http.Request) (*job, []byte) {
	c := s.circuits[r.PathValue("circuit")]
	if c == nil {
		refuse(w, http.StatusNotFound, errCircuit)
		return nil, nil
	}
	if !s.enter() {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, errFull)
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.cfg.Body))
	if err != nil {
		clear(body)
		s.leave()
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		refuse(w, status, err)
		return nil, nil
	}
	j := &job{id: rand.Text(), circuit: c, state: busy}
	j.ctx, j.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, j)
	s.forget()
	return j, body
}

// enter takes one of the places for inputs that wait or are proved, if one is free.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.taken >= s.cfg.Jobs+s.cfg.Queue {
		return false
	}
	s.taken++
	s.running.Add(1)
	return true
}

// leave gives a place back.
func (s *Server) leave() {
	s.mu.Lock()
	s.taken--
	s.mu.Unlock()
	s.running.Done()
}

// forget drops the oldest jobs that have ended, beyond those that are kept. The caller has the
// lock.
func (s *Server) forget() {
	over := len(s.jobs) - s.cfg.Keep
	s.jobs = slices.DeleteFunc(s.jobs, func(j *job) bool {
		if over <= 0 || j.state == busy {
			return false
		}
		over--
		return true
	})
}

// work proves a job when it is its turn, overwrites its input, and notes what became of it.
func (s *Server) work(j *job, body []byte) {
	defer s.leave()
	defer j.cancel()
	began := time.Now()
	proof, err := s.proof(j, body)
	clear(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		j.state, j.proof = success, proof
		s.took.WithLabelValues(j.circuit.Name).Observe(time.Since(began).Seconds())
	case j.ctx.Err() != nil:
		j.state = aborted
	default:
		j.state, j.err = failed, err
	}
	s.ended.WithLabelValues(j.circuit.Name, j.state).Inc()
}

// proof waits for a turn, and makes the proof of a body.
func (s *Server) proof(j *job, body []byte) (*circom.Proof, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-j.ctx.Done():
		return nil, backend.Ended(j.ctx)
	}
	wtns := body
	if !bytes.HasPrefix(body, []byte("wtns")) {
		if j.circuit.Calculate == nil {
			return nil, errInputs
		}
		var err error
		if wtns, err = j.circuit.Calculate(j.ctx, body); err != nil {
			return nil, err
		}
		defer clear(wtns)
	}
	w, err := circom.ParseWitness(wtns)
	if err != nil {
		return nil, err
	}
	return j.circuit.Prove(j.ctx, w)
}

// named returns the job that a path names, or the last one, or nil. The caller has the lock.
func (s *Server) named(r *http.Request) *job {
	id := r.PathValue("id")
	if id == "" {
		if len(s.jobs) == 0 {
			return nil
		}
		return s.jobs[len(s.jobs)-1]
	}
	i := slices.IndexFunc(s.jobs, func(j *job) bool { return j.id == id })
	if i < 0 {
		return nil
	}
	return s.jobs[i]
}

// status tells what became of a job.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	j := s.named(r)
	var state string
	var proof *circom.Proof
	var err error
	if j != nil {
		state, proof, err = j.state, j.proof, j.err
	}
	s.mu.Unlock()
	switch {
	case j == nil && r.PathValue("id") != "":
		refuse(w, http.StatusNotFound, errJob)
	case j == nil:
		answer(w, http.StatusOK, map[string]string{"status": ready})
	case state == success:
		answerStatus(w, proof)
	case state == failed:
		answer(w, http.StatusOK, map[string]string{"status": failed, "error": text(err)})
	default:
		answer(w, http.StatusOK, map[string]string{"status": state})
	}
}

// cancel ends a job that has not ended.
func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	j := s.named(r)
	s.mu.Unlock()
	switch {
	case j != nil:
		j.cancel()
	case r.PathValue("id") != "":
		refuse(w, http.StatusNotFound, errJob)
	}
}
