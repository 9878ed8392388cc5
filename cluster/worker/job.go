package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// inHand is a job that this worker has.
type inHand struct {
	job      wire.Job
	progress atomic.Uint64
	working  atomic.Bool // a prover has the job and must make progress
	began    time.Time
	card     atomic.Int64 // nanoseconds that backends computed for it
	cancel   context.CancelCauseFunc

	mu  sync.Mutex
	msg *nats.Msg // the job's last delivery, which must be acknowledged
}

func (h *inHand) message() *nats.Msg {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.msg
}

type progressKey struct{}

// Progress notes that a context's job makes progress. It ignores a context without a job.
func Progress(ctx context.Context) {
	if h, ok := ctx.Value(progressKey{}).(*inHand); ok {
		h.progress.Add(1)
	}
}

// waits notes that a context's job waits for another job, until goesOn is called. Meanwhile a lack
// of progress does not count: the other job is watched itself.
func waits(ctx context.Context) (goesOn func()) {
	h, ok := ctx.Value(progressKey{}).(*inHand)
	if !ok {
		return func() {}
	}
	h.working.Store(false)
	return func() { h.working.Store(true) }
}

// charge adds a backend's time to the cost of a context's job.
func charge(ctx context.Context, took time.Duration) {
	if h, ok := ctx.Value(progressKey{}).(*inHand); ok {
		h.card.Add(int64(took))
	}
}

