package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"runtime"
	"slices"
	"time"

	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
)

// ProveConfig says what Prove measures: every circuit on every curve, proved
// by gnark and by prover/groth16 or prover/plonk on every backend.
type ProveConfig struct {
	// Open opens backends by name.
	Open engine.Opener
	// Backends and gnark prove in turn, one proof each; every round begins with
	// the next of them.
	Backends []string
	// Merge are the ways in which every backend proves; nil is MergeAuto.
	Merge []report.Merge

	// System is Groth16 when it is empty.
	System proofsystem.System
	// Circuits are names out of circuits.Names().
	Circuits []string
	// Curves are those that the circuits are compiled for. Without any, each circuit has
	// one: BN254, or the only one that it can be compiled for.
	Curves []backend.Curve
	// Hashes is the length of the circuit mimc, Squares the constraints of the circuit
	// squares.
	Hashes, Squares int

	// Count is the number of timed proofs after one that is not timed.
	Count int
	// InFlight, when above zero, has as many proofs made again with that many in
	// flight, for the time a proof then takes of a stream of them.
	InFlight int
	// OwnSetup makes keys that are not kept yet on the first backend, in place of by
	// gnark.
	OwnSetup bool
	// NoStock has gnark neither solve nor prove beside the backends.
	NoStock bool
	// NoKeep leaves keys that are set up in memory.
	NoKeep bool
	// CacheDir keeps keys between runs: setting one up can take minutes.
	CacheDir string

	// Progress, when set, hears of steps that may take long.
	Progress Progress
	// Note, when set, hears of keys that are set up, and of circuits that a
	// curve or a backend does not have.
	Note func(string)
}

// Validate refuses an empty or senseless configuration with
// backend.ErrInvalidInput.
func (c *ProveConfig) Validate() error {
	if c.CacheDir == "" && !c.NoKeep {
		return fmt.Errorf("%w: bench needs a folder for keys", backend.ErrInvalidInput)
	}
	return c.validate()
}

// validate does what Validate does, for who keeps no keys.
func (c *ProveConfig) validate() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{backend.ErrInvalidInput}, a...)...)
	}
	switch {
	case c.Open == nil:
		return bad("bench needs an opener of backends")
	case len(c.Backends) == 0 || len(c.Circuits) == 0:
		return bad("nothing to measure: backends and circuits must be given")
	case c.Count < 1:
		return bad("a count of %d proofs", c.Count)
	case c.InFlight < 0:
		return bad("%d proofs in flight", c.InFlight)
	}
	for i, b := range c.Backends {
		if slices.Contains(c.Backends[:i], b) {
			return bad("backend %q twice", b)
		}
	}
	if _, err := proofsystem.Parse(string(c.system())); err != nil {
		return err
	}
	if c.system() == proofsystem.PLONK && slices.Contains(c.Merge, report.MergeNever) {
		return bad("merging %s: PLONK merges nothing", report.MergeNever)
	}
	for _, m := range c.Merge {
		if _, err := report.ParseMerge(string(m)); err != nil {
			return err
		}
	}
	for _, name := range c.Circuits {
		if _, err := circuits.Parse(name); err != nil {
			return err
		}
		if name == circuits.MiMC && c.Hashes < 1 {
			return bad("a chain of %d hashes", c.Hashes)
		}
		if name == circuits.Squares && (c.Squares < 2 || c.Squares > circuits.MostSquares) {
			return bad("%d squares, from 2 to %d are possible", c.Squares, circuits.MostSquares)
		}
	}
	return nil
}

func (c *ProveConfig) system() proofsystem.System { return cmp.Or(c.System, proofsystem.Groth16) }

func (c *ProveConfig) note(format string, a ...any) {
	if c.Note != nil {
		c.Note(fmt.Sprintf(format, a...))
	}
}

// Prove measures what cfg says. The runs are in the order of the configuration:
// circuit, curve, backend.
//
// With an error the result still holds what was measured so far: when ctx ends
// (its error), when a proof could not be made (gnark's error or a sentinel of
// backend), or, after everything was measured, when a proof did not verify
// (ErrWrong). The context is not looked at while gnark proves or solves. A
// setup goes on in the background when ctx ends meanwhile.
func Prove(ctx context.Context, cfg ProveConfig) (_ []report.ProveRun, _ []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	meters, observers := map[string]*meter{}, map[string]engine.Observer{}
	for _, name := range cfg.Backends {
		meters[name] = &meter{}
		observers[name] = meters[name]
	}
	all, err := openEngines(ctx, func(ctx context.Context, name string) (backend.Backend, error) {
		return meters[name].open(ctx, cfg.Open, name)
	}, cfg.Backends, cfg.Note, observers)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	var runs []report.ProveRun
	if err := cfg.each(all, func(s *circuits.Statement, curve backend.Curve) error {
		done, err := proveOn(ctx, &cfg, s, curve, all, meters)
		runs = append(runs, done...)
		return err
	}); err != nil {
		return runs, all.describe(), err
	}
	if len(runs) == 0 {
		err = fmt.Errorf("%w: no circuit can be proved on any of the curves and backends", backend.ErrUnsupported)
	}
	for _, r := range runs {
		if !r.Verified {
			err = errors.Join(err, fmt.Errorf("%w: circuit %s on %s: gnark refused %d proofs of backend %s and %d of its own (a damaged key? it is kept in %s)",
				ErrWrong, r.Circuit, r.Curve, r.Refused, r.Backend, r.StockRefused, cfg.CacheDir))
		}
	}
	return runs, all.describe(), err
}

