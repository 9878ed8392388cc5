package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
)

// cellsFlags is the command line of msm bench cells.
type cellsFlags struct {
	blobs, backends string

	phases bool
	count  int
	seed   uint64
	format string
	out    string
	commit string
}

func (a *app) benchCellsCommand() *cobra.Command {
	var f cellsFlags
	c := &cobra.Command{
		Use:   "cells",
		Short: "Time EIP-7594's cells and KZG proofs of blobs",
		Long: `Time the cells and KZG proofs of blobs by EIP-7594 (PeerDAS), a call for all blobs:
blobs, cells and proofs are bytes in this process, tables are loaded before. go-eth-kzg
computes the same once, on all processors, and every answer is compared with its own, as
are recovered blobs and a commitment outside of the time.
The setup is made of a secret that everybody knows.`,
		Example: `  msm bench cells --blobs 1,4 --backend cpu
  msm bench cells --blobs 1,64 --backend cuda --format json --out FILE`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.benchCells(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.blobs, "blobs", "1,64", "blobs of a call"+several)
	flags.IntVar(&f.count, "count", report.Enough, "timed runs, after one to warm up")
	flags.BoolVar(&f.phases, "phases", false, "show what spaces, programs and the steps on a card take")
	flags.StringVar(&f.backends, "backend", "cpu", "cpu, cuda, plugin:NAME, plugin:PATH"+several)
	flags.Uint64Var(&f.seed, "seed", 1, "chooses the blobs and the secret of the setup")
	addFormat(c, &f.format, reports)
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	completes(c, "backend", backendNames)
	return c
}

func (a *app) benchCells(ctx context.Context, f cellsFlags) error {
	if err := oneOf("format", f.format, reports...); err != nil {
		return err
	}
	cfg := bench.CellsConfig{Open: a.opener(), Count: f.count, Seed: f.seed, Phases: f.phases}
	if f.phases {
		cfg.Open = a.opener("PIPPIN_GPU_STAGES=1")
	}
	var err, failed error
	if cfg.Blobs, err = parseList("blobs", f.blobs, nil, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0, usageError{fmt.Errorf("--blobs %s is no number", s)}
		}
		return n, nil
	}); err != nil {
		return err
	}
	if cfg.Backends, failed = parseBackends(f.backends); failed != nil {
		return failed
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	return recorded(ctx, a, destination{f.format, f.out, "", f.commit}, func(progress bench.Progress, note func(string)) ([]report.CellRun, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.Cells(ctx, cfg)
	}, report.WriteCellsTable, nil)
}
