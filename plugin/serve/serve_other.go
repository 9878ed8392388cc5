//go:build !linux

package serve

import (
	"fmt"
	"runtime"

	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
)

func serve(Opener, []grpc.ServerOption) error {
	return fmt.Errorf("%w: plugins need Linux's sealed memory files, this is %s", backend.ErrUnsupported, runtime.GOOS)
}
