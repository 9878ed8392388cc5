package bench

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	goethkzg "github.com/crate-crypto/go-eth-kzg"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	core "github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/prover/kzg"
)

// CellsConfig says what Cells measures: every number of blobs on every backend.
type CellsConfig struct {
	Open     core.Opener
	Backends []string
	Blobs    []int // of one call
	Count    int   // timed runs, after one that is not
	Seed     uint64
	// Phases adds to each run what its parts take: those that the engine has, and the steps
	// on backends that count them (backend.Usage.Stages).
	Phases bool

	Progress Progress
	Note     func(string)
}

// mostBlobs bounds the memory of answers: 270 KB a blob.
const mostBlobs = 1 << 12

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *CellsConfig) Validate() error {
	if c.Open == nil || len(c.Backends) == 0 || len(c.Blobs) == 0 || c.Count < 1 {
		return fmt.Errorf("%w: nothing to measure: backends, blobs and a count must be given", backend.ErrInvalidInput)
	}
	for _, n := range c.Blobs {
		if n < 1 || n > mostBlobs {
			return fmt.Errorf("%w: %d blobs, from 1 to %d are possible", backend.ErrInvalidInput, n, mostBlobs)
		}
	}
	return nil
}

// Cells measures what cfg says, and answers as MSM does. Blobs are random, the setup is of a
// secret that the seed has, and go-eth-kzg computes the same.
func Cells(ctx context.Context, cfg CellsConfig) (runs []report.CellRun, infos []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	observers, watched := map[string]core.Observer{}, map[string]*cellParts{}
	if cfg.Phases {
		for _, name := range cfg.Backends {
			watched[name] = new(cellParts)
			observers[name] = watched[name]
		}
	}
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, observers)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	infos = all.describe()
	cfg.Progress.tell("a setup and go-eth-kzg's cells", 0, 1)
	w, err := newCellWork(ctx, cfg.Blobs, cfg.Seed)
	if err != nil {
		return nil, infos, err
	}
	cfg.Progress.tell("a setup and go-eth-kzg's cells", 1, 1)
	for _, e := range all {
		if !e.info.Can.HasPrograms(backend.PointOf(backend.BLS12381, backend.G1)) {
			if cfg.Note != nil {
				cfg.Note(fmt.Sprintf("backend %s has no programs over points of BLS12-381: left out", e.name))
			}
			continue
		}
		done, err := w.measure(ctx, &cfg, e, watched[e.name])
		runs = append(runs, done...)
		if err != nil {
			return runs, infos, err
		}
	}
	if len(runs) == 0 {
		return nil, infos, fmt.Errorf("%w: no backend has programs over points of BLS12-381", backend.ErrUnsupported)
	}
	return runs, infos, nil
}

// cellWork is a setup, blobs, and go-eth-kzg's answers and times for the first so many.
type cellWork struct {
	setup  *kzg.EthereumSetup
	blobs  []*kzg.Blob
	cells  [][goethkzg.CellsPerExtBlob]*goethkzg.Cell
	proofs [][goethkzg.CellsPerExtBlob]goethkzg.KZGProof
	stock  map[int]time.Duration
	// commitment is to the first blob.
	commitment goethkzg.KZGCommitment
}

