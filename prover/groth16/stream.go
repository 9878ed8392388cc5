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

// A proof of a small circuit does not fill a backend. So the proofs of a stream share requests once
// their circuits are solved: their transforms are the rows of one program, and their sums over the
// same points are one call, which a backend may compute as one. No proof waits until a request is
// full: a request takes the proofs that were solved while the requests before it ran. Larger proofs
// are faster alone, because then their wires stay in the backend's memory for all sums (ADR 21 has
// both).

const (
	// streamDomain is the largest domain of circuits whose proofs share requests.
	streamDomain = 1 << 14
	// streamLanes is how many requests are computed at a time. With two the backend has work while
	// this process puts the next request together.
	streamLanes = 2
	// streamProofs is the most proofs that share a request.
	streamProofs = 64
)

// stream lets the proofs of a call of ProveAll share requests.
type stream[P1, P2 any, S comparable] struct {
	p    *prover[P1, P2, S]
	ctx  context.Context
	most int // the most proofs of a request

	mu      sync.Mutex
	waiting []*joint[P1, P2, S]
	lanes   int // lanes at work
}

// joint holds the sums of one proof that shares requests.
type joint[P1, P2 any, S comparable] struct {
	sol          *solution[S]
	a, b         []S
	k            []S
	knowledge    [][]S
	answer       []S // the coefficients of the quotient, to be wiped
	coefficients []S // these, or their copy
	out          *sums[P1, P2]
	done         chan error
}

// Stream returns the prover for the proofs of a stream. It returns nil for large circuits, for
// merged points, and without a backend that computes programs.
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

// msms computes what prover.msms computes, together with other proofs of the stream.
func (s *stream[P1, P2, S]) msms(ctx context.Context, mem *resident.Memory, sol *solution[S],
	com *committed[P1, S], out *sums[P1, P2]) error {
	p := s.p
	j := &joint[P1, P2, S]{sol: sol, out: out, done: make(chan error, 1)}
	// Each sum gets separate scalars. Sums over different points that shared scalars would be
	// computed alone. K's are the wires' own, where they are a part of them.
	var err error
	own := func(b *resident.Bases[P1, S], values []S) []S {
		if err != nil || b.Table.Len() == 0 {
			return nil
		}
		v := resident.Scalars(ctx, mem, p.engine, p.g1, b.Sel.Len(len(values)))
		if b.Sel.All() {
			copy(v, values)
		} else {
			err = p.fr.Select(ctx, v, values, &b.Sel)
		}
		return v
	}
	j.a, j.b = own(&p.a, sol.w), own(&p.b, sol.w)
	if lo, ok := p.k.Sel.Part(); ok {
		j.k = sol.w[lo : lo+p.k.Table.Len()]
	} else {
		j.k = own(&p.k, sol.w)
	}
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
	// The lane reads this proof's memory until then. It ends soon after the context.
	return <-j.done
}

// lane computes the waiting proofs until none waits.
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
			clear(j.answer)
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
			resident.Add(ctx, batch, p.z.Table, j.coefficients, resident.Never, &j.out.Z)
		}
		return batch.Run(ctx)
	})
	all.Go(func() error {
		batch := resident.NewBatch(p.engine)
		for _, j := range some {
			resident.Add(ctx, batch, p.a.Table, j.a, resident.Never, &j.out.A)
			resident.Add(ctx, batch, p.b.Table, j.b, resident.Never, &j.out.B)
			resident.Add(ctx, batch, p.k.Table, j.k, resident.Never, &j.out.K)
			for i := range p.know {
				resident.Add(ctx, batch, p.know[i].Table, j.knowledge[i], resident.Never, &j.out.knowledge[i])
			}
		}
		return batch.Run(ctx)
	})
	all.Go(func() error {
		batch := resident.NewBatch(p.engine)
		for _, j := range some {
			resident.Add(ctx, batch, p.b2.Table, j.b, resident.Never, &j.out.B2)
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
			clear(j.answer)
			j.answer = read[i].Get()
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, j := range some {
		if j.coefficients = j.answer; j.sol.lent != nil {
			// The backend reads them where it has read the values of A, which nobody needs any more.
			j.coefficients = j.sol.a[:n-1]
			copy(j.coefficients, j.answer)
		}
	}
	return nil
}
