//go:build cuda && cgo && linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
	"github.com/pippin-zk/pippin/internal/record"
)

var (
	refusingFor    = flag.Duration("refusing", 2*time.Second, "how long the card of TestRefusingCard refuses at random")
	refusingRecord = flag.String("refusing-record", "", "file for the record of TestRefusingCard")
	refusingCommit = flag.String("refusing-commit", "", "pippin's commit, for the record")
)

// refusingCallers is how many calls are made at a time.
const refusingCallers = 4

// backWithin is how soon a card answers calls again once it refuses no more. Where the processors have other
// work, and no record is written, it may take forgiven.
const backWithin, forgiven = 5 * time.Second, time.Minute

// refusals is what TestRefusingCard saw.
type refusals struct {
	Op            string  `json:"op"` // "refusing-card"
	Seed          uint64  `json:"seed"`
	Seconds       float64 `json:"seconds"`         // of refusals
	Shortages     int     `json:"shortages"`       // times that a neighbour took the memory
	Rules         int     `json:"rules"`           // times that calls of the driver were refused
	Calls         uint64  `json:"calls"`           // all were answered, and right
	Sessions      uint64  `json:"sessions"`        // of these, programs over vectors
	ByCard        uint64  `json:"by_card"`         // of these, answered by the card
	FellBack      uint64  `json:"fell_back"`       // by the CPU
	BackAfterMS   float64 `json:"back_after_ms"`   // from the last refusal until the card answers all kinds of calls
	DegradedTimes int     `json:"degraded_events"` // events of a lasting fall-back
}

