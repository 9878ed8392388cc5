package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// Ticket is what one needs to take part in a cluster; it is a secret.
type Ticket = wire.Ticket

// Work is what a proof is of: a circuit and its keys, by digest, and options.
type Work = wire.Work

// ReadTicket reads a ticket that msm cluster up wrote.
func ReadTicket(path string) (Ticket, error) { return wire.ReadTicket(path) }

var (
	// ErrFull: the cluster's store has no room. What it has goes on; try again when
	// jobs have ended, or give the server more room.
	ErrFull = fmt.Errorf("%w: the cluster's store is full", backend.ErrUnavailable)
	// ErrDead: the job ended without a proof. The error says why, and wraps
	// backend.ErrInvalidInput when that is the job's own fault, else
	// backend.ErrInternal.
	ErrDead = errors.New("the job ended without a proof")
	// ErrCancelled is wrapped beside ErrDead by the error of a job that was cancelled.
	ErrCancelled = errors.New("it was cancelled")
	// ErrBlocked is wrapped beside ErrDead by the error of a job one of whose prerequisites
	// ended without a proof; the error names it.
	ErrBlocked = errors.New("a prerequisite was not proved")
	// ErrLate is wrapped beside ErrDead by the error of a job whose deadline passed before
	// it was begun.
	ErrLate = errors.New("it was too late")
)

// JobOptions are when a job is done.
type JobOptions struct {
	// Priority orders the jobs of one client: those with a higher one are begun first,
	// and among equal ones those with the earlier deadline. Between clients shares decide.
	Priority int
	// Deadline is when it is too late to begin the job, never if it is zero. Prove takes its
	// context's if that is earlier. The clocks of the cluster need not agree with this one: the
	// client sends how long it is until then, and the server counts from when it has the job.
	Deadline time.Time
	// Name makes the job's ID, of letters, digits, - and _, at most 40. A second job of
	// that name is the first one, as long as the cluster has that or its result: whoever
	// does not know whether a job was submitted submits it again.
	Name string
	// After are names, or IDs, of jobs of the same ticket that must be proved before this one
	// is begun, as the leaves of a recursion before its node; at most 1000. The cluster must
	// know them: they are submitted first, so that no two jobs wait for each other, and their
	// results are kept as long as a job waits for them. Whoever takes a result sooner has a
	// minute to submit what comes after it. When one of them ends without a proof, this job
	// ends with ErrBlocked, or with ErrCancelled if that one was cancelled. The jobs of one ticket
	// may wait for 200,000 others together; whichever would wait for more ends with ErrBlocked.
	After []string
}

// Client has proofs made. It is safe for concurrent use.
type Client struct {
	link      *wire.Link
	seal      func() (*wire.SealingKey, error)
	tenant    string
	admin     bool // it sees all tenants'
	trace     func(context.Context) map[string]string
	id        string // of its jobs, before their number
	submitted atomic.Uint64
}

// connectWithin bounds the first requests to a server.
const connectWithin = 15 * time.Second

// Connect connects to a cluster that is up, with a client's ticket. Errors wrap
// backend.ErrInvalidInput, as for a ticket of another cluster, or backend.ErrUnavailable. A connection that breaks later is
// made again; calls wait meanwhile.
func Connect(t Ticket) (*Client, error) {
	tenant, err := t.Tenant()
	if err != nil {
		return nil, err
	}
	link, err := t.Connect("pippin client")
	if err != nil {
		return nil, err
	}
	c := &Client{link: link, tenant: tenant, admin: link.Manages, id: tenant + "." + nuid.Next()}
	c.seal = sync.OnceValues(func() (*wire.SealingKey, error) { return wire.ReadSealing(t.Seal) })
	ctx, cancel := context.WithTimeout(context.Background(), connectWithin)
	defer cancel()
	hello, fingerprint := wire.Hello, t.Fingerprint
	if !c.admin {
		hello, fingerprint = wire.HelloPrefix+tenant, wire.Fingerprint(t.Seal)
	}
	if err := link.Greet(ctx, hello, fingerprint); err != nil {
		link.Close()
		return nil, err
	}
	return c, nil
}

// Close disconnects. Jobs that were submitted go on.
func (c *Client) Close() { c.link.Close() }

// Trace has jobs carry what propagate returns for the context of Submit and Prove, such as
// the fields of W3C's Trace Context: a worker's spans go on from there. Call it before the
// first job.
func (c *Client) Trace(propagate func(context.Context) map[string]string) { c.trace = propagate }

