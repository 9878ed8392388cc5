//go:build linux

package plugin

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/process"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// within fails the test if f does not end in time, but waits for f in any case.
func within(t *testing.T, limit time.Duration, what string, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	if d := time.Since(begin); d > limit {
		t.Errorf("%s took %v", what, d)
	}
}

// stopped opens a plugin with bases and a space and stops it with SIGSTOP.
func stopped(t *testing.T) (*Client, plugintest.BN, backend.BasesID, backend.SpaceID) {
	t.Helper()
	c := mustOpen(t, spec(t, ""))
	b := plugintest.NewBN(100)
	id := plugintest.Load(t, c, b.Bases())
	space := plugintest.Space(t, c, 100)
	stop(t, c)
	c.graces.ping, c.graces.answer = 100*time.Millisecond, 300*time.Millisecond // the plugin never answers
	return c, b, id, space
}

// stop stops a plugin's process and waits until it has stopped.
func stop(t *testing.T, c *Client) {
	t.Helper()
	if err := syscall.Kill(c.Info().PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	plugintest.Eventually(t, time.Minute, "the plugin stands", func() bool { return state(processOf(c).ID()) == "T" })
}

// TestStoppedPlugin: a stopped plugin answers nothing. Yet every call obeys its context, and the
// host gets rid of the plugin within the default limits.
func TestStoppedPlugin(t *testing.T) {
	t.Parallel()
	c, b, id, space := stopped(t)
	c.graces = defaultGraces
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	within(t, 20*time.Second, "what has a deadline", func() {
		for what, f := range map[string]func() error{
			"Ping":      func() error { return c.Ping(short) },
			"LoadBases": func() error { _, err := c.LoadBases(short, b.Bases()); return err },
			"Alloc":     func() error { _, err := c.Alloc(short, 100<<20); return err },
			"MSM": func() error {
				_, err := c.MSM(short, []backend.Job{{Bases: id, Count: 100, Input: backend.Input{Bytes: b.Scalars}}})
				return err
			},
			"FreeBases": func() error { time.Sleep(50 * time.Millisecond); return c.FreeBases(short, id) },
			"NewSpace":  func() error { _, err := c.NewSpace(short, backend.ScalarOf(backend.BN254), 1); return err },
			"Run":       func() error { _, err := c.Run(short, plugintest.WriteRead(space, b.Scalars)); return err },
		} {
			if err := f(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
	within(t, 30*time.Second, "Close", func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	// A large buffer is wiped after the call has returned.
	plugintest.Eventually(t, time.Minute, "buffers are given back", func() bool { return c.pool.InUse() == 0 && c.replies.InUse() == 0 })
}

// TestCloseEndsCallsOfAStoppedPlugin: Close ends calls without a deadline, and they say that the
// plugin is gone.
func TestCloseEndsCallsOfAStoppedPlugin(t *testing.T) {
	t.Parallel()
	c, b, id, space := stopped(t)
	second := space + 1 // the plugin need not know it: it does not answer
	c.kept.PutSpace(second, backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: 100}, struct{}{})
	var wg sync.WaitGroup
	for what, f := range map[string]func() error{
		"Ping":      func() error { return c.Ping(ctx) },
		"LoadBases": func() error { _, err := c.LoadBases(ctx, b.Bases()); return err },
		"MSM": func() error {
			_, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 100, Input: backend.Input{Bytes: b.Scalars}}})
			return err
		},
		"NewSpace":  func() error { _, err := c.NewSpace(ctx, backend.ScalarOf(backend.BN254), 1); return err },
		"FreeSpace": func() error { return c.FreeSpace(ctx, space) },
		"Run":       func() error { _, err := c.Run(ctx, plugintest.WriteRead(second, b.Scalars)); return err },
		"FreeBases": func() error {
			id := id + 1
			c.kept.PutBases(id, b.Loaded, struct{}{})
			return c.FreeBases(ctx, id)
		},
	} {
		wg.Go(func() {
			err := f()
			if !errors.Is(err, backend.ErrGone) || !strings.Contains(err.Error(), "did not answer") || errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	time.Sleep(500 * time.Millisecond) // so that they are under way even on a busy machine; otherwise they are ErrClosed or gone
	within(t, 20*time.Second, "Close", func() { c.Close() })
	wg.Wait()
	select {
	case <-c.Done():
	default:
		t.Error("Done is open")
	}
}

// TestCloseWaitsForLongCalls: a call may last as long as the plugin answers pings.
func TestCloseWaitsForLongCalls(t *testing.T) {
	t.Parallel()
	var log plugintest.Capture
	s := spec(t, "delay=1500")
	s.Logger = log.Logger()
	c := mustOpen(t, s)
	c.graces.ping, c.graces.answer = 20*time.Millisecond, 10*time.Second
	b := plugintest.NewBN(10)
	id := plugintest.Load(t, c, b.Bases())
	done := make(chan error, 1)
	go func() {
		got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 10, Input: backend.Input{Bytes: b.Scalars}}})
		if err == nil && !bytes.Equal(got[0], b.Want()) {
			err = errors.New("wrong answer")
		}
		done <- err
	}()
	plugintest.Eventually(t, time.Minute, "the plugin began", func() bool { return strings.Contains(log.String(), "started") })
	c.Close()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	default:
		t.Error("Close did not wait")
	}
}

// TestPing: a ping is answered while a call computes, but not while the process is stopped.
func TestPing(t *testing.T) {
	t.Parallel()
	var log plugintest.Capture
	s := spec(t, "delay=600000")
	s.Logger = log.Logger()
	c := mustOpen(t, s)
	b := plugintest.NewBN(10)
	id := plugintest.Load(t, c, b.Bases())
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := c.MSM(running, []backend.Job{{Bases: id, Count: 10, Input: backend.Input{Bytes: b.Scalars}}})
		done <- err
	}()
	plugintest.Eventually(t, time.Minute, "the plugin began", func() bool { return strings.Contains(log.String(), "started") })
	if u := c.Usage(); len(u.Devices) != 0 {
		t.Errorf("counted before the first ping: %+v", u)
	}
	within(t, 20*time.Second, "Ping during a call", func() {
		if err := c.Ping(ctx); err != nil {
			t.Error(err)
		}
	})
	if got, want := c.Usage(), new(fake.Backend).Usage(); !reflect.DeepEqual(got, want) {
		t.Errorf("usage %+v, want %+v", got, want)
	}
	if err := c.Test(ctx); err != nil || c.Usage().Devices[0].Retired != "tested" {
		t.Errorf("after a test of devices: %v, %+v", err, c.Usage())
	}
	if err := (&Client{name: "an older one"}).Test(ctx); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("a plugin without tests: %v", err)
	}
	stop(t, c)
	cause := errors.New("too long")
	short, cancelPing := context.WithTimeoutCause(ctx, 100*time.Millisecond, cause)
	defer cancelPing()
	if err := c.Ping(short); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cause) {
		t.Errorf("stopped: %v", err)
	}
	if err := syscall.Kill(c.Info().PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(ctx); err != nil {
		t.Errorf("it goes on: %v", err)
	}
	cancel()
	<-done
	c.Close()
	if err := c.Ping(ctx); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestDone: Done is closed when the process is gone, and when it was given up.
func TestDone(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*Client){
		"killed":             func(c *Client) { _ = syscall.Kill(c.Info().PID, syscall.SIGKILL) },
		"broke the protocol": func(c *Client) { _ = c.nonsense("x") },
		"closed":             func(c *Client) { c.Close() },
	} {
		c := mustOpen(t, spec(t, ""))
		select {
		case <-c.Done():
			t.Errorf("%s: done too early", what)
		default:
		}
		end(c)
		select {
		case <-c.Done():
		case <-time.After(time.Minute):
			t.Errorf("%s: Done is open", what)
		}
	}
}

