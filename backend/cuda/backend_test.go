package cuda

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestUnavailable asks for a device that no machine has, with or without a driver.
func TestUnavailable(t *testing.T) {
	if _, err := Open(Options{Devices: "60000"}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}
