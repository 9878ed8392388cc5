package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/groth16"
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
	Merge []Merge

	// System is Groth16 when it is empty.
	System System
	// Circuits are names out of Circuits().
	Circuits []string
	// Curves are those that the circuits are compiled for.
	Curves []backend.Curve
	// Hashes is the length of the circuit mimc.
	Hashes int

	// Count is the number of timed proofs after one that is not timed.
	Count int
	// InFlight, when above one, has as many proofs made again with that many in
	// flight, for the time a proof then takes of a stream of them.
	InFlight int
	// CacheDir keeps keys between runs: setting one up can take minutes.
	CacheDir string

	// Progress, when set, hears of steps that may take long.
	Progress Progress
	// Note, when set, hears of keys that are set up, and of circuits that a
	// curve or a backend does not have.
	Note func(string)
}

// Merge says whether equal bases of a key and equal scalars of a witness are
// merged.
type Merge string

const (
	MergeAuto  Merge = "auto" // where the prover expects that it pays
	MergeNever Merge = "never"
)

// Merges are the ways there are.
func Merges() []Merge { return []Merge{MergeAuto, MergeNever} }

// ParseMerge checks the name of a way.
func ParseMerge(s string) (Merge, error) {
	if m := Merge(strings.ToLower(s)); slices.Contains(Merges(), m) {
		return m, nil
	}
	return "", fmt.Errorf("%w: merging %q (auto, never)", backend.ErrInvalidInput, s)
}

func (m Merge) options() []groth16.Option {
	if m == MergeNever {
		return []groth16.Option{groth16.MergeBases(groth16.MergeNever), groth16.MergeScalars(groth16.MergeNever)}
	}
	return nil
}

// Validate refuses an empty or senseless configuration with
// backend.ErrInvalidInput.
func (c *ProveConfig) Validate() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{backend.ErrInvalidInput}, a...)...)
	}
	switch {
	case c.Open == nil || c.CacheDir == "":
		return bad("bench needs an opener of backends and a folder for keys")
	case len(c.Backends) == 0 || len(c.Circuits) == 0 || len(c.Curves) == 0:
		return bad("nothing to measure: backends, circuits and curves must be given")
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
	if _, err := ParseSystem(string(c.system())); err != nil {
		return err
	}
	if c.system() == PLONK && slices.Contains(c.Merge, MergeNever) {
		return bad("merging %s: PLONK merges nothing", MergeNever)
	}
	for _, m := range c.Merge {
		if _, err := ParseMerge(string(m)); err != nil {
			return err
		}
	}
	for _, name := range c.Circuits {
		if _, err := ParseCircuit(name); err != nil {
			return err
		}
		if name == circuitMiMC && c.Hashes < 1 {
			return bad("a chain of %d hashes", c.Hashes)
		}
	}
	return nil
}

func (c *ProveConfig) system() System {
	if c.System == "" {
		return Groth16
	}
	return c.System
}

func (c *ProveConfig) note(format string, a ...any) {
	if c.Note != nil {
		c.Note(fmt.Sprintf(format, a...))
	}
}

