package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	cpu "github.com/pippin-zk/pippin/backend/cpu/msm"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
)

// device is a backend that copies bases, as a device does, so that what a slice
// holds later does not show in its answers.
type device struct {
	backend.Backend
	world *world
	mu    sync.Mutex
	mine  map[backend.BasesID]int64
	dead  bool
}

// world is what the tests see and change of all devices.
type world struct {
	mu      sync.Mutex
	loads   int
	live    int   // bases
	bytes   int64 // of them
	memory  int64 // most bytes; 0 is without a bound
	opened  []*device
	killing bool // the next MSM kills its device
	mortal  bool // every MSM does
	failing error
}

func (w *world) open(_ context.Context, name string) (backend.Backend, error) {
	switch name {
	case "cpu":
		return cpu.New(), nil
	case "device":
		w.mu.Lock()
		defer w.mu.Unlock()
		d := &device{Backend: cpu.New(), world: w, mine: map[backend.BasesID]int64{}}
		w.opened = append(w.opened, d)
		return d, nil
	}
	return nil, fmt.Errorf("%w: %s", backend.ErrUnavailable, name)
}

func (d *device) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	d.world.mu.Lock()
	full := d.world.memory > 0 && d.world.bytes+b.Size() > d.world.memory
	d.world.mu.Unlock()
	if full {
		return 0, fmt.Errorf("%w: no room for %d bytes", backend.ErrOutOfMemory, b.Size())
	}
	words := make([]uint64, len(b.Bytes)/8)
	copy(layout.Bytes(words), b.Bytes)
	b.Bytes = layout.Bytes(words)
	id, err := d.Backend.LoadBases(ctx, b)
	if err == nil {
		d.count(id, b.Size(), 1)
	}
	return id, err
}

func (d *device) count(id backend.BasesID, size int64, by int) {
	d.mu.Lock()
	if by > 0 {
		d.mine[id] = size
	} else {
		size = d.mine[id]
		delete(d.mine, id)
	}
	d.mu.Unlock()
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	d.world.live += by
	d.world.bytes += int64(by) * size
	d.world.loads += max(by, 0)
}

func (d *device) FreeBases(ctx context.Context, id backend.BasesID) error {
	err := d.Backend.FreeBases(ctx, id)
	if err == nil {
		d.count(id, 0, -1)
	}
	return err
}

func (d *device) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	d.world.mu.Lock()
	kill, failing := d.world.killing || d.world.mortal, d.world.failing
	d.world.killing = false
	d.world.mu.Unlock()
	d.mu.Lock()
	d.dead = d.dead || kill
	dead := d.dead
	d.mu.Unlock()
	switch {
	case dead:
		return nil, fmt.Errorf("%w: killed", backend.ErrGone)
	case failing != nil:
		return nil, failing
	}
	return d.Backend.MSM(ctx, jobs)
}

func (d *device) Close() error {
	d.mu.Lock()
	ids := d.mine
	d.mine = map[backend.BasesID]int64{}
	d.mu.Unlock()
	d.world.mu.Lock()
	for _, size := range ids {
		d.world.live--
		d.world.bytes -= size
	}
	d.world.mu.Unlock()
	return d.Backend.Close()
}

// bench is a runtime on a device, with what it traced and reported.
type bench struct {
	*Runtime
	world  *world
	trace  *bytes.Buffer
	report []string
}

func newBench(t *testing.T, o Options) *bench {
	b := &bench{world: &world{}, trace: &bytes.Buffer{}}
	if o.Backend == "" {
		o.Backend = "device"
	}
	if o.Threshold == 0 {
		o.Threshold = -1
	}
	o.Open, o.Trace = b.world.open, b.trace
	o.Report = func(line string) { b.report = append(b.report, line) }
	b.Runtime = New(o)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if b.world.live != 0 || b.world.bytes != 0 {
			t.Errorf("%d bases of %d bytes are left", b.world.live, b.world.bytes)
		}
	})
	return b
}

// states is the states and backends traced since the last call.
func (b *bench) states(t *testing.T) string {
	t.Helper()
	var s []string
	for text := range strings.Lines(b.trace.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		state := string(l.Bases)
		if l.Backend != b.o.Backend {
			state += " on " + l.Backend
		}
		s = append(s, state)
	}
	b.trace.Reset()
	return strings.Join(s, ", ")
}

