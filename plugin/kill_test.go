//go:build linux

package plugin

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
)

// TestKilledAnytime kills the plugin at random moments of loads and calls. Each call succeeds or
// returns ErrGone at once. The next client with the same Memory works, and no shared memory is
// lost.
func TestKilledAnytime(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 8
	}
	spec := spec(t, "")
	spec.Memory = NewMemory(0)
	defer spec.Memory.Close()
	const n = 30_000
	b := plugintest.NewBN(n)
	var right, gone int
	var mu sync.Mutex
	var kept backend.Buffer // of a client long dead
	var whole time.Duration // how long the work below takes
	for range rounds {
		c, err := Open(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		if kept == nil {
			if kept, err = c.Alloc(ctx, len(b.Scalars)); err != nil {
				t.Fatal(err)
			}
			copy(kept.Bytes(), b.Scalars)
		}
		plugintest.Check(t, c, 10)
		if whole == 0 {
			begin := time.Now()
			if ok, err := once(c, b, kept.Bytes()); err != nil || !ok {
				t.Fatal(ok, err)
			}
			whole = time.Since(begin)
		}
		time.AfterFunc(rand.N(4*whole), func() { _ = processOf(c).Kill(ctx) })
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					ok, err := once(c, b, kept.Bytes())
					mu.Lock()
					switch {
					case errors.Is(err, backend.ErrGone):
						gone++
					case err != nil || !ok:
						t.Errorf("right %v, %v", ok, err)
					default:
						right++
					}
					mu.Unlock()
					if err != nil || !ok {
						return
					}
				}
			})
		}
		wg.Wait()
		begin := time.Now()
		if _, err := c.MSM(ctx, nil); !errors.Is(err, backend.ErrGone) || time.Since(begin) > 20*time.Second {
			t.Fatalf("after the death: %v in %v", err, time.Since(begin))
		}
		c.Close()
		if _, err := c.MSM(ctx, nil); !errors.Is(err, backend.ErrClosed) {
			t.Fatalf("closed: %v", err)
		}
		plugintest.Eventually(t, time.Minute, "staging is given back", func() bool { return c.staging.InUse() == 0 })
	}
	kept.Free()
	plugintest.Eventually(t, time.Minute, "shared memory is given back", func() bool { return spec.Memory.pool.InUse() == 0 })
	t.Logf("%d right answers, %d times ErrGone", right, gone)
	if gone < rounds {
		t.Errorf("ErrGone %d times in %d rounds", gone, rounds)
	}
}

func once(c *Client, b plugintest.BN, kept []byte) (right bool, err error) {
	id, err := c.LoadBases(ctx, b.Bases())
	if err != nil {
		return false, err
	}
	n := b.Loaded.Count
	for _, s := range [][]byte{b.Scalars, kept} {
		got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: s}}})
		if err != nil {
			return false, err
		}
		if !bytes.Equal(got[0], b.Want()) {
			return false, nil
		}
	}
	return true, c.FreeBases(ctx, id)
}
