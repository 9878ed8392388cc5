package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// Worker is the state that a worker reports.
type Worker = wire.State

// Status is what msm cluster status shows: the jobs that wait, the jobs that workers have, the
// workers, and the jobs that ended without a proof.
type Status struct {
	Waiting   uint64   `json:"waiting"`    // jobs that no worker has
	HandedOut int      `json:"handed_out"` // jobs that workers have
	Bytes     uint64   `json:"bytes"`      // of all streams counted
	Workers   []Worker `json:"workers"`
	Silent    []string `json:"silent,omitempty"` // connected workers that do not answer
	Results   uint64   `json:"results"`          // results that wait to be taken
	Taken     uint64   `json:"taken"`            // results that were taken, and are removed a minute later
	Ledger    *Ledger  `json:"ledger,omitempty"` // for administrators
	Dead      []Dead   `json:"dead"`
}

// Dead is a job that ended without a proof.
type Dead struct {
	ID     string    `json:"id"`
	Work   Work      `json:"work"`
	Reason string    `json:"reason"`
	Worker string    `json:"worker"`
	At     time.Time `json:"at"` // by the server's clock
	// Age is how long ago that was, by a clock that does not jump.
	Age time.Duration `json:"age"`
}

// Tally holds the counts of the manager that leads.
type Tally struct {
	Taken  int                      `json:"taken"` // results that were taken and are not removed yet
	Ledger Ledger                   `json:"ledger"`
	Ages   map[string]time.Duration `json:"ages,omitempty"` // how long ago dead jobs ended, by ID
}

// Workers asks in rounds. Each round waits roundTakes for answers. While connected workers have not
// answered, further rounds follow, up to answersWithin.
const (
	roundTakes    = 300 * time.Millisecond
	answersWithin = 3 * time.Second
)

// Workers asks all workers for their state. It returns as soon as it has the answers of all workers
// that are connected and that managers have heard of lately. It knows that a worker is not
// connected because the server then refuses the question. Busy workers may be slow; silent names
// those that have not answered within 3 s. Without a manager, Workers waits 0.3 s for answers.
// Errors wrap a sentinel of package backend, or are the context's.
func Workers(ctx context.Context, nc *nats.Conn) (there []Worker, silent []string, err error) {
	a := asking{
		nc: nc, inbox: wire.AnswerPrefix + nuid.Next(), answers: make(chan *nats.Msg, nats.DefaultMaxChanLen),
		heard: map[string]Worker{}, missing: map[string]bool{},
	}
	sub, err := nc.ChanSubscribe(a.inbox+".>", a.answers)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	for begun := time.Now(); ; {
		if err := a.round(ctx); err != nil {
			return nil, nil, err
		}
		if a.known && len(a.missing) == 0 || time.Since(begun) > answersWithin {
			break
		}
	}
	byName := func(a, b Worker) int { return strings.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(a.heard), byName), slices.Sorted(maps.Keys(a.missing)), nil
}

// asking is a question to all workers and its answers.
type asking struct {
	nc      *nats.Conn
	inbox   string
	answers chan *nats.Msg
	known   bool              // a manager has named the workers, or there is no manager
	heard   map[string]Worker // the answers, by name
	missing map[string]bool   // workers that have not answered and may be connected
}

// The last parts of the subjects of answers.
const (
	namesPart  = ".names"  // of managers
	statesPart = ".states" // of workers
	onePart    = ".one."   // of the worker that follows; or from the server, if that worker is not connected
)

