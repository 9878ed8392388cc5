package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// accessAttribute is where the kernel has a file's access control list.
const accessAttribute = "system.posix_acl_access"

// accessList returns the access control list of a file, nil where it has none.
func accessList(path string) ([]byte, error) {
	return readAttribute(func(b []byte) (int, error) { return unix.Getxattr(path, accessAttribute, b) })
}

// accessListOfOpen does so for a file that is open.
func accessListOfOpen(f *os.File) ([]byte, error) {
	return readAttribute(func(b []byte) (int, error) { return unix.Fgetxattr(int(f.Fd()), accessAttribute, b) })
}

// readAttribute returns what get puts into a buffer, nil where a file has no such attribute.
func readAttribute(get func([]byte) (int, error)) ([]byte, error) {
	b := make([]byte, 64<<10) // the most that an attribute may have
	n, err := get(b)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return b[:n], nil
}