// TestUnkillable: a process that SIGKILL does not end, such as one that waits in a broken driver,
// delays nobody for ever.
func TestUnkillable(t *testing.T) {
	t.Parallel()
	c, b, id, _ := stopped(t)
	kill := processOf(c).SetSignal(func() error { return nil })
	called := make(chan error, 1)
	go func() {
		_, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 100, Input: backend.Input{Bytes: b.Scalars}}})
		called <- err
	}()
	plugintest.Eventually(t, time.Minute, "the call is on its way", func() bool { return c.pool.InUse() > 0 })
	within(t, process.StuckGrace+20*time.Second, "Close", func() {
		if err := c.Close(); !errors.Is(err, backend.ErrInternal) ||
			!strings.Contains(err.Error(), "cannot be killed; process "+processOf(c).ID()) {
			t.Errorf("Close: %v", err)
		}
	})
	select {
	case err := <-called:
		if !errors.Is(err, backend.ErrGone) {
			t.Errorf("MSM: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("MSM hangs")
	}
	if c.pool.InUse() == 0 {
		t.Error("memory that the process may still read was given back")
	}
	if err := kill(); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	if n := c.pool.InUse(); n != 0 {
		t.Errorf("%d bytes in use when it has ended", n)
	}
}

// TestOwnTroubleIsNotInvalidInput: if something goes wrong in the plugin itself, that is the
// backend's fault, and is so at once and not after a time-out, so that another backend takes the
// call.
func TestOwnTroubleIsNotInvalidInput(t *testing.T) {
	t.Parallel()
	for mode, says := range map[string]string{
		"few-descriptors": "ulimit -n",
		"little-memory":   "cannot allocate memory",
		"blames":          "it was the caller",
	} {
		t.Run(mode, func(t *testing.T) {
			c := mustOpen(t, spec(t, mode))
			b := plugintest.NewBN(10)
			for range 3 {
				within(t, wire.DescriptorWait/2, "failing", func() {
					buffer, err := c.Alloc(ctx, 64<<20)
					if err == nil {
						buffer.Free()
						var id backend.BasesID
						id, err = c.LoadBases(ctx, b.Bases())
						if err != nil {
							t.Fatal(err)
						}
						_, err = c.MSM(ctx, []backend.Job{{Bases: id, Count: 10, Input: backend.Input{Bytes: b.Scalars}}})
					}
					if f := backend.FaultOf(err); f != backend.FaultBackend || errors.Is(err, backend.ErrInvalidInput) ||
						!strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "plugin test") {
						t.Errorf("fault %v: %v", f, err)
					}
				})
			}
		})
	}
	// If only the plugin can check the input, its verdict is believed.
	c := mustOpen(t, spec(t, "blames"))
	b := plugintest.NewBN(10)
	id := plugintest.Load(t, c, b.Bases())
	_, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 10, Input: backend.Input{Bytes: b.Scalars, Check: true}}})
	if backend.FaultOf(err) != backend.FaultCaller {
		t.Errorf("a scalar not below r: %v", err)
	}
}

