package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/pippin-zk/pippin/backend"
)

// chunk is the size in bytes of one message of an object.
const chunk = 512 << 10

// Object is a sequence of bytes in a stream, as messages SUBJECT.0 to SUBJECT.CHUNKS-1. Each
// message is requested, and repeated, by itself. So an object needs no consumer, and after a
// restart of the server its transfer goes on where it was.
type Object struct {
	Subject string `json:"subject"`
	Chunks  int    `json:"chunks"`
}

// part returns the subject of a chunk.
func (o Object) part(i int) string { return o.Subject + "." + strconv.Itoa(i) }

// MostBytes returns an upper bound of the object's size in bytes.
func (o Object) MostBytes() uint64 { return uint64(o.Chunks) * chunk }

// Put stores the bytes of r as an object. On an error it asks the manager to remove what it has
// stored.
func Put(ctx context.Context, l *Link, subject string, r io.Reader) (Object, error) {
	o, once := Object{Subject: subject}, nuid.Next() // makes the IDs unique, because the subject may have been in use lately
	size := chunk
	if known, ok := r.(interface{ Len() int }); ok {
		size = min(chunk, known.Len()+1) // one byte more, so that the first read finds the end
	}
	buf := make([]byte, size)
	for {
		n, err := io.ReadFull(r, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return o, errors.Join(err, o.Forget(l.Conn))
		}
		if n > 0 {
			_, err := Ask(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
				return l.JS.Publish(ctx, o.part(o.Chunks), buf[:n], jetstream.WithMsgID(o.part(o.Chunks)+" "+once))
			})
			if err != nil {
				return o, errors.Join(err, o.Forget(l.Conn))
			}
			o.Chunks++
		}
		if n < len(buf) {
			return o, nil
		}
	}
}

// Get writes the object to w, and calls progress after each chunk.
func (o Object) Get(ctx context.Context, l *Link, w io.Writer, progress func()) error {
	for i := range o.Chunks {
		m, err := LastOf(ctx, l, o.part(i))
		if err != nil {
			return fmt.Errorf("chunk %d of %d of %s: %w", i, o.Chunks, o.Subject, err)
		}
		if _, err := w.Write(m.Data); err != nil {
			return err
		}
		progress()
	}
	return nil
}

// Forget asks the cluster's manager to delete the object. Clients may not delete messages
// themselves, because the server cannot tell whose an object is.
func (o Object) Forget(nc *nats.Conn) error {
	return nc.Publish(ForgetPrefix+strings.TrimPrefix(o.Subject, "pippin."), nil)
}

// Stream returns a handle of an existing stream. Errors wrap backend.ErrUnavailable.
func Stream(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Stream, error) {
	s, err := Ask(ctx, func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, name) })
	if err != nil {
		return nil, fmt.Errorf("%w: the cluster's stream %s: %w", backend.ErrUnavailable, name, err)
	}
	return s, nil
}

// Known reports whether the cluster has a job or its end. It looks into the queue, the workers'
// stream and the ends, in this order: a job is removed from one only when the next has it.
func Known(ctx context.Context, l *Link, id string) (bool, error) {
	for _, prefix := range []string{QueuePrefix, JobsPrefix, EndsPrefix} { // the order matters
		if there, err := l.Holds(ctx, prefix+id); there || err != nil {
			return there, err
		}
	}
	return false, nil
}

// Digest returns the SHA-256, in hexadecimal, of the bytes that write writes.
func Digest(write func(io.Writer) error) (string, error) {
	h := sha256.New()
	err := write(h)
	return hex.EncodeToString(h.Sum(nil)), err
}

// manifest returns the subject of the message that locates the object of a digest.
func manifest(tenant, digest string) string { return KeysPrefix + tenant + "." + digest + ".manifest" }

// HasKey reports whether a tenant has stored the object of a digest. Each tenant stores its objects
// separately, so one that stores wrong bytes under a digest harms nobody else.
func HasKey(ctx context.Context, l *Link, tenant, digest string) (Object, bool, error) {
	m, err := Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return l.Last(ctx, manifest(tenant, digest))
	})
	var o Object
	switch {
	case Missing(err):
		return o, false, nil
	case err != nil:
		return o, false, err
	}
	return o, true, json.Unmarshal(m.Data, &o)
}

// PutKey compresses what write writes and stores it under its digest. If two clients of a tenant
// store one digest at a time, the first to finish wins.
func PutKey(ctx context.Context, l *Link, tenant, digest string, write func(io.Writer) error) error {
	r, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		z := s2.NewWriter(w, s2.WriterConcurrency(1))
		w.CloseWithError(errors.Join(write(z), z.Close()))
	}()
	o, err := Put(ctx, l, KeysPrefix+tenant+"."+digest+"."+nuid.Next(), r)
	r.Close() // ends a write that still goes on
	<-written
	if err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, first, err := l.Once(ctx, &nats.Msg{Subject: manifest(tenant, digest), Data: text}, o.Subject, nil)
	if err != nil {
		return errors.Join(err, o.Forget(l.Conn))
	}
	if !first {
		_ = o.Forget(l.Conn) // if this fails, it stays until the key is removed
	}
	return nil
}

// ErrDigest is wrapped by the error of an object whose bytes do not match its digest.
var ErrDigest = errors.New("the digest differs")

// GetKey writes a tenant's object of a digest to w. It fails with ErrDigest if the stored bytes
// differ or are damaged, and with backend.ErrInvalidInput if there is no such object.
func GetKey(ctx context.Context, l *Link, tenant, digest string, w io.Writer, progress func()) error {
	var o Object
	m, err := LastOf(ctx, l, manifest(tenant, digest))
	if err == nil {
		err = json.Unmarshal(m.Data, &o)
	}
	if err != nil && !Missing(err) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: the cluster has no object %s; add the circuit again", backend.ErrInvalidInput, digest)
	}
	r, pipe := io.Pipe()
	got := make(chan struct{})
	go func() {
		defer close(got)
		pipe.CloseWithError(o.Get(ctx, l, pipe, progress))
	}()
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(w, h), s2.NewReader(r))
	r.Close()
	<-got
	switch {
	case errors.Is(err, s2.ErrCorrupt), errors.Is(err, s2.ErrCRC), errors.Is(err, io.ErrUnexpectedEOF),
		err == nil && hex.EncodeToString(h.Sum(nil)) != digest:
		return fmt.Errorf("%w: the cluster's copy of object %s is damaged: begin its folder anew", ErrDigest, digest)
	}
	return err
}
