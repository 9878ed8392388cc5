package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/vector"
)

// Peers measures every program of a folder with another library's MSMs, transforms or modular
// powers, in turns with a backend. A program that fails is left out, with a note; so is one whose answers are
// not right, and then the error is ErrWrong.
type Peers struct {
	Common            // with one backend
	Programs string   // the folder that bench/peers/build made
	Only     []string // of its programs; none is all
	Curves   []backend.Curve
	Sizes    []int         // of MSMs and transforms, powers of two
	Batches  []int         // numbers of a batch of modular powers
	Patience time.Duration // with a program, until it is ready and for each answer; 0 is two minutes
}

// peerPrograms is peers.json of a folder: what bench/peers/build built, and how.
type peerPrograms struct {
	Compiler string `json:"nvcc"`
	Flags    string `json:"flags"`
	Programs []peerProgram
}

type peerProgram struct {
	Name, Library, Commit, Op string
	Curve, Group              string // of MSMs and transforms
	Bits                      int    // of the numbers of powers
	Multiples                 []int  // to try, each; 0 is as the library chooses
}

// What is in the times.
const (
	timedPeerMSM = "a call: scalars come from host memory that the card reads directly, " +
		"points and their multiples are on the card before"
	timedPeerTransform = "a call on a vector on the card, until it is done"
	timedPeerPowers    = "a call on numbers on the card, until it is done; exponents as wide as the one modulus"
)

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *Peers) Validate() error {
	if c.Programs == "" || len(c.Backends) > 1 {
		return Refused("programs are in a folder, and compared with one backend")
	}
	if err := cmp.Or(c.ValidateCommon(), Some("curves", c.Curves), Powers("points and elements", c.Sizes, 2),
		Within("numbers", c.Batches, 1, math.MaxInt32)); err != nil {
		return err
	}
	_, err := c.read()
	return err
}

// Sheet shows how many times pippin's median the others' are.
func (c *Peers) Sheet() report.Sheet {
	return report.Sheet{
		Before: []report.Column{
			report.ColumnCurve(report.Stays),
			report.Text("what", report.Stays, func(r *report.Run) string { return cmp.Or(r.What, "MSM "+r.Group) }),
			report.ColumnN("n", report.Stays), report.ColumnInput("library", report.Stays, report.InputLibrary),
			report.ColumnSize("multiples", 2, "multiples"),
		},
		After: []report.Column{{Head: "x pippin's", Keep: 4, Of: againstPippin}},
	}
}

func againstPippin(runs []report.Run) func(*report.Run) string {
	work := func(r *report.Run) string { return fmt.Sprint(r.Op, r.Curve, r.Group, r.What, r.N) }
	own := map[string]float64{}
	for _, r := range runs {
		if r.Inputs[report.InputLibrary] == report.Pippin {
			own[work(&r)] = r.Median
		}
	}
	return func(r *report.Run) string {
		if own[work(r)] == 0 {
			return report.NoFigure
		}
		return fmt.Sprintf("%.2f", r.Median/own[work(r)])
	}
}