// points makes n different points from a random start.
func points(n int) []bn254.G1Affine {
	_, _, g, _ := bn254.Generators()
	var s fr.Element
	s.SetUint64(rand.Uint64())
	var at bn254.G1Jac
	var p bn254.G1Affine
	p.ScalarMultiplication(&g, s.BigInt(new(big.Int)))
	at.FromAffine(&p)
	jacs := make([]bn254.G1Jac, n)
	for i := range jacs {
		jacs[i] = at
		at.AddMixed(&g)
	}
	return bn254.BatchJacobianToAffineG1(jacs)
}

func scalars(n int) []fr.Element {
	s := make([]fr.Element, n)
	for i := range s {
		s[i].SetUint64(rand.Uint64())
		s[i].Square(&s[i])
	}
	return s
}

// check asks the hook for a sum and compares it with gnark-crypto's.
func (b *bench) check(t *testing.T, p []bn254.G1Affine) {
	t.Helper()
	s := scalars(len(p))
	var want bn254.G1Jac
	if _, err := want.MultiExp(p, s, ecc.MultiExpConfig{}); err != nil {
		t.Fatal(err)
	}
	var got bn254.G1Jac
	done, err := Of(b.Runtime, msm.BN254G1, (*bn254.G1Jac).FromAffine)(&got, p, s, ecc.MultiExpConfig{})
	if !done || err != nil {
		t.Fatalf("declined, %v", err)
	}
	if !got.Equal(&want) {
		t.Fatal("wrong sum")
	}
}

func (b *bench) want(t *testing.T, states string) {
	t.Helper()
	if got := b.states(t); got != states {
		t.Errorf("%s; want %s", got, states)
	}
}

// TestResident has bases stay from their second use on.
func TestResident(t *testing.T) {
	b := newBench(t, Options{})
	p := points(3000)
	for range 4 {
		b.check(t, p)
	}
	b.want(t, "once, loaded, resident, resident")
	// The same points elsewhere are others; each is known by its place.
	q := slices.Clone(p)
	b.check(t, q)
	b.check(t, p)
	b.want(t, "once, resident")
	if b.world.loads != 3 || b.world.live != 1 {
		t.Errorf("%d loads, %d live", b.world.loads, b.world.live)
	}
}

// TestChangedInPlace changes single bytes of resident bases' points, at the
// edges of blocks too.
func TestChangedInPlace(t *testing.T) {
	b := newBench(t, Options{})
	const n, perBlock = 500, block / 64
	p, others := points(n), points(n)
	lo, _ := layout.Range(p)
	edge := int(block-lo%block) / 64 // a point that a block begins with, or before
	for _, at := range []int{0, 1, edge - 1, edge, edge + 1, edge + 3*perBlock + 5, n - 1} {
		for range 3 {
			b.check(t, p)
		}
		b.states(t)
		was := p[at]
		p[at] = others[at]
		b.check(t, p)
		b.check(t, p)
		b.check(t, p)
		b.want(t, "once, loaded, resident")
		p[at] = was // what it was when other bases were loaded from here
		b.check(t, p)
		b.want(t, "loaded")
	}
	for range 20 { // any bit
		b.check(t, p)
		b.states(t)
		raw := layout.Bytes(p)
		i, bit := rand.IntN(len(raw)), byte(1)<<rand.IntN(8)
		raw[i] ^= bit
		s := scalars(n)
		var sum bn254.G1Jac
		if _, err := Of(b.Runtime, msm.BN254G1, (*bn254.G1Jac).FromAffine)(&sum, p, s, ecc.MultiExpConfig{}); err != nil {
			t.Fatal(err)
		}
		if got := b.states(t); got == "resident" {
			t.Fatalf("bit %d of byte %d was not noticed", bit, i)
		}
		raw[i] ^= bit
	}
}

// TestParts uses parts of what is resident, and points around it.
func TestParts(t *testing.T) {
	b := newBench(t, Options{})
	p := points(400)
	for _, r := range []struct {
		lo, hi int
		states string
	}{
		{0, 200, "once, loaded, resident"},
		{0, 150, "resident, resident, resident"},
		{199, 200, "resident, resident, resident"},
		{0, 400, "once, loaded, resident"}, // and the first 200 go
		{7, 399, "resident, resident, resident"},
	} {
		for range 3 {
			b.check(t, p[r.lo:r.hi])
		}
		b.want(t, r.states)
	}
	if b.world.live != 1 {
		t.Errorf("%d live", b.world.live)
	}
	// Outside of the part's blocks, a change does no harm and goes unnoticed.
	p[350] = p[0]
	b.check(t, p[:200])
	b.want(t, "resident")
	// Within, all of it goes; the part was seen before.
	b.check(t, p[300:])
	b.check(t, p[:200])
	b.want(t, "once, loaded")
}

