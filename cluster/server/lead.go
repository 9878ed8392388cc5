package server

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// Names of notes.
const (
	ledgerNote = "ledger"
	leaderNote = "leader"
)

// leadFor is how long a manager leads that is not heard of.
const leadFor = 5 * time.Second

// leads reports whether this manager is the one that hands out jobs, and says so to the others. A
// manager leads no more when the others have seen no new note of it for a while. Each of them
// counts that by itself, from when it saw the last one: notes have no time.
func (k *keeper) leads(ctx context.Context) (bool, error) {
	note, err := k.note(ctx, leaderNote)
	if err != nil {
		return false, err
	}
	text, seq := "", uint64(0)
	if note != nil {
		text, seq = string(note.Data), note.Sequence
	}
	now := time.Now()
	if seq != k.leader.seq {
		k.leader.seq, k.leader.since = seq, now
	}
	mine := text == k.Name
	if seq != 0 && (!mine && now.Sub(k.leader.since) < leadFor || mine && k.dispatcher != nil && now.Sub(k.leader.since) < leadFor/5) {
		return mine, nil
	}
	ack, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
		return k.link.JS.Publish(ctx, wire.NotesPrefix+leaderNote, []byte(k.Name), jetstream.WithExpectLastSequencePerSubject(seq))
	})
	if wire.Conflict(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	k.leader.seq, k.leader.since = ack.Sequence, now
	return true, nil
}

// leading returns the dispatcher of a manager that leads, else nil.
func (k *keeper) leading() *dispatcher {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dispatcher
}

// lead begins or ends to hand out jobs, as it is this manager's turn or another one's. What
// it begins goes on until run ends.
func (k *keeper) lead(ctx, run context.Context) error {
	mine, err := k.leads(ctx)
	if err != nil {
		return err
	}
	if !mine {
		k.follow()
		return nil
	}
	if k.leading() != nil {
		return nil
	}
	d, err := dispatch(ctx, run, k)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dispatcher = d
	return nil
}

// follow hands out no more jobs.
func (k *keeper) follow() {
	k.mu.Lock()
	d := k.dispatcher
	k.dispatcher = nil
	for _, t := range k.tenants {
		t.taken = nil // results of these names may be others' when this leads again
	}
	k.mu.Unlock()
	if d != nil {
		d.end()
	}
}
