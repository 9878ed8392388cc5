package hook

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pippin-zk/pippin/backend"
	cpu "github.com/pippin-zk/pippin/backend/cpu/msm"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/opener"
	"github.com/pippin-zk/pippin/plugin"
)

// Options of a Runtime. The zero value is the default.
type Options struct {
	// Backend is the engine's; "" is "cpu".
	Backend string
	// Open opens backends. It is required.
	Open engine.Opener
	// Opened is called with the engine when it is open. nil is nothing.
	Opened func(*engine.Engine)
	// Threshold is the number of points, or of constraints, below which the hook declines: 0 is
	// engine.DefaultThreshold, negative declines only empty sums.
	Threshold int
	// Cache bounds the bytes of resident bases: 0 is half of the memory of the
	// backend's first device, or 8 GiB where that is not known; negative keeps
	// none.
	Cache int64
	// Idle is how long bases stay resident without being used: 0 is ten minutes.
	Idle time.Duration
	// Strict has MultiExp and ToLagrangeG1 fail where the engine does, and
	// BatchScalarMultiplication panic. The engine fails rather than fall back.
	Strict bool
	// Unknown has backends compute no MSM whose answer is known (engine.Config.Known).
	Unknown bool
	// Trace gets a line of JSON for every call answered.
	Trace io.Writer
	// Report gets what somebody should know, a line at a time: that the engine
	// does not open, a backend died, calls failed. nil discards it.
	Report func(line string)
}

const (
	defaultCache = 8 << 30
	defaultIdle  = 10 * time.Minute
)

// none, as a backend's name, installs no hooks.
const none = "none"

// FromEnvironment makes the Runtime that the environment asks for, nil for
// none. A setting that is wrong is reported, and then every call declines, or
// fails with PIPPIN_WEAVE_STRICT. In this process it has the CPU's MSMs alone.
func FromEnvironment() *Runtime { return FromEnvironmentWith(cpu.New, nil) }

// FromEnvironmentWith does what FromEnvironment does with another backend "cpu". opened is called with the
// engine when it is open.
func FromEnvironmentWith(cpu func() backend.Backend, opened func(*engine.Engine)) *Runtime {
	o, err := fromEnv(os.Getenv, cpu)
	if err == nil && o.Backend == none {
		return nil
	}
	o.Opened = opened
	o.Report = func(line string) { fmt.Fprintln(os.Stderr, "pippin:", line) }
	r := New(o)
	if err != nil {
		r.broken(err)
	}
	return r
}

// fromEnv reads the variables that package auto documents.
func fromEnv(getenv func(string) string, cpu func() backend.Backend) (o Options, err error) {
	bad := func(name, wants string) error {
		return fmt.Errorf("%w: %s is %q, want %s", backend.ErrInvalidInput, name, getenv(name), wants)
	}
	switch v := getenv("PIPPIN_WEAVE_STRICT"); v {
	case "", "0":
	case "1":
		o.Strict = true
	default:
		return o, bad("PIPPIN_WEAVE_STRICT", "0 or 1")
	}
	switch v := getenv("PIPPIN_WEAVE_KNOWN"); v {
	case "", "1":
	case "0":
		o.Unknown = true
	default:
		return o, bad("PIPPIN_WEAVE_KNOWN", "0 or 1")
	}
	o.Backend = getenv("PIPPIN_BACKEND")
	o.Open = opener.New(map[string]func() backend.Backend{"cpu": cpu}, plugin.Spec{
		Search: plugin.Search{Dirs: filepath.SplitList(getenv("PIPPIN_PLUGIN_DIR")), Path: getenv("PATH")},
	})
	if v := getenv("PIPPIN_WEAVE_THRESHOLD"); v != "" {
		if o.Threshold, err = strconv.Atoi(v); err != nil || o.Threshold < 0 {
			return o, bad("PIPPIN_WEAVE_THRESHOLD", "a number of points")
		}
		if o.Threshold == 0 {
			o.Threshold = -1
		}
	}
	if v := getenv("PIPPIN_WEAVE_CACHE"); v != "" {
		if o.Cache, err = parseBytes(v); err != nil {
			return o, bad("PIPPIN_WEAVE_CACHE", "bytes, such as 512MiB or 8GiB")
		}
		if o.Cache == 0 {
			o.Cache = -1
		}
	}
	if v := getenv("PIPPIN_WEAVE_IDLE"); v != "" {
		if o.Idle, err = time.ParseDuration(v); err != nil || o.Idle <= 0 {
			return o, bad("PIPPIN_WEAVE_IDLE", "a time, such as 90s or 10m")
		}
	}
	switch v := getenv("PIPPIN_WEAVE_TRACE"); v {
	case "":
	case "stderr":
		o.Trace = os.Stderr
	default:
		if o.Trace, err = os.OpenFile(v, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
			return o, fmt.Errorf("PIPPIN_WEAVE_TRACE: %w", err)
		}
	}
	return o, nil
}

// parseBytes reads a size in bytes, or with the unit KiB, MiB, GiB or TiB.
func parseBytes(s string) (int64, error) {
	unit := int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = v, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err == nil && (n < 0 || n > math.MaxInt64/unit) {
		err = strconv.ErrRange
	}
	return n * unit, err
}