func TestDeclines(t *testing.T) {
	b := newBench(t, Options{Threshold: 10, Strict: true})
	hook := Of(b.Runtime, msm.BN254G1, (*bn254.G1Jac).FromAffine)
	p, s := points(20), scalars(20)
	was := bn254.G1Jac{X: p[0].X}
	for name, call := range map[string]func(*bn254.G1Jac) (bool, error){
		"small":   func(j *bn254.G1Jac) (bool, error) { return hook(j, p[:9], s[:9], ecc.MultiExpConfig{}) },
		"empty":   func(j *bn254.G1Jac) (bool, error) { return hook(j, nil, nil, ecc.MultiExpConfig{}) },
		"lengths": func(j *bn254.G1Jac) (bool, error) { return hook(j, p, s[:19], ecc.MultiExpConfig{}) },
		"tasks":   func(j *bn254.G1Jac) (bool, error) { return hook(j, p, s, ecc.MultiExpConfig{NbTasks: 1025}) },
	} {
		j := was
		if done, err := call(&j); done || err != nil || j != was {
			t.Errorf("%s: %v, %v", name, done, err)
		}
	}
	if len(b.world.opened) != 0 {
		t.Error("a backend was opened for nothing")
	}
	b.check(t, p[:10])
	empty := New(Options{Threshold: -1, Open: b.world.open})
	if done, err := Of(empty, msm.BN254G1, (*bn254.G1Jac).FromAffine)(&was, nil, nil, ecc.MultiExpConfig{}); done || err != nil {
		t.Errorf("empty: %v, %v", done, err)
	}
}

// TestLimit keeps what fits, and what was used last.
func TestLimit(t *testing.T) {
	const n = 500
	b := newBench(t, Options{Cache: 2 * n * 64})
	sets := [][]bn254.G1Affine{points(n), points(n), points(n), points(2*n + 1)}
	use := func(i int, states string) {
		t.Helper()
		b.check(t, sets[i])
		b.want(t, states)
	}
	for i := range 3 {
		use(i, "once")
	}
	use(0, "loaded")
	use(1, "loaded")
	use(0, "resident")
	use(2, "loaded") // in the place of 1
	use(0, "resident")
	use(1, "loaded") // in the place of 2
	use(2, "loaded")
	for range 3 {
		use(3, "once") // is too large
	}
	if b.world.live != 2 || b.world.bytes > 2*n*64 {
		t.Errorf("%d live, %d bytes", b.world.live, b.world.bytes)
	}
}

func TestIdle(t *testing.T) {
	b := newBench(t, Options{Idle: 20 * time.Millisecond})
	p := points(100)
	b.check(t, p)
	b.check(t, p)
	b.want(t, "once, loaded")
	b.settle(t, 0)
	b.check(t, p)
	b.want(t, "loaded")
}

// settle waits until n bases live: the engine closes a device that died beside
// the calls that follow.
func (b *bench) settle(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b.world.mu.Lock()
		live := b.world.live
		b.world.mu.Unlock()
		if live == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d bases live, want %d", live, n)
		}
	}
}

// kill has the next MSM kill its device.
func (w *world) kill() {
	w.mu.Lock()
	w.killing = true
	w.mu.Unlock()
}

// TestGone has the device die when a part of what is resident was changed: what
// is not the call's own must not be read then, since nobody has checked it.
func TestGone(t *testing.T) {
	b := newBench(t, Options{})
	p := points(512)
	for range 3 {
		b.check(t, p)
	}
	b.states(t)
	last := len(p) - 1
	was := p[last]
	p[last] = p[0]
	b.world.kill()
	b.check(t, p[:128])
	p[last] = was // as it was when it was hashed, but not when the device died
	b.check(t, p)
	b.check(t, p)
	b.want(t, "once, loaded, resident")
	if len(b.world.opened) != 2 || len(b.report) == 0 {
		t.Errorf("%d devices, reports %q", len(b.world.opened), b.report)
	}
}

