package wire

import (
	"context"
	"testing"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/internal/files/quickdir"
)

// late is a server whose answer to the first message is lost.
type late struct {
	jetstream.JetStream
	asked int
}

func (l *late) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := l.JetStream.PublishMsg(ctx, m, opts...)
	if l.asked++; l.asked == 1 && err == nil {
		return nil, context.DeadlineExceeded
	}
	return ack, err
}

// TestAnswerIsLate: if a message was stored but the answer came too late, the next try recognises
// the message as this call's. Before, a key's manifest was taken for another's and its parts were
// deleted, so that each job of the circuit ended without a proof.
func TestAnswerIsLate(t *testing.T) {
	server, err := natsserver.NewServer(&natsserver.Options{
		JetStream: true, StoreDir: quickdir.New(t), DontListen: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	defer func() {
		server.Shutdown()
		server.WaitForShutdown()
	}()
	nc, err := nats.Connect("", nats.InProcessServer(server))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: Notes, Subjects: []string{NotesPrefix + ">"}, Storage: jetstream.MemoryStorage, AllowDirect: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		js      jetstream.JetStream
		subject string
		first   bool
	}{
		{js, NotesPrefix + "1", true}, {js, NotesPrefix + "1", false}, {&late{JetStream: js}, NotesPrefix + "1", false},
		{&late{JetStream: js}, NotesPrefix + "2", true}, {js, NotesPrefix + "2", false},
	} {
		l := &Link{Conn: nc, JS: c.js, Replicas: 1}
		_, first, err := l.Once(t.Context(), &nats.Msg{Subject: c.subject}, "of", nil)
		if err != nil || first != c.first {
			t.Errorf("%s: %v, %v", c.subject, first, err)
		}
	}
	if info, err := s.Info(t.Context()); err != nil || info.State.Msgs != 2 {
		t.Errorf("%+v, %v", info, err)
	}
}
