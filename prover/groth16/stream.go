package groth16

import (
	"context"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/proving"
)

// A proof of a small circuit does not fill a backend. So the proofs of a stream share requests once
// their circuits are solved: the transforms of all are rows, and their sums over the same points follow
// one another, so that a backend may compute them as one. No proof waits until a request is full: a
// request takes the proofs that were solved while the requests before it ran.

const (
	// streamDomain is the largest domain of circuits whose proofs share requests.
	streamDomain = 1 << 16
	// streamLanes is how many requests are computed at a time for each device: a request is computed on
	// one. With two a device has work while this process puts the next request together.
	streamLanes = 2
	// streamProofs is the most proofs that share a request, and streamBytes the most bytes of its session:
	// both lanes find that room on a card that is full of keys, for resident.LoadBeside keeps as much.
	streamProofs, streamBytes = 64, 64 << 20
)

// stream lets the proofs of a call of ProveAll share requests.
type stream[P1, P2 any, S comparable] struct {
	p    *prover[P1, P2, S]
	ctx  context.Context
	most int // the most proofs of a request

	mu      sync.Mutex
	waiting []*joint[P1, P2, S]
	free    int // lanes that are not at work
}

// joint is a proof that shares requests.
type joint[P1, P2 any, S comparable] struct {
	pending[P1, P2, S]
	done chan error
}

// Stream returns the prover for the proofs of a stream. It returns nil for large circuits, for
// merged points, and without a backend that computes programs.
func (p *prover[P1, P2, S]) Stream(ctx context.Context) proving.Scheme[Proof] {
	quotient, wires := p.onBackend()
	if !quotient || !wires || p.domain.Size > streamDomain {
		return nil
	}
	own := *p
	most := streamBytes / (p.proofElements() * p.vectors.Curve().ScalarBytes())
	own.stream = &stream[P1, P2, S]{p: p, ctx: ctx, most: max(1, min(most, streamProofs)),
		free: streamLanes * max(1, len(p.engine.Info().Devices))}
	return &own
}

// sums computes the sums of a proof, together with those of other proofs of the stream.
func (s *stream[P1, P2, S]) sums(of pending[P1, P2, S]) error {
	j := &joint[P1, P2, S]{of, make(chan error, 1)}
	s.mu.Lock()
	s.waiting = append(s.waiting, j)
	begin := s.free > 0
	if begin {
		s.free--
	}
	s.mu.Unlock()
	if begin {
		go s.lane()
	}
	// The lane reads this proof's memory until then. It ends soon after the context.
	return <-j.done
}

// lane computes the waiting proofs until none waits.
func (s *stream[P1, P2, S]) lane() {
	for {
		s.mu.Lock()
		n := min(len(s.waiting), s.most)
		if n == 0 {
			s.free++
			s.mu.Unlock()
			return
		}
		some := s.waiting[:n:n]
		s.waiting = s.waiting[n:]
		s.mu.Unlock()
		of := make([]pending[P1, P2, S], n)
		for i, j := range some {
			of[i] = j.pending
		}
		err := s.together(of)
		for _, j := range some {
			j.done <- err
		}
	}
}

// together computes the sums of some proofs by one program.
func (s *stream[P1, P2, S]) together(of []pending[P1, P2, S]) error {
	p := s.p
	_, err := p.vectors.Repeat(s.ctx, p.engine, len(of)*p.proofElements(), p.compute(of...))
	if err != nil && s.ctx.Err() != nil {
		return backend.Ended(s.ctx)
	}
	return err
}