// TestSixtyFourLoads begins more loads at once than the plugin accepts descriptors.
func TestSixtyFourLoads(t *testing.T) {
	t.Parallel()
	c := mustOpen(t, spec(t, ""))
	b := plugintest.NewBN(200)
	file := b.File(t)
	var wg sync.WaitGroup
	begin := time.Now()
	// While it is stopped, they arrive but it asks for none.
	stop(t, c)
	for i := range 64 {
		wg.Go(func() {
			src := b.Bases()
			if i%4 != 0 {
				src.Bytes, src.File = nil, file
			}
			id, err := c.LoadBases(ctx, src)
			if err != nil {
				t.Error(err)
				return
			}
			got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 200, Input: backend.Input{Bytes: b.Scalars}}})
			if err != nil || !bytes.Equal(got[0], b.Want()) {
				t.Errorf("wrong answer (%v)", err)
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	if err := syscall.Kill(c.Info().PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if d := time.Since(begin); d > wire.DescriptorWait {
		t.Errorf("took %v", d)
	}
}

// TestLoadsThatAreGivenUp: given up loads do not pile up in a plugin that answers no load.
func TestLoadsThatAreGivenUp(t *testing.T) {
	t.Parallel()
	c, b, _, _ := stopped(t)
	cause := errors.New("no patience")
	for range 3 * maxLoads {
		short, cancel := context.WithTimeoutCause(ctx, 10*time.Millisecond, cause)
		if _, err := c.LoadBases(short, b.Bases()); !errors.Is(err, cause) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		cancel()
	}
	if c.loads.TryAcquire(1) {
		t.Error("loads that the plugin has not ended are not counted")
	}
}

// counted is an instrumentation such as a host may have.
type counted struct{ calls atomic.Int64 }

func (c *counted) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if info.FullMethodName == proto.Backend_Run_FullMethodName {
		c.calls.Add(1)
	}
	return ctx
}

func (*counted) HandleRPC(context.Context, stats.RPCStats)                         {}
func (*counted) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*counted) HandleConn(context.Context, stats.ConnStats)                       {}

// TestInstrumentation: both sides accept options of gRPC.
func TestInstrumentation(t *testing.T) {
	t.Parallel()
	var log plugintest.Capture
	var calls counted
	s := spec(t, "stats")
	s.Logger = log.Logger()
	s.GRPC = []grpc.DialOption{grpc.WithStatsHandler(&calls)}
	plugintest.Check(t, mustOpen(t, s), 10)
	if n := calls.calls.Load(); n != 1 {
		t.Errorf("the host counted %d calls", n)
	}
	plugintest.Eventually(t, time.Minute, "the plugin counts", func() bool {
		return strings.Contains(log.String(), "instrumented "+proto.Backend_Run_FullMethodName)
	})
}
