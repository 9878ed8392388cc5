package pippin_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"go.uber.org/goleak"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
)

var storm = flag.Duration("storm", 3*time.Second, "how long TestStorm lasts")

// stormCallers is how many goroutines call the engine at the same time.
const stormCallers = 64

// enoughTime is the deadline from which on no call may fail: the CPU can answer it, even
// if the plugin is stopped under the call. When 64 calls are too much for this machine's
// processors, that is not the engine's fault, if it has left the CPU cpuShare of the time, or
// if this process has waited for a processor for so long.
const (
	enoughTime = 500 * time.Millisecond
	cpuShare   = 10
)

// lag adds up by how much short sleeps are late: how long this process waits for a processor.
type lag struct {
	mu    sync.Mutex
	late  time.Duration // of the sleeps that have ended
	began time.Time     // the one that goes on
}

// lagPause is how long a sleep is; one that is late by less than lagLeast does not count.
const lagPause, lagLeast = 5 * time.Millisecond, 10 * time.Millisecond

// watch sleeps until over is true.
func (l *lag) watch(over *atomic.Bool) {
	for !over.Load() {
		l.mu.Lock()
		l.late, l.began = l.sum(), time.Now()
		l.mu.Unlock()
		time.Sleep(lagPause)
	}
}

// total returns what there was since watch began.
func (l *lag) total() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum()
}

// sum returns late and by how much the sleep that goes on is late.
func (l *lag) sum() time.Duration {
	if late := time.Since(l.began) - lagPause; late >= lagLeast && !l.began.IsZero() {
		return l.late + late
	}
	return l.late
}

// asked is when the CPU was asked in a call, with which its context is marked.
type asked struct{ at time.Time }

// Begin implements engine.Observer.
func (s *stormy) Begin(ctx context.Context, p engine.Phase) (context.Context, func(error)) {
	if a, ok := ctx.Value(asked{}).(*asked); ok && p.Backend == "cpu" && a.at.IsZero() {
		a.at = time.Now()
	}
	return ctx, func(error) {}
}

// TestStorm has callers with random deadlines on an engine whose plugin is
// swapped, killed and stopped at random. No answer may be wrong, no call may
// fail but for its own deadline if that is short, and nothing may be left at the end.
func TestStorm(t *testing.T) {
	dir, err := pluginDir()
	if err != nil {
		t.Fatal(err)
	}
	s := newStorm(t)
	t.Setenv("TMPDIR", t.TempDir()) // where a plugin might leave something
	before := leftovers(t)
	goroutines := goleak.IgnoreCurrent()

	open := pippin.Opener(pippin.Options{PluginDirs: []string{dir}})
	s.e, err = engine.New(t.Context(), engine.Config{
		Open: open, Backend: *backendName,
		PingEvery: 200 * time.Millisecond, PingTimeout: 500 * time.Millisecond, PingMisses: 2,
		RetryPause: time.Millisecond, RetryMax: time.Millisecond, // the point is the repetition
		OnEvent: s.event, Observer: s,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.load()
	var callers sync.WaitGroup
	callers.Go(func() { s.lag.watch(&s.over) })
	for range stormCallers {
		callers.Go(s.caller)
	}
	end := time.Now().Add(*storm)
	for time.Now().Before(end) && !t.Failed() {
		s.strike()
		time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond)
	}
	s.over.Store(true)
	callers.Wait()
	s.uses.Wait()
	stats := s.e.Stats()
	for _, b := range s.bases {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if st := s.e.Stats(); st.InFlight != 0 || st.Waiting != 0 || st.Shared != 0 || st.Bases != 0 {
		t.Errorf("left in the engine: %+v", st)
	}
	if err := s.e.Close(); err != nil {
		t.Error(err)
	}
	for _, b := range s.e.Stats().Backends {
		if b.Resident != 0 || b.InFlight != 0 {
			t.Errorf("left in a backend: %+v", b)
		}
	}
	t.Logf("%d calls answered, %d by the fallback, %d ended by their deadlines, %d of at least %v were too slow; struck %v; events %v; %+v",
		s.answered.Load(), stats.FallBacks, s.late.Load(), s.slow.Load(), enoughTime, s.strikes, s.events, stats.Backends)
	if s.answered.Load() == 0 {
		t.Error("no call was answered")
	}
	var left error
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left = goleak.Find(goroutines)
		if after := leftovers(t); left == nil && after != before {
			left = fmt.Errorf("left: %s, before: %s", after, before)
		}
		if left == nil || time.Now().After(end) {
			break
		}
	}
	if left != nil {
		t.Error(left)
	}
}

// leftovers counts what a plugin's life takes: its process, our descriptors and
// shared memory, files in TMPDIR.
func leftovers(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var descriptors []string
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil { // or it is the one that ReadDir had
			descriptors = append(descriptors, to)
		}
	}
	slices.Sort(descriptors)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("processes %v, descriptors %q, %d mapped memory files, files %v",
		children(t, program()), descriptors, strings.Count(string(maps), "/memfd:"), files)
}

// stormy is a running TestStorm.
type stormy struct {
	t     *testing.T
	e     *engine.Engine
	sets  []stormSet
	bases []*msm.BN254G1Bases
	over  atomic.Bool
	lag   lag

	answered, late, slow atomic.Int64
	strikes              map[string]int
	using                atomic.Bool
	uses                 sync.WaitGroup

	mu     sync.Mutex
	events map[engine.EventKind]int
}

