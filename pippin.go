// Package pippin opens an engine with every backend that exists: the CPU in process, and
// plugins found on this machine, of which one has the GPUs.
//
//	e, err := pippin.Use(ctx, engine.Config{Backend: "cuda"}) // or "cpu", "plugin:cpu", "daemon"
//	if err != nil {
//		return err // there is no such backend here: Use never opens another one
//	}
//	defer e.Close()
//
// From then on every proof and commitment of the program is computed by that engine. New opens
// one for a prover that is given it. A program gets all backends here; other packages take an
// engine.
package pippin

import (
	"context"
	"os"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/inuse"
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
// no backend, so that a program links only those that it opens. Where the caller names no
// backend it is that in PIPPIN_BACKEND, as in a woven program; none there, or no such
// variable, is cpu. It sets cfg.Known too, unless that is not nil: backends outside of this
// process compute known answers when they are opened and each minute of use.
func New(ctx context.Context, cfg engine.Config) (*engine.Engine, error) {
	if cfg.Open == nil {
		cfg.Open = Opener(Options{Log: cfg.Log})
	}
	if cfg.Known == nil {
		cfg.Known = known.All()
	}
	if cfg.Backend == "" {
		if name := os.Getenv("PIPPIN_BACKEND"); name != "none" {
			cfg.Backend = name
		}
	}
	e, err := engine.New(ctx, cfg)
	if err == nil {
		inuse.Opened(e)
	}
	return e, err
}

// Use opens an engine as New does, and gives it to all provers: Groth16 and PLONK, their set-ups
// and keys, circom's keys, KZG and Pedersen commitments compute on it wherever they are given no engine (nil).
// A prover's own Use counts before it. The engine of an earlier Use is given up, not closed: each
// is closed by its caller, once nothing uses it any more.
func Use(ctx context.Context, cfg engine.Config) (*engine.Engine, error) {
	e, err := New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	inuse.Set(e)
	return e, nil
}
