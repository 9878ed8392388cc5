package pippin_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/plugin"
	"github.com/pippin-zk/pippin/vector"
)

// These tests run on any plugin: go test . -backend plugin:cuda -plugins DIR.
var (
	backendName = flag.String("backend", "plugin:cpu", "the plugin that is tested")
	pluginsAt   = flag.String("plugins", "", "folder with it; without one the CPU plugin is built")
	cases       = flag.Int("cases", 200, "cases of TestNoDifference")
	kills       = flag.Int("kills", 20, "times that TestKilledPlugin kills the plugin")
	full        = flag.Bool("full", false, "TestConformance on all groups")
	seed        = flag.Uint64("seed", rand.Uint64(), "seed of TestNoDifference")
)

// program is what the plugin's process is called.
func program() string { return plugin.Prefix + strings.TrimPrefix(*backendName, "plugin:") }

// pluginDir is a folder with the plugin. A freshly built one is made once.
var pluginDir = sync.OnceValues(func() (string, error) {
	if *pluginsAt != "" {
		return *pluginsAt, nil
	}
	dir, err := os.MkdirTemp("", "pippin-test-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", dir+"/", "./cmd/msm-backend-cpu")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := pluginDir(); err == nil && dir != *pluginsAt {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func opener(t testing.TB) engine.Opener {
	t.Helper()
	dir, err := pluginDir()
	if err != nil {
		t.Fatal(err)
	}
	return pippin.Opener(pippin.Options{PluginDirs: []string{dir}})
}

// TestConformance runs the suite of every backend through a plugin process. What
// groups differ in there is the length of points and scalars: without -full one
// group of each runs.
func TestConformance(t *testing.T) {
	open := opener(t)
	opened := func(t testing.TB) backend.Backend {
		b, err := open(context.Background(), *backendName)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	run := func(curves []backend.Curve, groups []backend.Group) {
		backendtest.Run(t, opened, backendtest.Options{Curves: curves, Groups: groups, Logs: []int{6, 10}})
	}
	if *full {
		run(nil, nil)
		return
	}
	backendtest.RunNumbers(t, opened, backendtest.Options{})
	run([]backend.Curve{backend.BN254, backend.BLS12381}, nil)
	run([]backend.Curve{backend.BW6761}, []backend.Group{backend.G1})
}

// TestNoDifference compares the plugin with the process itself.
func TestNoDifference(t *testing.T) {
	open := opener(t)
	a, err := open(t.Context(), "cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := open(t.Context(), *backendName)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	backendtest.Difference(t, a, b, *seed, *cases)
}

// children are the running child processes of this one called name.
func children(t testing.TB, name string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		text := string(b)
		open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
		if open < 0 || end < open || text[open+1:end] != name[:min(15, len(name))] {
			continue
		}
		f := strings.Fields(text[end+1:])
		pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
		if err == nil && len(f) > 1 && f[0] != "Z" && f[1] == strconv.Itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// input is n points and uniform scalars with their MSM, from fixtures.
func input(t testing.TB, n int) ([]bn254.G1Affine, []fr.Element, bn254.G1Affine) {
	t.Helper()
	p, err := fixtures.NewPoints(backend.BN254, backend.G1, 1)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := p.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	points, err := layout.View[bn254.G1Affine](raw)
	if err != nil {
		t.Fatal(err)
	}
	rawScalars, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, rand.Uint64(), n)
	if err != nil {
		t.Fatal(err)
	}
	scalars, err := layout.View[fr.Element](rawScalars)
	if err != nil {
		t.Fatal(err)
	}
	rawSum, err := p.Expected(0, rawScalars)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := layout.View[bn254.G1Affine](rawSum)
	if err != nil {
		t.Fatal(err)
	}
	return points, scalars, sum[0]
}

// TestKilledPlugin kills the plugin at random moments of calls, in the copy,
// in the computation and in between: every call must give the right answer.
func TestKilledPlugin(t *testing.T) {
	e := toBeKilled(t)
	points, scalars, want := input(t, 1<<13)
	bases, err := msm.BN254G1.Load(t.Context(), e, points)
	if err != nil {
		t.Fatal(err)
	}
	killing(t, func(ctx context.Context) {
		got, err := bases.MSM(ctx, scalars)
		if err != nil || got != want {
			t.Errorf("wrong point or error: %v", err)
		}
	})

	// The same, with the scalars on the backend and through transforms.
	n, times := len(scalars), 0
	killing(t, func(ctx context.Context) {
		var sum *vector.Answer[bn254.G1Affine]
		var back *vector.Answer[[]fr.Element]
		_, err := vector.BN254.Repeat(ctx, e, 2*n, func(ctx context.Context, s *vector.BN254Session) error {
			times++
			v, w := s.New(n), s.New(n)
			p := s.Program()
			p.Write(v, scalars)
			p.Transform(w, v, vector.Transform[fr.Element]{To: backend.Reversed})
			if err := p.Run(ctx); err != nil {
				return err
			}
			p.Transform(w, w, vector.Transform[fr.Element]{From: backend.Reversed, Inverse: true})
			sum, back = vector.Commit(p, bases, w), p.Read(w)
			return p.Run(ctx)
		})
		if err != nil || sum.Get() != want || !slices.Equal(back.Get(), scalars) {
			t.Errorf("wrong vectors or error: %v", err)
		}
	})
	t.Logf("programs were begun %d times", times)
}

// toBeKilled is an engine for killing, on a plugin alone.
func toBeKilled(t *testing.T) *engine.Engine {
	t.Helper()
	if testing.Short() {
		*kills = min(*kills, 10)
	}
	dir, err := pluginDir()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{
		Open: pippin.Opener(pippin.Options{PluginDirs: []string{dir}}), Backend: *backendName, Fallbacks: []string{engine.NoFallback},
		Restarts: 1000, RetryPause: time.Millisecond, RetryMax: time.Millisecond, // the point is the repetition
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// killing calls f while the plugin is killed at random moments.
func killing(t *testing.T, f func(context.Context)) {
	for killed := 0; killed < *kills && !t.Failed(); {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f(context.Background())
		}()
		time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
		for _, pid := range children(t, program()) {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
				break
			}
		}
		<-done
	}
}

// TestPluginThatKeepsDying has the CPU take over from it.
func TestPluginThatKeepsDying(t *testing.T) {
	e, err := engine.New(t.Context(), engine.Config{Open: opener(t), Backend: *backendName, RetryPause: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	points, scalars, want := input(t, 100)
	bases, err := msm.BN254G1.Load(t.Context(), e, points)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; e.Backend() == *backendName; i++ {
		if i > 10 {
			t.Fatal("it is opened again at once for ever")
		}
		for _, pid := range children(t, program()) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if got, err := bases.MSM(t.Context(), scalars); err != nil || got != want {
			t.Fatalf("wrong point or error: %v", err)
		}
	}
	if e.Backend() != "cpu" {
		t.Errorf("on %s", e.Backend())
	}
}

// TestStoppedPlugin: with the defaults calls that have 500 ms are answered by the CPU
// while the plugin is stopped, with scalars in memory that it may still read, and by the
// plugin when it goes on.
func TestStoppedPlugin(t *testing.T) {
	e, err := engine.New(t.Context(), engine.Config{Open: opener(t), Backend: *backendName})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	points, scalars, want := input(t, 50) // the CPU needs a millisecond, also on a busy machine
	bases, err := msm.BN254G1.Load(t.Context(), e, points)
	if err != nil {
		t.Fatal(err)
	}
	call := func() (took time.Duration) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		begin := time.Now()
		s, err := msm.BN254G1.NewScalars(ctx, e, len(scalars))
		if err != nil {
			t.Fatal(err)
		}
		copy(s.Slice(), scalars)
		if got, err := bases.MSM(ctx, s.Slice()); err != nil || got != want {
			t.Fatalf("wrong point or error after %v: %v", time.Since(begin), err)
		}
		clear(s.Slice()) // nobody reads them any more, whatever the plugin does
		s.Free()
		return time.Since(begin)
	}
	call()
	pid := e.Info().PID
	defer syscall.Kill(pid, syscall.SIGCONT)
	for range 2 {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		var slowest time.Duration
		for range 5 {
			slowest = max(slowest, call())
		}
		t.Logf("the slowest call while it is stopped took %v", slowest)
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); e.Stats().Backends[0].State != engine.StateReady; call() {
			if time.Now().After(end) {
				t.Fatalf("it is %+v", e.Stats().Backends[0])
			}
		}
		call()
	}
	if st := e.Stats().Backends[0]; st.Deaths != 0 || st.Answered == 0 {
		t.Errorf("%+v", st)
	}
}

// TestGivenUpPluginIsKilled: a stopped plugin that was given up lived on for 6 s beside its
// replacement, and the engine's Close waited for it.
func TestGivenUpPluginIsKilled(t *testing.T) {
	gone := make(chan struct{}, 100)
	e, err := engine.New(t.Context(), engine.Config{
		Open: opener(t), Backend: *backendName, PingEvery: 50 * time.Millisecond, PingTimeout: time.Second,
		OnEvent: func(ev engine.Event) {
			if ev.Kind == engine.EventGone {
				gone <- struct{}{}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	pid := e.Info().PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-gone
	begin := time.Now()
	for end := begin.Add(4 * time.Second); slices.Contains(children(t, program()), pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it lives on")
		}
	}
	t.Logf("it ended after %v", time.Since(begin))
	begin = time.Now()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("Close took %v", took)
	}
}

// TestSharedScalarsOutliveAKill writes scalars once in shared memory and uses
// them on a plugin, on its successor and in process.
func TestSharedScalarsOutliveAKill(t *testing.T) {
	e, err := engine.New(t.Context(), engine.Config{Open: opener(t), Backend: *backendName})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	points, scalars, want := input(t, 5000)
	bases, err := msm.BN254G1.Load(t.Context(), e, points)
	if err != nil {
		t.Fatal(err)
	}
	s, err := msm.BN254G1.NewScalars(t.Context(), e, len(scalars))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Free()
	copy(s.Slice(), scalars)
	for _, between := range []func(){
		func() {},
		func() {
			for _, pid := range children(t, program()) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		},
		func() {
			if err := e.Use(t.Context(), "cpu"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		between()
		if got, err := bases.MSM(t.Context(), s.Slice()); err != nil || got != want {
			t.Fatalf("wrong point or error: %v", err)
		}
	}
}

func TestTwoEnginesOnOneFolder(t *testing.T) {
	points, scalars, want := input(t, 1000)
	var wg sync.WaitGroup
	for range 2 {
		e, err := engine.New(t.Context(), engine.Config{Open: opener(t), Backend: *backendName, Fallbacks: []string{engine.NoFallback}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		wg.Go(func() {
			bases, err := msm.BN254G1.Load(t.Context(), e, points)
			if err != nil {
				t.Error(err)
				return
			}
			for range 5 {
				if got, err := bases.MSM(t.Context(), scalars); err != nil || got != want {
					t.Errorf("wrong point or error: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestUnknownBackends(t *testing.T) {
	for _, name := range []string{"gpu", "", "plugin:", "plugin:nobody-has-this", "plugin:/no/such/file"} {
		_, err := opener(t)(t.Context(), name)
		if !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
