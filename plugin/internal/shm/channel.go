package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// Kind says what a descriptor on the channel is.
type Kind uint32

// The numbers are part of the plugin protocol.
const (
	KindArena Kind = 1 // a sealed memory file
	KindFile  Kind = 2 // a file to read bases from
	// KindConnection is a SOCK_STREAM unix socket, one end of a pair; the id is the
	// version of the protocol that is spoken on it.
	KindConnection Kind = 3
)

// Message goes with one descriptor. On the wire it is 24 bytes, little-endian:
// magic (4), kind (4), id (8), size (8).
type Message struct {
	Kind Kind
	ID   uint64
	Size uint64
}

const (
	messageMagic = 0x64667070 // "ppfd"
	messageSize  = 24
)

// Channel sends descriptors to another process, one a message. It is a
// SOCK_SEQPACKET unix socket: messages are not cut, and reading ends with
// io.EOF when the other process has died. Its methods may be called
// concurrently.
type Channel struct {
	conn *net.UnixConn
	send sync.Mutex
}

// Pair makes the two ends of a channel. theirs is inherited by the other
// process (exec.Cmd's ExtraFiles) and then closed here.
func Pair() (ours *Channel, theirs *os.File, err error) {
	mine, theirs, err := socketpair()
	if err != nil {
		return nil, nil, err
	}
	ours, err = NewChannel(mine)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// NewChannel makes a channel of an inherited socket and closes f.
func NewChannel(f *os.File) (*Channel, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("%w: descriptor channel: %w", backend.ErrUnavailable, err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok || u.LocalAddr().Network() != "unixpacket" {
		c.Close()
		return nil, fmt.Errorf("%w: descriptor channel is not a SOCK_SEQPACKET unix socket", backend.ErrUnavailable)
	}
	return ChannelOf(u), nil
}

// ChannelOf makes a channel of a connected SOCK_SEQPACKET socket, which belongs to
// the channel then.
func ChannelOf(c *net.UnixConn) *Channel { return &Channel{conn: c} }

// Send sends a copy of f's descriptor; f stays the caller's.
func (c *Channel) Send(m Message, f *os.File) error {
	var b [messageSize]byte
	binary.LittleEndian.PutUint32(b[0:], messageMagic)
	binary.LittleEndian.PutUint32(b[4:], uint32(m.Kind))
	binary.LittleEndian.PutUint64(b[8:], m.ID)
	binary.LittleEndian.PutUint64(b[16:], m.Size)
	c.send.Lock()
	defer c.send.Unlock()
	if _, _, err := c.conn.WriteMsgUnix(b[:], rights(f), nil); err != nil {
		return fmt.Errorf("%w: descriptor channel: %w", backend.ErrGone, err)
	}
	return nil
}

// Receive waits for the next message; the file is the caller's to close. When
// the other side is gone it returns io.EOF. A message that is malformed is
// backend.ErrInvalidInput; one whose descriptor this process has no room for is
// backend.ErrInternal, with the message. The channel can go on after both.
func (c *Channel) Receive() (Message, *os.File, error) {
	var b [messageSize + 1]byte
	var oob [64]byte
	n, oobn, flags, _, err := c.conn.ReadMsgUnix(b[:], oob[:])
	if err != nil && !errors.Is(err, io.EOF) {
		return Message{}, nil, fmt.Errorf("%w: descriptor channel: %w", backend.ErrGone, err)
	}
	files, ferr := parseRights(oob[:oobn])
	refuse := func(err error) (Message, *os.File, error) {
		for _, f := range files {
			f.Close()
		}
		return Message{}, nil, err
	}
	switch {
	case n == 0 && len(files) == 0:
		return Message{}, nil, io.EOF
	case n != messageSize || binary.LittleEndian.Uint32(b[0:]) != messageMagic:
		return refuse(fmt.Errorf("%w: descriptor channel: message of %d bytes is not ours", backend.ErrInvalidInput, n))
	case ferr == nil && len(files) == 0 && flags&truncated != 0:
		return message(b[:]), nil, fmt.Errorf("%w: descriptor channel: no room for another open file (ulimit -n)", backend.ErrInternal)
	case ferr != nil || len(files) != 1:
		return refuse(fmt.Errorf("%w: descriptor channel: %d descriptors in a message, want 1", backend.ErrInvalidInput, len(files)))
	}
	return message(b[:]), files[0], nil
}

// message reads what Send wrote.
func message(b []byte) Message {
	return Message{
		Kind: Kind(binary.LittleEndian.Uint32(b[4:])),
		ID:   binary.LittleEndian.Uint64(b[8:]),
		Size: binary.LittleEndian.Uint64(b[16:]),
	}
}

// Close ends the channel; the other side reads io.EOF.
func (c *Channel) Close() error { return c.conn.Close() }
