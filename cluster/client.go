package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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
)

// Client has proofs made. It is safe for concurrent use.
type Client struct {
	nc        *nats.Conn
	js        jetstream.JetStream
	keys      jetstream.Stream
	ends      jetstream.Stream
	witnesses jetstream.Stream
	seal      func() (*wire.SealingKey, error)
	tenant    string
	admin     bool   // it sees all tenants'
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
	nc, js, err := t.Connect("pippin client")
	if err != nil {
		return nil, err
	}
	c := &Client{nc: nc, js: js, tenant: tenant, admin: t.Seal == "", id: tenant + "." + nuid.Next()}
	c.seal = sync.OnceValues(func() (*wire.SealingKey, error) { return wire.ReadSealing(t.Seal) })
	ctx, cancel := context.WithTimeout(context.Background(), connectWithin)
	defer cancel()
	for name, s := range map[string]*jetstream.Stream{wire.Keys: &c.keys, wire.Ends: &c.ends, wire.Witnesses: &c.witnesses} {
		if *s, err = wire.Stream(ctx, js, name); err != nil {
			nc.Close()
			return nil, err
		}
	}
	if !c.admin {
		if err := wire.CheckFingerprint(c.witnesses, wire.Fingerprint(t.Seal)); err != nil {
			nc.Close()
			return nil, err
		}
	}
	return c, nil
}

// Close disconnects. Jobs that were submitted go on.
func (c *Client) Close() { c.nc.Close() }

// Submit sends a job: a worker will prove the witness, as gnark marshals it. Submit
// returns the job's ID as soon as the job is on the server's disk.
func (c *Client) Submit(ctx context.Context, w Work, witness []byte) (id string, err error) {
	job, err := c.prepare(ctx, w, witness)
	if err != nil {
		return "", err
	}
	return job.ID, c.publish(ctx, job)
}

// prepare uploads a job's witness.
func (c *Client) prepare(ctx context.Context, w Work, witness []byte) (job wire.Job, err error) {
	job = wire.Job{ID: c.id + "-" + strconv.FormatUint(c.submitted.Add(1), 10), Work: w}
	key, err := c.seal()
	if err != nil {
		return job, err
	}
	sealed, err := key.Seal(job.ID, w, witness)
	if err != nil {
		return job, err
	}
	job.Witness, err = wire.Put(ctx, c.js, wire.WitnessesPrefix+job.ID, bytes.NewReader(sealed))
	return job, refusal(ctx, err)
}

func (c *Client) publish(ctx context.Context, job wire.Job) error {
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	_, err = wire.Ask(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
		return c.js.Publish(ctx, wire.JobsPrefix+job.ID, text, jetstream.WithMsgID(job.ID))
	})
	if err != nil {
		err = errors.Join(refusal(ctx, err), job.Witness.Forget(c.nc))
	}
	return err
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
// proof as gnark writes it. It does not verify the proof. If the job ended without one, the error is ErrDead.
// The server keeps a job's end until the store needs the room.
func (c *Client) Wait(ctx context.Context, id string) ([]byte, error) {
	told, stop, err := c.listen(id)
	if err != nil {
		return nil, err
	}
	defer stop()
	for {
		m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return c.ends.GetLastMsgForSubject(ctx, wire.EndsPrefix+id)
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
	if !wire.ID.MatchString(id) {
		return nil, nil, fmt.Errorf("%w: %q is no job's ID", backend.ErrInvalidInput, id)
	}
	if !c.admin && wire.TenantOfJob(id) != c.tenant {
		return nil, nil, fmt.Errorf("%w: job %s was submitted with another ticket", backend.ErrInvalidInput, id)
	}
	told := make(chan *nats.Msg, 1)
	sub, err := c.nc.ChanSubscribe(wire.EndedPrefix+id, told)
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
	if e.Caller {
		fault = backend.ErrInvalidInput
	}
	return nil, fmt.Errorf("%w: %w: %s", ErrDead, fault, e.Reason)
}

// run submits a job with a witness and waits for its proof.
func (c *Client) run(ctx context.Context, w Work, witness []byte) ([]byte, error) {
	job, err := c.prepare(ctx, w, witness)
	if err != nil {
		return nil, err
	}
	told, stop, err := c.listen(job.ID)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := c.publish(ctx, job); err != nil {
		return nil, err
	}
	if proof, err, yes := hear(ctx, told); yes {
		return proof, err
	}
	return c.Wait(ctx, job.ID)
}