// round asks once and notes the answers. A message without data comes from the server: nobody
// listens to that question.
func (a *asking) round(ctx context.Context) error {
	err := errors.Join(a.nc.PublishRequest(wire.Roster, a.inbox+namesPart, nil), a.nc.PublishRequest(wire.Who, a.inbox+statesPart, nil))
	for name := range a.missing {
		err = errors.Join(err, a.one(name))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	over := time.After(roundTakes)
	for {
		select {
		case m := <-a.answers:
			if err := a.note(m); err != nil {
				return err
			}
		case <-over:
			return nil
		case <-ctx.Done():
			return backend.Ended(ctx)
		}
	}
}

// one asks one worker.
func (a *asking) one(name string) error {
	return a.nc.PublishRequest(wire.Who+"."+name, a.inbox+onePart+name, nil)
}

// note notes an answer.
func (a *asking) note(m *nats.Msg) error {
	kind := strings.TrimPrefix(m.Subject, a.inbox)
	a.known = a.known || kind == namesPart
	switch {
	case len(m.Data) == 0:
		if name, is := strings.CutPrefix(kind, onePart); is {
			delete(a.missing, name)
		}
		return nil
	case kind == namesPart: // each manager answers once
		var known []Worker
		if err := json.Unmarshal(m.Data, &known); err != nil {
			return fmt.Errorf("%w: the names of workers: %w", backend.ErrInternal, err)
		}
		for _, w := range known {
			name := w.Name
			if _, has := a.heard[name]; has || a.missing[name] || !wire.Name.MatchString(name) {
				continue
			}
			a.missing[name] = true
			if err := a.one(name); err != nil {
				return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
			}
		}
		return nil
	}
	var s Worker
	if err := json.Unmarshal(m.Data, &s); err != nil {
		return fmt.Errorf("%w: the state of a worker: %w", backend.ErrInternal, err)
	}
	a.heard[s.Name] = s
	delete(a.missing, s.Name)
	return nil
}

// Status returns what the cluster does now, the newest dead jobs first. A client's ticket shows the
// jobs submitted with it, an administrator's ticket all jobs.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	if !c.admin {
		m, err := c.link.Request(ctx, wire.StatusPrefix+c.tenant)
		if err != nil {
			return s, refusal(ctx, err)
		}
		return s, json.Unmarshal(m.Data, &s)
	}
	workers, silent, err := Workers(ctx, c.link.Conn)
	if err != nil {
		return s, err
	}
	if s, err = Survey(ctx, c.link, "", nil); err != nil {
		return s, err
	}
	s.Workers, s.Silent = workers, silent
	consumer, err := c.link.JS.Consumer(ctx, wire.Jobs, wire.Workers)
	if err != nil {
		return s, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	s.InHand(consumer.CachedInfo().NumAckPending)
	m, err := c.link.Request(ctx, wire.Status)
	var t Tally
	if err == nil {
		err = json.Unmarshal(m.Data, &t)
	}
	if err != nil {
		return s, refusal(ctx, err)
	}
	s.HaveBeenTaken(t.Taken)
	s.Ledger = &t.Ledger
	for i, d := range s.Dead {
		if age, known := t.Ages[d.ID]; known {
			s.Dead[i].Age = age
		}
	}
	s.Dead = newest(s.Dead)
	return s, nil
}

// Survey returns the part of a tenant's status that its streams show. With the tenant "" it covers
// all streams. It is for managers and administrators. age returns how long a message has been in its
// stream. If it is nil, the message's stamp is compared with the clock that stamps messages now.
func Survey(ctx context.Context, l *wire.Link, tenant string,
	age func(stream string, seq uint64, stamp time.Time) time.Duration,
) (s Status, err error) {
	streams, err := l.Streams(ctx)
	if err != nil {
		return s, refusal(ctx, err)
	}
	var letters []*jetstream.StreamInfo // of dead jobs
	for _, stream := range streams {
		kind, of := wire.Apart(stream.Config.Name)
		if tenant != "" && of != tenant {
			continue
		}
		s.Bytes += stream.State.Bytes
		switch kind {
		case wire.Queue:
			s.Waiting += stream.State.Msgs
		case wire.Ends:
			s.Results += stream.State.Msgs
		case wire.Dead:
			letters = append(letters, stream)
		}
	}
	s.Dead, err = dead(ctx, l, letters, age)
	return s, err
}