// ProveRun is the timed proofs of one circuit on one backend, beside gnark's
// of the same minutes. Times are milliseconds.
type ProveRun struct {
	Op          System `json:"op"`
	Circuit     string `json:"circuit"`
	Curve       string `json:"curve"`
	Constraints int    `json:"constraints"`
	Backend     string `json:"backend"`
	Version     string `json:"backend_version"`
	Device      string `json:"device"`
	Merge       Merge  `json:"merge,omitempty"` // of Groth16

	Count   int       `json:"count"` // length of Samples
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"` // in the order taken
	Spread  float64   `json:"spread"`     // the function Spread of them

	// Stock is the median of gnark's own prover.
	Stock        float64   `json:"stock_ms"`
	StockMin     float64   `json:"stock_min_ms"`
	StockSamples []float64 `json:"stock_samples_ms"`

	// Solve is the median of gnark's solver alone.
	Solve float64 `json:"solve_ms"`
	// OwnSolve is the median over the proofs of what their own solver took, without
	// the time of MSMs that commitments inside the circuit made. It is absent from
	// records of when the solver was gnark's.
	OwnSolve float64 `json:"own_solve_ms,omitempty"`
	// AfterSolve is the median over the proofs of the time from the solver's end to
	// the proof.
	AfterSolve float64 `json:"after_solve_ms,omitempty"`
	// MSM is the median over the proofs of the time with an MSM or a program over
	// vectors on the backend.
	MSM float64 `json:"msm_ms"`
	// FFT is the median of a proof's transforms alone. Beside another process's
	// MSMs they cost a proof less.
	// PLONK's are on the backend.
	FFT     float64 `json:"fft_ms,omitempty"`
	LoadKey float64 `json:"load_key_ms"` // once for all proofs

	// InFlight is how many proofs were in flight in a stream of several times Count,
	// and PerProof the time that it took, divided by their number.
	InFlight int     `json:"in_flight,omitempty"`
	PerProof float64 `json:"per_proof_ms,omitempty"`

	// Speedup is Stock / Median.
	Speedup float64 `json:"speedup"`
	// SpeedupWithoutSolve is the same with Solve taken from Stock and OwnSolve from
	// Median; it is absent when solving was all that took time.
	SpeedupWithoutSolve float64 `json:"speedup_without_solve,omitempty"`

	// Verified is true only when every proof, the warm-up's and gnark's
	// included, was verified by gnark.
	Verified bool `json:"verified"`
	// Refused counts the backend's proofs that gnark refused.
	Refused int `json:"refused,omitempty"`
	// StockRefused counts gnark's own.
	StockRefused int `json:"stock_refused,omitempty"`
}

