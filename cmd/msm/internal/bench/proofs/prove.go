package proofs

import (
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
	"github.com/consensys/gnark/frontend/cs"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/proofsystem"
)

// Proofs measures proofs: every circuit on every curve, proved by gnark and by prover/groth16
// or prover/plonk on every backend in turns, one proof each; every round begins with the next
// of them.
type Proofs struct {
	Statements
	// Merge are the ways in which every backend proves; nil is MergeAuto.
	Merge []report.Merge
	// InFlight, when above zero, has as many proofs made again with that many in
	// flight, for the time a proof then takes of a stream of them.
	InFlight int
	// NoStock has gnark neither solve nor prove beside the backends.
	NoStock bool
}

// Validate refuses an empty or senseless configuration with
// backend.ErrInvalidInput.
func (c *Proofs) Validate() error {
	if err := c.validateKept(); err != nil {
		return err
	}
	if err := validateInFlight(c.InFlight); err != nil {
		return err
	}
	if c.system() == proofsystem.PLONK && slices.Contains(c.Merge, report.MergeNever) {
		return bench.Refused("merging %s: PLONK merges nothing", report.MergeNever)
	}
	for _, m := range c.Merge {
		if _, err := report.ParseMerge(string(m)); err != nil {
			return err
		}
	}
	return nil
}

// The figures of proofs that only their table shows.
const (
	figureSolve        = "solve"     // gnark's solver alone
	figureOwnSolve     = "own_solve" // within the proofs, without the MSMs of commitments
	figureAfter        = "after_solve"
	figureMSM          = "msm"       // with an MSM or a program on the backend
	figureFFT          = "fft"       // a proof's transforms alone, by gnark
	figureInFlight     = "in_flight" // in a stream of proofs
	figurePerProof     = "per_proof" // a stream's time, divided by its proofs
	figureProofs       = "proofs"    // a second, in a stream
	figureStockRefused = "stock_refused"
	figureLoadKey      = "load_key"
	figureSetup        = "setup" // making the keys, where that was done in the run
)

// Sheet shows what gnark takes and how a proof's time divides.
func (c *Proofs) Sheet() report.Sheet {
	return report.Sheet{
		Note: `Times are of whole proofs, from the witness on, keys loaded before; medians where nothing else is said.
"solve ms" is solving within the proofs, without the sums of commitments. gnark's solver and FFTs were timed alone.
"after it" is from the end of the proof's solving to the proof. MSM is the time with an MSM or a program over vectors
on the backend, within the proofs.
"ms a proof" is a stream's time divided by its proofs, with as many "in flight" at a time. Checked: gnark's verifier accepted every proof.`,
		Before: append(statementColumns(), report.ColumnInput("merging", 2, report.InputMerge)),
		After: append([]report.Column{
			report.ColumnMillis("gnark ms", 9, report.FigureStock), report.ColumnFigure("faster", 9, report.FigureSpeedup, "x %.3g"),
			report.ColumnFigure("without solving", 6, report.FigureWithoutSolving, "x %.3g"),
			report.ColumnMillis("solve ms", 5, figureOwnSolve), report.ColumnMillis("gnark's", 4, figureSolve),
			report.ColumnMillis("after it", 6, figureAfter),
			report.ColumnMillis("MSM ms", 4, figureMSM), report.ColumnMillis("FFT ms", 4, figureFFT),
		}, streamColumns()...),
	}
}

// streamColumns show what streamed adds.
func streamColumns() []report.Column {
	return []report.Column{
		report.ColumnFigure("in flight", 3, figureInFlight, "%.0f"),
		report.ColumnMillis("ms a proof", 3, figurePerProof), report.ColumnFigure("proofs a second", 3, figureProofs, "%.4g"),
	}
}

// validateInFlight refuses fewer than no proofs in flight.
func validateInFlight(n int) error {
	if n < 0 {
		return bench.Refused("%d proofs in flight", n)
	}
	return nil
}

// streamed adds to a run what a proof took of a stream of them, if there was one.
func streamed(run *report.Run, inFlight int, perProof time.Duration) {
	if perProof <= 0 {
		return
	}
	run.Figure(figureInFlight, "", float64(inFlight))
	run.Took(figurePerProof, perProof)
	run.Figure(figureProofs, report.PerSecond, 1/perProof.Seconds())
}

