// Package pippin opens an engine with every backend that exists: the CPU in process, and
// plugins found on this machine, of which one has the GPUs.
//
//	e, err := pippin.New(ctx, engine.Config{Backend: "cuda"}) // or "cpu", "plugin:cpu", "daemon"
//	if err != nil {
//		return err // there is no such backend here: New never opens another one
//	}
//	defer e.Close()
//	groth16.Use(e) // of package prover/groth16: every proof of the program uses it
//
// A program gets all backends here; other packages take an engine.
package pippin

import (
	"context"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/known"
)

// New opens an engine that knows every backend by name:
//
//	cpu          gnark-crypto's MultiExp, in process
//	reference    double-and-add, in process: slow, for comparisons
//	plugin:NAME  msm-backend-NAME in a process of its own
//	plugin:PATH  the plugin at that path
//	cuda         short for plugin:cuda, with all GPUs that there are; cuda:0,
//	             cuda:0-3, cuda:1,2 and cuda:GPU-UUID are with these
//	daemon       a session with the daemon that msm serve is, at DaemonSocket
//	daemon:PATH  one with the daemon at that socket
//
// It is engine.New with cfg.Open set, unless the caller did: package engine knows
// no backend, so that a program links only those that it opens. It sets cfg.Known
// too, unless that is not nil: backends outside of this process compute known
// answers when they are opened and each minute of use.
func New(ctx context.Context, cfg engine.Config) (*engine.Engine, error) {
	if cfg.Open == nil {
		cfg.Open = Opener(Options{Log: cfg.Log})
	}
	if cfg.Known == nil {
		cfg.Known = known.All()
	}
	return engine.New(ctx, cfg)
}
