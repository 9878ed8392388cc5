package main

import (
	"context"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// rsaFlags is the command line of msm bench rsa.
type rsaFlags struct {
	bits, batches, backends string

	count, inFlight int
	openSSL         string
	format          string
	out             string
	commit          string
}

func (a *app) benchRSACommand() *cobra.Command {
	var f rsaFlags
	c := &cobra.Command{
		Use:   "rsa",
		Short: "Time batches of RSA signatures beside crypto/rsa and OpenSSL",
		Long: `Time RSA signatures by the Chinese remainder theorem, in batches of one key, by
arith.Calculator.ExpModCRT, which checks each: signatures a second, and the latency of a
batch. crypto/rsa signs the same digests on all processors, and "openssl speed" runs once
a width where the program is there. Every signature is verified afterwards.`,
		Example: `  msm bench rsa --bits 2048 --batch 1,16,256 --backend cpu
  msm bench rsa --bits 2048,3072,4096 --batch 1,256,4096,16384,65536 --backend cuda --out rsa.json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.benchRSA(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.bits, "bits", "2048", "widths of the modulus"+several)
	flags.StringVar(&f.batches, "batch", "1,16,256", "signatures of a batch"+several)
	flags.IntVar(&f.count, "count", report.Enough, "timed batches, after one to warm up")
	flags.IntVar(&f.inFlight, "in-flight", 1, "batches at a time")
	flags.StringVar(&f.backends, "backend", "cpu", "cpu, cuda, plugin:NAME, plugin:PATH"+several)
	flags.StringVar(&f.openSSL, "openssl", "openssl", `the program, left out where it is not there; "" leaves it out`)
	addFormat(c, &f.format, reports)
	flags.StringVar(&f.out, "out", "", "file for the result instead of stdout, which then has the table")
	flags.StringVar(&f.commit, "commit", "", "pippin's commit for the record, when the program does not know it (as under go run)")
	completes(c, "backend", backendNames)
	return c
}

func (a *app) benchRSA(ctx context.Context, f rsaFlags) error {
	if err := oneOf("format", f.format, reports...); err != nil {
		return err
	}
	cfg := bench.RSAConfig{Open: a.opener(), Count: f.count, InFlight: f.inFlight}
	var err error
	if cfg.Bits, err = parseList("bits", f.bits, nil, strconv.Atoi); err != nil {
		return err
	}
	if cfg.Batches, err = parseList("batch", f.batches, nil, units.ParseSize); err != nil {
		return err
	}
	if cfg.Backends, err = parseBackends(f.backends); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	if f.openSSL != "" {
		cfg.OpenSSL, _ = exec.LookPath(f.openSSL)
	}
	return recorded(ctx, a, destination{f.format, f.out, "", f.commit}, func(progress bench.Progress, note func(string)) ([]report.RSARun, []record.BackendInfo, error) {
		cfg.Progress, cfg.Note = progress, note
		return bench.RSA(ctx, cfg)
	}, report.WriteRSATable, nil)
}
