package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// numberChecks are run for a backend with operations on numbers. Their subjects have no curve.
var numberChecks = []check{
	{"spaces of words", spacesOfWords},
	{"operations", operations},
	{"wide numbers", wideNumbers},
	{"long addition", longAddition},
	{"random numbers", randomNumbers},
	{"accesses of numbers", accessesOfNumbers},
	{"chains", chainsOfNumbers},
	{"wrong operations", wrongOperations},
	{"wrong values", wrongValues},
	{"numbers at the same time", concurrentNumbers},
	{"cancelled numbers", cancelledNumbers},
}

// has reports whether the backend has the operations.
func (s *subject) has(ops ...backend.NumberOp) bool { return s.b.Info().Can.HasNumbers(ops...) }

// reader reads random cases of n bytes.
func (s *subject) reader(seed uint64, n int) *randprog.Reader {
	return randprog.Read(randprog.Bytes(rand.New(rand.NewPCG(s.seed, seed)), n))
}

func spacesOfWords(s *subject) error {
	for _, n := range []int{0, 1, 2, 33, 1001} {
		words := randprog.Bytes(rand.New(rand.NewPCG(s.seed, uint64(n))), 4*n)
		for range 2 { // the second time perhaps in the same memory
			if err := s.withSpace(n, func(id backend.SpaceID) error {
				if err := s.holds(id, make([]byte, 4*n)); err != nil {
					return in(err, "a new space")
				}
				lo, hi := n/3, n-n/4
				want := make([]byte, 4*n)
				copy(want[4*lo:4*hi], words)
				_, err := s.vectors().Run(s.ctx, []backend.Step{
					backend.Write{Dst: span(id, lo, hi-lo), Input: backend.Input{Bytes: words[:4*(hi-lo)], Check: true}},
				})
				return errors.Join(err, s.holds(id, want))
			}); err != nil {
				return in(err, "%d words", n)
			}
		}
	}
	_, err := s.vectors().NewSpace(s.ctx, backend.Word(), 1<<50)
	return in(refused(err, backend.ErrOutOfMemory), "2^50 words")
}

// widths returns the widths at which the number of limbs, registers or threads changes.
func (s *suite) widths() []int {
	if s.full {
		return []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 48, 64, 65, 96, 127, 128, 129}
	}
	return []int{1, 2, 3, 4, 8, 9, 32, 33, 64}
}

// operations compares operations with their definitions.
func operations(s *subject) error {
	for _, op := range s.b.Info().Can.Numbers {
		for _, words := range s.widths() {
			r := s.reader(uint64(op)<<16|uint64(words), 4000)
			p := r.Numbers()
			for _, count := range []int{0, 1, 2, 5, 40/words + 1} {
				p.Step(op, words, count)
			}
			if err := in(s.model(&p.Program), "%v of %d words", op, words); err != nil {
				return err
			}
		}
	}
	return nil
}

// wideNumbers compares operations on numbers of up to 65,536 bits, those whose definition is quick
// to compute.
func wideNumbers(s *subject) error {
	for _, op := range s.b.Info().Can.Numbers {
		widths := []int{backend.MaxNumber}
		switch op {
		case backend.NumGFAdd, backend.NumGFMul, backend.NumGFSqr, backend.NumGFInv:
			widths = nil // up to 64 words
		case backend.NumExpMod:
			widths = []int{96, 128}
		case backend.NumInvMod:
			widths = []int{128, 256}
		default:
			if s.full {
				widths = append(widths, 255, 256, 257, 1000)
			}
		}
		for _, words := range widths {
			p := s.reader(uint64(op)<<20|uint64(words), 4000).Numbers()
			p.Step(op, words, 1)
			p.Step(op, words, 2)
			if err := in(s.model(&p.Program), "%v of %d words", op, words); err != nil {
				return err
			}
		}
	}
	return nil
}

// long returns a number of size bytes: all ones, one, runs of ones and zeros, or random.
func long(kind, size int, rng *rand.Rand) []byte {
	b := make([]byte, size)
	switch kind {
	case 0:
		for i := range b {
			b[i] = 0xff
		}
	case 1:
		b[0] = 1
	case 2:
		for i := range b {
			b[i] = byte(-(i / 52 % 2))
		}
	default:
		copy(b, randprog.Bytes(rng, size))
	}
	return b
}