func (c *Proofs) Measure(ctx context.Context, r *bench.Runner) error {
	meters, observers := map[string]*meter{}, map[string]engine.Observer{}
	for _, name := range c.Backends {
		meters[name] = &meter{}
		observers[name] = meters[name]
	}
	if err := r.Start(ctx, observers); err != nil {
		return err
	}
	err := c.each(r, func(t *task, able bench.Engines) (err error) {
		m := &match{cfg: c, task: t}
		if m.key, err = c.readKey(ctx, t, able); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.close()) }()
		if err := m.enter(ctx, r, able, meters); err != nil {
			return err
		}
		return m.play(ctx, r)
	})
	for _, run := range r.Runs {
		if n := run.Value(figureStockRefused); n > 0 {
			err = errors.Join(err, fmt.Errorf("%w: %s: gnark refused %.0f of gnark's proofs (a damaged key? it is kept in %s)",
				bench.ErrWrong, run.Name(), n, c.CacheDir))
		}
	}
	return err
}

// match is one circuit on one curve, which gnark and every backend prove in turns.
type match struct {
	cfg *Proofs
	*task
	key *key
	// gnark has no engine, and no run of its own.
	gnark      *bench.Series
	ours       []*contender
	transforms func() // a proof's by gnark; nil where they are not timed
	solve, fft []time.Duration
}

// contender is a backend that proves, in one way, with what its proofs took.
type contender struct {
	*bench.Series
	meter  *meter
	prover proofsystem.Prover
	load   time.Duration
	proof  proofsystem.Proof
	parts  []proofParts // of every proof, that to warm up too
	// perProof is the time of a stream divided by its proofs.
	perProof time.Duration
}

// proofParts are parts of a proof's time.
type proofParts struct{ msm, solve, after time.Duration }

// enter makes the provers.
func (m *match) enter(ctx context.Context, r *bench.Runner, able bench.Engines, meters map[string]*meter) (err error) {
	run := m.run(string(m.system))
	run.Took(figureSetup, m.key.setUp)
	if m.transforms, err = m.key.Transforms(); err != nil {
		return err
	}
	if m.cfg.NoStock {
		m.transforms = nil
	}
	var proof proofsystem.Proof
	m.gnark = &bench.Series{Run: run.Clone(), Silent: true}
	m.gnark.Run.Input(report.InputLibrary, "gnark")
	m.gnark.Once = bench.Clock(func() (err error) {
		proof, err = m.key.ProveByGnark(m.ccs, m.full)
		return err
	})
	m.gnark.Check = func() (int, error) { return m.refused(proof), nil }
	for _, e := range able {
		r.Progress.Tell(fmt.Sprintf("%s %v: loading the key into %s", m.Name, m.curve, e.Name), 0, 1)
		for _, merge := range m.merges() {
			c := &contender{meter: meters[e.Name]}
			if c.load, err = bench.Clock(func() (err error) {
				c.prover, err = m.key.NewProver(e.Engine, m.ccs, proofsystem.Options{NoMerging: merge == report.MergeNever})
				return err
			})(); err != nil {
				return fmt.Errorf("backend %s: %w", e.Name, err)
			}
			c.Series = r.Series(e, run, func() (time.Duration, error) { return c.prove(ctx, m.full) })
			c.Run.Input(report.InputMerge, string(merge))
			c.Check = func() (int, error) { return m.refused(c.proof), nil }
			c.Row = func(run *report.Run) { m.figures(c, run) }
			m.ours = append(m.ours, c)
		}
	}
	return nil
}

// merges returns the ways in which backends prove: PLONK has one.
func (m *match) merges() []report.Merge {
	switch {
	case m.system == proofsystem.PLONK:
		return []report.Merge{""}
	case len(m.cfg.Merge) == 0:
		return []report.Merge{report.MergeAuto}
	}
	return m.cfg.Merge
}

func (m *match) close() (err error) {
	for _, c := range m.ours {
		err = errors.Join(err, c.prover.Close())
	}
	return err
}

