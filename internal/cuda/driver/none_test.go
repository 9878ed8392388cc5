//go:build !cuda || !cgo || !linux || !(amd64 || arm64)

package driver

import (
	"errors"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

func TestWithoutTheTag(t *testing.T) {
	_, devices := Devices()
	_, open := Open(0)
	for name, err := range map[string]error{"Init": Init(), "Devices": devices, "Open": open} {
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "built without the cuda tag") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := InitLibrary("other"); !errors.Is(err, backend.ErrInternal) {
		t.Errorf("a library chosen too late: %v", err)
	}
}
