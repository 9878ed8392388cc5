package plugin

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/pippin-zk/pippin/backend"
)

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

// defaultSessions is Daemon.Sessions.
const defaultSessions = 64

// session is what a daemon grants a session beside its backend.
type session struct {
	shared int64 // most bytes of arenas, 0 for no limit
}

// greeting is the first message on a connection to a daemon, the daemon's: the
// versions of the protocol that it speaks, and why it refuses the session, if it
// does. On the wire it is magic (4), oldest (4), newest (4), little-endian, and
// the text.
type greeting struct {
	oldest, newest uint32
	refusal        string
}

const (
	greetingMagic = 0x6d647070 // "ppdm"
	greetingHead  = 12
	maxRefusal    = 1 << 10
)

func (g greeting) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(nil, greetingMagic)
	b = binary.LittleEndian.AppendUint32(b, g.oldest)
	b = binary.LittleEndian.AppendUint32(b, g.newest)
	return append(b, g.refusal[:min(len(g.refusal), maxRefusal)]...)
}

// readGreeting is the way back. It is not trusted.
func readGreeting(b []byte) (g greeting, err error) {
	if len(b) < greetingHead || len(b) > greetingHead+maxRefusal || binary.LittleEndian.Uint32(b) != greetingMagic {
		return g, fmt.Errorf("%w: what listens there is no daemon of pippin", backend.ErrUnavailable)
	}
	return greeting{
		oldest: binary.LittleEndian.Uint32(b[4:]), newest: binary.LittleEndian.Uint32(b[8:]),
		refusal: cleanLine(string(b[greetingHead:]), maxRefusal),
	}, nil
}

// accept is the error of a host that is refused, or that speaks another version.
func (g greeting) accept() error {
	switch {
	case g.refusal != "":
		return fmt.Errorf("%w: the daemon refused: %s", backend.ErrUnavailable, g.refusal)
	case ProtocolVersion < g.oldest || ProtocolVersion > g.newest:
		return fmt.Errorf("%w: the daemon speaks versions %d to %d of the protocol, this program %d: install both from one release",
			backend.ErrUnavailable, g.oldest, g.newest, ProtocolVersion)
	}
	return nil
}

// shares is how a session's shared memory is divided: for inputs, for answers and
// for bases on their way; the rest is for counters.
func shares(limit uint64) (inputs, answers, staging int64) {
	l := int64(min(limit, math.MaxInt64))
	return l / 2, l / 4, l / 8
}
