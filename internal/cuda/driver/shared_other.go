//go:build !linux

package driver

import (
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

func checkShared([]byte) error {
	return fmt.Errorf("%w: registering host memory needs Linux", backend.ErrUnsupported)
}
