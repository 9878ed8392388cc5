package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// VerifyConfig says what Verify tries.
type VerifyConfig struct {
	// Open opens backends by name; Backends are those to be verified.
	Open     engine.Opener
	Backends []string
	Curves   []backend.Curve
	Groups   []backend.Group
	// Size is the most points of a case, at least 4.
	Size int
	// Cases is the number of random cases of every group.
	Cases int
	Seed  uint64
	// Long also tries 2^k-1, 2^k and 2^k+1 for every k up to Size, and every
	// edge scalar in an MSM of its own.
	Long bool

	Progress Progress
	Note     func(string)
}

// OpVerify is what Verified is in a record.
const OpVerify = "verify"

// Verified is the outcome of one kind of cases on one group.
type Verified struct {
	Op      string `json:"op,omitempty"` // OpVerify of numbers
	Backend string `json:"backend"`
	Curve   string `json:"curve"`
	Group   string `json:"group"`
	Cases   string `json:"cases"` // what they have in common
	Tried   int    `json:"tried"` // answers compared
	Failed  int    `json:"failed"`
	// Failure describes the first failure: a wrong answer or an error.
	Failure string `json:"failure,omitempty"`
}

// Validate refuses an empty or senseless configuration with
// backend.ErrInvalidInput.
func (c *VerifyConfig) Validate() error {
	switch {
	case c.Open == nil || len(c.Backends) == 0 || len(c.Curves) == 0 || len(c.Groups) == 0:
		return fmt.Errorf("%w: nothing to verify: backends, curves and groups must be given", backend.ErrInvalidInput)
	case c.Size < 4 || c.Size > backend.MaxCount:
		return fmt.Errorf("%w: cases of up to %d points (4 to %d are possible)", backend.ErrInvalidInput, c.Size, backend.MaxCount)
	case c.Cases < 0:
		return fmt.Errorf("%w: %d random cases", backend.ErrInvalidInput, c.Cases)
	}
	return nil
}

// Verify tries edge and random cases on every backend, through the typed API
// and without any fallback, and compares each answer with the discrete
// logarithms; for tiny inputs also with the backend "reference". Random programs
// over vectors, where a backend has them, run on it and on the reference. It goes on
// after a failure and ends with ErrWrong if there was any. Other errors (a
// backend that cannot be opened, the context's) end it at once; the result
// holds what was tried.
func Verify(ctx context.Context, cfg VerifyConfig) (_ []Verified, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	ref, err := openEngine(ctx, cfg.Open, "reference", nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ref.Close()) }()
	v := &verifying{cfg: cfg, reference: ref, points: map[fixtures.Key]*fixtures.Points{}}
	for _, c := range cfg.Curves {
		for _, e := range all.able(c.String(), HasCurve(c), cfg.Note) {
			for _, g := range cfg.Groups {
				if err := v.group(ctx, e, c, g); err != nil {
					return v.done, err
				}
			}
		}
	}
	if len(v.done) == 0 {
		return nil, fmt.Errorf("%w: no backend has any of the curves", backend.ErrUnsupported)
	}
	failed := 0
	for _, d := range v.done {
		failed += d.Failed
	}
	if failed > 0 {
		return v.done, fmt.Errorf("%w: %d cases failed", ErrWrong, failed)
	}
	return v.done, nil
}

// verifying is a call of Verify.
type verifying struct {
	cfg       VerifyConfig
	reference *Single
	points    map[fixtures.Key]*fixtures.Points // their tables take long to make
	done      []Verified
}

// subject is one group of one backend.
type subject struct {
	group
	cfg    VerifyConfig
	e      *Single
	points map[fixtures.Key]*fixtures.Points
	curve  backend.Curve
	g      backend.Group
	result *Verified
	rng    *rand.Rand
}

// kinds of cases, in the order they are tried. An error of one means that the
// backend's answer is missing, and is counted as a failure.
var kinds = []struct {
	name string
	try  func(context.Context, *subject) error
}{
	{"sizes", trySizes},
	{"edge scalars", tryEdges},
	{"equal scalars", tryEqual},
	{"sets of points and distributions", trySets},
	{"ranges", tryRanges},
	{"batches", tryBatches},
	{"shared memory", tryArena},
	{"random", tryRandom},
}

