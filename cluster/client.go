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

// Ticket is the secret by which a client or a worker takes part in a cluster.
type Ticket = wire.Ticket

// Work says what is proved: a circuit and its keys, by digest, and options.
type Work = wire.Work

// ReadTicket reads a ticket that msm cluster up wrote. Errors wrap backend.ErrInvalidInput.
func ReadTicket(path string) (Ticket, error) { return wire.ReadTicket(path) }

var (
	// ErrFull says that the cluster's store has no room for more. The jobs that it holds go on. Try
	// again when some have ended, or give the server more room.
	ErrFull = fmt.Errorf("%w: the cluster's store is full", backend.ErrUnavailable)
	// ErrDead says that the job ended without a proof. The error gives the reason. It wraps
	// backend.ErrInvalidInput if the job itself is at fault, else backend.ErrInternal.
	ErrDead = errors.New("the job ended without a proof")
	// ErrCancelled is wrapped beside ErrDead if the job was cancelled.
	ErrCancelled = errors.New("it was cancelled")
	// ErrBlocked is wrapped beside ErrDead if a prerequisite of the job ended without a proof. The
	// error names the prerequisite.
	ErrBlocked = errors.New("a prerequisite was not proved")
	// ErrLate is wrapped beside ErrDead if the deadline passed before the job was begun.
	ErrLate = errors.New("it was too late")
)

// JobOptions say when a job is done.
type JobOptions struct {
	// Priority orders the jobs of one client. Those with a higher priority are begun first; among
	// equal ones, those with the earlier deadline. Between clients, their shares decide.
	Priority int
	// Deadline is the time after which the job is not begun any more; zero means never. Prove uses
	// the deadline of its context if that is earlier. The clocks of client and cluster need not
	// agree: the client sends how much time is left, and the server counts it from when it receives
	// the job.
	Deadline time.Time
	// Name becomes part of the job's ID. It has at most 40 letters, digits, - and _. If the cluster
	// still has a job of that name, or its result, submitting the name again gives that job. So a
	// caller who does not know whether a job was submitted can submit it again.
	Name string
	// After lists jobs that must be proved before this one is begun, as the leaves of a recursion
	// before its node. They are given by name or ID, belong to the same ticket, and are at most
	// 1000. Submit them first: the cluster must know them, and so no two jobs can wait for each
	// other. Their results are kept as long as a job waits for them. If a result is taken earlier,
	// there is a minute left to submit the jobs that need it.
	//
	// If one of them ends without a proof, this job ends with ErrBlocked, or with ErrCancelled if
	// that one was cancelled. All jobs of one ticket together may wait for 200,000 others. A job
	// that would exceed this ends with ErrBlocked.
	After []string
}

// Client submits jobs and gets their proofs. It is safe for concurrent use.
type Client struct {
	link      *wire.Link
	seal      func() (*wire.SealingKey, error)
	tenant    string
	admin     bool // it sees the jobs of all tenants
	trace     func(context.Context) map[string]string
	id        string // what the IDs of its jobs begin with, before their number
	submitted atomic.Uint64
}

// connectWithin bounds the first requests to a server.
const connectWithin = 15 * time.Second

// Connect connects to a running cluster with a client's ticket. Errors wrap
// backend.ErrInvalidInput, for example if the ticket belongs to another cluster, or
// backend.ErrUnavailable. If the connection breaks later, the client connects again and calls wait
// meanwhile.
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

// Close disconnects. Submitted jobs go on.
func (c *Client) Close() { c.link.Close() }

// Trace makes jobs carry what propagate returns for the context of Submit or Prove, such as the
// fields of W3C's Trace Context. A worker's spans continue that trace. Call Trace before the first
// job.
func (c *Client) Trace(propagate func(context.Context) map[string]string) { c.trace = propagate }

// Submit sends a job to prove the witness, which is as gnark marshals it, or of a circuit of circom's as
// circom.Witness does. It returns the job's ID
// once the job is on the server's disk. It reads at most one JobOptions. Errors wrap ErrFull or a
// sentinel of package backend, or are the context's.
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