// TestRefusingCard: a card refuses at random, since neighbours take its memory and since its driver does. Every call
// is right all the same, and the card answers soon after the end: within 5 s where that is recorded. With
// -refusing it does for longer.
func TestRefusingCard(t *testing.T) {
	if os.Getenv(noKernels) == "" {
		cudatest.OnFake(t)
		args := []string{"-test.run=^TestRefusingCard$", "-test.v", fmt.Sprintf("-test.timeout=%v", 5*time.Minute+*refusingFor)}
		flag.Visit(func(f *flag.Flag) {
			if strings.HasPrefix(f.Name, "refusing") {
				args = append(args, fmt.Sprintf("-%s=%s", f.Name, f.Value))
			}
		})
		cmd := exec.Command(os.Args[0], append(args, fmt.Sprintf("-seed=%d", *seed))...)
		cmd.Env = append(os.Environ(), noKernels+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	if err := driver.Init(); err != nil {
		t.Fatal(err)
	}
	before := counted()
	w := newRefusing(t)
	r := w.storm()
	if err := w.e.Close(); err != nil {
		t.Error(err)
	}
	after := counted()
	delete(before, "unwiped_memory") // the neighbour's is, and what is no secret; TestFaults looks at ours
	delete(after, "unwiped_memory")
	if !maps.Equal(before, after) {
		t.Errorf("something is left:\n%v before\n%v after", before, after)
	}
	t.Logf("%+v", *r)
	if r.ByCard == 0 || r.FellBack == 0 || r.Sessions == 0 || r.Shortages == 0 || r.Rules == 0 {
		t.Errorf("that was no storm: %+v", *r)
	}
	if *refusingRecord == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(record.Record[refusals]{Machine: record.ThisMachine(*refusingCommit), Runs: []refusals{*r}}, "", "  ")
	if err == nil {
		err = os.WriteFile(*refusingRecord, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

// refusingWorld is an engine on a card that refuses.
type refusingWorld struct {
	*testing.T
	e        *engine.Engine
	points   *fixtures.Points
	bytes    []byte
	lasting  atomic.Int64
	sessions atomic.Uint64
	calls    atomic.Uint64
	byCard   atomic.Uint64
}

// answered counts a call.
func (w *refusingWorld) answered(by string) {
	w.calls.Add(1)
	if by == "card" {
		w.byCard.Add(1)
	}
}

// stormPoints is the points of each MSM.
const stormPoints = 20

func newRefusing(t *testing.T) *refusingWorld {
	t.Helper()
	w := &refusingWorld{T: t}
	var err error
	if w.points, err = fixtures.NewPoints(backend.BN254, backend.G1, *seed); err != nil {
		t.Fatal(err)
	}
	if w.bytes, err = w.points.Bytes(stormPoints); err != nil {
		t.Fatal(err)
	}
	w.e, err = engine.New(t.Context(), engine.Config{Backend: "card", OnEvent: func(ev engine.Event) {
		if ev.Kind == engine.EventFallback && ev.Lasting {
			w.lasting.Add(1)
		}
	}, Open: func(_ context.Context, name string) (backend.Backend, error) {
		if name == "cpu" {
			return cpu.New(cpu.Options{}), nil
		}
		return several(t, Options{Devices: "0"}), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.e.Close() })
	return w
}

// storm has callers compute while the card refuses, and waits until it answers them all again.
func (w *refusingWorld) storm() *refusals {
	r := &refusals{Op: "refusing-card", Seed: *seed, Seconds: refusingFor.Seconds()}
	stop, stopped := context.WithCancel(w.Context())
	var callers sync.WaitGroup
	kept := w.load()
	for i := range refusingCallers {
		callers.Go(func() {
			rng := rand.New(rand.NewPCG(*seed, uint64(i)))
			for stop.Err() == nil && !w.Failed() {
				w.call(rng, kept)
				time.Sleep(time.Millisecond)
			}
		})
	}
	other, err := driver.Open(0)
	if err != nil {
		w.Fatal(err)
	}
	defer other.Close()
	w.refuse(r, other)
	stopped()
	callers.Wait()
	if err := fakecuda.Fail("cuMemcpyHtoDAsync@1+=" + outOfMemory); err != nil {
		w.Fatal(err)
	}
	for range 8 { // nobody gives anything back now, which would have the card asked again
		w.msm(kept, 1)
	}
	fakecuda.Reset()
	ended, limit := time.Now(), forgiven
	if *refusingRecord != "" {
		limit = backWithin
	}
	for by := ""; by != "card"; {
		if time.Since(ended) > limit {
			w.Errorf("the card is not back after %v: %+v", limit, w.e.Stats().Backends[0])
			break
		}
		sum, _ := w.msm(kept, 1)
		if by = sum; by == "card" {
			by = w.program(1)
		}
		time.Sleep(5 * time.Millisecond)
	}
	r.BackAfterMS = float64(time.Since(ended).Microseconds()) / 1000
	if w.e.Stats().Degraded() {
		w.Errorf("the card answers, and the engine is degraded: %v", w.e.Stats().Backends[0].Err)
	}
	st := w.e.Stats()
	r.Calls, r.Sessions, r.ByCard = w.calls.Load(), w.sessions.Load(), w.byCard.Load()
	r.FellBack, r.DegradedTimes = st.FallBacks, int(w.lasting.Load())
	if st.Failed != 0 {
		w.Errorf("%d calls failed", st.Failed)
	}
	return r
}

// refuse has the card refuse at random for a while.
func (w *refusingWorld) refuse(r *refusals, other *driver.Device) {
	rng := rand.New(rand.NewPCG(*seed, 99))
	defer fakecuda.Reset()
	calls := []string{"cuMemAlloc", "cuMemHostAlloc", "cuStreamCreate", "cuEventCreate", "cuMemcpyHtoDAsync",
		"cuMemsetD8Async", "cuLaunchKernel"}
	for end := time.Now().Add(*refusingFor); time.Now().Before(end); {
		pause := 10*time.Millisecond + time.Duration(rng.Int64N(int64(min(*refusingFor/8, 3*time.Second))))
		if rng.IntN(2) == 0 {
			w.shortage(r, other, int64(rng.IntN(1<<16)), pause)
			continue
		}
		forever := ""
		if rng.IntN(2) == 0 {
			forever = "+"
		}
		rule := fmt.Sprintf("%s@%d%s=%s", calls[rng.IntN(len(calls))], 1+rng.IntN(4), forever, outOfMemory)
		if err := fakecuda.Fail(rule); err != nil {
			w.Fatal(err)
		}
		r.Rules++
		time.Sleep(pause)
		fakecuda.Reset()
	}
}

// shortage leaves some bytes of the card's memory for a while, if a neighbour can have the others.
func (w *refusingWorld) shortage(r *refusals, other *driver.Device, some int64, lasts time.Duration) {
	free, _, err := other.MemInfo()
	if err != nil {
		w.Fatal(err)
	}
	took, err := other.Alloc(max(free-some, 1))
	if err != nil {
		return
	}
	r.Shortages++
	time.Sleep(lasts)
	if err := took.Free(); err != nil {
		w.Error(err)
	}
}

// load loads the points.
func (w *refusingWorld) load() *engine.Bases {
	bases := backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: stormPoints, Bytes: w.bytes}
	b, err := w.e.Load(w.Context(), engine.Source{Bases: bases})
	if err != nil {
		w.Error(err)
	}
	return b
}

// call makes one of the calls of the storm: an MSM over points that stay, or over some that are loaded for it, or a
// program over vectors.
func (w *refusingWorld) call(rng *rand.Rand, kept *engine.Bases) {
	switch rng.IntN(3) {
	case 0:
		w.msm(kept, rng.Uint64())
	case 1:
		own := w.load()
		if own == nil {
			return
		}
		w.msm(own, rng.Uint64())
		if err := own.Close(); err != nil && backend.FaultOf(err) != backend.FaultBackend { // the card may refuse to wipe
			w.Error(err)
		}
	default:
		w.program(rng.Uint64())
	}
}

// msm computes an MSM and compares it. It returns who did.
func (w *refusingWorld) msm(b *engine.Bases, salt uint64) (by string, err error) {
	scalars, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, salt, stormPoints)
	if err != nil {
		w.Error(err)
		return "", err
	}
	got, by, err := w.e.MSM(w.Context(), []engine.Request{{Bases: b, Count: stormPoints, Scalars: scalars}})
	w.answered(by)
	want, wrong := w.points.Expected(0, scalars)
	if err = errors.Join(err, wrong); err != nil || !bytes.Equal(got[0], want) {
		w.Errorf("an MSM by %q is wrong: %v", by, err)
	}
	return by, err
}

// program writes a vector, copies it on the card and reads it. It returns who did.
func (w *refusingWorld) program(salt uint64) (by string) {
	const n = 64
	in := elements(salt>>1, n)
	var got [][]byte
	space := engine.Space{Elements: backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: n}}
	by, err := w.e.Repeat(w.Context(), space, func(ctx context.Context, s *engine.Session) (err error) {
		got, err = s.Run(ctx, []backend.Step{write(s.Space(), 0, in), read(s.Space(), 0, n)})
		return err
	})
	w.answered(by)
	w.sessions.Add(1)
	if err != nil || !bytes.Equal(got[1], in) {
		w.Errorf("a program by %q is wrong: %v", by, err)
	}
	return by
}
