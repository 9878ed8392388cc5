package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	core "github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/vector"
)

// PeersConfig says what Peers measures: every program of a folder, in turns with a backend.
type PeersConfig struct {
	Open     core.Opener
	Backend  string
	Programs string   // the folder that bench/peers/build made
	Only     []string // of its programs; none is all
	Curves   []backend.Curve
	Sizes    []int // powers of two
	Count    int   // timed runs of each program, after one that is not
	Seed     uint64
	CacheDir string        // for points
	Patience time.Duration // with a program, until it is ready and for each answer; 0 is two minutes

	Progress Progress
	Note     func(string) // hears of programs that are left out, and why
}

// peerPrograms is peers.json of a folder: what bench/peers/build built, and how.
type peerPrograms struct {
	Compiler string `json:"nvcc"`
	Flags    string `json:"flags"`
	Programs []peerProgram
}

type peerProgram struct {
	Name, Library, Commit, Op string
	Curve, Group              string
	Multiples                 []int // to try, each; 0 is as the library chooses
}

// What is in a PeerRun's times.
const (
	timedPeerMSM       = "a call: scalars come from host memory that the card reads directly, points and their multiples are on the card before"
	timedPeerTransform = "a call on a vector on the card, until it is done"
)

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *PeersConfig) Validate() error {
	if c.Open == nil || c.Backend == "" || c.Programs == "" || len(c.Curves) == 0 || len(c.Sizes) == 0 || c.Count < 1 {
		return fmt.Errorf("%w: nothing to measure: a folder of programs, a backend, curves, sizes and a count must be given", backend.ErrInvalidInput)
	}
	for _, n := range c.Sizes {
		if n < 2 || n&(n-1) != 0 {
			return fmt.Errorf("%w: size %d, powers of two from 2 on are compared", backend.ErrInvalidInput, n)
		}
	}
	return nil
}

