//go:build cuda && cgo && linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
)

// The sweep of driver faults: in one life of a backend after the other one call of the driver fails, each in
// turn. Whatever fails, nothing hangs or panics, every answer is right or an error, nothing stays taken, and
// no memory is given back with what was in it.

// driverCalls are the functions of the driver that a life calls.
var driverCalls = []string{
	"cuCtxSetCurrent", "cuDeviceGet", "cuDeviceGetAttribute", "cuDeviceGetName",
	"cuDeviceGetUuid", "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxSetFlags", "cuDeviceTotalMem",
	"cuEventCreate", "cuEventDestroy", "cuEventRecord", "cuEventSynchronize", "cuFuncGetAttribute", "cuFuncGetParamInfo",
	"cuFuncSetAttribute", "cuLaunchCooperativeKernel", "cuLaunchKernel", "cuMemAlloc", "cuMemFree", "cuMemFreeHost", "cuMemGetInfo",
	"cuMemHostAlloc", "cuMemcpyDtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync", "cuMemsetD8Async", "cuModuleGetFunction",
	"cuModuleLoadData", "cuModuleUnload", "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuStreamCreate", "cuStreamCreateWithPriority",
	"cuStreamDestroy", "cuStreamSynchronize", "cuStreamWaitEvent",
}

const outOfMemory = "2"

// The results that a call answers in place of success. All but the first are the end of the context.
var faults = map[string]string{outOfMemory: "out of memory", "214": "ECC error", "700": "sticky error", "999": "unknown error"}

// gives tells whether a function gives something back, or is called before each that does. If it fails, what was
// to be given back stays taken until the context ends.
func gives(call string) bool {
	if call == "cuCtxSetCurrent" {
		return true
	}
	for _, end := range []string{"Destroy", "Free", "FreeHost", "Unload", "Release"} {
		if strings.HasSuffix(call, end) {
			return true
		}
	}
	return false
}

// life is what every backend of the sweep goes through.
type life struct {
	bases   backend.Bases
	scalars []byte
	want    []byte // the MSM's answer; nil without kernels
}

func newLife(t testing.TB, kernels bool) *life {
	t.Helper()
	const n = 20
	p, err := fixtures.NewPoints(backend.BN254, backend.G1, *seed)
	if err != nil {
		t.Fatal(err)
	}
	l := &life{bases: backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n}}
	if l.bases.Bytes, err = p.Bytes(n); err != nil {
		t.Fatal(err)
	}
	if l.scalars, err = fixtures.Scalars(backend.BN254, fixtures.Uniform, *seed, n); err != nil {
		t.Fatal(err)
	}
	if kernels {
		if l.want, err = p.Expected(0, l.scalars); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// errWrongAnswer is a wrong answer, which no fault excuses.
var errWrongAnswer = errors.New("wrong answer")

// live opens a backend, uses it and closes it. It goes on after an error as far as it can, and returns all.
func (l *life) live(ctx context.Context) (err error) {
	b, err := Open(Options{Devices: "0"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	var errs []error
	if id, err := b.LoadBases(ctx, l.bases); err != nil {
		errs = append(errs, err)
	} else {
		out, err := b.MSM(ctx, []backend.Job{{Bases: id, Count: l.bases.Count, Input: backend.Input{Bytes: l.scalars}}})
		if err == nil && l.want != nil && !bytes.Equal(out[0], l.want) {
			err = fmt.Errorf("%w of an MSM", errWrongAnswer)
		}
		errs = append(errs, err, b.FreeBases(ctx, id))
	}
	if id, err := b.NewSpace(ctx, backend.ScalarOf(backend.BN254), 32); err != nil {
		errs = append(errs, err)
	} else {
		first, second := elements(7, 16), backend.Range{Space: id, Offset: 16, Count: 16}
		out, err := b.Run(ctx, []backend.Step{
			write(id, 0, first), write(id, 16, elements(9, 16)), backend.Transform{Dst: second, Src: second}, read(id, 0, 16), read(id, 16, 16),
		})
		if err == nil && !bytes.Equal(out[3], first) {
			err = fmt.Errorf("%w of a program", errWrongAnswer)
		}
		errs = append(errs, err, b.FreeSpace(ctx, id))
	}
	return errors.Join(errs...)
}

// counted returns what is taken from the driver, and what was given back unwiped.
func counted() map[string]int64 {
	all := map[string]int64{}
	for _, c := range []string{"memory", "allocations", "pinned", "registered", "streams", "events", "modules", "contexts",
		"unwiped", "unwiped_memory", "overruns", "pageable", "abandoned"} {
		all[c] = fakecuda.Counter(c)
	}
	return all
}

// survive lives with one rule for the driver, and judges.
func (l *life) survive(t *testing.T, call string, nth int64, code string) {
	t.Helper()
	rule := fmt.Sprintf("%s@%d=%s", call, nth, code)
	what := fmt.Sprintf("%s (%s)", rule, faults[code])
	fakecuda.Reset()
	before := counted()
	cudatest.Fail(t, rule)
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				ended <- fmt.Errorf("it panics: %v\n%s", p, debug.Stack())
			}
		}()
		ended <- l.live(t.Context())
	}()
	var err error
	select {
	case err = <-ended:
	case <-time.After(time.Minute):
		t.Fatalf("%s: it hangs", what)
	}
	if errors.Is(err, errWrongAnswer) || err != nil && strings.HasPrefix(err.Error(), "it panics") {
		t.Errorf("%s: %v", what, err)
	}
	if err != nil && backend.FaultOf(err) != backend.FaultBackend && backend.FaultOf(err) != backend.FaultGone {
		t.Errorf("%s: the fault of nobody here: %v", what, err)
	}
	after := counted()
	for c := range before {
		switch {
		case call == "cuMemAlloc" && c == "unwiped_memory":
			// Bases that found no room for their table have the MSM take work memory, of which what is no secret is
			// given back as it is.
			delete(before, c)
			delete(after, c)
		case slices.Contains([]string{"unwiped", "unwiped_memory", "overruns", "pageable"}, c):
		case code != outOfMemory: // the context is lost, and everything in it ends with the process
			delete(before, c)
			delete(after, c)
		case gives(call) && (c == "abandoned" || call == "cuDevicePrimaryCtxRelease"): // it ends with the context, or the process
			delete(before, c)
			delete(after, c)
		}
	}
	if !maps.Equal(before, after) {
		t.Errorf("%s (%v): something is left:\n%v before\n%v after", what, err, before, after)
	}
}