// cost returns what the job has cost this worker so far.
func (h *inHand) cost(o wire.Outcome) wire.Cost {
	return wire.Cost{Milliseconds: milliseconds(time.Since(h.began)), Card: milliseconds(time.Duration(h.card.Load())), Outcome: o}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// errCancelled says that nobody wants the job any more.
var errCancelled = errors.New("cancelled by its client")

// errStalled says that the job made no progress for Config.Stall.
var errStalled = errors.New("no progress")

// job does a job. It returns an error only if this worker could not do the job for reasons that are
// not the job's.
func (w *Worker) job(ctx context.Context, msg *nats.Msg) (err error) {
	h := &inHand{msg: msg, began: time.Now()}
	if err := json.Unmarshal(msg.Data, &h.job); err != nil || !h.job.Proper(wire.JobsPrefix, msg.Subject) {
		w.log.Warn("cluster: a message that is no job is thrown away", "subject", msg.Subject)
		return msg.Term()
	}
	mine, cancel := context.WithCancelCause(context.WithValue(ctx, progressKey{}, h))
	defer cancel(nil)
	h.cancel = cancel
	if !w.take(h) {
		return nil
	}
	defer w.release(h)
	defer w.keepAlive(h, cancel)()

	meta, err := msg.Metadata()
	if err == nil {
		w.log.Debug("cluster: a job is in hand", "job", h.job.ID, "stored", meta.Sequence.Stream, "delivery", meta.Sequence.Consumer,
			"nth", meta.NumDelivered)
	}
	if err != nil || meta.NumDelivered > 1 {
		if known, err := w.ended(ctx, h); known || err != nil {
			return w.settle(h, err)
		}
	}
	if w.cfg.Span != nil {
		var end func(error)
		mine, end = w.cfg.Span(mine, h.job.ID, h.job.Trace)
		defer func() { end(err) }()
	}
	witness := w.fetch(mine, h)
	r, leave, err := w.begin(ctx, mine, h.job.ID)
	defer leave()
	switch {
	case err != nil && errors.Is(context.Cause(mine), errCancelled):
		return w.settle(h, w.end(ctx, h, wire.End{Reason: errCancelled.Error(), Caller: true, Kind: wire.Cancelled}))
	case err != nil:
		return w.giveBack(h, err)
	case r.Late:
		return w.settle(h, w.end(ctx, h, wire.End{Reason: wire.TooLate, Caller: true, Kind: wire.Late}))
	case guilty(r) != "":
		h.began = h.began.Add(-lost(r)) // its client pays for the workers that it took
		return w.settle(h, w.end(ctx, h, wire.End{Reason: guilty(r)}))
	}
	h.working.Store(true)
	proof, err := w.prove(mine, h, witness)
	h.working.Store(false)
	if err != nil {
		return w.failed(ctx, h, err, context.Cause(mine))
	}
	return w.settle(h, w.end(ctx, h, wire.End{Proof: proof}))
}

// begin notes that this worker begins a job, and has it wait for room. Its context is mine, and ctx that of the
// worker's work. leave gives the room back.
//
// A worker that began the job before and was not heard of again was ended by it, or by a job beside it. So the
// job is begun alone: when no other is at work here, and none begins before it leaves. A job that ends workers
// thus takes others with it once, and none of these is taken for the one that does.
func (w *Worker) begin(ctx, mine context.Context, id string) (r wire.Record, leave func(), err error) {
	enter := func(parts int64) error {
		if w.room.Acquire(mine, parts) != nil {
			leave = func() {}
			return context.Cause(mine)
		}
		leave = func() { w.room.Release(parts) }
		return nil
	}
	if err = enter(1); err != nil {
		return r, leave, err
	}
	r, err = w.tries.begin(ctx, id)
	if err != nil || r.Begun < 2 || r.Late || guilty(r) != "" {
		return r, leave, err
	}
	leave()
	leave = func() {}
	// While it waits, what ends the worker is not this job.
	if err = w.tries.returned(ctx, id); err != nil {
		return r, leave, err
	}
	if err = enter(int64(w.cfg.Jobs)); err != nil {
		return r, leave, err
	}
	r, err = w.tries.begin(ctx, id)
	return r, leave, err
}

// failed decides what a failure means for the job: an end, another try, or that the job is given
// back.
func (w *Worker) failed(ctx context.Context, h *inHand, err error, cause error) error {
	switch {
	case wire.Missing(err):
		// Either another worker was first and the witness has been removed, or nobody has it.
		known, e := w.ended(ctx, h)
		if !known && e == nil {
			e = w.end(ctx, h, wire.End{Reason: err.Error()})
		}
		return w.settle(h, e)
	case errors.Is(cause, errCancelled):
		return w.settle(h, w.end(ctx, h, wire.End{Reason: err.Error(), Caller: true, Kind: wire.Cancelled}))
	case ctx.Err() != nil:
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.lastWord())
		defer cancel()
		return w.giveBack(h, errors.Join(context.Cause(ctx), w.tries.returned(last, h.job.ID)))
	case errors.Is(err, errInfrastructure):
		return w.giveBack(h, errors.Join(err, w.tries.returned(ctx, h.job.ID)))
	case errors.Is(cause, errStalled):
		err = fmt.Errorf("%w for %v", errStalled, w.cfg.Stall)
	case errors.Is(err, backend.ErrInvalidInput), errors.Is(err, ErrJob):
		return w.settle(h, w.end(ctx, h, wire.End{Reason: err.Error(), Caller: true}))
	case blameless(err):
		return w.giveBack(h, errors.Join(err, w.tries.returned(ctx, h.job.ID)))
	}
	w.count(func(s *wire.State) { s.Failed++; s.LastError = err.Error() })
	w.cfg.Meter.Try("failed")
	w.heard.Warn(wire.TenantOfJob(h.job.ID), "cluster: a try failed", "job", h.job.ID, "problem", err)
	r, e := w.tries.failed(ctx, h.job.ID, w.cfg.Name, err)
	if e != nil {
		return w.giveBack(h, e)
	}
	why := guilty(r)
	if why == "" && r.Failed > 1 && len(r.Workers) == 1 {
		others, e := w.others(ctx)
		switch {
		case e != nil:
			return w.giveBack(h, e)
		case others: // the fault may be this worker's, so it lets the others try
			return errors.Join(fmt.Errorf("it failed %d times here and nowhere else: %w", r.Failed, err),
				h.message().NakWithDelay(pauseBetweenTries))
		case r.Failed >= maxFailed:
			why = triesFailed(r)
		}
	}
	if why != "" {
		return w.settle(h, w.end(ctx, h, wire.End{Reason: why}))
	}
	return h.message().NakWithDelay(pauseBetweenTries)
}

// others reports whether another worker takes jobs.
func (w *Worker) others(ctx context.Context) (bool, error) {
	m, err := w.link.Request(ctx, wire.Roster)
	var known []wire.State
	if err == nil {
		err = json.Unmarshal(m.Data, &known)
	}
	return slices.ContainsFunc(known, func(o wire.State) bool { return o.Name != w.cfg.Name && !o.Draining }), err
}