// TestLoadsAfterADeath counts what ten keys cost after their device died: one
// load each, and only of those that are used.
func TestLoadsAfterADeath(t *testing.T) {
	b := newBench(t, Options{})
	keys := make([][]bn254.G1Affine, 10)
	for i := range keys {
		keys[i] = points(300)
		b.check(t, keys[i])
		b.check(t, keys[i])
	}
	b.settle(t, len(keys))
	b.states(t)
	b.world.loads = 0
	b.world.kill()
	b.check(t, keys[len(keys)-1])
	b.settle(t, 1)
	if b.world.loads != 1 || len(b.cache().entries) != 1 {
		t.Errorf("%d loads by the first call, %d kept", b.world.loads, len(b.cache().entries))
	}
	for range 2 {
		for i := range keys {
			b.check(t, keys[i])
		}
	}
	b.settle(t, len(keys))
	if b.world.loads != len(keys) {
		t.Errorf("%d loads of %d keys after a death", b.world.loads, len(keys))
	}
}

func (b *bench) cache() *cache { return &b.live.cache }

// TestDiesAgain has every device die of its first MSM after the bases were
// loaded again: the call is answered all the same.
func TestDiesAgain(t *testing.T) {
	b := newBench(t, Options{})
	p := points(300)
	b.check(t, p)
	b.check(t, p)
	b.states(t)
	b.world.mortal = true
	b.check(t, p)
	b.want(t, "once on cpu")
}

// TestOutOfMemory has a device with less room than the limit says.
func TestOutOfMemory(t *testing.T) {
	const n = 500
	b := newBench(t, Options{Cache: 1 << 30})
	b.world.memory = 3 * n * 64
	sets := [][]bn254.G1Affine{points(n), points(n), points(n), points(n)}
	for range 6 {
		for i := range sets {
			b.check(t, sets[i])
		}
	}
	states := strings.Split(b.states(t), ", ")
	onDevice := 0
	for _, s := range states {
		if !strings.Contains(s, "on cpu") {
			onDevice++
		}
	}
	if onDevice < len(states)/2 || onDevice == len(states) {
		t.Errorf("%d of %d on the device: %v", onDevice, len(states), states)
	}
	// One that never fits is computed on the CPU, and others stay.
	b.world.mu.Lock()
	b.world.memory = n*64 + 1
	b.world.mu.Unlock()
	large := points(2 * n)
	for range 4 {
		b.check(t, large)
	}
	b.states(t)
	b.check(t, large)
	b.want(t, "resident on cpu")
}

func TestFailures(t *testing.T) {
	for _, strict := range []bool{false, true} {
		for name, prepare := range map[string]func(*bench){
			"does not open": func(b *bench) { b.o.Backend = "nowhere" },
			"broken":        func(b *bench) { b.broken(errors.New("a wrong setting")) },
			"fails":         func(b *bench) { b.world.failing = fmt.Errorf("%w: for a test", backend.ErrInvalidInput) },
		} {
			b := newBench(t, Options{Strict: strict, Threshold: 50})
			prepare(b)
			was := bn254.G1Jac{}
			for range 2 {
				j := was
				done, err := Of(b.Runtime, msm.BN254G1, (*bn254.G1Jac).FromAffine)(&j, points(100), scalars(100), ecc.MultiExpConfig{})
				if done || (err != nil) != strict || j != was {
					t.Errorf("%s, strict %v: %v, %v", name, strict, done, err)
				}
			}
			if len(b.report) == 0 || name != "fails" && len(b.report) != 1 {
				t.Errorf("%s: reports %q", name, b.report)
			}
		}
	}
}

// TestInProcess keeps nothing: the backend uses bases where they are.
func TestInProcess(t *testing.T) {
	b := newBench(t, Options{Backend: "cpu"})
	p := points(200)
	for range 3 {
		b.check(t, p)
	}
	b.want(t, "once, once, once")
}

// TestConcurrent has goroutines meet on shared points and change their own,
// with room for few, in front of a device that dies now and then.
func TestConcurrent(t *testing.T) {
	b := newBench(t, Options{Cache: 1000 * 64, Idle: time.Millisecond})
	shared := [][]bn254.G1Affine{points(350), points(420), points(470)}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			own := points(120 + w)
			for i := range 25 {
				p := shared[(w+i)%3]
				b.check(t, p[:170+i%80])
				b.check(t, p)
				b.check(t, own)
				b.check(t, own)
				own[rand.IntN(len(own))] = shared[0][i]
				if w == 0 && i%10 == 5 {
					b.world.kill()
				}
			}
		})
	}
	wg.Wait()
	states := b.states(t)
	for _, s := range []state{once, loaded, resident} {
		if !strings.Contains(states, string(s)) {
			t.Errorf("never %s", s)
		}
	}
}

