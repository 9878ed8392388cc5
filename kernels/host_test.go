package kernels_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hosted compiles a program with kernels for the host and runs it.
func hosted(t *testing.T, source string, flags ...string) {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip(err)
	}
	sources, err := filepath.Glob("grid/number/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		if _, err := os.ReadFile(s); err != nil { // so that go test runs this again when one changes
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "program")
	args := append([]string{"-std=c++20", "-O1", "-g", "-w", "-I.", "-I../internal/cuda/driver/fakecuda",
		source, "host/launch.cc", "-o", program}, flags...)
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		if strings.Contains(string(out), "valgrind/memcheck.h") {
			t.Skip("no headers of valgrind")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestLookBack has the state of a tile change between the reads of two lanes.
func TestLookBack(t *testing.T) { hosted(t, "testdata/look_back.cc") }

// TestPowerShifts computes a power with the sanitizer of undefined behaviour: no shift is
// as long as what it shifts.
func TestPowerShifts(t *testing.T) {
	hosted(t, "testdata/constant_time.cc", `-DPIPPIN_SOURCE="grid/number/power.cu"`, "-DPIPPIN_CASE_power",
		"-DPIPPIN_FOR=c", "-DPIPPIN_BITS=1024",
		"-DPIPPIN_THREADS=2", "-DPIPPIN_SAMPLES=16", "-DPIPPIN_STEPS=2", "-DPIPPIN_BLOCKS=1", "-fsanitize=shift", "-fno-sanitize-recover=all")
}

// TestOwnKernel compiles the kernel of docs/howto/kernel.md, where there is an nvcc.
func TestOwnKernel(t *testing.T) {
	text, err := os.ReadFile("testdata/own.cu")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/howto/kernel.md")
	if err != nil || !strings.Contains(string(page), "```cuda\n"+string(text)+"```") {
		t.Errorf("docs/howto/kernel.md has another kernel: %v", err)
	}
	nvcc := filepath.Join(os.Getenv("CUDA_HOME"), "bin/nvcc")
	if os.Getenv("CUDA_HOME") == "" {
		if nvcc, err = filepath.Abs("../.cache/cuda/nvidia/cu13/bin/nvcc"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(nvcc); err != nil {
		t.Skip("no nvcc: make tools installs one")
	}
	out, err := exec.Command(nvcc, "-std=c++20", "-arch=sm_90", "-cubin", "-I.", "testdata/own.cu",
		"-o", filepath.Join(t.TempDir(), "own.cubin")).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