// stormSet is bases and scalars with a known answer.
type stormSet struct {
	points  []bn254.G1Affine
	scalars []fr.Element
	want    bn254.G1Affine
}

func newStorm(t *testing.T) *stormy {
	s := &stormy{t: t, strikes: map[string]int{}, events: map[engine.EventKind]int{}}
	for _, n := range []int{3, 10, 30} { // so that the CPU can answer 64 calls at once
		var set stormSet
		set.points, set.scalars, set.want = input(t, n)
		s.sets = append(s.sets, set)
	}
	return s
}

func (s *stormy) load() {
	for _, set := range s.sets {
		b, err := msm.BN254G1.Load(s.t.Context(), s.e, set.points)
		if err != nil {
			s.t.Fatal(err)
		}
		s.bases = append(s.bases, b)
	}
}

func (s *stormy) event(ev engine.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[ev.Kind]++
}

// strike does one thing to the engine or its plugin.
func (s *stormy) strike() {
	// The plugin that answers calls; killAny's may be one that is being opened.
	signal := func(sig syscall.Signal) func() {
		return func() {
			if pid := s.e.Info().PID; pid > 0 {
				_ = syscall.Kill(pid, sig)
			}
		}
	}
	killAny := func() {
		if pids := children(s.t, program()); len(pids) > 0 {
			_ = syscall.Kill(pids[rand.IntN(len(pids))], syscall.SIGKILL)
		}
	}
	use := func(limit time.Duration, names ...string) func() {
		return func() {
			if !s.using.CompareAndSwap(false, true) {
				return
			}
			s.uses.Go(func() {
				defer s.using.Store(false)
				ctx, cancel := context.WithTimeout(s.t.Context(), limit)
				defer cancel()
				for _, name := range names {
					// It may be killed or stopped while it is opened.
					if err := s.e.Use(ctx, name); err != nil && ctx.Err() == nil && backend.FaultOf(err) != backend.FaultGone {
						s.t.Errorf("Use %s: %v", name, err)
					}
				}
			})
		}
	}
	strikes := []struct {
		name   string
		weight int
		do     func()
	}{
		{"kill", 4, signal(syscall.SIGKILL)},
		{"kill any", 1, killAny},
		{"stop", 3, signal(syscall.SIGSTOP)},
		{"use", 2, use(time.Minute, *backendName)},
		{"hurried use", 1, use(time.Duration(rand.IntN(500))*time.Millisecond, *backendName)},
		{"use of the CPU", 1, use(time.Minute, "cpu", *backendName)},
	}
	strike := strikes[0]
	for at := rand.IntN(12); at >= 0; strikes = strikes[1:] {
		strike = strikes[0]
		at -= strike.weight
	}
	s.strikes[strike.name]++
	strike.do()
}

// caller makes one call after the other.
func (s *stormy) caller() {
	for !s.over.Load() && !s.t.Failed() {
		limit := time.Hour
		switch rand.IntN(3) {
		case 0:
			limit = rand.N(200 * time.Millisecond)
		case 1:
			limit = enoughTime + rand.N(enoughTime)
		}
		began, before := time.Now(), s.lag.total()
		got, want, left, err := s.call(limit)
		lag := s.lag.total() - before
		switch {
		case err == nil && got == want:
			s.answered.Add(1)
		case err == nil:
			s.t.Error("a wrong answer")
		case limit < enoughTime && errors.Is(err, context.DeadlineExceeded):
			s.late.Add(1)
		case max(left, lag) >= limit/cpuShare && errors.Is(err, context.DeadlineExceeded):
			s.slow.Add(1)
			s.t.Logf("a call that had %v was too slow on the CPU, which had %v of it; this process had no processor for %v", limit, left, lag)
		default:
			s.t.Errorf("a call that had %v failed after %v, the CPU had %v of it, this process had no processor for %v: %v",
				limit, time.Since(began), left, lag, err)
		}
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // it is about order, not speed
	}
}

// call makes an MSM with scalars from anywhere, on bases of all or its own. Each call of
// the engine's in it has so much time; left is what the CPU had of the last one's.
func (s *stormy) call(limit time.Duration) (got, want bn254.G1Affine, left time.Duration, err error) {
	var ends []context.CancelFunc
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	var by *asked
	var ctx context.Context
	limited := func() context.Context {
		by = &asked{}
		var end context.CancelFunc
		ctx, end = context.WithTimeout(context.WithValue(context.Background(), asked{}, by), limit)
		ends = append(ends, end)
		return ctx
	}
	defer func() {
		if deadline, _ := ctx.Deadline(); !by.at.IsZero() {
			left = deadline.Sub(by.at)
		}
	}()
	i := rand.IntN(len(s.sets))
	set, b := s.sets[i], s.bases[i]
	scalars := set.scalars
	switch rand.IntN(4) {
	case 0:
		shared, err := msm.BN254G1.NewScalars(limited(), s.e, len(scalars))
		if err != nil {
			return got, want, left, err
		}
		defer shared.Free()
		copy(shared.Slice(), scalars)
		scalars = shared.Slice()
	case 1:
		if b, err = msm.BN254G1.Load(limited(), s.e, set.points); err != nil {
			return got, want, left, err
		}
		defer func() { err = errors.Join(err, b.Close()) }()
	}
	got, err = b.MSM(limited(), scalars)
	return got, set.want, left, err
}
