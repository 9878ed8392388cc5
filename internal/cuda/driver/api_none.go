//go:build !cuda || !cgo || !linux || !(amd64 || arm64)

package driver

import (
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

func load(...string) (api, error) {
	return nil, fmt.Errorf("%w: built without the cuda tag: build with cgo and -tags cuda for Linux on "+
		"amd64 or arm64 (scripts/build-plugin-cuda does)", backend.ErrUnavailable)
}