// blameless reports whether a prover's error is not the job's fault: a backend is gone, or there
// was too little memory.
func blameless(err error) bool {
	return errors.Is(err, backend.ErrGone) || errors.Is(err, backend.ErrUnavailable) ||
		errors.Is(err, backend.ErrClosed) || errors.Is(err, backend.ErrOutOfMemory)
}

// errInfrastructure marks errors that are not the job's fault but come from its surroundings: disk,
// server, files.
var errInfrastructure = errors.New("not the job's fault")

// The pauses before a job is handed out again. They must be shorter than the time after which a
// manager takes the consumer for stuck.
const (
	pauseBetweenTries = 100 * time.Millisecond
	pauseGivenBack    = 500 * time.Millisecond
)

// take notes that the job is in hand. If it already is, because the server has delivered it again,
// take returns false: the goroutine that has the job goes on, and acknowledges the new message in
// the end.
func (w *Worker) take(h *inHand) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if has := w.inHand[h.job.ID]; has != nil {
		has.mu.Lock()
		has.msg = h.msg
		has.mu.Unlock()
		return false
	}
	w.inHand[h.job.ID] = h
	return true
}

func (w *Worker) release(h *inHand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.inHand, h.job.ID)
}

// keepAlive starts a goroutine that tells the server that the job is in hand, as long as the job
// makes progress. If it makes none for Config.Stall, the worker loses the job: keepAlive cancels
// it. If the prover does not end within Config.Ends then, keepAlive ends the worker.
func (w *Worker) keepAlive(h *inHand, cancel context.CancelCauseFunc) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(wire.AckWait / 4)
		defer tick.Stop()
		last, since := h.progress.Load(), time.Now()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if now := h.progress.Load(); now != last || !h.working.Load() {
				last, since = now, time.Now()
			}
			if time.Since(since) > w.cfg.Stall {
				break
			}
			if err := h.message().InProgress(); err != nil {
				w.log.Debug("cluster: not told that a job is in hand", "job", h.job.ID, "problem", err)
			}
		}
		cancel(errStalled)
		select {
		case <-done:
		case <-time.After(w.cfg.Ends):
			w.drain(ErrStuck)
		}
	})
	return func() { close(done); running.Wait() }
}

// end stores how the job ended, unless an end is stored already.
func (w *Worker) end(ctx context.Context, h *inHand, e wire.End) error {
	e.Worker = w.cfg.Name
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	outcome := wire.Proved
	switch {
	case e.Kind != "":
		outcome = wire.Outcome(e.Kind)
	case e.Reason != "":
		outcome = wire.Failed
	}
	cost := h.cost(outcome)
	cost.Spare = e.Spare()
	header, err := json.Marshal(cost)
	if err != nil {
		return err
	}
	timed := w.timer()
	m := &nats.Msg{Subject: wire.EndsPrefix + h.job.ID, Data: text, Header: nats.Header{wire.CostHeader: {string(header)}}}
	_, first, err := w.link.Once(ctx, m, h.job.MsgID()+" "+w.cfg.Name, nil)
	timed("store")
	w.log.Debug("cluster: a job's end is stored", "job", h.job.ID, "outcome", outcome, "first", first, "problem", err)
	if err != nil {
		return err
	}
	if !first { // another worker was first
		return nil
	}
	w.count(func(s *wire.State) {
		if s.Done++; e.Reason != "" {
			s.LastError = e.Reason
		}
	})
	w.cfg.Meter.Ended(string(outcome), cost)
	if e.Kind == wire.Cancelled {
		w.log.Info("cluster: a job was cancelled", "job", h.job.ID)
	}
	if e.Reason == "" || e.Kind == wire.Cancelled {
		return nil
	}
	w.heard.Warn(wire.TenantOfJob(h.job.ID), "cluster: a job is dead", "job", h.job.ID, "reason", e.Reason)
	dead, err := json.Marshal(struct {
		wire.Job
		wire.End
	}{h.job, e})
	if err != nil {
		return err
	}
	_, err = wire.Ask(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
		return w.link.JS.Publish(ctx, wire.DeadPrefix+h.job.ID, dead)
	})
	return err
}

// ended reports whether the job already has an end.
func (w *Worker) ended(ctx context.Context, h *inHand) (bool, error) {
	_, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return w.link.Last(ctx, wire.EndsPrefix+h.job.ID)
	})
	if wire.Missing(err) {
		return false, nil
	}
	return err == nil, err
}

