package driver

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

func TestMeanings(t *testing.T) {
	for kind, results := range map[error][]Result{
		backend.ErrOutOfMemory: {2},
		backend.ErrUnavailable: {34, 36, 46, 100, 101, 200, 209, 218, 221, 222, 223, 227, 802, 803, 804, 805, 807, 808, 809},
		backend.ErrGone:        {4, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 806, 810, 911, 999},
		backend.ErrUnsupported: {1, 3, 400, 500, 600, 701, 720, 801, 12345},
	} {
		for _, r := range results {
			e := newError("cuCall", r, func(Result) string { return "the text" })
			if !errors.Is(e, kind) {
				t.Errorf("%v is %v, want %v", r, e.Unwrap(), kind)
			}
			if r.Sticky() != (kind == backend.ErrGone) {
				t.Errorf("%v: sticky is %v", r, r.Sticky())
			}
			for _, part := range []string{"cuCall", r.String(), "(the text)", e.Hint} {
				if !strings.Contains(e.Error(), part) {
					t.Errorf("%q lacks %q", e, part)
				}
			}
			if kind == backend.ErrUnavailable && e.Hint == "" {
				t.Errorf("%v does not say what to do", r)
			}
			if s := startError("cuInit", r, nil); kind != backend.ErrOutOfMemory && (!errors.Is(s, backend.ErrUnavailable) || s.Hint == "") {
				t.Errorf("%v at the start: %v", r, s)
			}
		}
	}
}

// Every result that the table names is one that CUDA names.
func TestResultNames(t *testing.T) {
	for r := range meanings {
		if strings.HasPrefix(r.String(), fmt.Sprintf("CUDA_ERROR_%d", int(r))) {
			t.Errorf("result %d has no name", int(r))
		}
	}
	for r, want := range map[Result]string{
		IllegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS", NoBinaryForGPU: "CUDA_ERROR_NO_BINARY_FOR_GPU",
		ECCUncorrectable: "CUDA_ERROR_ECC_UNCORRECTABLE", 12345: "CUDA_ERROR_12345",
		RequiresNewerDriver: "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", Unknown: "CUDA_ERROR_UNKNOWN",
	} {
		if r.String() != want {
			t.Errorf("%d is %q, want %q", int(r), r, want)
		}
	}
}

func TestVersions(t *testing.T) {
	if s := Version(13020).String(); s != "13.2" {
		t.Error(s)
	}
	if s := Version(12040).String(); s != "12.4" {
		t.Error(s)
	}
	info := Info{Name: "GPU", Memory: 24 << 30, Compute: Compute{8, 9}, Driver: 13000}
	if s := info.String(); s != "GPU, 24 GiB, compute capability 8.9, driver for CUDA 13.0" {
		t.Error(s)
	}
}

func TestParams(t *testing.T) {
	for _, c := range []struct {
		got  Param
		want uint64
	}{
		{Value(7), 7},
		{Value(-1), math.MaxUint64},
		{Value(int32(-2)), math.MaxUint64 - 1},
		{Value(uint32(math.MaxUint32)), math.MaxUint32},
		{Value(uint64(math.MaxUint64)), math.MaxUint64},
		{Float(1.5), 0x3ff8000000000000},
	} {
		if uint64(c.got) != c.want {
			t.Errorf("%#x, want %#x", uint64(c.got), c.want)
		}
	}
}

func TestLaunchShapes(t *testing.T) {
	l, err := Launch{Grid: Dim{X: 5}}.norm()
	if want := (Launch{Grid: Dim{5, 1, 1}, Block: Dim{1, 1, 1}}); err != nil || l != want {
		t.Errorf("%v, %v", l, err)
	}
	for _, bad := range []Launch{
		{Grid: Dim{X: -1}}, {Grid: Dim{X: 1 << 31}}, {Grid: Dim{Y: 1 << 16}}, {Block: Dim{X: 1025}}, {Block: Dim{Z: 65}},
		{Shared: -1}, {Shared: 1 << 31},
	} {
		if _, err := bad.norm(); !errors.Is(err, backend.ErrInternal) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestUUIDText(t *testing.T) {
	uuid := [16]byte{0x5b, 0x1f, 0x6c, 0x2e, 15: 0xff}
	for name, want := range map[string]string{
		"NVIDIA H100 80GB HBM3":             "GPU-5b1f6c2e-0000-0000-0000-0000000000ff",
		"NVIDIA H100 80GB HBM3 MIG 1g.10gb": "MIG-5b1f6c2e-0000-0000-0000-0000000000ff",
	} {
		if got := uuidText(name, uuid); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