func (v *verifying) group(ctx context.Context, e *Single, c backend.Curve, g backend.Group) error {
	typed, err := groupOf(c, g)
	if err != nil {
		return err
	}
	try := func(name string, e *Single, do func(context.Context, *subject) error) error {
		r := Verified{Backend: e.Name, Curve: c.String(), Group: g.String(), Cases: name}
		s := &subject{group: typed, cfg: v.cfg, e: e, points: v.points, curve: c, g: g, result: &r,
			rng: rand.New(rand.NewPCG(v.cfg.Seed, uint64(c)<<8|uint64(g)))}
		err := do(ctx, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.fail(err.Error())
		}
		v.done = append(v.done, r)
		return nil
	}
	stage := fmt.Sprintf("%s: %v %v", e.Name, c, g)
	for i, k := range kinds {
		v.cfg.Progress.Tell(stage, i, len(kinds)+1)
		if err := try(k.name, e, k.try); err != nil {
			return err
		}
	}
	v.cfg.Progress.Tell(stage, len(kinds), len(kinds)+1)
	// The oracle itself, so that a mistake in it does not go unseen.
	if err := try("double-and-add", e, func(ctx context.Context, s *subject) error { return tryReference(ctx, s, v.reference) }); err != nil {
		return err
	}
	if _, ok := backend.As[backend.Programs](e.only); ok && e.info.Can.HasPrograms(backend.ScalarOf(c)) {
		if err := try("programs over vectors",
			e, func(ctx context.Context, s *subject) error { return tryPrograms(ctx, s, v.reference) }); err != nil {
			return err
		}
	}
	v.cfg.Progress.Tell(stage, len(kinds)+1, len(kinds)+1)
	return nil
}

func (s *subject) fail(why string) {
	s.result.Failed++
	if s.result.Failure == "" {
		s.result.Failure = why
	}
}

// compare counts one answer.
func (s *subject) compare(got, want []byte, what string) {
	s.result.Tried++
	if !bytes.Equal(got, want) {
		s.fail(what + ": another point")
	}
}

// set makes n points of a set.
func (s *subject) set(set fixtures.Set, n int) (p *fixtures.Points, raw []byte, err error) {
	key := fixtures.Key{Curve: s.curve, Group: s.g, Set: set, Seed: s.cfg.Seed}
	if p = s.points[key]; p == nil {
		if p, err = fixtures.New(key); err != nil {
			return nil, nil, err
		}
		s.points[key] = p
	}
	raw, err = p.Bytes(n)
	return p, raw, err
}

// with loads n points of a set for the duration of do.
func (s *subject) with(ctx context.Context, set fixtures.Set, n int, do func(*fixtures.Points, bases) error) error {
	p, raw, err := s.set(set, n)
	if err != nil {
		return err
	}
	b, err := s.load(ctx, s.e.Engine, raw)
	if err != nil {
		return err
	}
	return errors.Join(do(p, b), b.close())
}

