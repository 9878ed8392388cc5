package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
)

// Link connects the holder of a ticket to a cluster. Clients and workers may not use all of
// JetStream: they store messages, read them by subject, and ask managers for the rest. So the
// methods of a Link need only that, except where Manages is set.
type Link struct {
	Conn *nats.Conn
	JS   jetstream.JetStream
	// Replicas is the number of servers that keep each stream.
	Replicas int
	// Manages reports whether the holder is a manager or an administrator, who may use all of
	// JetStream.
	Manages bool
}

// Close disconnects.
func (l *Link) Close() { l.Conn.Close() }

// directGet is the prefix of the subjects for reading messages. The stream and the message's
// subject follow. Any server that has a replica answers.
const directGet = "$JS.API.DIRECT.GET."

// Last reads the last message of a subject. It asks once. If the server that answers has no such
// message, Missing reports true for the error.
func (l *Link) Last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	m, err := l.Conn.RequestWithContext(ctx, directGet+StreamOf(subject)+"."+subject, nil)
	if err != nil {
		return nil, err
	}
	switch status := m.Header.Get("Status"); {
	case status == "404":
		return nil, jetstream.ErrMsgNotFound
	case status != "":
		return nil, fmt.Errorf("%w: reading %s: %s %s", backend.ErrUnavailable, subject, status, m.Header.Get("Description"))
	}
	seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: reading %s: %w", backend.ErrInternal, subject, err)
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return nil, fmt.Errorf("%w: reading %s: %w", backend.ErrInternal, subject, err)
	}
	return &jetstream.RawStreamMsg{Subject: subject, Sequence: seq, Header: m.Header, Data: m.Data, Time: at}, nil
}

// replicas implements reader.
func (l *Link) replicas() int { return l.Replicas }

// The answers of a manager to the question whether there is a message.
var (
	Yes = []byte("yes")
	No  = []byte("no")
)

// Holds asks the leader of a stream whether it has a message of a subject, because replicas may be
// behind. A holder who may not ask the leader asks a manager to do so.
func (l *Link) Holds(ctx context.Context, subject string) (bool, error) {
	if !l.Manages {
		m, err := l.Request(ctx, HoldsPrefix+strings.TrimPrefix(subject, Prefix))
		return err == nil && string(m.Data) == string(Yes), err
	}
	subjects, err := l.Subjects(ctx, StreamOf(subject), subject)
	return err == nil && len(subjects) > 0, err
}

// Subjects returns the subjects of a stream's messages that match a filter, with the number of
// messages of each. A stream that does not exist has none: its tenant has left.
func (l *Link) Subjects(ctx context.Context, stream, filter string) (map[string]uint64, error) {
	info, err := Ask(ctx, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		s, err := l.JS.Stream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return &jetstream.StreamInfo{}, nil
		}
		if err != nil {
			return nil, err
		}
		return s.Info(ctx, jetstream.WithSubjectFilter(filter))
	})
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}

// Streams returns the state of the cluster's streams.
func (l *Link) Streams(ctx context.Context) ([]*jetstream.StreamInfo, error) {
	return Ask(ctx, func(ctx context.Context) (all []*jetstream.StreamInfo, err error) {
		found := l.JS.ListStreams(ctx, jetstream.WithStreamListSubject(Prefix+">"))
		for s := range found.Info() {
			all = append(all, s)
		}
		return all, found.Err()
	})
}

// Purge removes the messages of a subject. If below is not 0, it removes only those with numbers
// below it. A stream that does not exist is no error. Purge does not ask for a handle of the stream
// first, because three purges follow each job's end.
func (l *Link) Purge(ctx context.Context, subject string, below uint64) error {
	return l.command(ctx, "STREAM.PURGE."+StreamOf(subject), struct {
		Filter string `json:"filter"`
		Below  uint64 `json:"seq,omitempty"`
	}{subject, below})
}

// The server's errors for a message that it cannot delete because it does not exist.
const (
	messageNotFound   = 10043
	messageNotDeleted = 10057
)

