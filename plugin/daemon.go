package plugin

import "github.com/pippin-zk/pippin/plugin/internal/wire"

// Daemon says how a plugin serves provers that connect to its socket. Socket is the path of the
// socket; the zero value of every other field is the default.
type Daemon = wire.Daemon
