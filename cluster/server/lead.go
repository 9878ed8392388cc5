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

// leadFor is how long a manager still leads when the others do not hear of it.
const leadFor = 5 * time.Second

// leads reports whether this manager is the one that hands out jobs. If it is, leads tells the
// others. A manager stops leading when the others have seen no new note of it for leadFor. Each of
// them measures that itself, from when it saw the last note, because notes carry no time.
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

// leading returns the dispatcher if this manager leads, else nil.
func (k *keeper) leading() *dispatcher {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dispatcher
}

// lead starts to hand out jobs when this manager begins to lead, and stops when another one leads.
// What it starts goes on until run ends.
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

// follow stops handing out jobs.
func (k *keeper) follow() {
	k.mu.Lock()
	d := k.dispatcher
	k.dispatcher = nil
	for _, t := range k.tenants {
		t.taken = nil // when this manager leads again, other results may have these names
	}
	k.mu.Unlock()
	if d != nil {
		d.end()
	}
}