// each calls f with every circuit on every curve that a backend has.
func (c *ProveConfig) each(all engines, f func(*circuits.Statement, backend.Curve) error) error {
	for _, name := range c.Circuits {
		curves := c.Curves
		if len(curves) == 0 {
			curves = circuits.CurvesOf(name)
		}
		for _, curve := range curves {
			if len(all.with(curve, nil)) == 0 {
				c.note("no backend has %v: circuit %s left out", curve, name)
				continue
			}
			s, err := circuits.New(name, curve, c.Hashes, c.Squares)
			if errors.Is(err, backend.ErrUnsupported) {
				c.note("left out: %v", err)
				continue
			}
			if err == nil {
				err = f(s, curve)
			}
			if err != nil {
				return fmt.Errorf("circuit %s on %v: %w", name, curve, err)
			}
		}
	}
	return nil
}

// contender is a prover with what it took. gnark has no engine.
type contender struct {
	*single
	merge   report.Merge
	meter   *meter
	prove   func() (proofsystem.Proof, error)
	stream  func() iter.Seq2[proofsystem.Proof, error]
	load    time.Duration
	samples []time.Duration
	msm     []time.Duration
	after   []time.Duration // the solver's end
	solves  []time.Duration
	// perProof is the time of a stream divided by its proofs.
	perProof time.Duration
	refused  int
}

// proveOn measures one circuit on one curve.
func proveOn(ctx context.Context, cfg *ProveConfig, s *circuits.Statement, curve backend.Curve, engines engines, meters map[string]*meter) (_ []report.ProveRun, err error) {
	var maker *engine.Engine
	if cfg.OwnSetup {
		maker = engines.with(curve, nil)[0].Engine
	}
	k, err := keyFor(ctx, cfg, s, curve, maker)
	if err != nil {
		return nil, err
	}
	field := curve.ScalarField()
	full, err := frontend.NewWitness(s.Assignment, field)
	if err != nil {
		return nil, err
	}
	public, err := full.Public()
	if err != nil {
		return nil, err
	}
	transforms, err := k.Transforms()
	if err != nil {
		return nil, err
	}
	if cfg.NoStock {
		transforms = nil
	}

	gnark := &contender{prove: func() (proofsystem.Proof, error) { return k.ProveByGnark(k.ccs, full) }}
	var ours []*contender
	for _, e := range engines.with(curve, cfg.Note) {
		cfg.Progress.tell(fmt.Sprintf("%s %v: loading the key into %s", s.Name, curve, e.name), 0, 1)
		merges := cfg.Merge
		switch {
		case cfg.system() == proofsystem.PLONK:
			merges = []report.Merge{""}
		case len(merges) == 0:
			merges = []report.Merge{report.MergeAuto}
		}
		for _, merge := range merges {
			start := time.Now()
			p, err := k.NewProver(e.Engine, k.ccs, proofsystem.Options{NoMerging: merge == report.MergeNever})
			if err != nil {
				return nil, fmt.Errorf("backend %s: %w", e.name, err)
			}
			defer func() { err = errors.Join(err, p.Close()) }()
			ours = append(ours, &contender{single: e, merge: merge, meter: meters[e.name], load: time.Since(start),
				prove: func() (proofsystem.Proof, error) { return p.Prove(ctx, full) },
				stream: func() iter.Seq2[proofsystem.Proof, error] {
					witnesses := slices.Repeat([]witness.Witness{full}, streamLength*max(cfg.Count, cfg.InFlight))
					return p.ProveAll(ctx, slices.Values(witnesses), cfg.InFlight)
				}})
		}
	}

	var solve, fft []time.Duration
	all := ours
	if !cfg.NoStock {
		all = append([]*contender{gnark}, ours...)
	}
	stage, steps := fmt.Sprintf("%s %v: proving", s.Name, curve), len(all)
	total := (cfg.Count + 1) * steps
	rounds := func() error {
		for round := range cfg.Count + 1 {
			timed := round > 0
			var took time.Duration
			if !cfg.NoStock {
				var err error
				if took, err = solveAlone(k, full, field); err != nil {
					return err
				}
			}
			start := time.Now()
			if transforms != nil {
				transforms()
			}
			if timed {
				solve, fft = append(solve, took), append(fft, time.Since(start))
			}
			for i := range all {
				c := all[(i+round)%len(all)]
				cfg.Progress.tell(stage, round*steps+i, total)
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := c.once(timed, k, public); err != nil {
					return err
				}
			}
		}
		cfg.Progress.tell(stage, total, total)
		if cfg.InFlight < 1 {
			return nil
		}
		for i, c := range ours {
			cfg.Progress.tell(fmt.Sprintf("%s %v: %d proofs in flight", s.Name, curve, cfg.InFlight), i, len(ours))
			if err := c.streamed(k, public); err != nil {
				return err
			}
		}
		return nil
	}
	err = rounds()
	// An interrupted round is nobody's: medians are over the same rounds.
	whole := len(slices.MinFunc(all, func(a, b *contender) int { return len(a.samples) - len(b.samples) }).samples)
	for _, c := range all {
		c.samples, c.msm, c.after = c.samples[:whole], c.msm[:whole], c.after[:whole]
	}
	solve, fft = solve[:whole], fft[:whole]
	var runs []report.ProveRun
	for _, c := range ours {
		if whole > 0 {
			r := c.result(gnark, record.Median(solve), record.Median(fft))
			if transforms == nil {
				r.FFT = 0
			}
			if c.perProof > 0 {
				r.InFlight, r.PerProof, r.Rate = cfg.InFlight, record.Millis(c.perProof), 1/c.perProof.Seconds()
			}
			r.Op, r.Circuit, r.Curve, r.Constraints = string(cfg.system()), s.Name, curve.String(), k.ccs.GetNbConstraints()
			r.Setup = record.Millis(k.setUp)
			runs = append(runs, r)
		}
	}
	return runs, err
}

