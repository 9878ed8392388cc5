package files

import (
	"errors"

	"golang.org/x/sys/unix"
)

// accessAttribute is where the kernel has a file's access control list.
const accessAttribute = "system.posix_acl_access"

// accessList returns the access control list of a file, nil where it has none.
func accessList(path string) ([]byte, error) {
	b := make([]byte, 64<<10) // the most that an attribute may have
	n, err := unix.Getxattr(path, accessAttribute, b)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return b[:n], nil
}
