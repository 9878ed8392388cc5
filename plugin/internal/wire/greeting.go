package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/text"
)

// ServeArgument is the first argument of a plugin that is to be a daemon, and a
// Daemon as JSON is the second.
const ServeArgument = "serve"

// Daemon says how a plugin serves provers that connect to a socket, instead of one
// that has started it. The zero value of every field but Socket is the default.
type Daemon struct {
	// Socket is the path of the socket, an absolute one. A service manager that
	// passes a socket by LISTEN_FDS has bound it there.
	Socket string `json:"socket"`
	// Group is the name or number of a group whose members may connect beside the
	// daemon's own user; "" is none.
	Group string `json:"group,omitempty"`
	// Sessions is how many may be connected: 0 is 64.
	Sessions int `json:"sessions,omitempty"`
	// Memory bounds the bytes of bases and vectors that one session holds, and
	// Shared those of shared memory: 0 is no limit, and half of the memory that the
	// daemon may have.
	Memory int64 `json:"memory,omitempty"`
	Shared int64 `json:"shared,omitempty"`
	// Keep is up to how many bytes of bases there may be for those that no session
	// holds to be kept: 0 is half of the memory of the backend's devices, or of the
	// daemon's own where they do not say; below 0 none are kept.
	Keep int64 `json:"keep,omitempty"`
	// Turns is how many calls compute at a time: 0 is two for each device.
	Turns int `json:"turns,omitempty"`
}

// Greeting is the first message on a connection to a daemon, the daemon's: the
// versions of the protocol that it speaks, and why it refuses the session, if it
// does. On the wire it is magic (4), oldest (4), newest (4), little-endian, and
// the text.
type Greeting struct {
	Oldest, Newest uint32
	Refusal        string
}

const (
	greetingMagic = 0x6d647070 // "ppdm"
	GreetingHead  = 12
	MaxRefusal    = 1 << 10
)

// Bytes returns the message.
func (g Greeting) Bytes() []byte {
	b := binary.LittleEndian.AppendUint32(nil, greetingMagic)
	b = binary.LittleEndian.AppendUint32(b, g.Oldest)
	b = binary.LittleEndian.AppendUint32(b, g.Newest)
	return append(b, g.Refusal[:min(len(g.Refusal), MaxRefusal)]...)
}

// ReadGreeting reads the message, which is not trusted.
func ReadGreeting(b []byte) (g Greeting, err error) {
	if len(b) < GreetingHead || len(b) > GreetingHead+MaxRefusal || binary.LittleEndian.Uint32(b) != greetingMagic {
		return g, fmt.Errorf("%w: what listens there is no daemon of pippin", backend.ErrUnavailable)
	}
	return Greeting{
		Oldest: binary.LittleEndian.Uint32(b[4:]), Newest: binary.LittleEndian.Uint32(b[8:]),
		Refusal: text.Line(string(b[GreetingHead:]), MaxRefusal),
	}, nil
}

// Accept returns the error of a host that is refused, or that speaks another version.
func (g Greeting) Accept() error { return g.accept(ProtocolVersion) }

// accept is Accept of a host that speaks a version.
func (g Greeting) accept(version uint32) error {
	switch {
	case g.Refusal != "":
		return fmt.Errorf("%w: the daemon refused: %s", backend.ErrUnavailable, g.Refusal)
	case version < g.Oldest || version > g.Newest:
		return fmt.Errorf("%w: the daemon speaks versions %d to %d of the protocol, this program %d: install both from one release",
			backend.ErrUnavailable, g.Oldest, g.Newest, version)
	}
	return nil
}

// Divide divides a session's shared memory: for inputs, for answers and for bases
// on their way; the rest is for counters.
func Divide(limit uint64) (inputs, answers, staging int64) {
	l := int64(min(limit, math.MaxInt64))
	return l / 2, l / 4, l / 8
}
