package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/consensys/gnark/frontend"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
)

// begun is when the program was initialised.
var begun = time.Now()

// Cold measures the way from the program's start to its first proof, once in a process: one
// circuit on one curve and one backend, of which cfg has no more, with a key that Prove kept.
// A key that is not there is backend.ErrInvalidInput, a proof that gnark refuses ErrWrong.
func Cold(ctx context.Context, cfg ProveConfig) (_ []record.ColdRun, _ []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	curves := cfg.Curves
	if len(curves) == 0 {
		curves = curvesOf(cfg.Circuits[0])
	}
	if len(cfg.Circuits) != 1 || len(curves) != 1 || len(cfg.Backends) != 1 || len(cfg.Merge) > 1 {
		return nil, nil, fmt.Errorf("%w: a cold start is of one circuit, curve, backend and way to merge", backend.ErrInvalidInput)
	}
	r := record.ColdRun{Op: "cold", System: string(cfg.system()), Curve: curves[0].String(), Backend: cfg.Backends[0]}
	since := begun
	stage := func(to *float64) {
		*to = record.Millis(time.Since(since))
		r.First += *to
		since = time.Now()
	}
	stage(&r.Start)

	// What is proved is no part of the time.
	s, err := newStatement(cfg.Circuits[0], curves[0], cfg.Hashes, cfg.Squares)
	if err != nil {
		return nil, nil, err
	}
	full, err := frontend.NewWitness(s.assignment, layout.CurveID(curves[0]).ScalarField())
	if err != nil {
		return nil, nil, err
	}
	public, err := full.Public()
	if err != nil {
		return nil, nil, err
	}
	scheme, err := cfg.system().On(curves[0])
	if err != nil {
		return nil, nil, err
	}
	r.Circuit = s.name
	k := &key{ccs: scheme.NewConstraints(), Keys: scheme.NewKeys()}
	dir := cfg.keyDir(s, curves[0])
	took := map[string]*float64{"system": &r.Constrained, "proving": &r.Key}
	for _, f := range k.files() {
		since = time.Now()
		if err := readKeyFile(filepath.Join(dir, f.Name), f.Read); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("%w: no key is kept in %s: msm bench prove without --cold makes it", backend.ErrInvalidInput, dir)
		} else if err != nil {
			return nil, nil, err
		}
		if to := took[f.Name]; to != nil {
			stage(to)
		}
	}
	r.Constraints = k.ccs.GetNbConstraints()

	since = time.Now()
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	stage(&r.Open)
	e := all[0]
	r.Version, r.Device = e.info.Version, e.device()
	p, err := k.NewProver(e.Engine, k.ccs, proofsystem.Options{NoMerging: len(cfg.Merge) > 0 && cfg.Merge[0] == record.MergeNever})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	stage(&r.Load)
	first, err := p.Prove(ctx, full)
	if err != nil {
		return nil, nil, err
	}
	stage(&r.Proof)
	next, err := p.Prove(ctx, full)
	if err != nil {
		return nil, nil, err
	}
	r.Next = record.Millis(time.Since(since))
	refused := errors.Join(k.Verify(first, public), k.Verify(next, public))
	if r.Verified = refused == nil; !r.Verified {
		err = fmt.Errorf("%w: %w (a damaged key? it is kept in %s)", ErrWrong, refused, dir)
	}
	return []record.ColdRun{r}, all.describe(), err
}
