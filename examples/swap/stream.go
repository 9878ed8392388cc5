package main

import (
	"context"
	"sync"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/msm"
)

// A workload is points and several vectors of scalars for them, each with the
// right answer.
type workload struct {
	points  []bn254.G1Affine
	scalars []fr.Vector
	answers []bn254.G1Affine
}

// vectors is how many different MSMs there are.
const vectors = 8

// newWorkload takes random multiples of the generator as points. It knows the factors,
// so it computes the right answer without an MSM: the generator times the inner product
// of factors and scalars.
func newWorkload(n int) *workload {
	_, _, g, _ := bn254.Generators()
	factors := make(fr.Vector, n)
	factors.MustSetRandom()
	w := &workload{points: bn254.BatchScalarMultiplicationG1(&g, factors)}
	products := make([]fr.Element, vectors)
	for i := range products {
		s := make(fr.Vector, n)
		s.MustSetRandom()
		w.scalars = append(w.scalars, s)
		products[i] = s.InnerProduct(factors)
	}
	w.answers = bn254.BatchScalarMultiplicationG1(&g, products)
	return w
}

// A stream is goroutines that call MSM without a pause.
type stream struct {
	done    chan struct{}
	workers sync.WaitGroup
}

type g1Bases = msm.Bases[bn254.G1Affine, fr.Element]

func startStream(ctx context.Context, workers int, work *workload, bases *g1Bases, t *timeline) *stream {
	s := &stream{done: make(chan struct{})}
	for first := range workers {
		s.workers.Go(func() {
			for i := first; ; i++ {
				select {
				case <-s.done:
					return
				case <-ctx.Done():
					return
				default:
				}
				k := i % vectors
				start := time.Now()
				got, err := bases.MSM(ctx, work.scalars[k])
				if ctx.Err() != nil {
					return // the user's interrupt, not the engine's fault
				}
				t.call(time.Since(start), err, err == nil && got.Equal(&work.answers[k]))
			}
		})
	}
	return s
}

// stop starts no more calls and waits for those in flight.
func (s *stream) stop() {
	close(s.done)
	s.workers.Wait()
}
