// Command msm-backend-cuda is the CUDA backend as a plugin: a host starts it,
// it is of no use by hand. scripts/build-plugin-cuda builds it with the tag
// cuda; built without, it tells the host that it has no GPU support.
//
// Its environment:
//
//	PIPPIN_GPU_DEVICES  the GPUs to use: numbers as the driver counts those that
//	                    are visible (0, 1,3 or 0-3), or UUIDs as nvidia-smi -L
//	                    writes them; all when not set. The backend names cuda:0,
//	                    cuda:0-3 and cuda:GPU-UUID set it
//	PIPPIN_GPU_MEMORY   memory to use at most of each, such as 24GiB; all that is
//	                    free when not set
//	PIPPIN_GPU_TUNING   the file of a table by which MSMs are planned, as msm tune
//	                    writes it; none has the program's own used even where
//	                    there is one in the user's folder for settings
//	PIPPIN_GPU_STAGES   1 has the stages of computations timed on the device, for
//	                    metrics; it costs a little of each call. They are
//	                    spans too where traces are asked for
//
// Metrics and traces are asked for as package telemetry says.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda"
	"github.com/pippin-zk/pippin/cmd/internal/telemetry"
	"github.com/pippin-zk/pippin/internal/known"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/observe/tracing"
)

func main() { telemetry.Serve(open) }

func open(_ context.Context, log *slog.Logger) (backend.Backend, error) {
	o, err := options(os.Getenv)
	if err != nil {
		return nil, err
	}
	o.Log, o.Test = log, known.Test
	b, err := cuda.Open(o)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func options(env func(string) string) (o cuda.Options, err error) {
	o.Devices, o.Tuning = env("PIPPIN_GPU_DEVICES"), env("PIPPIN_GPU_TUNING")
	if err := cuda.CheckDevices(o.Devices); err != nil {
		return o, fmt.Errorf("PIPPIN_GPU_DEVICES: %w", err)
	}
	if s := env("PIPPIN_GPU_MEMORY"); s != "" {
		if o.Memory, err = units.ParseBytes(s); err != nil {
			return o, fmt.Errorf("%w: PIPPIN_GPU_MEMORY: %w", backend.ErrUnavailable, err)
		}
	}
	if s := env("PIPPIN_GPU_STAGES"); s != "" {
		on, err := strconv.ParseBool(s)
		if err != nil {
			return o, fmt.Errorf("%w: PIPPIN_GPU_STAGES=%q is neither 0 nor 1", backend.ErrUnavailable, s)
		}
		if on {
			o.Trace = tracing.Stages // the backend sums them up too
		}
	}
	return o, nil
}
