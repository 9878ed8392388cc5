package nvml_test

import (
	"os"
	"testing"

	"github.com/pippin-zk/pippin/backend/cuda/internal/nvml"
)

// TestEnergy asks the fake library of scripts/test-cuda-fake. Elsewhere the answer may be that
// nothing is known.
func TestEnergy(t *testing.T) {
	if e, ok := nvml.Energy("GPU-00000000-0000-0000-0000-000000000000"); ok {
		t.Errorf("%d mJ of a GPU that there is not", e)
	}
	if os.Getenv("FAKECUDA_DEVICES") == "" {
		return
	}
	const first = "GPU-fafafafa-fafa-fafa-fafa-fafafafafa00"
	before, ok := nvml.Energy(first)
	after, also := nvml.Energy(first)
	if !ok || !also || after != before+1500 {
		t.Errorf("%d mJ (%v), then %d (%v)", before, ok, after, also)
	}
}
