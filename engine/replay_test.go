package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
)

// lying is the CPU backend with wrong results: after the steps whose numbers are in wrong, it adds
// 1 to the first byte that the step wrote.
type lying struct {
	honest
	wrong map[int]bool
}

// honest is the CPU backend.
type honest struct {
	backend.Backend
	backend.Programs
}

func newHonest() honest {
	b := cpu.New(cpu.Options{})
	p, _ := backend.As[backend.Programs](b)
	return honest{b, p}
}

func (l *lying) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	var out [][]byte
	for i, s := range steps {
		a, err := l.Programs.Run(ctx, []backend.Step{s})
		if err != nil {
			return nil, err
		}
		out = append(out, a[0])
		if !l.wrong[i] {
			continue
		}
		if len(a[0]) > 0 {
			a[0][0]++
		}
		for _, w := range backend.Accesses(s) {
			if !w.Writes {
				continue
			}
			was, err := l.Programs.Run(ctx, []backend.Step{backend.Read{Src: w.Range}})
			if err != nil {
				return nil, err
			}
			was[0][0]++
			if _, err := l.Programs.Run(ctx, []backend.Step{backend.Write{Dst: w.Range, Input: backend.Input{Bytes: was[0]}}}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// over opens an engine whose backend "gpu" is wrong after the given steps.
func over(t *testing.T, cfg Config, wrong ...int) *Engine {
	t.Helper()
	cfg.Backend = "gpu"
	first := true
	cfg.Open = func(context.Context, string) (backend.Backend, error) {
		if !first {
			return newHonest(), nil
		}
		first = false
		l := &lying{honest: newHonest(), wrong: map[int]bool{}}
		for _, i := range wrong {
			l.wrong[i] = true
		}
		return l, nil
	}
	e, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func wordsOf(v ...uint32) (b []byte) {
	for _, w := range v {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// TestComparedPrograms: programs of numbers and of vectors are computed again. A wrong step is
// found even if the program does not read its result.
func TestComparedPrograms(t *testing.T) {
	words := Space{Elements: backend.Elements{Element: backend.Word(), Count: 8}}
	batch := func(s *Session, at int) backend.Batch {
		return backend.Batch{Space: s.Space(), Offset: at, Words: 1, Count: 2}
	}
	programs := map[string]struct {
		space Space
		steps func(s *Session) []backend.Step
	}{
		"numbers": {words, func(s *Session) []backend.Step {
			return []backend.Step{
				backend.Write{Dst: backend.Range{Space: s.Space(), Count: 4}, Input: backend.Input{Bytes: wordsOf(2, 3, 4, 5)}},
				backend.Compute{Op: backend.NumAdd, Dst: batch(s, 4), A: batch(s, 0), B: batch(s, 2)},
				backend.Compute{Op: backend.NumAdd, Dst: batch(s, 6), A: batch(s, 4), B: batch(s, 4)},
			}
		}},
		"vectors": {space8, func(s *Session) []backend.Step {
			one := make([]byte, 32)
			one[0] = 1
			return []backend.Step{
				backend.Write{Dst: part(s, 0, 1), Input: backend.Input{Bytes: one}},
				backend.Invert{Dst: part(s, 1, 1), Src: part(s, 0, 1)},
				backend.Invert{Dst: part(s, 2, 1), Src: part(s, 1, 1)},
			}
		}},
	}
	for name, p := range programs {
		for _, c := range []struct {
			every int
			wrong []int
			found bool
		}{{1, nil, false}, {1, []int{1}, true}, {1, []int{2}, true}, {2, []int{1}, false}, {0, []int{1}, false}} {
			e := over(t, Config{CompareEvery: c.every}, c.wrong...)
			s, err := e.OpenSession(t.Context(), p.space)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Run(t.Context(), p.steps(s))
			if errors.Is(err, ErrWrongAnswer) != c.found || !c.found && err != nil {
				t.Errorf("%s, %+v: %v", name, c, err)
			}
			if n := e.Stats().Compared; n != uint64(map[bool]int{true: 1}[c.every == 1]) {
				t.Errorf("%s, %+v: %d compared", name, c, n)
			}
			s.Close()
		}
	}
}

// TestComparedWithMemory compares a program whose operands an earlier program has written.
func TestComparedWithMemory(t *testing.T) {
	e := over(t, Config{CompareEvery: 1})
	s, err := e.OpenSession(t.Context(), Space{Elements: backend.Elements{Element: backend.Word(), Count: 8}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := func(k int) backend.Range { return backend.Range{Space: s.Space(), Offset: k, Count: 1} }
	number := func(k int) backend.Batch {
		return backend.Batch{Space: s.Space(), Offset: k, Words: 1, Count: 1}
	}
	run := func(steps ...backend.Step) [][]byte {
		out, err := s.Run(t.Context(), steps)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	run(backend.Write{Dst: at(0), Input: backend.Input{Bytes: wordsOf(7)}}, backend.Write{Dst: at(1), Input: backend.Input{Bytes: wordsOf(8)}})
	for range 2 { // the second adds to what the first computed
		run(backend.Compute{Op: backend.NumAdd, Dst: number(0), A: number(0), B: number(1)})
	}
	out := run(backend.Compute{Op: backend.NumAdd, Dst: number(2), A: number(0), B: number(1)}, backend.Read{Src: at(2)})
	if got := binary.LittleEndian.Uint32(out[1]); got != 31 || len(out) != 2 {
		t.Errorf("%d of %d answers", got, len(out))
	}
	if n := e.Stats().Compared; n != 3 {
		t.Errorf("%d compared", n)
	}
}

// TestNumbersAreChecked: impossible answers are refused without another backend.
func TestNumbersAreChecked(t *testing.T) {
	for _, c := range []struct {
		op         backend.NumberOp
		operands   string // of A, B and M, in this order
		degree     int
		carry      bool
		top        uint32 // A and B; M is top+1, and the wrong answer is at least that
		says       string
		unfindable bool
	}{
		{op: backend.NumAddMod, operands: "BM", top: 254, says: "below the modulus"},
		{op: backend.NumGFAdd, operands: "B", degree: 3, top: 7, says: "GF(2^3)"},
		{op: backend.NumCompare, operands: "B", top: 1, says: "a sign"},
		{op: backend.NumAdd, operands: "B", carry: true, top: 1<<32 - 1, says: "a carry"},
		{op: backend.NumMul, operands: "B", top: 1, unfindable: true},
	} {
		for _, check := range []Check{CheckNone, CheckCurve} {
			lies := &replaced{honest: newHonest()}
			e, err := New(t.Context(), Config{Backend: "gpu", Check: check, Fallbacks: []string{NoFallback},
				Open: func(context.Context, string) (backend.Backend, error) { return lies, nil }})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			s, err := e.OpenSession(t.Context(), Space{Elements: backend.Elements{Element: backend.Word(), Count: 16}})
			if err != nil {
				t.Fatal(err)
			}
			number := func(k, words int) backend.Batch {
				return backend.Batch{Space: s.Space(), Offset: k, Words: words, Count: 1}
			}
			compute := backend.Compute{Op: c.op, A: number(0, 1), B: number(1, 1), Dst: number(4, 1), Degree: c.degree}
			if c.op == backend.NumMul {
				compute.Dst.Words = 2
			}
			if strings.Contains(c.operands, "M") {
				compute.M = number(2, 1)
			}
			answer := compute.Dst
			if c.carry {
				compute.Carry = number(8, 1)
				answer = compute.Carry
			}
			// The backend computes something else: an answer too large for this operation.
			lies.at, lies.with = answer.Range(), wordsOf(c.top+1, 0)[:4*answer.Words]
			if c.degree == 0 && !c.carry && compute.M == (backend.Batch{}) {
				lies.with = wordsOf(5, 0)[:4*answer.Words]
			}
			if c.carry {
				lies.with = wordsOf(2)
			}
			_, err = s.Run(t.Context(), []backend.Step{
				backend.Write{Dst: backend.Range{Space: s.Space(), Count: 3}, Input: backend.Input{Bytes: wordsOf(c.top, c.top, c.top+1)}},
				compute, backend.Read{Src: answer.Range()},
			})
			found := check != CheckNone && !c.unfindable
			if errors.Is(err, ErrWrongAnswer) != found || found && !strings.Contains(err.Error(), c.says) || !found && err != nil {
				t.Errorf("%v, check %d: %v", c.op, check, err)
			}
			s.Close()
		}
	}
}

// replaced is the CPU backend with another answer for one range.
type replaced struct {
	honest
	at   backend.Range
	with []byte
}

func (r *replaced) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	out, err := r.Programs.Run(ctx, steps)
	for i, s := range steps {
		if read, ok := s.(backend.Read); ok && read.Src == r.at {
			copy(out[i], r.with)
		}
	}
	return out, err
}