// longAddition checks additions and subtractions whose carries go through whole numbers.
func longAddition(s *subject) error {
	if !s.has(backend.NumAdd, backend.NumSub) {
		return nil
	}
	rng := rand.New(rand.NewPCG(s.seed, 70))
	lengths := [][2]int{{64, 3}, {2048, 2}, {4097, 1}, {1<<18 + 5, 1}}
	if s.full {
		lengths = append(lengths, [2]int{65, 100}, [2]int{1 << 20, 3}, [2]int{1<<22 + 1, 1})
	}
	for _, l := range lengths {
		words, count := l[0], l[1]
		for kind := range 16 {
			if words > 1<<12 && kind != 4 && kind%5 != 0 {
				continue // of the largest: ones plus one, and two of a kind
			}
			at := 0
			take := func(words int) backend.Batch {
				b := backend.Batch{Space: 1, Offset: at, Words: words, Count: count}
				at += words * count
				return b
			}
			a, b, dst, carry := take(words), take(words), take(words), take(1)
			p := &randprog.Program{Element: backend.Word(), Spaces: [][]byte{make([]byte, 4*at)}}
			for i := range count {
				copy(p.Spaces[0][4*(a.Offset+i*words):], long(kind%4, 4*words, rng))
				copy(p.Spaces[0][4*(b.Offset+i*words):], long(kind/4, 4*words, rng))
			}
			for _, op := range []backend.NumberOp{backend.NumAdd, backend.NumSub} {
				p.Steps = append(p.Steps,
					backend.Compute{Op: op, Dst: dst, A: a, B: b, Carry: carry}, backend.Read{Src: carry.Range()}, backend.Read{Src: dst.Range()},
					backend.Compute{Op: op, Dst: dst, A: dst, B: b, Carry: carry}, backend.Read{Src: carry.Range()})
			}
			if s.has(backend.NumSum) {
				one := dst
				one.Count = 1
				p.Steps = append(p.Steps, backend.Compute{Op: backend.NumSum, Dst: one, A: a})
			}
			if err := in(s.model(p), "%d times %d words, kind %d", count, words, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

func randomNumbers(s *subject) error {
	n := 40
	if s.full {
		n = 400
	}
	for i := range n {
		p := s.reader(uint64(1000+i), 600).Numbers().Random(s.b.Info().Can.Numbers)
		if err := in(s.model(p), "case %d", i); err != nil {
			return err
		}
	}
	return nil
}

// accessesOfNumbers does what accesses does, for operations on numbers.
func accessesOfNumbers(s *subject) error {
	rng := rand.New(rand.NewPCG(s.seed, 73))
	for i := range 12 {
		p := s.reader(uint64(3000+i), 600).Numbers().Random(s.b.Info().Can.Numbers)
		if err := s.honest(p, func(_ backend.Element, n int) []byte { return randprog.Bytes(rng, 4*n) }); err != nil {
			return in(err, "case %d", i)
		}
	}
	return nil
}

// chainsOfNumbers checks identities between operations, which need no definitions: 1/x times x,
// powers of an element of known order, and products by Montgomery's method.
func chainsOfNumbers(s *subject) error {
	const words, count = 8, 5
	if !s.has(backend.NumInvMod, backend.NumMulMod, backend.NumExpMod, backend.NumToMont, backend.NumMontMul, backend.NumFromMont) {
		return nil
	}
	r := fixtures.Order(backend.BN254) // a prime
	rng := rand.New(rand.NewPCG(s.seed, 71))
	batch := func(k, count int) backend.Batch {
		return backend.Batch{Space: 1, Offset: k * words * count, Words: words, Count: count}
	}
	x, y, z := batch(0, count), batch(1, count), batch(2, count)
	m := backend.Batch{Space: 1, Offset: 3 * words * count, Words: words, Count: 1}
	e := m
	e.Offset += words
	p := &randprog.Program{Element: backend.Word(), Spaces: [][]byte{make([]byte, 4*words*(3*count+2))}}
	for i := range count {
		v := new(big.Int).SetBytes(randprog.Bytes(rng, 40))
		copy(p.Spaces[0][4*words*i:], fixtures.Raw(v.Mod(v, r), 4*words))
	}
	copy(p.Spaces[0][4*m.Offset:], fixtures.Raw(r, 4*words))
	copy(p.Spaces[0][4*e.Offset:], fixtures.Raw(new(big.Int).Sub(r, big.NewInt(1)), 4*words))
	p.Steps = []backend.Step{
		backend.Compute{Op: backend.NumInvMod, Dst: y, A: x, M: m},
		backend.Compute{Op: backend.NumMulMod, Dst: z, A: x, B: y, M: m},
		backend.Read{Src: z.Range()},
		backend.Compute{Op: backend.NumExpMod, Dst: z, A: x, B: e, M: m},
		backend.Read{Src: z.Range()},
		backend.Compute{Op: backend.NumToMont, Dst: z, A: x, M: m},
		backend.Compute{Op: backend.NumMontMul, Dst: y, A: y, B: z, M: m},
		backend.Read{Src: y.Range()},
		backend.Compute{Op: backend.NumFromMont, Dst: z, A: z, M: m},
		backend.Read{Src: z.Range()},
	}
	got, err := p.Run(s.ctx, s.b)
	if err != nil {
		return err
	}
	one := fixtures.Raw(big.NewInt(1), 4*words)
	for k, want := range map[int][]byte{2: slices.Repeat(one, count), 4: slices.Repeat(one, count),
		7: slices.Repeat(one, count), 9: p.Spaces[0][:4*words*count]} {
		if !bytes.Equal(got.Answers[k], want) {
			return fmt.Errorf("step %d answers %x, want %x", k, got.Answers[k], want)
		}
	}
	return nil
}

// wrongOperations checks that wrong operations are refused before anything is written.
func wrongOperations(s *subject) error {
	const n = 64
	words := randprog.Bytes(rand.New(rand.NewPCG(s.seed, 72)), 4*n)
	return s.withSpace(n, func(id backend.SpaceID) error {
		all := span(id, 0, n)
		if _, err := s.vectors().Run(s.ctx, []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: words}}}); err != nil {
			return err
		}
		for _, step := range randprog.WrongNumbers() {
			step := randprog.Renamed([]backend.Step{step}, []backend.SpaceID{id}, nil)[0]
			_, err := s.vectors().Run(s.ctx, []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: make([]byte, 4*n)}}, step})
			if err := refused(err, backend.ErrInvalidInput); err != nil {
				return in(err, "%T%+v", step, step)
			}
			if !strings.Contains(err.Error(), "step 1") {
				return fmt.Errorf("%T%+v: %w: does not name the step", step, step, err)
			}
		}
		return errors.Join(in(s.holds(id, words), "after programs that were refused"), s.vectorsAlive())
	})
}

