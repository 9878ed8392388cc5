package trust

import (
	"errors"

	"golang.org/x/sys/unix"
)

// DropList removes the access control list that a file has got from its folder, so that the
// mode alone says who may do what.
func DropList(path string) error {
	err := unix.Lremovexattr(path, "system.posix_acl_access")
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}
