package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/pippin-zk/pippin/backend"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// right is the answer of every fake to every MSM.
var right = bytes.Repeat([]byte{7}, 64)

// world opens fakes. Its functions, if set, decide what goes wrong. They are called without its
// mutex.
type world struct {
	t     testing.TB
	open  func(ctx context.Context, name string, nth int) error
	ping  func(ctx context.Context, f *fake) error
	load  func(ctx context.Context, f *fake, b *backend.Bases) error
	msm   func(ctx context.Context, f *fake) ([]byte, error)
	alloc func(ctx context.Context, f *fake) error
	space func(ctx context.Context, f *fake, count int) error
	free  func(ctx context.Context, f *fake) error // of a space
	run   func(ctx context.Context, f *fake, steps []backend.Step, out [][]byte) error
	test  func(f *fake) (wrong []int, err error)

	devices int // of a backend

	mu     sync.Mutex
	tries  map[string]int
	opened []*fake
	events []Event
}

func (w *world) opener(ctx context.Context, name string) (backend.Backend, error) {
	w.mu.Lock()
	if w.tries == nil {
		w.tries = map[string]int{}
	}
	w.tries[name]++
	nth := w.tries[name]
	w.mu.Unlock()
	if w.open != nil {
		if err := w.open(ctx, name, nth); err != nil {
			return nil, err
		}
	}
	f := &fake{w: w, name: name, nth: nth, ids: map[backend.BasesID]int{}, spaces: map[backend.SpaceID]int{}, done: make(chan struct{})}
	w.mu.Lock()
	w.opened = append(w.opened, f)
	w.mu.Unlock()
	return f, nil
}

// engine opens an engine that the test closes.
func (w *world) engine(cfg Config) *Engine {
	w.t.Helper()
	cfg.Open = w.opener
	cfg.OnEvent = func(ev Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, ev)
	}
	e, err := New(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// close closes the engine and checks that nothing is left.
func (w *world) close(e *Engine) {
	w.t.Helper()
	if err := e.Close(); err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.opened {
		if f.closes != 1 {
			w.t.Errorf("%s %d was closed %d times", f.name, f.nth, f.closes)
		}
	}
}

// times returns how often a backend was asked to open.
func (w *world) times(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tries[name]
}

// last returns the youngest backend with a name.
func (w *world) last(name string) *fake {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range slices.Backward(w.opened) {
		if f.name == name {
			return f
		}
	}
	return nil
}

// kinds returns the events so far, except those of opening and swapping. It is for tests in
// synthetic time.
func (w *world) kinds() (k []string) {
	synctest.Wait() // until they are delivered
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ev := range w.events {
		if ev.Kind == EventOpened || ev.Kind == EventSwapped {
			continue
		}
		kind := string(ev.Kind) + " " + ev.Backend
		if ev.Lasting {
			kind += " lasting"
		}
		k = append(k, kind)
	}
	return k
}

// fake is a backend. The one named "cpu" is in this process.
type fake struct {
	w    *world
	name string
	nth  int
	done chan struct{}
	once sync.Once

	// Under world.mu:
	next   backend.BasesID
	ids    map[backend.BasesID]int // how many bases each has
	spaces map[backend.SpaceID]int // how many elements each has
	loads  int
	calls  int
	closes int
	wrong  []int // devices that are retired
}

// die ends the fake as the end of a process does.
func (f *fake) die() { f.once.Do(func() { close(f.done) }) }

func (f *fake) alive() error {
	select {
	case <-f.done:
		return fmt.Errorf("%w: %s %d died", backend.ErrGone, f.name, f.nth)
	default:
		return nil
	}
}

func (f *fake) resident() int {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return len(f.ids)
}

func (f *fake) Info() backend.Info {
	return backend.Info{
		Name: f.name, InProcess: f.name == "cpu", Can: backend.Capabilities{MSM: backend.CurveGroups(), Elements: backend.SpaceElements()},
		Devices: make([]backend.Device, f.w.devices),
	}
}

// Test retires the devices that world.test names.
func (f *fake) Test(context.Context) error {
	if f.w.test == nil {
		return backend.ErrUnsupported
	}
	wrong, err := f.w.test(f)
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.wrong = wrong
	return err
}

func (f *fake) Usage() backend.Usage {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	u := backend.Usage{Devices: make([]backend.DeviceUsage, f.w.devices)}
	for _, i := range f.wrong {
		u.Devices[i].Retired = fmt.Sprintf("card %d computes wrongly", i)
	}
	return u
}

func (f *fake) Done() <-chan struct{} { return f.done }

func (f *fake) Ping(ctx context.Context) error {
	if f.w.ping != nil {
		if err := f.w.ping(ctx, f); err != nil {
			return err
		}
	}
	return f.alive()
}

func (f *fake) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	if f.w.load != nil {
		if err := f.w.load(ctx, f, &b); err != nil {
			return 0, err
		}
	}
	if err := f.alive(); err != nil {
		return 0, err
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.next++
	f.loads++
	f.ids[f.next] = b.Count
	return f.next, nil
}

func (f *fake) FreeBases(ctx context.Context, id backend.BasesID) error {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if _, ok := f.ids[id]; !ok {
		return fmt.Errorf("%w: free of %d", backend.ErrInvalidInput, id)
	}
	delete(f.ids, id)
	return nil
}

func (f *fake) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	f.w.mu.Lock()
	f.calls++
	if f.closes > 0 {
		f.w.t.Errorf("%s %d: MSM after Close", f.name, f.nth)
	}
	f.w.mu.Unlock()
	answer := right
	if f.w.msm != nil {
		a, err := f.w.msm(ctx, f)
		if err != nil {
			return nil, err
		}
		if a != nil {
			answer = a
		}
	}
	if err := f.alive(); err != nil {
		return nil, err
	}
	out := make([][]byte, len(jobs))
	for i := range out {
		out[i] = bytes.Clone(answer)
	}
	return out, backend.Ended(ctx)
}