// read returns what the folder has and the configuration wants.
func (c *Peers) read() (all peerPrograms, err error) {
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

func (c *Peers) Measure(ctx context.Context, r *Runner) (err error) {
	programs, err := c.read()
	if err != nil {
		return err
	}
	if err := r.Start(ctx, nil); err != nil {
		return err
	}
	if d := r.Engines[0].info.Devices; len(d) > 1 {
		return Refused("the backend has %d cards, a library takes one: choose it with PIPPIN_GPU_DEVICES and CUDA_VISIBLE_DEVICES", len(d))
	}
	folder, err := os.MkdirTemp("", "msm-peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	p := &peers{Runner: r, cfg: c, programs: programs, engine: r.Engines[0], folder: folder}
	for _, curve := range c.Curves {
		if len(r.Able(curve.String(), HasCurve(curve))) == 0 {
			continue
		}
		for _, g := range backend.Groups() {
			if err := p.msms(ctx, curve, g); err != nil {
				return err
			}
		}
		if err := p.transforms(ctx, curve); err != nil {
			return err
		}
	}
	if err := p.powers(ctx); err != nil {
		return err
	}
	if p.wrong > 0 {
		return fmt.Errorf("%w: of %d programs, which are left out", ErrWrong, p.wrong)
	}
	return nil
}

// peers is a measurement of programs that runs.
type peers struct {
	*Runner
	cfg      *Peers
	programs peerPrograms
	engine   *Single
	folder   string // for inputs
	wrong    int    // programs that were left out because of their answers
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
func (p *peers) msms(ctx context.Context, c backend.Curve, g backend.Group) error {
	programs := p.of("msm", c, g.String())
	if len(programs) == 0 {
		return nil
	}
	most := slices.Max(p.cfg.Sizes)
	return p.readPoints(ctx, c, g, most, func(in *inputs) error {
		pointsFile, err := p.file("points", in.bytes[:most*in.points.Size()])
		if err != nil {
			return err
		}
		scalars, err := fixtures.Scalars(c, fixtures.Uniform, p.Seed, most)
		if err != nil {
			return err
		}
		scalarsFile, err := p.file("scalars", plainScalars(c, scalars))
		if err != nil {
			return err
		}
		for _, n := range p.cfg.Sizes {
			args := []string{pointsFile, scalarsFile, strconv.Itoa(n)}
			if err := p.msm(ctx, in, programs, n, scalars[:n*len(scalars)/most], args); err != nil {
				return err
			}
		}
		return nil
	})
}

// msm compares MSMs of one size.
func (p *peers) msm(ctx context.Context, in *inputs, programs []peerProgram, n int, scalars []byte, args []string) (err error) {
	want, err := in.points.Expected(0, scalars)
	if err != nil {
		return err
	}
	b, err := in.load(ctx, p.engine.Engine, in.bytes[:n*in.points.Size()], msm.Multiples(64))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	path := report.Copy
	if p.engine.shared {
		path = report.Arena
	}
	input, err := b.scalars(ctx, 0, scalars, path)
	if err != nil {
		return err
	}
	defer input.free()
	own := func() (bool, time.Duration, error) {
		got, took, err := input.msm(ctx)
		return bytes.Equal(got, want), took, err
	}
	var turns []turn
	for _, program := range programs {
		for _, multiples := range program.Multiples {
			turns = append(turns, turn{program, multiples, append(slices.Clone(args), strconv.Itoa(multiples)),
				func(answer []byte) (bool, error) { return bytes.Equal(answer, want), nil }})
		}
	}
	run := report.Run{Op: report.OpPeer, Curve: in.curve.String(), Group: in.points.Key().Group.String(), N: n, Oracle: discreteLogarithms}
	run.Note("timed", timedPeerMSM)
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
		elements, err := fixtures.Scalars(c, fixtures.Uniform, p.Seed, n)
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
		t.Notef("backend %s has no vectors: transforms are left out", t.engine.Name)
		return nil
	}
	polynomial, err := layout.View[E](t.elements)
	if err != nil {
		return err
	}
	values, powers, err := valuesOf(ctx, t.Open, f, polynomial)
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
	run := report.Run{Op: report.OpPeerTransform, What: orderNames[t.order], Curve: t.curve.String(), N: t.n, Oracle: "the CPU's transform"}
	run.Note("timed", timedPeerTransform)
	return t.turns(ctx, run, own, turns)
}

// powers compares modular powers of every width that programs have, in all batches.
func (p *peers) powers(ctx context.Context) error {
	programs := slices.DeleteFunc(slices.Clone(p.programs.Programs), func(x peerProgram) bool { return x.Op != "power" })
	slices.SortStableFunc(programs, func(a, b peerProgram) int { return cmp.Compare(a.Bits, b.Bits) })
	for len(programs) > 0 {
		bits, same := programs[0].Bits, 1
		for same < len(programs) && programs[same].Bits == bits {
			same++
		}
		if !p.engine.info.Can.HasNumbers(backend.NumExpMod) {
			p.Notef("backend %s has no powers: they are left out", p.engine.Name)
			return nil
		}
		for _, n := range p.cfg.Batches {
			if err := p.power(ctx, bits, n, programs[:same]); err != nil {
				return err
			}
		}
		programs = programs[same:]
	}
	return nil
}

// power compares n powers of one width, of which a sample is compared with math/big's.
func (p *peers) power(ctx context.Context, bits, n int, programs []peerProgram) (err error) {
	l := newNumberWork(backend.NumExpMod, bits, n, p.Seed)
	if err := l.oracle(ctx, false); err != nil {
		return err
	}
	input, err := p.file("numbers", l.memory[:4*l.step.Dst.Offset]) // the modulus, the bases, the exponents
	if err != nil {
		return err
	}
	output, err := p.file("answer", l.memory[4*l.step.Dst.Offset:])
	if err != nil {
		return err
	}
	on, err := l.on(ctx, p.engine, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.s.Close()) }()
	if err := on.host.Run(ctx); err != nil { // it writes the operands
		return err
	}
	own := func() (bool, time.Duration, error) {
		took, err := Clock(func() error { return on.resident.Run(ctx) })()
		if err == nil {
			err = on.read.Run(ctx)
		}
		return err == nil && l.wrong(layout.Bytes(on.residentAnswer.Words)) == 0, took, err
	}
	check := func([]byte) (bool, error) {
		got, err := os.ReadFile(output)
		return err == nil && len(got) == 4*l.step.Dst.Range().Count && l.wrong(got) == 0, err
	}
	var turns []turn
	for _, program := range programs {
		turns = append(turns, turn{program, 0, []string{input, output, strconv.Itoa(n), strconv.Itoa(bits)}, check})
	}
	run := report.Run{Op: report.OpPeerPowers, What: fmt.Sprintf("powers of %d bits", bits), N: n, Oracle: "math/big", Compared: l.compared()}
	run.Size("bits", bits)
	run.Note("timed", timedPeerPowers)
	return p.turns(ctx, run, own, turns)
}

// valuesOf returns the values of a polynomial at the powers of gnark-crypto's root of
// unity, in natural order, and these powers: the values of X. The CPU computes them.
func valuesOf[E comparable](ctx context.Context, open engine.Opener, f *vector.Field[E], polynomial []E) (values, powers []E, err error) {
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
// each: a drift of the machine's speed meets both alike. pippin's run has the rounds beside
// all of them.
func (p *peers) turns(ctx context.Context, run report.Run, own func() (bool, time.Duration, error), turns []turn) error {
	if _, _, err := own(); err != nil {
		return err
	}
	ours := p.peerSeries(run, own)
	ours.Run.Input(report.InputLibrary, report.Pippin)
	var theirs []*Series
	for _, t := range turns {
		s, err := p.turn(ctx, run, ours, t)
		if err != nil {
			return err
		}
		if s != nil {
			theirs = append(theirs, s)
		}
	}
	if len(theirs) > 0 {
		for _, s := range append([]*Series{ours}, theirs...) {
			p.Runs = append(p.Runs, s.Result())
		}
	}
	return nil
}

// peerSeries returns the series of one library, whose answers are judged when they are there.
func (p *peers) peerSeries(run report.Run, compute func() (bool, time.Duration, error)) *Series {
	right := false
	s := &Series{Run: run.Clone()}
	s.Run.Device = p.engine.device()
	s.Once = func() (took time.Duration, err error) {
		right, took, err = compute()
		return took, err
	}
	s.Check = func() (int, error) {
		if right {
			return 0, nil
		}
		return 1, nil
	}
	return s
}

// turn has pippin and one program compute in turns, and returns the program's series: nil if it
// is left out.
func (p *peers) turn(ctx context.Context, run report.Run, ours *Series, t turn) (*Series, error) {
	name := fmt.Sprintf("%s, %s", t.program.Name, units.FormatSize(run.N))
	// The absolute path: a name without a folder is looked up in PATH.
	path, err := filepath.Abs(filepath.Join(p.cfg.Programs, t.program.Name))
	if err != nil {
		return nil, err
	}
	peer, err := startPeer(ctx, path, t.args, cmp.Or(p.cfg.Patience, 2*time.Minute))
	var theirs *Series
	var broken error // of pippin
	if err == nil {
		theirs = p.peerSeries(run, func() (right bool, took time.Duration, _ error) {
			var answer []byte
			if answer, took, err = peer.ask(); err == nil {
				right, err = t.check(answer)
			}
			return right, took, err
		})
		once := *ours
		once.Once = func() (took time.Duration, err error) {
			took, broken = ours.Once()
			return took, broken
		}
		// err is the program's, without what rounds say of it.
		_ = p.rounds(ctx, p.Trial(fmt.Sprintf("%s: %s", run.Workload(), t.program.Name), &once, theirs))
		ours.Samples, ours.Run.Wrong = once.Samples, once.Run.Wrong
	}
	err = errors.Join(err, peer.end())
	switch {
	case broken != nil:
		return nil, broken
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		p.Notef("%s: left out: %v", name, err)
		return nil, nil
	case theirs.Run.Wrong > 0: // by the library or by our program for it
		p.Notef("%s: left out: %d of its %d answers are not right", name, theirs.Run.Wrong, 1+p.Count)
		p.wrong++
		return nil, nil
	}
	theirs.Run.Input(report.InputLibrary, t.program.Library)
	theirs.Run.Size("multiples", t.multiples)
	theirs.Run.Note("commit", t.program.Commit)
	theirs.Run.Note("note", peer.note)
	theirs.Run.Note("flags", "nvcc "+p.programs.Compiler+", "+p.programs.Flags)
	return theirs, nil
}