// once makes one proof, and verifies it outside of its time. Garbage of
// earlier ones is collected before the clock starts.
func (c *contender) once(timed bool, k *key, public witness.Witness) error {
	runtime.GC()
	c.meter.take()
	start := time.Now()
	proof, err := c.prove()
	end := time.Now()
	took := end.Sub(start)
	busy := c.meter.take()
	if err != nil {
		if c.single == nil {
			return fmt.Errorf("gnark: %w", err)
		}
		return fmt.Errorf("backend %s: %w", c.name, err)
	}
	if k.Verify(proof, public) != nil {
		c.refused++
	}
	if timed {
		c.samples, c.msm, c.after = append(c.samples, took), append(c.msm, busy), append(c.after, c.meter.afterSolve(end))
		c.solves = append(c.solves, c.meter.ownSolve())
	}
	return nil
}

// streamLength is how many times Count proofs a stream has, or InFlight if that is more:
// what its ends lack of proofs in flight should not weigh.
const streamLength = 4

// streamed makes a stream of proofs, and verifies them outside of its time.
func (c *contender) streamed(k *key, public witness.Witness) error {
	runtime.GC()
	start := time.Now()
	var proofs []proofsystem.Proof
	for p, err := range c.stream() {
		if err != nil {
			return fmt.Errorf("backend %s: %w", c.name, err)
		}
		proofs = append(proofs, p)
	}
	c.perProof = time.Since(start) / time.Duration(len(proofs))
	for _, p := range proofs {
		if k.Verify(p, public) != nil {
			c.refused++
		}
	}
	return nil
}

func (c *contender) result(gnark *contender, solve, fft time.Duration) report.ProveRun {
	r := report.ProveRun{
		Backend: c.name, Version: c.info.Version, Device: c.device(), Merge: c.merge,
		Count: len(c.samples), Min: record.Millis(record.Min(c.samples)), Median: record.Millis(record.Median(c.samples)), Samples: record.AllMillis(c.samples), Spread: record.Spread(c.samples),
		Solve: record.Millis(solve), OwnSolve: record.Millis(record.Median(c.solves)), AfterSolve: record.Millis(record.Median(c.after)), MSM: record.Millis(record.Median(c.msm)), FFT: record.Millis(fft), LoadKey: record.Millis(c.load),
		Verified: c.refused == 0 && gnark.refused == 0, Refused: c.refused, StockRefused: gnark.refused,
	}
	if len(gnark.samples) == 0 {
		return r
	}
	r.Stock, r.StockMin, r.StockSamples = record.Millis(record.Median(gnark.samples)), record.Millis(record.Min(gnark.samples)), record.AllMillis(gnark.samples)
	r.Speedup = r.Stock / r.Median
	if r.Median > r.OwnSolve && r.Stock > r.Solve {
		r.SpeedupWithoutSolve = (r.Stock - r.Solve) / (r.Median - r.OwnSolve)
	}
	return r
}

// solveAlone returns the time that solving takes without the commitments that a
// circuit asks for on the way: their challenges, which can be any numbers that
// the witness does not contain, are made up.
func solveAlone(k *key, full witness.Witness, field *big.Int) (time.Duration, error) {
	runtime.GC()
	opt := solver.OverrideHint(solver.GetHintID(cs.Bsb22CommitmentComputePlaceholder), func(_ *big.Int, in, out []*big.Int) error {
		for i := range out {
			out[i].Sub(field, big.NewInt(0xc0ffee)).Sub(out[i], in[0]) // in[0] is the commitment's number
		}
		return nil
	})
	start := time.Now()
	_, err := k.ccs.Solve(full, opt)
	return time.Since(start), err
}