// prepare makes a job and uploads its witness. If the cluster already knows a job of that name,
// prepare uploads nothing and returns true.
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

// prerequisites returns the IDs of the jobs that a job waits for. It refuses jobs that the cluster
// does not know.
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

// has reports whether the cluster has a job or its end.
func (c *Client) has(ctx context.Context, id string) (bool, error) {
	known, err := wire.Known(ctx, c.link, id)
	return known, refusal(ctx, err)
}

// publish stores a job in the queue. It computes the time left until the deadline only now, because
// uploading the witness took some of it.
func (c *Client) publish(ctx context.Context, job wire.Job, deadline time.Time) error {
	if !deadline.IsZero() {
		job.Within = max(1, time.Until(deadline)) // 0 would mean no deadline
	}
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	if len(text) > wire.MostDescriptor {
		err := fmt.Errorf("%w: the job's descriptor has %d bytes, at most %d may", backend.ErrInvalidInput, len(text), wire.MostDescriptor)
		return errors.Join(err, job.Witness.Forget(c.link.Conn))
	}
	// If the message is not stored as the first, another job of that name came before it.
	_, _, err = c.link.Once(ctx, &nats.Msg{Subject: wire.QueuePrefix + job.ID, Data: text}, job.MsgID(),
		func(ctx context.Context) (bool, error) { return c.has(ctx, job.ID) })
	if err != nil {
		err = errors.Join(refusal(ctx, err), job.Witness.Forget(c.link.Conn))
	}
	return err
}

// Cancel ends a job that nobody wants any more. If the job waits, it is not begun; if a worker has
// it, the worker stops. Wait then returns ErrCancelled. Cancel reports whether it came in time.
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

// abandonWithin bounds how long a client asks for the end of a job for which nobody waits.
const abandonWithin = time.Minute

// abandon has a job ended that would be proved for nobody. It returns at once, and asks again until a manager
// answers.
func (c *Client) abandon(id string) {
	_ = c.link.Conn.Publish(wire.CancelPrefix+id, nil) // even if the client is closed now
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), abandonWithin)
		defer cancel()
		_, _ = c.link.Request(ctx, wire.CancelPrefix+id)
	}()
}

// Taken tells the cluster that a job's result was taken and need not be kept. Prove calls it
// itself.
func (c *Client) Taken(id string) error {
	if err := c.own(id); err != nil {
		return err
	}
	if err := (wire.Object{Subject: wire.EndsPrefix + id}).Forget(c.link.Conn); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	return nil
}

// own refuses an ID that is malformed or belongs to a job of another ticket.
func (c *Client) own(id string) error {
	if !wire.ID.MatchString(id) {
		return fmt.Errorf("%w: %q is no job's ID", backend.ErrInvalidInput, id)
	}
	if !c.admin && wire.TenantOfJob(id) != c.tenant {
		return fmt.Errorf("%w: job %s was submitted with another ticket", backend.ErrInvalidInput, id)
	}
	return nil
}

// refusal turns the error of a request into the error for the caller.
func refusal(ctx context.Context, err error) error {
	switch {
	case err == nil || backend.Ended(ctx) != nil:
		return err
	case wire.Full(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
}

// lookAgain is how often Wait asks whether the job has ended. It must ask, because the message that
// tells the end is lost if the connection is down at that moment.
const lookAgain = 2 * time.Second

// Wait waits for a job and returns its proof as gnark writes it, or snarkjs's proof.json. Another client with the same
// ticket may have submitted the job. Wait does not verify the proof. If the job ended without one,
// the error wraps ErrDead. The server keeps a result until Taken, or until all results fill a tenth
// of its room: then it removes the oldest.
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

// hear waits up to lookAgain for a message that tells the job's end. yes is false if none came.
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

// run submits a job and waits for its proof. If ctx ends first, run cancels the job unless it has a
// name.
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
			c.abandon(job.ID)
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