// wrongValues checks that wrong values are refused, with the element and the reason.
func wrongValues(s *subject) error {
	const words, count, bad = 4, 9, 6
	value := func(v int64) []byte { return fixtures.Raw(big.NewInt(v), 4*words) }
	ones := bytes.Repeat([]byte{0xff}, 4*words)
	for _, op := range s.b.Info().Can.Numbers {
		type wrong struct {
			a, b, m []byte
			says    string
		}
		var list []wrong
		two := false // operands
		switch op {
		case backend.NumAddMod, backend.NumSubMod:
			two = true
			list = []wrong{{m: value(0), says: "modulus is 0"}, {a: value(35), says: "A is not below the modulus"},
				{b: ones, says: "B is not below the modulus"}}
		case backend.NumMulMod, backend.NumMontMul:
			two = true
			list = []wrong{{m: value(34), says: "modulus is even"}, {m: value(1), says: "modulus is not above 1"},
				{m: value(0), says: "modulus is even"},
				{a: value(35), says: "A is not below the modulus"}, {b: ones, says: "B is not below the modulus"}}
		case backend.NumExpMod:
			two = true
			list = []wrong{{m: value(34), says: "modulus is even"}, {a: value(35), says: "A is not below the modulus"}}
		case backend.NumMontSqr, backend.NumToMont, backend.NumFromMont, backend.NumInvMod:
			list = []wrong{{m: value(34), says: "modulus is even"}, {a: ones, says: "A is not below the modulus"}}
		case backend.NumReduce:
			list = []wrong{{m: value(34), says: "modulus is even"}}
		case backend.NumGFMul, backend.NumGFAdd:
			two = true
			list = []wrong{{a: ones, says: "A has bits from x^100 on"}, {b: ones, says: "B has bits from x^100 on"}}
		case backend.NumGFSqr, backend.NumGFInv:
			list = []wrong{{a: ones, says: "A has bits from x^100 on"}}
		}
		for _, w := range list {
			c := backend.Compute{Op: op}
			var memory []byte
			put := func(batch *backend.Batch, usual, wrong []byte) {
				*batch = backend.Batch{Space: 1, Offset: len(memory) / 4, Words: words, Count: count}
				for i := range count {
					v := usual
					if i == bad && wrong != nil {
						v = wrong
					}
					memory = append(memory, v...)
				}
			}
			put(&c.A, value(7), w.a)
			if two {
				put(&c.B, value(5), w.b)
			}
			if strings.HasPrefix(op.String(), "gf") {
				c.Degree = 100
			} else {
				put(&c.M, value(35), w.m)
			}
			put(&c.Dst, value(0), nil)
			p := &randprog.Program{Element: backend.Word(), Spaces: [][]byte{memory}, Steps: []backend.Step{c}}
			_, err := p.Run(s.ctx, s.b)
			if err := refused(err, backend.ErrInvalidInput); err != nil {
				return in(err, "%v: want %q", op, w.says)
			}
			for _, part := range []string{"step 1", fmt.Sprintf("element %d:", bad), w.says} {
				if !strings.Contains(err.Error(), part) {
					return fmt.Errorf("%v: %w: does not say %q", op, err, part)
				}
			}
		}
	}
	return s.vectorsAlive()
}

