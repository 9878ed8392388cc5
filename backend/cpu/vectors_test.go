package cpu

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// TestManyProcessors computes scans and maps of many parts, as with 8 processors and as with one.
func TestManyProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	c := backend.BN254
	p, err := fixtures.NewPoints(c, backend.G1, 1)
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Bytes(8)
	if err != nil {
		t.Fatal(err)
	}
	a, b := New(Options{}), NewReference()
	defer a.Close()
	defer b.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 16 {
		runtime.GOMAXPROCS(1 + i%2*7)
		program := randprog.Read(randprog.Bytes(rng, 1000)).Program(c,
			backend.Bases{Curve: c, Group: backend.G1, Count: 8, Bytes: points}, randprog.Shape{Elements: 3 * grain, Transform: 16, Steps: 6})
		if err := program.Differ(t.Context(), a, b); err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
	}
}

// with returns a backend with a space of BN254 that holds elements.
func with(t *testing.T, elements []byte) (*inProcess, backend.Range) {
	t.Helper()
	b := New(Options{}).(*inProcess)
	t.Cleanup(func() { b.Close() })
	n := len(elements) / 32
	id, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), n)
	if err != nil {
		t.Fatal(err)
	}
	all := backend.Range{Space: id, Count: n}
	if _, err := b.Run(t.Context(), []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: elements}}}); err != nil {
		t.Fatal(err)
	}
	return b, all
}

func uniform(t *testing.T, n int) []byte {
	t.Helper()
	k, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestTransformIsGnarks compares with plain calls of gnark-crypto.
func TestTransformIsGnarks(t *testing.T) {
	const n = 1 << 13
	k := uniform(t, n)
	b, all := with(t, k)
	domain := fft.NewDomain(n)
	for _, c := range []struct {
		what string
		want func(v []fr.Element)
		step backend.Transform
	}{
		{"forward", func(v []fr.Element) { domain.FFT(v, fft.DIF, fft.OnCoset()) }, backend.Transform{To: backend.Reversed}},
		{"from reversed", func(v []fr.Element) { domain.FFT(v, fft.DIT, fft.OnCoset()) }, backend.Transform{From: backend.Reversed}},
		{"inverse", func(v []fr.Element) { domain.FFTInverse(v, fft.DIF, fft.OnCoset()) },
			backend.Transform{Inverse: true, To: backend.Reversed}},
		{"inverse from reversed", func(v []fr.Element) { domain.FFTInverse(v, fft.DIT, fft.OnCoset()) },
			backend.Transform{Inverse: true, From: backend.Reversed}},
	} {
		c.step.Dst, c.step.Src, c.step.Shift = all, all, layout.Bytes([]fr.Element{domain.FrMultiplicativeGen})
		got, err := b.Run(t.Context(), []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: k}}, c.step, backend.Read{Src: all}})
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Clone(k)
		v, err := layout.View[fr.Element](want)
		if err != nil {
			t.Fatal(err)
		}
		c.want(v)
		if !bytes.Equal(got[2], want) {
			t.Errorf("%s: another answer", c.what)
		}
	}
}

// TestCancelledTransform: the call returns while gnark-crypto goes on, and the next program on the
// space waits for that.
func TestCancelledTransform(t *testing.T) {
	const n = 8
	k := uniform(t, n)
	b, all := with(t, k)
	begun, goOn := make(chan struct{}), make(chan struct{})
	fields := b.field
	b.field = func(c backend.Curve) arithmetic { return slowTransform{fields(c), begun, goOn} }
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("not worth the wait")
	answered := make(chan error)
	go func() {
		_, err := b.Run(ctx, []backend.Step{backend.Transform{Dst: all, Src: all}})
		answered <- err
	}()
	<-begun
	cancel(cause)
	select {
	case err := <-answered:
		if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the cancelled program waits for a transform")
	}
	short, cancelShort := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancelShort()
	write := []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: k}}, backend.Read{Src: all}}
	if _, err := b.Run(short, write); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a program on a space that is being computed on: %v", err)
	}
	if err := b.FreeSpace(short, 1<<40); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
	close(goOn)
	got, err := b.Run(t.Context(), write)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[1], k) {
		t.Error("a cancelled program wrote after another one")
	}
}

// slowTransform begins and then waits until it may go on.
type slowTransform struct {
	arithmetic
	begun, goOn chan struct{}
}

func (s slowTransform) transform(ctx context.Context, c *local.Call, dst, src []byte, t *backend.Transform) error {
	return c.Attempt(ctx, func() error {
		s.begun <- struct{}{}
		<-s.goOn
		return s.arithmetic.transform(context.Background(), &local.Call{}, dst, src, t)
	})
}

// TestSpacesAreWiped when they are freed and when the backend is closed.
func TestSpacesAreWiped(t *testing.T) {
	k := uniform(t, 100)
	b, all := with(t, k)
	memory := func(r backend.Range) []byte {
		used, err := b.Residents.Use([]backend.Step{backend.Read{Src: r}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Residents.End(used)
		return used.Spaces[r.Space].Kept.memory
	}
	other, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), 100)
	if err != nil {
		t.Fatal(err)
	}
	second := backend.Range{Space: other, Count: 100}
	if _, err := b.Run(t.Context(), []backend.Step{backend.Write{Dst: second, Input: backend.Input{Bytes: k}}}); err != nil {
		t.Fatal(err)
	}
	freed, closed := memory(all), memory(second)
	if !bytes.Equal(freed, k) || !bytes.Equal(closed, k) {
		t.Fatal("not what was written")
	}
	if err := b.FreeSpace(t.Context(), all.Space); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(freed, make([]byte, len(k))) {
		t.Error("a freed space is not wiped")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(closed, make([]byte, len(k))) {
		t.Error("a space is not wiped by Close")
	}
	if used := b.room.used.Load(); used != 0 {
		t.Errorf("%d bytes of spaces are in use", used)
	}
}

// TestRoom: spaces and answers share the machine's memory.
func TestRoom(t *testing.T) {
	b, all := with(t, uniform(t, 100))
	b.room.all = 3 * 3200
	read := backend.Read{Src: all}
	if _, err := b.Run(t.Context(), []backend.Step{read, read}); err != nil {
		t.Error(err)
	}
	if _, err := b.Run(t.Context(), []backend.Step{read, read, read}); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("answers for which there is no room: %v", err)
	}
	if _, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), 201); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a space for which there is no room: %v", err)
	}
	id, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), 200)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.FreeSpace(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), 200); err != nil {
		t.Errorf("room is not given back: %v", err)
	}
}

// TestDomains: the tables of the sizes last used are kept.
func TestDomains(t *testing.T) {
	made := map[int]int{}
	d := domains[int]{make: func(n int) butterflies[int] { made[n]++; return nil }}
	const a, b, c = mostTables, mostTables / 2, mostTables / 4
	for _, n := range []int{a, b, c, c, b, a, 2 * mostTables, 2 * mostTables, b, a, c} {
		d.of(n)
	}
	if made[a] != 1 || made[b] != 1 || made[c] != 1 || made[2*mostTables] != 2 {
		t.Errorf("made %v", made)
	}
	d.of(mostTables/2 + 1) // one too many: it drops b, which was used before the others
	d.of(a)
	d.of(c)
	d.of(b)
	if made[a] != 1 || made[b] != 2 || made[c] != 1 {
		t.Errorf("made %v after another size", made)
	}
}
