package plugin

import "github.com/pippin-zk/pippin/plugin/internal/wire"

// Daemon says how a plugin serves provers that connect to a socket: Socket is the
// socket's path, and the zero value of every other field is the default.
type Daemon = wire.Daemon
