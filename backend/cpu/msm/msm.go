// Package msm computes MSMs in this process and nothing else: the backend "cpu"
// for programs that are not to be linked with vectors, transforms and numbers. Its
// needs of gnark-crypto are MultiExp's, which every version since v0.16 has.
package msm

import (
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
)

// New makes the backend "cpu" of MSMs alone. It is the one of backend/cpu with its
// default options in all else.
func New() backend.Backend {
	return local.New[struct{}]("cpu", 0, 0, local.Fast(0))
}
