package wire

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
)

// lagging is a stream on three servers. Its leader has a message if there is set. The replica that
// answers lags behind the leader until a time.
type lagging struct {
	there bool
	until time.Time
}

func (s lagging) replicas() int { return 3 }

func (s lagging) Holds(context.Context, string) (bool, error) { return s.there, nil }

func (s lagging) Last(context.Context, string) (*jetstream.RawStreamMsg, error) {
	if !s.there || time.Now().Before(s.until) {
		return nil, jetstream.ErrMsgNotFound
	}
	return &jetstream.RawStreamMsg{Subject: "x"}, nil
}

// TestReplicaBehind: a message that a replica does not have is missing only if the leader does not
// have it either. Before, when a replica was more than 3 s behind, a worker took the witness of a
// job for missing and ended the job.
func TestReplicaBehind(t *testing.T) {
	for name, c := range map[string]struct {
		there   bool
		behind  time.Duration
		atLeast time.Duration
		want    error
	}{
		"none is behind":           {there: true},
		"one is behind":            {there: true, behind: time.Second, atLeast: time.Second},
		"one is behind for longer": {there: true, behind: 20 * time.Second, atLeast: 20 * time.Second},
		"one does not come back":   {there: true, behind: time.Hour, atLeast: mostBehind, want: backend.ErrUnavailable},
		"it is not there":          {atLeast: catchUp, want: jetstream.ErrMsgNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				m, err := LastOf(t.Context(), lagging{there: c.there, until: begun.Add(c.behind)}, "x")
				if !errors.Is(err, c.want) || c.want == nil && (err != nil || m == nil) || c.there && Missing(err) {
					t.Error(m, err)
				}
				if took := time.Since(begun); took < c.atLeast || took > c.atLeast+time.Second {
					t.Errorf("after %v", took)
				}
			})
		})
	}
}
