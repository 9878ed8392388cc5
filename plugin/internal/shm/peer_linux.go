package shm

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
)

// Peer is who connected to a socket, as the kernel noted it then. The process is 0
// when it is in a namespace that cannot be seen from here.
type Peer struct {
	PID, User, Group int
	Groups           []int // beside Group
}

// Has reports whether the peer is in a group.
func (p Peer) Has(group int) bool { return p.Group == group || slices.Contains(p.Groups, group) }

// PeerOf asks the kernel who is at the other end of a unix socket.
func PeerOf(c *net.UnixConn) (p Peer, err error) {
	raw, err := c.SyscallConn()
	if err == nil {
		cerr := raw.Control(func(fd uintptr) { p, err = peerOf(int(fd)) })
		err = errors.Join(err, cerr)
	}
	if err != nil {
		return p, fmt.Errorf("%w: who is at the other end of a socket: %w", backend.ErrInternal, err)
	}
	return p, nil
}

// maxPeerGroups is more than the kernel lets a process have.
const maxPeerGroups = 1 << 16

func peerOf(fd int) (p Peer, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return p, err
	}
	p = Peer{PID: int(cred.Pid), User: int(cred.Uid), Group: int(cred.Gid)}
	// x/sys has no call for this option. A buffer that is too short is ERANGE.
	for room := 64; room <= maxPeerGroups; room *= 4 {
		groups := make([]uint32, room)
		size := uint32(4 * room)
		_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(unsafe.SliceData(groups))), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errors.Is(e, unix.ERANGE):
			continue
		case e != 0: // before Linux 4.13
			return p, nil
		}
		for _, g := range groups[:min(int(size)/4, room)] {
			p.Groups = append(p.Groups, int(g))
		}
		return p, nil
	}
	return p, unix.ERANGE
}