// Submit sends a job: a worker will prove the witness, as gnark marshals it. Submit
// returns the job's ID as soon as the job is on the server's disk. At most one of
// JobOptions is read.
func (c *Client) Submit(ctx context.Context, w Work, witness []byte, o ...JobOptions) (id string, err error) {
	opt := JobOptions{}
	if len(o) > 0 {
		opt = o[0]
	}
	job, known, err := c.prepare(ctx, w, witness, opt)
	if err != nil || known {
		return job.ID, err
	}
	return job.ID, c.publish(ctx, job, opt.Deadline)
}

// longestName bounds JobOptions.Name.
const longestName = 40

// prepare makes a job and uploads its witness, unless the cluster has a job of that name.
func (c *Client) prepare(ctx context.Context, w Work, witness []byte, o JobOptions) (job wire.Job, known bool, err error) {
	job = wire.Job{ID: c.id + "-" + strconv.FormatUint(c.submitted.Add(1), 10), Work: w, Priority: o.Priority}
	if c.trace != nil {
		job.Trace = c.trace(ctx)
	}
	if o.Name != "" {
		job.ID = c.tenant + "." + o.Name
		if len(o.Name) > longestName || !wire.ID.MatchString(job.ID) {
			return job, false, fmt.Errorf("%w: %q is no job's name: letters, digits, - and _, at most %d",
				backend.ErrInvalidInput, o.Name, longestName)
		}
		if known, err = c.has(ctx, job.ID); known || err != nil {
			return job, known, err
		}
	}
	if job.After, err = c.prerequisites(ctx, job.ID, o.After); err != nil {
		return job, false, err
	}
	key, err := c.seal()
	if err != nil {
		return job, false, err
	}
	sealed, err := key.Seal(job.ID, w, witness)
	if err != nil {
		return job, false, err
	}
	job.Witness, err = wire.Put(ctx, c.link, wire.WitnessesPrefix+job.ID, bytes.NewReader(sealed))
	return job, false, refusal(ctx, err)
}