// TestNothingIsKept has bases that are used once be garbage afterwards.
func TestNothingIsKept(t *testing.T) {
	b := newBench(t, Options{Cache: 1 << 30})
	freed := make(chan struct{}, 100)
	for range 20 {
		p := points(100)
		runtime.AddCleanup(&p[0], func(c chan struct{}) { c <- struct{}{} }, freed)
		b.check(t, p)
	}
	for i, end := 0, time.After(time.Minute); i < 20; {
		runtime.GC()
		select {
		case <-freed:
			i++
		case <-time.After(5 * time.Millisecond):
		case <-end:
			t.Fatalf("only %d of 20 slices were freed", i)
		}
	}
}

func TestNoted(t *testing.T) {
	var s noted
	at := func(i int) note { return note{memory{nil, uintptr(i), uintptr(i + 1)}, uint64(i)} }
	for i := range notes {
		if s.before(at(i)) {
			t.Fatalf("%d was not there", i)
		}
	}
	if !s.before(at(0)) || s.before(at(notes)) || s.before(at(0)) || !s.before(at(2)) || s.before(at(1)) {
		t.Error("the oldest goes first")
	}
	if len(s.set) != notes || len(s.ring) != notes {
		t.Errorf("%d, %d", len(s.set), len(s.ring))
	}
}

func TestFromEnv(t *testing.T) {
	read := func(env ...string) (Options, error) {
		return fromEnv(func(name string) string {
			for _, e := range env {
				if v, ok := strings.CutPrefix(e, name+"="); ok {
					return v
				}
			}
			return ""
		}, cpu.New)
	}
	o, err := read("PIPPIN_BACKEND=cuda", "PIPPIN_WEAVE_THRESHOLD=77", "PIPPIN_WEAVE_CACHE=3GiB",
		"PIPPIN_WEAVE_IDLE=90s", "PIPPIN_WEAVE_STRICT=1")
	if err != nil || o.Backend != "cuda" || o.Threshold != 77 || o.Cache != 3<<30 || o.Idle != 90*time.Second || !o.Strict {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = read("PIPPIN_WEAVE_THRESHOLD=0", "PIPPIN_WEAVE_CACHE=0"); err != nil || o.Threshold != -1 || o.Cache != -1 {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = read("PIPPIN_WEAVE_KNOWN=0"); err != nil || !o.Unknown {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = read(); err != nil || o.Threshold != 0 || o.Cache != 0 || o.Strict || o.Unknown || o.Trace != nil {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{"THRESHOLD=x", "THRESHOLD=-1", "CACHE=1GB", "CACHE=-1", "CACHE=9000000TiB",
		"IDLE=10", "IDLE=0s", "STRICT=yes", "KNOWN=yes", "TRACE=/no/such/folder/file"} {
		if _, err := read("PIPPIN_WEAVE_" + bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// BenchmarkUnchanged is the check of 2^20 resident points.
func BenchmarkUnchanged(b *testing.B) {
	p := make([]bn254.G1Affine, 1<<20)
	n := &entry{bytes: layout.Bytes(p)}
	n.lo, n.hi = layout.Range(p)
	n.sums = n.hash()
	b.SetBytes(int64(len(n.bytes)))
	for b.Loop() {
		if !n.unchanged(n.memory) {
			b.Fatal("changed")
		}
	}
}

// liar is a backend outside of this process, so to say, whose sums are wrong by one bit.
type liar struct{ backend.Backend }

func (l liar) Info() backend.Info {
	info := l.Backend.Info()
	info.InProcess = false
	return info
}

func (l liar) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	out, err := l.Backend.MSM(ctx, jobs)
	if err == nil {
		out[0][0] ^= 1
	}
	return out, err
}

// TestKnown: a backend that computes wrongly is found when it is opened, and gnark-crypto computes in its place.
func TestKnown(t *testing.T) {
	for _, unknown := range []bool{false, true} {
		said := ""
		r := New(Options{Backend: "liar", Unknown: unknown, Report: func(line string) { said += line },
			Open: func(_ context.Context, name string) (backend.Backend, error) {
				if name == "liar" {
					return liar{cpu.New()}, nil
				}
				return cpu.New(), nil
			}})
		e, err := r.open()
		if found := errors.Is(err, engine.ErrWrongAnswer) && strings.Contains(said, "gnark-crypto computes"); found == unknown {
			t.Errorf("without known answers: %v. Opening: %v, reported: %s", unknown, err, said)
		}
		if err == nil {
			e.Close()
		}
	}
}
