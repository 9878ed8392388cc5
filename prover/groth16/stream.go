package groth16

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/proving"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/vector"
)

// A proof of a small circuit does not fill a backend. The proofs of a stream that have been
// solved share requests: their transforms are the rows of one program, and their sums over
// the same points one call, which a backend may compute as one. Nobody waits for more of
// them: a request has what was solved while the ones before it ran. Larger proofs are faster by
// themselves: their wires then stay in the backend's memory for all sums (ADR 21 has both).

const (
	// streamDomain is the largest domain of circuits whose proofs share requests.
	streamDomain = 1 << 14
	// streamLanes is how many requests there are at a time, so that the backend has work
	// while this process puts the next ones together.
	streamLanes = 2
	// streamProofs is how many proofs share a request, at most.
	streamProofs = 64
)

// stream has the proofs of a call of ProveAll share requests.
type stream[P1, P2 any, S comparable] struct {
	p    *prover[P1, P2, S]
	ctx  context.Context
	most int // proofs a request

	mu      sync.Mutex
	waiting []*joint[P1, P2, S]
	lanes   int // at work
}

// joint is the sums of one proof that shares requests.
type joint[P1, P2 any, S comparable] struct {
	sol          *solution[S]
	a, b         []S
	k            []S
	knowledge    [][]S
	coefficients []S // of the quotient
	out          *sums[P1, P2]
	done         chan error
}

// Stream returns the prover for the proofs of a stream. Without a backend that computes
// programs, and for large circuits and merged points, it returns nil.
func (p *prover[P1, P2, S]) Stream(ctx context.Context) proving.Scheme[Proof] {
	quotient, wires := p.onBackend()
	if !quotient || !wires || p.domain.Size > streamDomain {
		return nil
	}
	own := *p
	most := resident.MostAhead / (3 * p.domain.Size * p.vectors.Curve().ScalarBytes())
	own.stream = &stream[P1, P2, S]{p: p, ctx: ctx, most: max(1, min(most, streamProofs))}
	return &own
}

// msms computes what prover.msms computes, with others of the stream.
func (s *stream[P1, P2, S]) msms(ctx context.Context, mem *resident.Memory, sol *solution[S],
	com *committed[P1, S], out *sums[P1, P2]) error {
	p := s.p
	j := &joint[P1, P2, S]{sol: sol, out: out, done: make(chan error, 1)}
	// Each sum has scalars of its own: those that sums over other points use too would be
	// computed by themselves.
	var err error
	own := func(b *bases[P1, S], values []S) []S {
		if err != nil || b.table.Len() == 0 {
			return nil
		}
		v := resident.Scalars(ctx, mem, p.engine, p.g1, b.sel.Len(len(values)))
		if b.sel.All() {
			copy(v, values)
		} else {
			err = p.fr.Select(ctx, v, values, &b.sel)
		}
		return v
	}
	j.a, j.b, j.k = own(&p.a, sol.w), own(&p.b, sol.w), own(&p.k, sol.w)
	for i := range p.know {
		j.knowledge = append(j.knowledge, own(&p.know[i], com.values[i]))
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, j)
	begin := s.lanes < streamLanes
	if begin {
		s.lanes++
	}
	s.mu.Unlock()
	if begin {
		go s.lane()
	}
	// The lane reads this proof's memory until it says so. It ends soon after the context.
	return <-j.done
}

// lane computes what waits until nothing does.
func (s *stream[P1, P2, S]) lane() {
	for {
		s.mu.Lock()
		n := min(len(s.waiting), s.most)
		if n == 0 {
			s.lanes--
			s.mu.Unlock()
			return
		}
		some := s.waiting[:n:n]
		s.waiting = s.waiting[n:]
		s.mu.Unlock()
		err := s.together(some)
		for _, j := range some {
			clear(j.coefficients)
			j.done <- err
		}
	}
}

// together computes the sums of some proofs: those over wires while the backend computes the
// quotients, and then those over Z.
func (s *stream[P1, P2, S]) together(some []*joint[P1, P2, S]) error {
	p := s.p
	all, ctx := errgroup.WithContext(s.ctx)
	all.Go(func() error {
		if err := s.quotients(ctx, some); err != nil {
			return err
		}
		batch := resident.NewBatch(p.engine)
		for _, j := range some {
			resident.Add(ctx, batch, p.z.table, j.coefficients, resident.Never, &j.out.z)
		}
		return batch.Run(ctx)
	})
	all.Go(func() error {
		batch := resident.NewBatch(p.engine)
		for _, j := range some {
			resident.Add(ctx, batch, p.a.table, j.a, resident.Never, &j.out.a)
			resident.Add(ctx, batch, p.b.table, j.b, resident.Never, &j.out.b)
			resident.Add(ctx, batch, p.k.table, j.k, resident.Never, &j.out.k)
			for i := range p.know {
				resident.Add(ctx, batch, p.know[i].table, j.knowledge[i], resident.Never, &j.out.knowledge[i])
			}
		}
		return batch.Run(ctx)
	})
	all.Go(func() error {
		batch := resident.NewBatch(p.engine)
		for _, j := range some {
			resident.Add(ctx, batch, p.b2.table, j.b, resident.Never, &j.out.b2)
		}
		return batch.Run(ctx)
	})
	if err := all.Wait(); err != nil {
		if s.ctx.Err() != nil {
			return backend.Ended(s.ctx)
		}
		return err
	}
	return nil
}

// quotients computes the coefficients of the proofs' quotients.
func (s *stream[P1, P2, S]) quotients(ctx context.Context, some []*joint[P1, P2, S]) error {
	p, n := s.p, s.p.domain.Size
	sols := make([]*solution[S], len(some))
	for i, j := range some {
		sols[i] = j.sol
	}
	_, err := p.vectors.Repeat(ctx, p.engine, 3*n*len(some), func(ctx context.Context, session *vector.Session[S]) error {
		program := session.Program()
		h := p.quotientsOn(session, program, sols...)
		read := make([]*vector.Answer[[]S], len(some))
		for i := range read {
			read[i] = program.Read(h.Slice(i*n, (i+1)*n-1))
		}
		if err := program.Run(ctx); err != nil {
			return err
		}
		for i, j := range some {
			clear(j.coefficients)
			j.coefficients = read[i].Get()
		}
		return nil
	})
	return err
}
