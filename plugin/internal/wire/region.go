package wire

import (
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// Region names shared memory to the plugin.
func Region(a *shm.Arena, offset, length int) *proto.Region {
	return &proto.Region{Arena: a.ID(), Offset: uint64(offset), Length: uint64(length)}
}