// InHand notes how many jobs workers have.
func (s *Status) InHand(jobs int) {
	s.HandedOut = jobs
	s.Waiting -= min(s.Waiting, uint64(jobs)) // the queue has those too
}

// HaveBeenTaken notes how many results were taken. They stay until nothing can need them.
func (s *Status) HaveBeenTaken(results int) {
	s.Taken = min(s.Results, uint64(results))
	s.Results -= s.Taken
}

// shown bounds the dead jobs in a status. mostLooked bounds the messages looked at in each stream,
// because jobs that were sent again leave gaps.
const (
	shown      = 20
	mostLooked = 10 * shown
)

// dead returns the newest dead jobs of some streams.
func dead(ctx context.Context, l *wire.Link, streams []*jetstream.StreamInfo,
	age func(stream string, seq uint64, stamp time.Time) time.Duration,
) ([]Dead, error) {
	all := []Dead{}
	for _, info := range streams {
		stream, err := l.JS.Stream(ctx, info.Config.Name)
		if err != nil {
			return nil, refusal(ctx, err)
		}
		last, found := info.State.LastSeq, 0
		for seq := last; seq >= max(1, info.State.FirstSeq) && found < shown && last-seq < mostLooked; seq-- {
			m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return stream.GetMsg(ctx, seq) })
			if wire.Missing(err) {
				continue
			}
			if err != nil {
				return nil, refusal(ctx, err)
			}
			var d struct {
				wire.Job
				wire.End
			}
			if err := json.Unmarshal(m.Data, &d); err != nil {
				return nil, fmt.Errorf("%w: a dead job: %w", backend.ErrInternal, err)
			}
			since := max(0, info.TimeStamp.Sub(m.Time))
			if age != nil {
				since = age(info.Config.Name, seq, m.Time)
			}
			all = append(all, Dead{d.ID, d.Work, d.Reason, d.Worker, m.Time, since})
			found++
		}
	}
	return newest(all), nil
}

// newest returns as many dead jobs as are shown, the newest first.
func newest(all []Dead) []Dead {
	slices.SortStableFunc(all, func(a, b Dead) int { return cmp.Compare(a.Age, b.Age) })
	return all[:min(shown, len(all))]
}

// Drain tells a worker to take no more jobs, and to leave. Jobs that it has not ended after within
// are given back. The name "" means all workers. Drain returns when they have left. It needs an
// administrator's ticket. The error wraps backend.ErrUnavailable if a worker is still there 10 s
// after within.
func (c *Client) Drain(ctx context.Context, name string, within time.Duration) error {
	subject := wire.Drain
	if name != "" {
		if !wire.Name.MatchString(name) {
			return fmt.Errorf("%w: %q is no worker's name", backend.ErrInvalidInput, name)
		}
		subject += "." + name
	}
	there := func() (names []string, err error) {
		workers, names, err := Workers(ctx, c.link.Conn)
		for _, w := range workers {
			names = append(names, w.Name)
		}
		return slices.DeleteFunc(names, func(n string) bool { return name != "" && n != name }), err
	}
	names, err := there()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%w: no worker %s", backend.ErrInvalidInput, cmp.Or(name, "is there"))
	}
	if err := c.link.Conn.Publish(subject, []byte(within.String())); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	for begun := time.Now(); ; {
		still, err := there()
		if err != nil {
			return err
		}
		still = slices.DeleteFunc(still, func(n string) bool { return !slices.Contains(names, n) })
		if len(still) == 0 {
			return nil
		}
		if time.Since(begun) > within+leaveWithin {
			return fmt.Errorf("%w: still there: %s", backend.ErrUnavailable, strings.Join(still, ", "))
		}
	}
}

// leaveWithin is how long a drained worker may take to leave.
const leaveWithin = 10 * time.Second
