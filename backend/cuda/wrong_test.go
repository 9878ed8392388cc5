//go:build cuda && cgo && linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/fixtures"
)

// The rules by which the fake driver spoils what cards answer.
const spoilsFirst, spoilsSecond = "spoil#0@1+=1", "spoil#1@1+=1"

// knownSum is an Options.Test: an MSM of a few points.
func knownSum(t testing.TB) func(context.Context, backend.Backend) error {
	t.Helper()
	l := newLife(t, true)
	return func(ctx context.Context, card backend.Backend) error {
		id, err := card.LoadBases(ctx, l.bases)
		if err != nil {
			return nil
		}
		out, err := card.MSM(ctx, []backend.Job{{Bases: id, Count: l.bases.Count, Input: backend.Input{Bytes: l.scalars}}})
		if freed := card.FreeBases(ctx, id); err == nil && freed == nil && !bytes.Equal(out[0], l.want) {
			return errWrong
		}
		return nil
	}
}

// retired lists which devices are retired.
func retired(b *Backend) (which []bool) {
	for _, d := range b.Usage().Devices {
		which = append(which, d.Retired != "")
	}
	return which
}

// TestWrongCard: of two cards one computes wrongly. It is found, and named; calls go on with the other one, those
// in flight included. It does not come back.
func TestWrongCard(t *testing.T) {
	if !quickly(t) {
		return
	}
	j := newJournal()
	o := Options{Devices: "0-1", tests: &hooks{rules: tiny, retry: time.Millisecond}, Log: j.log(), Test: knownSum(t)}
	b := several(t, o)
	l := withBases(t, b, 40)
	for range 2 {
		if err := b.Test(t.Context()); err != nil || retired(b)[0] || retired(b)[1] {
			t.Fatalf("two good cards: %v, %v", err, retired(b))
		}
	}
	cudatest.Fail(t, spoilsSecond)
	if l.check(t.Context(), t, 1, true) == nil {
		t.Fatal("the fake does not spoil the second card's answers")
	}
	if err := b.Test(t.Context()); err != nil {
		t.Errorf("one of two cards is wrong: %v", err)
	}
	if w := retired(b); w[0] || !w[1] {
		t.Errorf("retired: %v", w)
	}
	if why := b.Usage().Devices[1].Retired; !strings.Contains(why, "GPU 1 (GPU-") || !strings.Contains(why, errWrong.Error()) {
		t.Errorf("retired for %q", why)
	}
	for i := range 5 {
		if err := l.check(t.Context(), t, uint64(i), true); err != nil {
			t.Errorf("the other card alone: %v", err)
		}
	}
	j.count(t, "computes wrongly", 1)
	cudatest.Fail(t, spoilsFirst)
	if err := b.Test(t.Context()); !errors.Is(err, backend.ErrGone) {
		t.Errorf("both cards are wrong: %v", err)
	}
	select {
	case <-b.Done():
	case <-time.After(time.Minute):
		t.Error("no card is left, and the backend is not done")
	}
}

// TestWrongInFlight: an answer of a card that is found to be wrong meanwhile is computed again on another.
func TestWrongInFlight(t *testing.T) {
	if !quickly(t) {
		return
	}
	b := several(t, Options{Devices: "0-1", tests: &hooks{rules: tiny}, Test: knownSum(t)})
	l := withBases(t, b, 40)
	cudatest.Fail(t, spoilsSecond)
	scalars, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, *seed, 40)
	if err != nil {
		t.Fatal(err)
	}
	second := b.seats[1].card
	ready := func(context.Context, int) error { // as Test does, which waits for the card
		second.wrong.CompareAndSwap(nil, &errWrong)
		b.lose(second)
		return nil
	}
	got, err := b.MSM(t.Context(), []backend.Job{{Bases: l.id, Count: 40, Input: backend.Input{Bytes: scalars, Ready: ready}}})
	if err != nil {
		t.Fatal(err)
	}
	if want, err := l.points.Expected(0, scalars); err != nil || !bytes.Equal(got[0], want) {
		t.Errorf("the answer of a card that was retired during the call counts (%v)", err)
	}
	if !retired(b)[1] {
		t.Error("the card is not retired")
	}
}

// TestWrongAtOpening: a card that computes wrongly when it is opened is left out although the list names it, and
// without another the backend does not open.
func TestWrongAtOpening(t *testing.T) {
	if !quickly(t) {
		return
	}
	known := knownSum(t)
	wrong := func(names ...string) Options {
		return Options{Devices: "0-1", tests: &hooks{rules: tiny}, Test: func(ctx context.Context, card backend.Backend) error {
			for _, n := range names {
				if strings.Contains(card.Info().Devices[0].Detail, n) {
					return errWrong
				}
			}
			return known(ctx, card)
		}}
	}
	whole := several(t, wrong())
	second, _, _ := strings.Cut(whole.Info().Devices[1].Detail, ",")
	b := several(t, wrong(second))
	if w := retired(b); len(b.Info().Devices) != 2 || w[0] || !w[1] {
		t.Errorf("retired: %v", w)
	}
	if err := withBases(t, b, 40).check(t.Context(), t, 1, true); err != nil {
		t.Error(err)
	}
	if b, err := Open(wrong("GPU-")); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), errWrong.Error()) {
		t.Errorf("no card is right: %v", err)
		b.Close()
	}
}

// TestWrongWhenBack: a card that was lost and computes wrongly when it is back is not used.
func TestWrongWhenBack(t *testing.T) {
	if !quickly(t) {
		return
	}
	j := newJournal()
	b := several(t, Options{Devices: "0-1", tests: &hooks{rules: tiny, retry: time.Millisecond}, Log: j.log(), Test: knownSum(t)})
	l := withBases(t, b, 40)
	cudatest.Fail(t, "cuLaunchKernel#1@1="+launchFails+","+spoilsSecond)
	if err := l.check(t.Context(), t, 1, true); err != nil {
		t.Error(err)
	}
	j.count(t, "computes wrongly and is not used any more", 1)
	for i := range 3 {
		if err := l.check(t.Context(), t, uint64(i), true); err != nil {
			t.Errorf("the other card alone: %v", err)
		}
	}
	if w := retired(b); w[0] || !w[1] {
		t.Errorf("retired: %v", w)
	}
}