// read returns what the folder has and the configuration wants.
func (c *PeersConfig) read() (all peerPrograms, err error) {
	text, err := os.ReadFile(filepath.Join(c.Programs, "peers.json"))
	if err != nil {
		return all, fmt.Errorf("%w: %w: make the folder with bench/peers/build", backend.ErrInvalidInput, err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return all, fmt.Errorf("%w: peers.json: %w", backend.ErrInvalidInput, err)
	}
	for _, name := range c.Only {
		if !slices.ContainsFunc(all.Programs, func(p peerProgram) bool { return p.Name == name }) {
			return all, fmt.Errorf("%w: no program %q in %s", backend.ErrInvalidInput, name, c.Programs)
		}
	}
	all.Programs = slices.DeleteFunc(all.Programs, func(p peerProgram) bool { return len(c.Only) > 0 && !slices.Contains(c.Only, p.Name) })
	return all, nil
}

// Peers measures what cfg says, and answers as MSM does. A program that fails is left out,
// with a note; so is one whose answers are not right, and then the error is ErrWrong.
func Peers(ctx context.Context, cfg PeersConfig) (_ []report.PeerRun, _ []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	programs, err := cfg.read()
	if err != nil {
		return nil, nil, err
	}
	all, err := openEngines(ctx, cfg.Open, []string{cfg.Backend}, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	if d := all[0].info.Devices; len(d) > 1 {
		return nil, all.describe(), fmt.Errorf("%w: the backend has %d cards, a library takes one: choose it with PIPPIN_GPU_DEVICES and CUDA_VISIBLE_DEVICES", backend.ErrInvalidInput, len(d))
	}
	folder, err := os.MkdirTemp("", "msm-peers-")
	if err != nil {
		return nil, all.describe(), err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	p := &peers{cfg: cfg, programs: programs, engine: all[0], folder: folder}
	for _, c := range cfg.Curves {
		if len(all.with(c, cfg.Note)) == 0 {
			continue
		}
		for _, g := range backend.Groups() {
			if err := p.msms(ctx, c, g); err != nil {
				return p.runs, all.describe(), err
			}
		}
		if err := p.transforms(ctx, c); err != nil {
			return p.runs, all.describe(), err
		}
	}
	if len(p.runs) == 0 {
		err = fmt.Errorf("%w: no program of %s has one of the curves and answered", backend.ErrUnsupported, cfg.Programs)
	}
	if p.wrong > 0 {
		err = errors.Join(err, fmt.Errorf("%w: of %d programs, which are left out", ErrWrong, p.wrong))
	}
	for _, r := range p.runs {
		if r.Wrong > 0 {
			err = errors.Join(err, fmt.Errorf("%w: %s, %s, %s: %d answers", ErrWrong, r.Library, r.Curve, units.FormatSize(r.N), r.Wrong))
		}
	}
	return p.runs, all.describe(), err
}

// peers is a call of Peers.
type peers struct {
	cfg      PeersConfig
	programs peerPrograms
	engine   *single
	folder   string // for inputs
	runs     []report.PeerRun
	wrong    int // programs that were left out because of their answers
}

// of returns the programs that compute something of a curve.
func (p *peers) of(op string, c backend.Curve, group string) []peerProgram {
	return slices.DeleteFunc(slices.Clone(p.programs.Programs), func(x peerProgram) bool {
		return x.Op != op || x.Curve != c.String() || x.Group != group
	})
}

// file writes an input for programs.
func (p *peers) file(name string, content []byte) (string, error) {
	path := filepath.Join(p.folder, name)
	return path, os.WriteFile(path, content, 0o600)
}

// msms compares MSMs of a group at all sizes.
func (p *peers) msms(ctx context.Context, c backend.Curve, g backend.Group) (err error) {
	programs := p.of("msm", c, g.String())
	if len(programs) == 0 {
		return nil
	}
	most := slices.Max(p.cfg.Sizes)
	typed, err := groupOf(c, g)
	if err != nil {
		return err
	}
	points, err := fixtures.NewPoints(c, g, p.cfg.Seed)
	if err != nil {
		return err
	}
	stage := fmt.Sprintf("%v %v: %s points", c, g, units.FormatSize(most))
	cache := fixtures.Cache{Dir: p.cfg.CacheDir, Note: p.cfg.Note, Progress: func(done, total int) { p.cfg.Progress.tell(stage, done, total) }}
	f, err := cache.Open(ctx, points, most)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	all, err := f.Bytes()
	if err != nil {
		return err
	}
	pointsFile, err := p.file("points", all[:most*points.Size()])
	if err != nil {
		return err
	}
	scalars, err := fixtures.Scalars(c, fixtures.Uniform, p.cfg.Seed, most)
	if err != nil {
		return err
	}
	scalarsFile, err := p.file("scalars", plainScalars(c, scalars))
	if err != nil {
		return err
	}
	for _, n := range p.cfg.Sizes {
		mine := scalars[:n*len(scalars)/most]
		want, err := points.Expected(0, mine)
		if err != nil {
			return err
		}
		if err := p.msm(ctx, typed, programs, all[:n*points.Size()], mine, want, []string{pointsFile, scalarsFile, strconv.Itoa(n)},
			report.PeerRun{Op: report.OpPeer, Curve: c.String(), Group: g.String(), N: n, Timed: timedPeerMSM, Oracle: report.Oracle}); err != nil {
			return err
		}
	}
	return nil
}

// msm compares MSMs of one size.
func (p *peers) msm(ctx context.Context, typed group, programs []peerProgram, points, scalars, want []byte, args []string, run report.PeerRun) (err error) {
	b, err := typed.load(ctx, p.engine.Engine, points, msm.Multiples(64))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	path := report.Copy
	if p.engine.shared {
		path = report.Arena
	}
	in, err := b.scalars(ctx, 0, scalars, path)
	if err != nil {
		return err
	}
	defer in.free()
	own := func() (bool, time.Duration, error) {
		got, took, err := in.msm(ctx)
		return bytes.Equal(got, want), took, err
	}
	var turns []turn
	for _, program := range programs {
		for _, multiples := range program.Multiples {
			turns = append(turns, turn{program, multiples, append(slices.Clone(args), strconv.Itoa(multiples)),
				func(answer []byte) (bool, error) { return bytes.Equal(answer, want), nil }})
		}
	}
	return p.turns(ctx, run, own, turns)
}

// transforms compares forward transforms of a curve's scalar field at all sizes.
func (p *peers) transforms(ctx context.Context, c backend.Curve) error {
	programs := p.of("ntt", c, "")
	if len(programs) == 0 {
		return nil
	}
	typed, err := groupOf(c, backend.G1)
	if err != nil {
		return err
	}
	for _, n := range p.cfg.Sizes {
		elements, err := fixtures.Scalars(c, fixtures.Uniform, p.cfg.Seed, n)
		if err != nil {
			return err
		}
		t := transforming{peers: p, curve: c, programs: programs, elements: elements, n: n}
		if t.input, err = p.file("vector", elements); err != nil {
			return err
		}
		if t.output, err = p.file("answer", elements); err != nil {
			return err
		}
		for _, order := range []backend.Order{backend.Reversed, backend.Natural} {
			t.order = order
			if err := typed.transform(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// transforming is transforms of one vector.
type transforming struct {
	*peers
	curve         backend.Curve
	programs      []peerProgram
	elements      []byte
	n             int
	order         backend.Order // of the answer
	input, output string        // files
}

// orderNames are the orders of transforms as records have them.
var orderNames = map[backend.Order]string{backend.Natural: "natural to natural", backend.Reversed: "natural to reversed"}

// transform compares transforms of one vector to one order.
func transform[E comparable](ctx context.Context, t transforming, f *vector.Field[E]) (err error) {
	if t.engine.info.Can.Elements == nil {
		t.note("backend %s has no vectors: transforms are left out", t.engine.name)
		return nil
	}
	polynomial, err := layout.View[E](t.elements)
	if err != nil {
		return err
	}
	values, powers, err := valuesOf(ctx, t.cfg.Open, f, polynomial)
	if err != nil {
		return err
	}
	s, err := f.Open(ctx, t.engine.Engine, 2*t.n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	from, to := s.New(t.n), s.New(t.n)
	p := s.Program()
	p.Write(from, polynomial)
	if err := p.Run(ctx); err != nil {
		return err
	}
	own := func() (bool, time.Duration, error) {
		p.Transform(to, from, vector.Transform[E]{To: t.order})
		start := time.Now()
		err := p.Run(ctx)
		took := time.Since(start)
		if err != nil {
			return false, took, err
		}
		got := p.Read(to)
		err = p.Run(ctx)
		return err == nil && sameValues(got.Get(), values, t.order, 1), took, err
	}
	// A library may have another root of unity: its power tells which of our values its are.
	check := func(root []byte) (bool, error) {
		r, err := montgomery[E](t.curve, root)
		if err != nil {
			return false, err
		}
		power := slices.Index(powers, r)
		if power < 0 || power%2 == 0 {
			return false, nil
		}
		text, err := os.ReadFile(t.output)
		if err != nil {
			return false, err
		}
		got, err := layout.View[E](text)
		return err == nil && sameValues(got, values, t.order, power), err
	}
	order := map[backend.Order]string{backend.Natural: "natural", backend.Reversed: "reversed"}[t.order]
	var turns []turn
	for _, program := range t.programs {
		turns = append(turns, turn{program, 0, []string{t.input, t.output, strconv.Itoa(t.n), order}, check})
	}
	return t.turns(ctx, report.PeerRun{Op: report.OpPeerTransform, Curve: t.curve.String(), Order: orderNames[t.order], N: t.n,
		Timed: timedPeerTransform, Oracle: "the CPU's transform"}, own, turns)
}

// valuesOf returns the values of a polynomial at the powers of gnark-crypto's root of
// unity, in natural order, and these powers: the values of X. The CPU computes them.
func valuesOf[E comparable](ctx context.Context, open core.Opener, f *vector.Field[E], polynomial []E) (values, powers []E, err error) {
	e, err := openEngine(ctx, open, "cpu", nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	s, err := f.Open(ctx, e.Engine, 2*len(polynomial))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	v, x := s.New(len(polynomial)), s.New(len(polynomial))
	one, err := montgomery[E](f.Curve(), append([]byte{1}, make([]byte, f.Curve().ScalarBytes()-1)...))
	if err != nil {
		return nil, nil, err
	}
	variable := make([]E, len(polynomial))
	variable[1] = one
	p := s.Program()
	p.Write(v, polynomial)
	p.Write(x, variable)
	p.Transform(v, v, vector.Transform[E]{})
	p.Transform(x, x, vector.Transform[E]{})
	a, b := p.Read(v), p.Read(x)
	if err := p.Run(ctx); err != nil {
		return nil, nil, err
	}
	return a.Get(), b.Get(), nil
}

// sameValues reports whether got, in an order, is the values at the powers of a root that
// is itself a power of ours.
func sameValues[E comparable](got, values []E, order backend.Order, power int) bool {
	n := len(values)
	if len(got) != n {
		return false
	}
	shift := 64 - bits.TrailingZeros(uint(n))
	for i := range got {
		at := i
		if order == backend.Reversed {
			at = int(bits.Reverse64(uint64(i)) >> shift)
		}
		if got[i] != values[at*power%n] {
			return false
		}
	}
	return true
}

// montgomery returns a plain number, least significant byte first, as an element.
func montgomery[E any](c backend.Curve, plain []byte) (e E, err error) {
	v, err := layout.View[E](fixtures.Scalar(c, fixtures.FromRaw(plain)))
	if err != nil {
		return e, err
	}
	return v[0], nil
}

// plainScalars returns scalars in Montgomery form as plain numbers.
func plainScalars(c backend.Curve, scalars []byte) []byte {
	size, whole := c.ScalarBytes(), make([]byte, len(scalars))
	to := whole
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for part := range slices.Chunk(scalars, size<<12) {
		plain := to[:len(part)]
		to = to[len(part):]
		all.Go(func() error {
			for at := 0; at < len(part); at += size {
				copy(plain[at:], fixtures.Raw(fixtures.ScalarValue(c, part[at:at+size]), size))
			}
			return nil
		})
	}
	all.Wait()
	return whole
}

// turn is a program that computes in turns with pippin.
type turn struct {
	program   peerProgram
	multiples int
	args      []string
	check     func(answer []byte) (bool, error)
}

// turns has pippin compute in turns with one program after the other, and adds a run of
// each: a drift of the machine's speed meets both alike.
func (p *peers) turns(ctx context.Context, run report.PeerRun, own func() (bool, time.Duration, error), turns []turn) error {
	run.Device = p.engine.device()
	var ours tally
	if _, _, err := own(); err != nil {
		return err
	}
	var theirs []report.PeerRun
	for _, t := range turns {
		var all tally
		stage := fmt.Sprintf("%s %s%s %s: %s", run.Curve, run.Group, run.Order, units.FormatSize(run.N), t.program.Name)
		p.cfg.Progress.tell(stage, 0, 1+p.cfg.Count)
		peer, err := startPeer(ctx, filepath.Join(p.cfg.Programs, t.program.Name), t.args, cmp.Or(p.cfg.Patience, 2*time.Minute))
		for round := 0; err == nil && round <= p.cfg.Count; round++ {
			runtime.GC()
			right, took, failed := own()
			if failed != nil {
				peer.end()
				return failed
			}
			ours.add(round > 0, right, took)
			var answer []byte
			if answer, took, err = peer.ask(); err == nil {
				right, err = t.check(answer)
				all.add(round > 0, right, took)
			}
			p.cfg.Progress.tell(stage, 1+round, 1+p.cfg.Count)
		}
		err = errors.Join(err, peer.end())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.note("%s, %s: left out: %v", t.program.Name, units.FormatSize(run.N), err)
			continue
		}
		if all.wrong > 0 { // by the library or by our program for it
			p.note("%s, %s: left out: %d of its %d answers are not right", t.program.Name, units.FormatSize(run.N), all.wrong, 1+p.cfg.Count)
			p.wrong++
			continue
		}
		r := run
		r.Library, r.Commit, r.Multiples, r.Note = t.program.Library, t.program.Commit, t.multiples, peer.note
		r.Flags = "nvcc " + p.programs.Compiler + ", " + p.programs.Flags
		theirs = append(theirs, all.fill(r))
	}
	if len(theirs) > 0 {
		run.Library = report.Pippin
		p.runs = append(append(p.runs, ours.fill(run)), theirs...)
	}
	return nil
}

func (p *peers) note(format string, a ...any) {
	if p.cfg.Note != nil {
		p.cfg.Note(fmt.Sprintf(format, a...))
	}
}

// tally is the times and answers of one library.
type tally struct {
	samples []time.Duration
	wrong   int
}

func (t *tally) add(timed, right bool, took time.Duration) {
	if timed {
		t.samples = append(t.samples, took)
	}
	if !right {
		t.wrong++
	}
}

func (t *tally) fill(r report.PeerRun) report.PeerRun {
	r.Count, r.Min, r.Median, r.Samples = len(t.samples), record.Millis(record.Min(t.samples)), record.Millis(record.Median(t.samples)), record.AllMillis(t.samples)
	r.Checked, r.Wrong = t.wrong == 0, t.wrong
	return r
}