// faultyCall is an environment variable with the function that fails in this process.
const faultyCall = "PIPPIN_FAULTY_CALL"

// TestFaults is the sweep, without kernels. There is a process for each function of the driver, since what a
// lost context had ends with its process.
func TestFaults(t *testing.T) {
	if call := os.Getenv(faultyCall); call != "" {
		sweep(t, call)
		return
	}
	cudatest.OnFake(t)
	lives := 0
	for _, call := range driverCalls {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFaults$", "-test.v", fmt.Sprintf("-seed=%d", *seed))
		cmd.Env = append(os.Environ(), noKernels+"=1", faultyCall+"="+call)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", call, err, out)
		}
		_, after, _ := strings.Cut(string(out), "lives: ")
		var n int
		if _, err := fmt.Sscan(after, &n); err != nil || n == 0 {
			t.Errorf("%s: no life\n%s", call, out)
		}
		lives += n
	}
	t.Logf("%d lives", lives)
	if lives < 1000 {
		t.Errorf("%d lives: a backend calls the driver less often than it did", lives)
	}
}

// sweep lives with each call of one function failing in turn, at most 32 of them.
func sweep(t *testing.T, call string) {
	if err := driver.Init(); err != nil {
		t.Fatal(err)
	}
	l := newLife(t, false)
	fakecuda.Reset()
	if err := l.live(t.Context()); err != nil {
		t.Fatal(err)
	}
	if call == driverCalls[0] {
		for _, other := range driverFunctions(t) {
			if !slices.Contains(driverCalls, other) && fakecuda.Calls(other) > 0 {
				t.Errorf("a life calls %s, which never fails here", other)
			}
		}
	}
	calls, lost := fakecuda.Calls(call), slices.DeleteFunc(slices.Sorted(maps.Keys(faults)), func(c string) bool { return c == outOfMemory })
	tried := min(calls, 32)
	nth := func(k int64) int64 { return 1 + k*(calls-1)/max(tried-1, 1) }
	for k := range tried { // before any context is lost, which stays
		l.survive(t, call, nth(k), outOfMemory)
	}
	for k := range tried {
		for more := range 2 {
			l.survive(t, call, nth(k), lost[(int(k)+more)%len(lost)])
		}
	}
	t.Logf("lives: %d", 3*tried)
}

// driverFunctions lists the functions of the fake driver. Those that the loader calls, before any backend is opened,
// and cuGetErrorName and its like, which describe a fault, are left out.
func driverFunctions(t *testing.T) (names []string) {
	t.Helper()
	source, err := os.ReadFile("../../internal/cuda/driver/fakecuda/fakecuda.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`ENTER\w*\("(cu\w+)"\)`).FindAllStringSubmatch(string(source), -1) {
		names = append(names, m[1])
	}
	if len(names) < len(driverCalls) {
		t.Errorf("only %d functions of the fake driver", len(names))
	}
	return names
}

// TestFaultsWithKernels lives twenty times with kernels, whose answers are compared.
func TestFaultsWithKernels(t *testing.T) {
	fake(t, Options{}).Close()
	l := newLife(t, true)
	for _, call := range []string{"cuMemAlloc", "cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemsetD8Async"} {
		for i, code := range slices.Sorted(maps.Keys(faults)) {
			l.survive(t, call, int64(1+2*i), code)
		}
	}
}