// Prove measures what cfg says. The runs are in the order of the configuration:
// circuit, curve, backend.
//
// With an error the result still holds what was measured so far: when ctx ends
// (its error), when a proof could not be made (gnark's error or a sentinel of
// backend), or, after everything was measured, when a proof did not verify
// (ErrWrong). The context is not looked at while gnark proves or solves. A
// setup goes on in the background when ctx ends meanwhile.
func Prove(ctx context.Context, cfg ProveConfig) (_ []ProveRun, _ []BackendInfo, err error) {
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
	var runs []ProveRun
	for _, name := range cfg.Circuits {
		for _, curve := range cfg.Curves {
			if len(all.with(curve, nil)) == 0 {
				cfg.note("no backend has %v: circuit %s left out", curve, name)
				continue
			}
			s, err := newStatement(name, curve, cfg.Hashes)
			if errors.Is(err, backend.ErrUnsupported) {
				cfg.note("left out: %v", err)
				continue
			}
			var done []ProveRun
			if err == nil {
				done, err = proveOn(ctx, &cfg, s, curve, all, meters)
				runs = append(runs, done...)
			}
			if err != nil {
				return runs, all.describe(), fmt.Errorf("circuit %s on %v: %w", name, curve, err)
			}
		}
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

// contender is a prover with what it took. gnark has no engine.
type contender struct {
	*single
	merge   Merge
	meter   *meter
	prove   func() (any, error)
	stream  func() iter.Seq2[any, error]
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
func proveOn(ctx context.Context, cfg *ProveConfig, s *statement, curve backend.Curve, engines engines, meters map[string]*meter) (_ []ProveRun, err error) {
	k, err := keyFor(ctx, cfg, s, curve)
	if err != nil {
		return nil, err
	}
	field := layout.CurveID(curve).ScalarField()
	full, err := frontend.NewWitness(s.assignment, field)
	if err != nil {
		return nil, err
	}
	public, err := full.Public()
	if err != nil {
		return nil, err
	}
	transforms, err := k.transforms()
	if err != nil {
		return nil, err
	}

	gnark := &contender{prove: func() (any, error) { return k.stock(k.ccs, full) }}
	var ours []*contender
	for _, e := range engines.with(curve, cfg.Note) {
		cfg.Progress.tell(fmt.Sprintf("%s %v: loading the key into %s", s.name, curve, e.name), 0, 1)
		merges := cfg.Merge
		switch {
		case cfg.system() == PLONK:
			merges = []Merge{""}
		case len(merges) == 0:
			merges = []Merge{MergeAuto}
		}
		for _, merge := range merges {
			start := time.Now()
			p, err := k.prover(e.Engine, k.ccs, merge)
			if err != nil {
				return nil, fmt.Errorf("backend %s: %w", e.name, err)
			}
			defer func() { err = errors.Join(err, p.Close()) }()
			ours = append(ours, &contender{single: e, merge: merge, meter: meters[e.name], load: time.Since(start),
				prove:  func() (any, error) { return p.prove(ctx, full) },
				stream: func() iter.Seq2[any, error] { return p.proveAll(ctx, full, streamLength*cfg.Count, cfg.InFlight) }})
		}
	}

	var solve, fft []time.Duration
	all := append([]*contender{gnark}, ours...)
	stage, steps := fmt.Sprintf("%s %v: proving", s.name, curve), len(all)
	total := (cfg.Count + 1) * steps
	rounds := func() error {
		for round := range cfg.Count + 1 {
			timed := round > 0
			took, err := solveAlone(k, full, field)
			if err != nil {
				return err
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
				if err := c.once(timed, k.keys, public); err != nil {
					return err
				}
			}
		}
		cfg.Progress.tell(stage, total, total)
		if cfg.InFlight < 2 {
			return nil
		}
		for i, c := range ours {
			cfg.Progress.tell(fmt.Sprintf("%s %v: %d proofs in flight", s.name, curve, cfg.InFlight), i, len(ours))
			if err := c.streamed(k.keys, public); err != nil {
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
	var runs []ProveRun
	for _, c := range ours {
		if whole > 0 {
			r := c.result(gnark, Median(solve), Median(fft))
			if transforms == nil {
				r.FFT = 0
			}
			if c.perProof > 0 {
				r.InFlight, r.PerProof = cfg.InFlight, millis(c.perProof)
			}
			r.Op, r.Circuit, r.Curve, r.Constraints = cfg.system(), s.name, curve.String(), k.ccs.GetNbConstraints()
			runs = append(runs, r)
		}
	}
	return runs, err
}

// once makes one proof, and verifies it outside of its time. Garbage of
// earlier ones is collected before the clock starts.
func (c *contender) once(timed bool, k keys, public witness.Witness) error {
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
	if k.verify(proof, public) != nil {
		c.refused++
	}
	if timed {
		c.samples, c.msm, c.after = append(c.samples, took), append(c.msm, busy), append(c.after, c.meter.afterSolve(end))
		c.solves = append(c.solves, c.meter.ownSolve())
	}
	return nil
}

// streamLength is how many times Count proofs a stream has: what its ends lack of
// proofs in flight should not weigh.
const streamLength = 4

// streamed makes a stream of proofs, and verifies them outside of its time.
func (c *contender) streamed(k keys, public witness.Witness) error {
	runtime.GC()
	start := time.Now()
	var proofs []any
	for p, err := range c.stream() {
		if err != nil {
			return fmt.Errorf("backend %s: %w", c.name, err)
		}
		proofs = append(proofs, p)
	}
	c.perProof = time.Since(start) / time.Duration(len(proofs))
	for _, p := range proofs {
		if k.verify(p, public) != nil {
			c.refused++
		}
	}
	return nil
}

func (c *contender) result(gnark *contender, solve, fft time.Duration) ProveRun {
	r := ProveRun{
		Backend: c.name, Version: c.info.Version, Device: c.device(), Merge: c.merge,
		Count: len(c.samples), Min: millis(Min(c.samples)), Median: millis(Median(c.samples)), Samples: allMillis(c.samples), Spread: Spread(c.samples),
		Stock: millis(Median(gnark.samples)), StockMin: millis(Min(gnark.samples)), StockSamples: allMillis(gnark.samples),
		Solve: millis(solve), OwnSolve: millis(Median(c.solves)), AfterSolve: millis(Median(c.after)), MSM: millis(Median(c.msm)), FFT: millis(fft), LoadKey: millis(c.load),
		Verified: c.refused == 0 && gnark.refused == 0, Refused: c.refused, StockRefused: gnark.refused,
	}
	r.Speedup = r.Stock / r.Median
	if r.Median > r.OwnSolve && r.Stock > r.Solve {
		r.SpeedupWithoutSolve = (r.Stock - r.Solve) / (r.Median - r.OwnSolve)
	}
	return r
}

// solveAlone is the time that solving takes without the commitments that a
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
