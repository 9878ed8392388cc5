//go:build !linux

package main

import (
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

func killPlugin() error {
	return fmt.Errorf("%w: plugins are killed on Linux only", backend.ErrUnsupported)
}