// play has all prove in turns, and backends in streams afterwards.
func (m *match) play(ctx context.Context, r *bench.Runner) error {
	t := r.Trial(fmt.Sprintf("%s %v: proving", m.Name, m.curve))
	t.Rotate, t.Whole = true, true
	if !m.cfg.NoStock {
		t.Series, t.Before = []*bench.Series{m.gnark}, m.alone
	}
	for _, c := range m.ours {
		t.Series = append(t.Series, c.Series)
	}
	t.After = func() error {
		for i, c := range m.ours {
			if m.cfg.InFlight < 1 {
				break
			}
			r.Progress.Tell(fmt.Sprintf("%s %v: %d proofs in flight", m.Name, m.curve, m.cfg.InFlight), i, len(m.ours))
			if err := m.stream(ctx, c); err != nil {
				return fmt.Errorf("%s: %w", c.Run.Name(), err)
			}
		}
		return nil
	}
	return r.Compare(ctx, t)
}

// alone times gnark's solver and transforms by themselves.
func (m *match) alone(timed bool) error {
	solve, err := solveAlone(m.key, m.full, m.curve.ScalarField())
	if err != nil {
		return err
	}
	start := time.Now()
	if m.transforms != nil {
		m.transforms()
	}
	if timed {
		m.solve, m.fft = append(m.solve, solve), append(m.fft, time.Since(start))
	}
	return nil
}

// prove makes one proof, and notes its parts.
func (c *contender) prove(ctx context.Context, full witness.Witness) (took time.Duration, err error) {
	c.meter.take()
	start := time.Now()
	c.proof, err = c.prover.Prove(ctx, full)
	end := time.Now()
	c.parts = append(c.parts, proofParts{c.meter.take(), c.meter.ownSolve(), c.meter.afterSolve(end)})
	return end.Sub(start), err
}

// streamLength returns the proofs of a stream: so many that what its ends lack of proofs in
// flight does not weigh.
func streamLength(count, inFlight int) int { return 4 * max(count, inFlight) }

// stream makes a stream of proofs, and verifies them outside of its time.
func (m *match) stream(ctx context.Context, c *contender) error {
	witnesses := slices.Repeat([]witness.Witness{m.full}, streamLength(m.cfg.Count, m.cfg.InFlight))
	runtime.GC()
	start := time.Now()
	proofs, err := collect(c.prover.ProveAll(ctx, slices.Values(witnesses), m.cfg.InFlight))
	if err != nil {
		return err
	}
	c.perProof = time.Since(start) / time.Duration(len(proofs))
	c.Run.Wrong += m.refused(proofs...)
	return nil
}

// collect returns all values of a sequence, until an error.
func collect[V any](seq iter.Seq2[V, error]) (all []V, err error) {
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// figures adds to a run what gnark took and what the parts of the proofs took, all over the
// same rounds.
func (m *match) figures(c *contender, run *report.Run) {
	rounds := len(c.Samples)
	var msm, solve, after []time.Duration
	for _, p := range c.parts[1 : 1+rounds] {
		msm, solve, after = append(msm, p.msm), append(solve, p.solve), append(after, p.after)
	}
	run.Sampled(figureMSM, msm, false)
	run.Sampled(figureOwnSolve, solve, false)
	run.Sampled(figureAfter, after, false)
	run.Took(figureLoadKey, c.load)
	streamed(run, m.cfg.InFlight, c.perProof)
	if m.cfg.NoStock {
		return
	}
	run.Sampled(report.FigureStock, m.gnark.Samples, true)
	run.Sampled(figureSolve, m.solve[:rounds], false)
	if m.transforms != nil {
		run.Sampled(figureFFT, m.fft[:rounds], false)
	}
	run.Figure(figureStockRefused, "", float64(m.gnark.Run.Wrong))
	run.Checked = run.Checked && m.gnark.Run.Wrong == 0
	stock := run.Value(report.FigureStock)
	run.Figure(report.FigureSpeedup, "", stock/run.Median)
	if own, theirs := run.Value(figureOwnSolve), run.Value(figureSolve); run.Median > own && stock > theirs {
		run.Figure(report.FigureWithoutSolving, "", (stock-theirs)/(run.Median-own))
	}
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