// one tries one MSM.
func (s *subject) one(ctx context.Context, p *fixtures.Points, b bases, offset int, scalars []byte, path report.Path, what string) error {
	want, err := p.Expected(offset, scalars)
	if err != nil {
		return err
	}
	in, err := b.scalars(ctx, offset, scalars, path)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer in.free()
	got, _, err := in.msm(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.compare(got, want, what)
	return nil
}

func (s *subject) uniform(n int, salt uint64) ([]byte, error) {
	return fixtures.Scalars(s.curve, fixtures.Uniform, s.cfg.Seed+salt, n)
}

// sizes returns the sizes around the powers of two and around a warp's width, up to Size.
func (s *subject) sizes() (sizes []int) {
	list := []int{0, 1, 2, 3, 31, 32, 33}
	top := bits.Len(uint(s.cfg.Size)) - 1
	for k := 6; k <= top; k++ {
		if s.cfg.Long || k == top || k%4 == 0 {
			list = append(list, 1<<k-1, 1<<k, 1<<k+1)
		}
	}
	for _, n := range list {
		if n <= s.cfg.Size {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

func trySizes(ctx context.Context, s *subject) error {
	for _, n := range s.sizes() {
		err := s.with(ctx, fixtures.Random, n, func(p *fixtures.Points, b bases) error {
			scalars, err := s.uniform(n, 0)
			if err != nil {
				return err
			}
			return s.one(ctx, p, b, 0, scalars, report.Copy, fmt.Sprintf("%d points", n))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// edges returns 0, 1, r-1, r-2, the values about half of r, and 2^j and 2^j - 1 for
// every j that gives a value below r.
func (s *subject) edges() []*big.Int {
	r, one := fixtures.Order(s.curve), big.NewInt(1)
	half := new(big.Int).Rsh(r, 1)
	list := []*big.Int{
		new(big.Int), one, new(big.Int).Sub(r, one), new(big.Int).Sub(r, big.NewInt(2)),
		half, new(big.Int).Add(half, one), new(big.Int).Sub(half, one),
	}
	for j := range uint(s.curve.ScalarBits()) {
		power := new(big.Int).Lsh(one, j)
		list = append(list, new(big.Int).Sub(power, one), power)
	}
	return list
}

// join returns the scalars in memory that is aligned.
func join(curve backend.Curve, values ...*big.Int) []byte {
	b := layout.Bytes(make([]uint64, len(values)*curve.ScalarBytes()/8))
	for i, v := range values {
		copy(b[i*curve.ScalarBytes():], fixtures.Scalar(curve, v))
	}
	return b
}

func tryEdges(ctx context.Context, s *subject) error {
	edges := s.edges()
	return s.with(ctx, fixtures.Random, len(edges), func(p *fixtures.Points, b bases) error {
		if err := s.one(ctx, p, b, 0, join(s.curve, edges...), report.Copy, "all edge scalars"); err != nil {
			return err
		}
		for i, v := range edges {
			if !s.cfg.Long && i >= 7 {
				break
			}
			if err := s.one(ctx, p, b, i, join(s.curve, v), report.Copy, fmt.Sprintf("scalar %v alone", v)); err != nil {
				return err
			}
		}
		return nil
	})
}

func tryEqual(ctx context.Context, s *subject) error {
	n := min(s.cfg.Size, 1000)
	r := fixtures.Order(s.curve)
	for _, set := range fixtures.Sets() {
		err := s.with(ctx, set, n, func(p *fixtures.Points, b bases) error {
			for _, v := range []*big.Int{new(big.Int), big.NewInt(1), new(big.Int).Sub(r, big.NewInt(1)), new(big.Int).Div(r, big.NewInt(3))} {
				scalars := bytes.Repeat(join(s.curve, v), n)
				if err := s.one(ctx, p, b, 0, scalars, report.Copy, fmt.Sprintf("%d %v points, all scalars %v", n, set, v)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func trySets(ctx context.Context, s *subject) error {
	n := s.cfg.Size
	if !s.cfg.Long {
		n = min(n, 4099)
	}
	for _, set := range fixtures.Sets() {
		err := s.with(ctx, set, n, func(p *fixtures.Points, b bases) error {
			for _, d := range fixtures.Distributions() {
				scalars, err := fixtures.Scalars(s.curve, d, s.cfg.Seed, n)
				if err != nil {
					return err
				}
				if err := s.one(ctx, p, b, 0, scalars, report.Copy, fmt.Sprintf("%d %v points, %v scalars", n, set, d)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func tryRanges(ctx context.Context, s *subject) error {
	n := min(s.cfg.Size, 2000)
	return s.with(ctx, fixtures.Random, n, func(p *fixtures.Points, b bases) error {
		scalars, err := s.uniform(n, 1)
		if err != nil {
			return err
		}
		size := s.curve.ScalarBytes()
		for _, r := range [][2]int{{0, 0}, {n, n}, {0, 1}, {n - 1, n}, {1, n}, {0, n - 1}, {1, 2}, {n / 3, n - n/5}, {n/2 | 1, n}} {
			if r[0] > r[1] || r[1] > n {
				continue
			}
			if err := s.one(ctx, p, b, r[0], scalars[:(r[1]-r[0])*size], report.Copy,
				fmt.Sprintf("points %d to %d of %d", r[0], r[1], n)); err != nil {
				return err
			}
		}
		return nil
	})
}

// tryBatches tries several MSMs in one call, some on the same scalars.
func tryBatches(ctx context.Context, s *subject) error {
	n := min(s.cfg.Size, 1000)
	return s.with(ctx, fixtures.Infinities, n, func(p *fixtures.Points, b bases) error {
		first, err := s.uniform(n, 2)
		if err != nil {
			return err
		}
		second, err := fixtures.Scalars(s.curve, fixtures.Witness, s.cfg.Seed, n/2)
		if err != nil {
			return err
		}
		size := s.curve.ScalarBytes()
		var in []input
		var want [][]byte
		for _, part := range []struct {
			offset  int
			scalars []byte
		}{{0, first}, {n - n/2, second}, {0, first}, {0, second}, {n / 2, nil}, {1, first[size:]}} {
			x, err := b.scalars(ctx, part.offset, part.scalars, report.Copy)
			if err != nil {
				return err
			}
			w, err := p.Expected(part.offset, part.scalars)
			if err != nil {
				return err
			}
			in, want = append(in, x), append(want, w)
		}
		got, err := b.batch(ctx, in)
		if err != nil {
			return err
		}
		for i := range got {
			s.compare(got[i], want[i], fmt.Sprintf("MSM %d of a batch", i))
		}
		return nil
	})
}

func tryArena(ctx context.Context, s *subject) error {
	n := min(s.cfg.Size, 4000)
	return s.with(ctx, fixtures.Random, n, func(p *fixtures.Points, b bases) error {
		for i, m := range []int{n, n / 2, 1} {
			scalars, err := s.uniform(m, uint64(3+i))
			if err != nil {
				return err
			}
			if err := s.one(ctx, p, b, n-m, scalars, report.Arena, fmt.Sprintf("%d scalars in shared memory", m)); err != nil {
				return err
			}
		}
		return nil
	})
}

func tryRandom(ctx context.Context, s *subject) error {
	for i := range s.cfg.Cases {
		set := fixtures.Sets()[s.rng.IntN(len(fixtures.Sets()))]
		d := fixtures.Distributions()[s.rng.IntN(len(fixtures.Distributions()))]
		// Even over the logarithm: small sizes have the more special cases.
		n := 1 + s.rng.IntN(s.cfg.Size>>s.rng.IntN(bits.Len(uint(s.cfg.Size))-1))
		offset := s.rng.IntN(n)
		m := s.rng.IntN(n-offset) + 1
		seed := s.rng.Uint64()
		what := fmt.Sprintf("case %d: %d of %d %v points from %d, %v scalars of seed %d", i, m, n, set, offset, d, seed)
		err := s.with(ctx, set, n, func(p *fixtures.Points, b bases) error {
			scalars, err := fixtures.Scalars(s.curve, d, seed, m)
			if err != nil {
				return err
			}
			path := report.Copy
			if s.rng.IntN(2) == 1 {
				path = report.Arena
			}
			return s.one(ctx, p, b, offset, scalars, path, what)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tryReference compares with double-and-add, on a few points of every set.
func tryReference(ctx context.Context, s *subject, ref *Single) error {
	n := min(s.cfg.Size, 24)
	for _, set := range fixtures.Sets() {
		scalars, err := fixtures.Scalars(s.curve, fixtures.Witness, s.cfg.Seed, n)
		if err != nil {
			return err
		}
		answer := func(e *Single) (got []byte, err error) {
			other := *s
			other.e = e
			err = other.with(ctx, set, n, func(_ *fixtures.Points, b bases) error {
				in, err := b.scalars(ctx, 0, scalars, report.Copy)
				if err != nil {
					return err
				}
				got, _, err = in.msm(ctx)
				return err
			})
			return got, err
		}
		want, err := answer(ref)
		if err != nil {
			return err
		}
		got, err := answer(s.e)
		if err != nil {
			return err
		}
		s.compare(got, want, fmt.Sprintf("%d %v points", n, set))
	}
	return nil
}

// tryPrograms compares with the same programs in numbers of math/big.
func tryPrograms(ctx context.Context, s *subject, ref *Single) error {
	const n = 40
	_, raw, err := s.set(fixtures.Random, n)
	if err != nil {
		return err
	}
	for i := range s.cfg.Cases {
		p := randprog.Read(randprog.Bytes(s.rng, 400)).Program(s.curve,
			backend.Bases{Curve: s.curve, Group: s.g, Count: n, Bytes: raw}, randprog.Small)
		s.result.Tried++
		if err := p.Differ(ctx, s.e.only, ref.only); err != nil {
			s.fail(fmt.Sprintf("case %d: %v", i, err))
		}
	}
	return nil
}
