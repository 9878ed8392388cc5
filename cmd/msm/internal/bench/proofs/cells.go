package proofs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	goethkzg "github.com/crate-crypto/go-eth-kzg"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/kzg"
)

// Cells measures EIP-7594's cells and proofs of every number of blobs on every backend.
type Cells struct {
	bench.Common
	Blobs []int // of one call
	// Phases adds runs of what parts of the calls take: those that the engine has, and the steps
	// on backends that count them (backend.Usage.Stages).
	Phases bool
}

// mostBlobs bounds the memory of answers: 270 KB a blob.
const mostBlobs = 1 << 12

// Validate refuses an empty or senseless configuration with backend.ErrInvalidInput.
func (c *Cells) Validate() error {
	return cmp.Or(c.ValidateCommon(), bench.Within("blobs", c.Blobs, 1, mostBlobs))
}

// Sheet shows the time a blob and go-eth-kzg's.
func (c *Cells) Sheet() report.Sheet {
	return report.Sheet{
		Note:   "Blobs, cells and proofs are bytes in the caller's memory; tables are loaded before. A program has the steps within it.",
		Before: []report.Column{report.ColumnN("blobs", report.Stays), report.ColumnBackend(4)},
		After: []report.Column{
			report.Text("ms a blob", 5, func(r *report.Run) string { return report.FormatMillis(r.Median / float64(r.N)) }),
			report.ColumnMillis("go-eth-kzg ms", 3, report.FigureStock),
		},
	}
}

// Measure times calls on random blobs, with a setup of a secret that the seed has. go-eth-kzg
// computes the same.
func (c *Cells) Measure(ctx context.Context, r *bench.Runner) error {
	observers, watched := map[string]engine.Observer{}, map[string]*bench.EnginePhases{}
	if c.Phases {
		for _, name := range c.Backends {
			watched[name] = new(bench.EnginePhases)
			observers[name] = watched[name]
		}
	}
	if err := r.Start(ctx, observers); err != nil {
		return err
	}
	able := r.WithPrograms(backend.PointOf(backend.BLS12381, backend.G1))
	if len(able) == 0 {
		return nil
	}
	r.Progress.Tell("a setup and go-eth-kzg's cells", 0, 1)
	w, err := newCellWork(ctx, c.Blobs, c.Seed)
	if err != nil {
		return err
	}
	r.Progress.Tell("a setup and go-eth-kzg's cells", 1, 1)
	for _, e := range able {
		if err := w.on(ctx, c, r, e, watched[e.Name]); err != nil {
			return err
		}
	}
	return nil
}

// cellWork is a setup and blobs, with go-eth-kzg's answers and times for the first of them.
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

// on measures one backend. watched is told of the engine's phases, or nil.
func (w *cellWork) on(ctx context.Context, c *Cells, r *bench.Runner, e *bench.Single, watched *bench.EnginePhases) (err error) {
	start := time.Now()
	p, err := kzg.LoadCells(ctx, e.Engine, w.setup)
	if err != nil {
		return err
	}
	load := time.Since(start)
	defer func() { err = errors.Join(err, p.Close()) }()
	for _, n := range c.Blobs {
		run := report.Run{Op: "cells", N: n, Compared: n, Oracle: "go-eth-kzg"}
		run.Took("load", load)
		run.Took(report.FigureStock, w.stock[n])
		s := r.Series(e, run, nil)
		var got []*kzg.Extended
		s.Once = bench.Clock(func() (err error) {
			got, err = p.Compute(ctx, w.blobs[:n]...)
			return err
		})
		s.Check = func() (int, error) { return w.wrong(got), nil }
		if watched != nil {
			s.Phases = e.PhasesWith(watched)
		}
		t := r.Trial(fmt.Sprintf("cells of %d blobs on %s", n, e.Name), s)
		t.Check = func() error { return w.others(ctx, p, n) }
		if err := r.Compare(ctx, t); err != nil {
			return err
		}
	}
	return nil
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
	if n := w.wrong(all); n > 0 {
		return fmt.Errorf("%w: %d recovered cells and proofs are not go-eth-kzg's", bench.ErrWrong, n)
	}
	commitments, err := c.Commit(ctx, w.blobs[0])
	if err != nil {
		return err
	}
	if commitments[0] != kzg.Commitment(w.commitment) {
		return fmt.Errorf("%w: the commitment to blob 0 is not go-eth-kzg's", bench.ErrWrong)
	}
	return nil
}

// wrong counts the cells and proofs that are not go-eth-kzg's.
func (w *cellWork) wrong(got []*kzg.Extended) (n int) {
	for i, x := range got {
		for k := range x.Cells {
			if x.Cells[k] != kzg.Cell(*w.cells[i][k]) || x.Proofs[k] != kzg.Proof(w.proofs[i][k]) {
				n++
			}
		}
	}
	return n
}
