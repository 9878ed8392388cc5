package local

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// slow is a Kernel whose sums begin and then wait until they may go on.
type slow struct {
	Kernel
	begun chan []byte // the scalars of a sum that has begun
	goOn  chan struct{}
}

func (s slow) NewSum() Sum { return &slowSum{s.Kernel.NewSum(), s} }

type slowSum struct {
	Sum
	slow
}

func (s *slowSum) Add(points, scalars []byte) error {
	s.begun <- scalars
	<-s.goOn
	return s.Sum.Add(points, scalars)
}

// TestCancelledCallWaitedForItsChunk: that took 8 s at 2^20 on two busy cores. Now the call returns
// at once while its chunk is computed. The caller has the scalars back, the bases are freed when
// the chunk has ended, and the copy is wiped.
func TestCancelledCallWaitedForItsChunk(t *testing.T) {
	const n = 100
	b, _, _, scalars := given(t, 0, 0, n)
	fast := b.group
	begun, goOn := make(chan []byte, 1), make(chan struct{})
	b.group = func(c backend.Curve, g backend.Group) Kernel { return slow{fast(c, g), begun, goOn} }
	id, err := b.LoadBases(t.Context(), backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n, Bytes: make([]byte, 64*n)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("not worth the wait")
	answered := make(chan error)
	go func() {
		_, err := b.MSM(ctx, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: scalars}}})
		answered <- err
	}()
	copied := <-begun
	cancel(cause)
	select {
	case err := <-answered:
		if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the cancelled call waits for what it computes")
	}
	want := bytes.Clone(scalars)
	clear(scalars) // the race detector sees whether somebody else touches them
	if !bytes.Equal(copied, want) {
		t.Error("the chunk is computed on the caller's scalars")
	}

	// The bases are in use.
	short, cancelled := context.WithCancel(t.Context())
	cancelled()
	if err := b.FreeBases(short, id); !errors.Is(err, context.Canceled) {
		t.Errorf("FreeBases while the bases are read: %v", err)
	}
	closed := make(chan error)
	go func() { closed <- b.Close() }()
	select {
	case <-closed:
		t.Error("closed while the bases are read")
	case <-time.After(10 * time.Millisecond):
	}
	close(goOn)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if !bytes.Equal(copied, make([]byte, len(copied))) {
		t.Error("the copy of the scalars is not wiped")
	}
}

// TestCallsGivenUpDoNotPileUp: the number of scalars on copies is bounded, and a call that waits
// for room can be cancelled.
func TestCallsGivenUpDoNotPileUp(t *testing.T) {
	const n = 10
	b, _, id, scalars := given(t, 0, 0, n)
	if !b.copies.left.TryAcquire(mostCopied - n + 1) {
		t.Fatal("there is no room")
	}
	job := []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: scalars}}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := b.MSM(ctx, job); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call without room: %v", err)
	}
	// A call that cannot be given up needs no room.
	if _, err := b.MSM(context.Background(), job); err != nil {
		t.Error(err)
	}
	b.copies.left.Release(mostCopied - n + 1)
	if _, err := b.MSM(t.Context(), job); err != nil {
		t.Error(err)
	}
	if !b.copies.left.TryAcquire(mostCopied) {
		t.Error("room was not given back")
	}
}
