package proving

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/engine"
)

// numbered is a witness that has a number only.
type numbered struct {
	witness.Witness
	n int
}

var errOdd = errors.New("odd")

// scheme proves a number by itself. Odd ones fail; each waits for its turn to end.
type scheme struct {
	working, most atomic.Int64
	end           func(ctx context.Context, n int) error
}

func (s *scheme) Prove(ctx context.Context, _ constraint.ConstraintSystem, w witness.Witness, _ *gnark.ProverConfig) (int, error) {
	now := s.working.Add(1)
	defer s.working.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	n := w.(numbered).n
	if err := s.end(ctx, n); err != nil {
		return 0, err
	}
	if n%2 == 1 {
		return 0, fmt.Errorf("%d: %w", n, errOdd)
	}
	return n, nil
}

func (s *scheme) In(context.Context, *engine.Engine) (Scheme[int], error) { return s, nil }
func (s *scheme) CheckKey(context.Context) error                          { return nil }
func (s *scheme) Close() error                                            { return nil }

func key(t *testing.T, s *scheme) *Key[int] {
	t.Helper()
	k, err := Load(t.Context(), nil, Options[int]{}, func(context.Context, *engine.Engine) (Scheme[int], error) { return s, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

// upTo yields n witnesses from 0 on, and counts those that were asked for.
func upTo(n int, asked *atomic.Int64) iter.Seq[witness.Witness] {
	return func(yield func(witness.Witness) bool) {
		for i := range n {
			asked.Add(1)
			if !yield(numbered{n: i}) {
				return
			}
		}
	}
}

// TestProveAll lets later proofs end first. They must come in order, with at most three
// in flight, and one that fails must not end the others.
func TestProveAll(t *testing.T) {
	const n, inFlight = 30, 3
	done := make([]chan struct{}, n) // and closed at the end, in reverse in each three
	for i := range done {
		done[i] = make(chan struct{})
	}
	var begun [n / inFlight]sync.WaitGroup
	for i := range begun {
		begun[i].Add(inFlight)
	}
	s := &scheme{end: func(_ context.Context, i int) error {
		three := &begun[i/inFlight]
		three.Done()
		three.Wait()
		if i%inFlight < inFlight-1 {
			<-done[i+1]
		}
		close(done[i])
		return nil
	}}
	var asked atomic.Int64
	i := 0
	for got, err := range key(t, s).ProveAll(t.Context(), nil, upTo(n, &asked), inFlight, nil) {
		if i%2 == 0 && (got != i || err != nil) || i%2 == 1 && !errors.Is(err, errOdd) {
			t.Errorf("%d: %d, %v", i, got, err)
		}
		if ahead := asked.Load() - int64(i); ahead > inFlight+2 {
			t.Errorf("%d witnesses ahead", ahead)
		}
		i++
	}
	if most := s.most.Load(); i != n || most != inFlight {
		t.Errorf("%d proofs of %d, %d at a time, want %d", i, n, most, inFlight)
	}
}

// TestProveAllIsLeft leaves the loop: proofs in flight are cancelled and over then.
func TestProveAllIsLeft(t *testing.T) {
	s := &scheme{end: func(ctx context.Context, i int) error {
		if i < 4 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	var asked atomic.Int64
	var got []int
	for p := range key(t, s).ProveAll(t.Context(), nil, upTo(1000, &asked), 2, nil) {
		if got = append(got, p); len(got) == 3 {
			break
		}
	}
	if want := []int{0, 0, 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := s.working.Load(); n != 0 {
		t.Errorf("%d are still worked at", n)
	}
	if n := asked.Load(); n > 8 {
		t.Errorf("%d witnesses were asked for", n)
	}
}

// TestProveAllEnds cancels the context. Each proof in flight must report that, and the
// rest once.
func TestProveAllEnds(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &scheme{end: func(ctx context.Context, i int) error {
		if i == 4 {
			time.AfterFunc(time.Millisecond, func() { cancel(cause) })
		}
		if i >= 4 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	var asked atomic.Int64
	var errs []error
	for _, err := range key(t, s).ProveAll(ctx, nil, upTo(1000, &asked), 2, nil) {
		if err != nil && !errors.Is(err, errOdd) {
			errs = append(errs, err)
		}
	}
	if n := len(errs); n < 2 || n > 4 || !errors.Is(errs[n-1], context.Canceled) || !errors.Is(errs[n-1], cause) {
		t.Errorf("%v", errs)
	}
}