func newCellWork(ctx context.Context, counts []int, seed uint64) (*cellWork, error) {
	text, err := cellSetup(ctx, seed)
	if err != nil {
		return nil, err
	}
	var theirs goethkzg.JSONTrustedSetup
	if err := json.Unmarshal(text, &theirs); err != nil {
		return nil, err
	}
	stock, err := goethkzg.NewContext4096(&theirs)
	if err != nil {
		return nil, err
	}
	w := &cellWork{stock: map[int]time.Duration{}}
	if w.setup, err = kzg.ReadEthereumSetup(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(kzg.Blob{}))))
	n := slices.Max(counts)
	w.cells, w.proofs = make([][goethkzg.CellsPerExtBlob]*goethkzg.Cell, n), make([][goethkzg.CellsPerExtBlob]goethkzg.KZGProof, n)
	for range n {
		w.blobs = append(w.blobs, randomBlob(rng))
	}
	if w.commitment, err = stock.BlobToKZGCommitment((*goethkzg.Blob)(w.blobs[0]), 0); err != nil {
		return nil, err
	}
	for _, n := range counts {
		if _, ok := w.stock[n]; ok {
			continue
		}
		// Blobs side by side: that is the most of a machine.
		var g errgroup.Group
		g.SetLimit(runtime.GOMAXPROCS(0))
		start := time.Now()
		for i := range n {
			g.Go(func() (err error) {
				if err := ctx.Err(); err != nil {
					return err
				}
				w.cells[i], w.proofs[i], err = stock.ComputeCellsAndKZGProofs((*goethkzg.Blob)(w.blobs[i]), 0)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		w.stock[n] = time.Since(start)
	}
	return w, nil
}

// cellSetup makes a trusted setup of a secret, in the specification's JSON.
func cellSetup(ctx context.Context, seed uint64) ([]byte, error) {
	secret := new(big.Int).SetUint64(seed | 1<<63)
	srs, err := kzg.NewSRSBLS12381(ctx, nil, goethkzg.ScalarsPerBlob, secret)
	if err != nil {
		return nil, err
	}
	form, err := kzg.ToLagrangeBLS12381(ctx, nil, srs.Pk.G1)
	if err != nil {
		return nil, err
	}
	var text struct {
		G1Monomial []string `json:"g1_monomial"`
		G1Lagrange []string `json:"g1_lagrange"`
		G2Monomial []string `json:"g2_monomial"`
	}
	encode := func(points []bls12381.G1Affine) (all []string) {
		for i := range points {
			b := points[i].Bytes()
			all = append(all, "0x"+hex.EncodeToString(b[:]))
		}
		return all
	}
	text.G1Monomial, text.G1Lagrange = encode(srs.Pk.G1), encode(form)
	p := srs.Vk.G2[0]
	for range goethkzg.BytesPerCell/goethkzg.SerializedScalarSize + 1 {
		b := p.Bytes()
		text.G2Monomial = append(text.G2Monomial, "0x"+hex.EncodeToString(b[:]))
		p.ScalarMultiplication(&p, secret)
	}
	return json.Marshal(text)
}

func randomBlob(rng *rand.Rand) *kzg.Blob {
	b := new(kzg.Blob)
	for i := 0; i < len(b); i += fr.Bytes {
		for k := range fr.Bytes {
			b[i+k] = byte(rng.Uint32())
		}
		b[i] &= 0x3f // below r
	}
	return b
}

// cellParts adds up how long an engine's phases take that are within no other: taking
// spaces, and programs.
type cellParts struct {
	mu   sync.Mutex
	took map[core.PhaseKind]time.Duration
}

func (p *cellParts) Begin(ctx context.Context, phase core.Phase) (context.Context, func(error)) {
	if phase.Kind != core.PhaseSpace && phase.Kind != core.PhaseProgram {
		return ctx, func(error) {}
	}
	start := time.Now()
	return ctx, func(error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.took == nil {
			p.took = map[core.PhaseKind]time.Duration{}
		}
		p.took[phase.Kind] += time.Since(start)
	}
}

// since returns what was added, and begins again.
func (p *cellParts) since() map[core.PhaseKind]time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.took
	p.took = nil
	return took
}

// parts returns the medians of what the engine and its backend took in some calls.
func (p *cellParts) parts(calls []map[core.PhaseKind]time.Duration, steps *phases) (all []report.Part) {
	add := func(name string, samples []time.Duration) {
		all = append(all, report.Part{Name: name, Median: record.Millis(record.Median(samples))})
	}
	for _, kind := range []core.PhaseKind{core.PhaseSpace, core.PhaseProgram} {
		var samples []time.Duration
		for _, took := range calls {
			samples = append(samples, took[kind])
		}
		add(string(kind), samples)
	}
	for _, s := range steps.all {
		if len(s.samples) == steps.calls && slices.Max(s.samples) > 0 {
			add(s.name, s.samples)
		}
	}
	return all
}

// measure times one backend. watched is told of the engine's phases, or nil.
func (w *cellWork) measure(ctx context.Context, cfg *CellsConfig, e *single, watched *cellParts) (runs []report.CellRun, err error) {
	start := time.Now()
	c, err := kzg.LoadCells(ctx, e.Engine, w.setup)
	if err != nil {
		return nil, err
	}
	load := time.Since(start)
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, n := range cfg.Blobs {
		run := report.CellRun{Op: "cells", Blobs: n, Backend: e.name, Version: e.info.Version, Device: e.device(), Seed: cfg.Seed,
			Count: cfg.Count, Load: record.Millis(load), Stock: record.Millis(w.stock[n]), Compared: n, Oracle: "go-eth-kzg"}
		var samples []time.Duration
		var steps *phases
		var calls []map[core.PhaseKind]time.Duration
		if watched != nil {
			steps = &phases{of: e}
		}
		stage := fmt.Sprintf("cells of %d blobs on %s", n, e.name)
		for round := range cfg.Count + 1 {
			cfg.Progress.tell(stage, round, cfg.Count+1)
			runtime.GC() // not within the time
			var got []*kzg.Extended
			var took time.Duration
			if watched != nil {
				watched.since()
			}
			err := steps.around(ctx, round > 0, func() (err error) {
				start := time.Now()
				got, err = c.Compute(ctx, w.blobs[:n]...)
				took = time.Since(start)
				return err
			})
			if watched != nil && round > 0 {
				calls = append(calls, watched.since())
			}
			if err == nil {
				err = w.right(got)
			}
			if err != nil {
				return runs, fmt.Errorf("%s: %w", stage, err)
			}
			if round > 0 {
				samples = append(samples, took)
			}
		}
		cfg.Progress.tell(stage, cfg.Count+1, cfg.Count+1)
		if err := w.others(ctx, c, n); err != nil {
			return runs, fmt.Errorf("%s: %w", stage, err)
		}
		run.Checked = true
		if watched != nil {
			run.Parts = watched.parts(calls, steps)
		}
		run.Min, run.Median, run.Samples = record.Millis(record.Min(samples)), record.Millis(record.Median(samples)), record.AllMillis(samples)
		runs = append(runs, run)
	}
	return runs, nil
}

// others compares what is not timed: the first n blobs from every second cell, and the
// commitment to the first.
func (w *cellWork) others(ctx context.Context, c *kzg.CellProver, n int) error {
	var indices []uint64
	rows := make([][]*kzg.Cell, n)
	for k := uint64(1); k < kzg.CellCount; k += 2 {
		indices = append(indices, k)
		for i := range rows {
			rows[i] = append(rows[i], (*kzg.Cell)(w.cells[i][k]))
		}
	}
	all, err := c.Recover(ctx, indices, rows...)
	if err != nil {
		return err
	}
	if err := w.right(all); err != nil {
		return fmt.Errorf("recovered: %w", err)
	}
	commitments, err := c.Commit(ctx, w.blobs[0])
	if err != nil {
		return err
	}
	if commitments[0] != kzg.Commitment(w.commitment) {
		return fmt.Errorf("%w: the commitment to blob 0 is not go-eth-kzg's", ErrWrong)
	}
	return nil
}

// right compares every cell and proof with go-eth-kzg's.
func (w *cellWork) right(got []*kzg.Extended) error {
	for i, x := range got {
		for k := range x.Cells {
			if x.Cells[k] != kzg.Cell(*w.cells[i][k]) || x.Proofs[k] != kzg.Proof(w.proofs[i][k]) {
				return fmt.Errorf("%w: cell or proof %d of blob %d is not go-eth-kzg's", ErrWrong, k, i)
			}
		}
	}
	return nil
}