// prerequisites returns the IDs of the jobs that a job is to wait for, all of which the
// cluster must know.
func (c *Client) prerequisites(ctx context.Context, job string, names []string) (ids []string, err error) {
	if len(names) > wire.MostPrerequisites {
		return nil, fmt.Errorf("%w: %d jobs are to be proved before, at most %d may", backend.ErrInvalidInput, len(names), wire.MostPrerequisites)
	}
	for _, name := range names {
		id := name
		if !strings.Contains(name, ".") {
			id = c.tenant + "." + name
		}
		if err := c.own(id); err != nil {
			return nil, err
		}
		if id == job {
			return nil, fmt.Errorf("%w: job %s would wait for itself", backend.ErrInvalidInput, name)
		}
		known, err := c.has(ctx, id)
		if err != nil {
			return nil, err
		}
		if !known {
			return nil, fmt.Errorf("%w: the cluster knows no job %s, which is to be proved before: "+
				"submit it first, and take its result after this job is submitted", backend.ErrInvalidInput, name)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// has reports whether the cluster has a job, or its end.
func (c *Client) has(ctx context.Context, id string) (bool, error) {
	known, err := wire.Known(ctx, c.link, id)
	return known, refusal(ctx, err)
}

// publish stores a job in the queue. It sends how long it is until the deadline now: the witness
// has taken some of that time.
func (c *Client) publish(ctx context.Context, job wire.Job, deadline time.Time) error {
	if !deadline.IsZero() {
		job.Within = max(1, time.Until(deadline)) // 0 would be for ever
	}
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	if len(text) > wire.MostDescriptor {
		err := fmt.Errorf("%w: the job's descriptor has %d bytes, at most %d may", backend.ErrInvalidInput, len(text), wire.MostDescriptor)
		return errors.Join(err, job.Witness.Forget(c.link.Conn))
	}
	// If it is not the first, another one of that name came first.
	_, _, err = c.link.Once(ctx, &nats.Msg{Subject: wire.QueuePrefix + job.ID, Data: text}, job.MsgID(),
		func(ctx context.Context) (bool, error) { return c.has(ctx, job.ID) })
	if err != nil {
		err = errors.Join(refusal(ctx, err), job.Witness.Forget(c.link.Conn))
	}
	return err
}

// Cancel ends a job that nobody wants any more, wherever it is: one that waits is not
// begun, a worker that has it stops. Wait returns ErrCancelled then. Cancel reports whether
// it was in time.
func (c *Client) Cancel(ctx context.Context, id string) (bool, error) {
	if err := c.own(id); err != nil {
		return false, err
	}
	m, err := c.link.Request(ctx, wire.CancelPrefix+id)
	if err != nil {
		return false, refusal(ctx, err)
	}
	return string(m.Data) == string(wire.Cancelled), nil
}

// Taken tells the cluster that a job's result has been taken, so that it needs not be kept.
// Prove does so itself.
func (c *Client) Taken(id string) error {
	if err := c.own(id); err != nil {
		return err
	}
	if err := (wire.Object{Subject: wire.EndsPrefix + id}).Forget(c.link.Conn); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	return nil
}

// own refuses what is no ID of this client's jobs.
func (c *Client) own(id string) error {
	if !wire.ID.MatchString(id) {
		return fmt.Errorf("%w: %q is no job's ID", backend.ErrInvalidInput, id)
	}
	if !c.admin && wire.TenantOfJob(id) != c.tenant {
		return fmt.Errorf("%w: job %s was submitted with another ticket", backend.ErrInvalidInput, id)
	}
	return nil
}

// refusal turns the error of a request into the one that a caller gets.
func refusal(ctx context.Context, err error) error {
	switch {
	case err == nil || backend.Ended(ctx) != nil:
		return err
	case wire.Full(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
}

// lookAgain is how often an end is asked for that was not told: the connection may
// have been down just then.
const lookAgain = 2 * time.Second

// Wait waits for a job, of this client or another with the same ticket, and returns its
// proof as gnark writes it. It does not verify the proof. If the job ended without one, the
// error is ErrDead. The server keeps a result until Taken, or until all of them have a
// tenth of its room: then the oldest goes.
func (c *Client) Wait(ctx context.Context, id string) ([]byte, error) {
	told, stop, err := c.listen(id)
	if err != nil {
		return nil, err
	}
	defer stop()
	for {
		m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return c.link.Last(ctx, wire.EndsPrefix+id)
		})
		if err == nil {
			return ended(m.Data)
		}
		if !wire.Missing(err) {
			return nil, refusal(ctx, err)
		}
		if proof, err, yes := hear(ctx, told); yes {
			return proof, err
		}
	}
}

// listen subscribes to the end of a job.
func (c *Client) listen(id string) (<-chan *nats.Msg, func(), error) {
	if err := c.own(id); err != nil {
		return nil, nil, err
	}
	told := make(chan *nats.Msg, 1)
	sub, err := c.link.Conn.ChanSubscribe(wire.EndedPrefix+id, told)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	return told, func() { _ = sub.Unsubscribe() }, nil
}

// hear waits for an end to be told, for a while.
func hear(ctx context.Context, told <-chan *nats.Msg) (proof []byte, err error, yes bool) {
	select {
	case m := <-told:
		proof, err = ended(m.Data)
		return proof, err, true
	case <-ctx.Done():
		return nil, backend.Ended(ctx), true
	case <-time.After(lookAgain):
		return nil, nil, false
	}
}

// ended returns the proof or the error that a job's end holds.
func ended(text []byte) ([]byte, error) {
	var e wire.End
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("%w: the end of a job: %w", backend.ErrInternal, err)
	}
	if e.Reason == "" {
		return e.Proof, nil
	}
	fault := backend.ErrInternal
	switch {
	case e.Kind == wire.Cancelled:
		fault = ErrCancelled
	case e.Kind == wire.Blocked:
		fault = ErrBlocked
	case e.Kind == wire.Late:
		fault = ErrLate
	case e.Caller:
		fault = backend.ErrInvalidInput
	}
	return nil, fmt.Errorf("%w: %w: %s", ErrDead, fault, e.Reason)
}

// run submits a job with a witness and waits for its proof. If ctx ends first, the job is
// cancelled.
func (c *Client) run(ctx context.Context, w Work, witness []byte, o JobOptions) (id string, proof []byte, err error) {
	if until, has := ctx.Deadline(); has && (o.Deadline.IsZero() || until.Before(o.Deadline)) {
		o.Deadline = until
	}
	job, known, err := c.prepare(ctx, w, witness, o)
	if err != nil {
		return job.ID, nil, err
	}
	told, stop, err := c.listen(job.ID)
	if err != nil {
		return job.ID, nil, err
	}
	defer stop()
	defer func() {
		if ctx.Err() != nil && o.Name == "" {
			_ = c.link.Conn.Publish(wire.CancelPrefix+job.ID, nil) // else it is made for nobody
		}
	}()
	if !known {
		if err := c.publish(ctx, job, o.Deadline); err != nil {
			return job.ID, nil, err
		}
		if proof, err, yes := hear(ctx, told); yes {
			return job.ID, proof, err
		}
	}
	proof, err = c.Wait(ctx, job.ID)
	return job.ID, proof, err
}
