package shm

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
)

func socketpair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: descriptor channel: %w", backend.ErrUnavailable, err)
	}
	return os.NewFile(uintptr(fds[0]), "descriptors"), os.NewFile(uintptr(fds[1]), "descriptors"), nil
}

// truncated marks a message whose descriptors did not all come through.
const truncated = unix.MSG_CTRUNC

func rights(f *os.File) []byte { return unix.UnixRights(int(f.Fd())) }

// parseRights takes the descriptors out of a control message. The net package
// has asked for them close-on-exec.
func parseRights(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue // not descriptors
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}
