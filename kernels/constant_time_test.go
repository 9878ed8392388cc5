package kernels_test

import (
	"os/exec"
	"testing"
)

// TestConstantTime runs the short form of scripts/test-constant-time: no branch and no
// address depends on a secret, and a fault that leaks one is found.
func TestConstantTime(t *testing.T) {
	for _, tool := range []string{"valgrind", "g++", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	out, err := exec.Command("../scripts/test-constant-time", "-short").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