// settle acknowledges a job that has ended. It does not wait for the server: if the acknowledgement
// is lost, the job is delivered once more, and its worker finds the end. The manager that leads
// hears of the end and removes what the job left. If err is not nil, the end is not stored for
// certain, and settle gives the job back.
func (w *Worker) settle(h *inHand, err error) error {
	if err == nil {
		err = h.message().Ack()
		w.log.Debug("cluster: a job is acknowledged", "job", h.job.ID, "problem", err)
	}
	if err != nil {
		return w.giveBack(h, err)
	}
	return nil
}

// giveBack returns the job to the server, which hands it out again. It does not count a try.
func (w *Worker) giveBack(h *inHand, why error) error {
	w.count(func(s *wire.State) { s.Returned++; s.LastError = why.Error() })
	w.cfg.Meter.Try("returned")
	w.log.Warn("cluster: a job is given back", "job", h.job.ID, "problem", why)
	if errors.Is(why, errGivenBack) {
		return errors.Join(h.message().Nak(), w.link.Conn.FlushTimeout(w.lastWord()))
	}
	return errors.Join(why, h.message().NakWithDelay(pauseGivenBack))
}

// lastWord returns how long a worker that ends waits for the server with each of its last two
// messages about a job. Both together must take less than Ends, or the worker would be taken for
// stuck.
func (w *Worker) lastWord() time.Duration { return w.cfg.Ends / 3 }

func (w *Worker) count(f func(*wire.State)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.state)
}

// noPanic turns a panic into an error. It drops the panic's text, which may be secret.
func noPanic(log *slog.Logger, err *error) {
	if r := recover(); r != nil {
		log.Error("cluster: the prover panicked", "with", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
		*err = fmt.Errorf("%w: the prover panicked (%T)", backend.ErrInternal, r)
	}
}

// fetch starts to fetch the job's sealed witness and returns a function that waits for it. The
// fetch overlaps with the write that marks the job as begun.
func (w *Worker) fetch(ctx context.Context, h *inHand) func() ([]byte, error) {
	var sealed bytes.Buffer
	var err error
	fetched := make(chan struct{})
	go func() {
		defer close(fetched)
		err = h.job.Witness.Get(ctx, w.link, &sealed, func() { Progress(ctx) })
	}()
	return func() ([]byte, error) {
		<-fetched
		return sealed.Bytes(), err
	}
}

// timer returns a function that reports a phase to the Meter, with the time since the function's
// last call.
func (w *Worker) timer() func(phase string) {
	last := time.Now()
	return func(phase string) {
		now := time.Now()
		w.cfg.Meter.Phase(phase, now.Sub(last))
		last = now
	}
}

// open opens a witness. It also tries the earlier keys, because the keys may have been changed
// while the job waited.
func (w *Worker) open(h *inHand, sealed []byte, size int) (plain []byte, err error) {
	for _, key := range w.opening {
		if plain, err = key.Open(h.job.ID, h.job.Work, sealed, size); !errors.Is(err, wire.ErrSealed) {
			break
		}
	}
	return plain, err
}

// prove makes the job's proof from the witness that fetch gets.
func (w *Worker) prove(ctx context.Context, h *inHand, witness func() ([]byte, error)) (proof []byte, err error) {
	if err := h.job.Work.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJob, err)
	}
	timed := w.timer()
	p, release, err := w.provers.get(ctx, wire.TenantOfJob(h.job.ID), h.job.Work)
	timed("open")
	if err != nil {
		return nil, err
	}
	defer release()
	sealed, err := witness()
	timed("witness")
	if err != nil {
		return nil, fmt.Errorf("%w: the witness: %w", errInfrastructure, err)
	}
	size := -1
	if s, ok := p.(Sized); ok {
		size = s.WitnessBytes()
	}
	w.cfg.Meter.Received(len(sealed))
	plain, err := w.open(h, sealed, size)
	if err != nil {
		return nil, err
	}
	Progress(ctx)
	defer clear(plain)
	defer noPanic(w.log, &err)
	timed("unseal")
	proof, err = p.Prove(ctx, plain)
	timed("prove")
	if err == nil && len(proof) > wire.MaxEnd {
		err = fmt.Errorf("%w: the proof has %d bytes, at most %d travel", ErrJob, len(proof), wire.MaxEnd)
	}
	return proof, err
}