func (f *fake) Alloc(ctx context.Context, size int) (backend.Buffer, error) {
	if f.w.alloc != nil {
		if err := f.w.alloc(ctx, f); err != nil {
			return nil, err
		}
	}
	if err := f.alive(); err != nil {
		return nil, err
	}
	return buffer(make([]byte, size)), nil
}

func (f *fake) NewSpace(ctx context.Context, _ backend.Element, count int) (backend.SpaceID, error) {
	if f.w.space != nil {
		if err := f.w.space(ctx, f, count); err != nil {
			return 0, err
		}
	}
	if err := f.alive(); err != nil {
		return 0, err
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.next++
	f.spaces[backend.SpaceID(f.next)] = count
	return backend.SpaceID(f.next), nil
}

func (f *fake) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	if f.w.free != nil {
		if err := f.w.free(ctx, f); err != nil {
			return err
		}
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if _, ok := f.spaces[id]; !ok {
		return fmt.Errorf("%w: free of space %d", backend.ErrInvalidInput, id)
	}
	delete(f.spaces, id)
	return nil
}

// Run answers right for points and ones for elements. world.run may change the answers.
func (f *fake) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	f.w.mu.Lock()
	bases := func(id backend.BasesID) (backend.Elements, bool) {
		n, ok := f.ids[id]
		return backend.Elements{Element: backend.PointOf(backend.BN254, backend.G1), Count: n}, ok
	}
	spaces := func(id backend.SpaceID) (backend.Elements, bool) {
		n, ok := f.spaces[id]
		return backend.Elements{Element: backend.ScalarOf(backend.BN254), Count: n}, ok
	}
	in := backend.Memory{Bases: bases, Space: spaces}
	out := make([][]byte, len(steps))
	err := backend.Check(steps, in)
	if err == nil {
		for i, s := range steps {
			if out[i] = bytes.Repeat([]byte{1}, backend.AnswerBytes(s, in)); len(out[i]) == len(right) {
				copy(out[i], right)
			}
		}
	}
	f.w.mu.Unlock() // held until here, because another session's space may be freed meanwhile
	if err != nil {
		return nil, err
	}
	if f.w.run != nil {
		if err := f.w.run(ctx, f, steps, out); err != nil {
			return nil, err
		}
	}
	if err := f.alive(); err != nil {
		return nil, err
	}
	return out, backend.Ended(ctx)
}

func (f *fake) Close() error {
	f.w.mu.Lock()
	f.closes++
	f.w.mu.Unlock()
	f.die()
	return nil
}

type buffer []byte

func (b buffer) Bytes() []byte { return b }
func (b buffer) Free()         {}

// source returns a source of count bases of BN254 G1, which nobody reads.
func source(count int) Source {
	return Source{Bases: backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: count, Bytes: make([]byte, 64*count)}}
}

func load(t testing.TB, e *Engine, src Source) *Bases {
	t.Helper()
	b, err := e.Load(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ask computes one MSM over all of b. It checks the answer and returns the backend's name.
func ask(ctx context.Context, e *Engine, b *Bases) (by string, err error) {
	scalars := bytes.Repeat([]byte{1}, 32*b.src.Count)
	out, by, err := e.MSM(ctx, []Request{{Bases: b, Count: b.src.Count, Scalars: scalars}})
	if err == nil && !bytes.Equal(out[0], right) {
		err = fmt.Errorf("the wrong answer %x came through", out[0])
	}
	return by, err
}
