// Package msm computes MSMs in this process and nothing else. It is the backend "cpu" for programs
// that must not be linked with vectors, transforms and numbers. Of gnark-crypto it needs only what
// MultiExp needs, which every version since v0.16 has.
package msm

import (
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
)

// New returns the backend "cpu" for MSMs alone. It is otherwise that of backend/cpu with default
// options.
func New() backend.Backend {
	return local.New[struct{}]("cpu", 0, 0, local.Fast(0))
}