// Delete removes one message of a stream. A message that does not exist is no error.
//
// Messages of Jobs are removed by Delete and not by Purge, because a purge can lose jobs. In a
// purge the server that leads a consumer writes into its file what it has delivered, before the
// other servers have agreed. If it is killed then, the others deliver other jobs under the same
// numbers. When it leads again, it takes those for acknowledged and removes them.
func (l *Link) Delete(ctx context.Context, stream string, seq uint64) error {
	return l.command(ctx, "STREAM.MSG.DELETE."+stream, struct {
		Seq     uint64 `json:"seq"`
		NoErase bool   `json:"no_erase"`
	}{seq, true}, messageNotFound, messageNotDeleted)
}

// command sends a command to JetStream. The errors in done count as success.
func (l *Link) command(ctx context.Context, what string, request any, done ...jetstream.ErrorCode) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	done = append(done, jetstream.JSErrCodeStreamNotFound)
	_, err = Ask(ctx, func(ctx context.Context) (struct{}, error) {
		m, err := l.Conn.RequestWithContext(ctx, "$JS.API."+what, text)
		if err != nil {
			return struct{}{}, err
		}
		var answer struct {
			Error *jetstream.APIError `json:"error"`
		}
		if err := json.Unmarshal(m.Data, &answer); err != nil {
			return struct{}{}, err
		}
		if e := answer.Error; e != nil && !slices.Contains(done, e.ErrorCode) {
			return struct{}{}, e
		}
		return struct{}{}, nil
	})
	return err
}

// Request repeats a question to the managers until one answers.
func (l *Link) Request(ctx context.Context, subject string) (*nats.Msg, error) {
	return Ask(ctx, func(ctx context.Context) (*nats.Msg, error) { return l.Conn.RequestWithContext(ctx, subject, nil) })
}

// Protocol is the version of the messages between clients, workers and managers. A program of
// another version is refused when it connects. Since version 2 a job says how long it may wait; in
// version 1 it named a time of day.
const Protocol = 2

// Greeting is a manager's answer to a client or worker that connects.
type Greeting struct {
	Protocol    int    `json:"protocol"`
	Replicas    int    `json:"replicas"`
	Fingerprint string `json:"fingerprint,omitempty"` // of the key that seals witnesses
}

// Greet asks a manager for its Greeting; at is Hello or a subject below it. Greet refuses a cluster
// of another Protocol. If the cluster has a fingerprint, it must be the one of the ticket's key.
// Errors wrap backend.ErrUnavailable or, for the fingerprint, backend.ErrInvalidInput.
func (l *Link) Greet(ctx context.Context, at, fingerprint string) error {
	m, err := l.Request(ctx, at)
	var h Greeting
	if err == nil {
		err = json.Unmarshal(m.Data, &h)
	}
	if err != nil {
		return fmt.Errorf("%w: no manager of the cluster answers; does it run, and is its version as new as this program's? %w",
			backend.ErrUnavailable, err)
	}
	if h.Protocol != Protocol {
		return fmt.Errorf("%w: the cluster speaks version %d of its protocol, and this program version %d: update the older one",
			backend.ErrUnavailable, max(1, h.Protocol), Protocol)
	}
	l.Replicas = h.Replicas
	return checkFingerprint(h.Fingerprint, fingerprint)
}

// nextOf is the subject at which workers ask for jobs.
const nextOf = "$JS.API.CONSUMER.MSG.NEXT." + Jobs + "." + Workers

// Next asks for a job and waits up to wait for it. It returns nil if none came. The server sends a
// sign of life every beat, and Next fails if it hears nothing for two beats.
func (l *Link) Next(ctx context.Context, wait, beat time.Duration) (*nats.Msg, error) {
	sub, err := l.Conn.SubscribeSync(l.Conn.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	text, err := json.Marshal(map[string]any{"batch": 1, "expires": wait, "idle_heartbeat": beat})
	if err != nil {
		return nil, err
	}
	if err := l.Conn.PublishRequest(nextOf, sub.Subject, text); err != nil {
		return nil, err
	}
	for {
		m, err := nextWithin(ctx, sub, 2*beat)
		if err != nil {
			return nil, err
		}
		switch status := m.Header.Get("Status"); status {
		case "":
			return m, nil
		case "100": // a sign of life
		case "404", "408": // there is no job
			return nil, nil
		default:
			return nil, fmt.Errorf("%w: asking for a job: %s %s", backend.ErrUnavailable, status, m.Header.Get("Description"))
		}
	}
}

// nextWithin waits for the next message of a subscription.
func nextWithin(ctx context.Context, sub *nats.Subscription, within time.Duration) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return sub.NextMsgWithContext(ctx)
}