// concurrentNumbers runs programs at the same time, each on its own space.
func concurrentNumbers(s *subject) error {
	var g errgroup.Group
	for caller := range 4 {
		g.Go(func() error {
			for round := range 4 {
				p := s.reader(uint64(2000+caller*10+round), 500).Numbers().Random(s.b.Info().Can.Numbers)
				if err := in(s.model(p), "caller %d, round %d", caller, round); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// cancelledNumbers checks that a cancelled program ends soon. It raises a number of 65,536 bits to
// a power of as many bits, which takes minutes.
func cancelledNumbers(s *subject) error {
	op, words, a, b := backend.NumExpMod, 256, bytes.Repeat([]byte{0x5a}, 4*256), bytes.Repeat([]byte{0xff}, 4*256)
	if !s.has(op) {
		return nil
	}
	return s.withSpace(4*words, func(id backend.SpaceID) error {
		batch := func(k int) backend.Batch {
			return backend.Batch{Space: id, Offset: k * words, Words: words, Count: 1}
		}
		cause := errors.New("the user went home")
		ctx, cancel := context.WithCancelCause(s.ctx)
		defer cancel(nil)
		long := []backend.Step{
			backend.Write{Dst: batch(0).Range(), Input: backend.Input{Bytes: a}}, backend.Write{
				Dst: batch(2).Range(), Input: backend.Input{Bytes: b},
			},
			backend.Write{Dst: batch(1).Range(), Input: backend.Input{Bytes: b, Ready: func(context.Context, int) error {
				go cancel(cause)
				return nil
			}}},
		}
		for range 1000 {
			long = append(long, backend.Compute{Op: op, Dst: batch(3), A: batch(0), B: batch(1), M: batch(2)})
		}
		if _, err := s.vectors().Run(ctx, long); err != nil { // a fast backend may have finished
			if err := errors.Join(refused(err, context.Canceled), refused(err, cause)); err != nil {
				return err
			}
		}
		return s.vectorsAlive()
	})
}
