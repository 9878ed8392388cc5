package cuda

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

func TestParseMemory(t *testing.T) {
	for s, want := range map[string]int64{"1024": 1024, "24GiB": 24 << 30, "1.5 GiB": 3 << 29,
		" 512MiB ": 512 << 20, "2KiB": 2048, "1TiB": 1 << 40} {
		if got, err := ParseMemory(s); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "GiB", "-1", "0", "24GB", "NaN", "1e30TiB", "many"} {
		if got, err := ParseMemory(s); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
}

// TestUnavailable asks for a device that no machine has, with or without a driver.
func TestUnavailable(t *testing.T) {
	if _, err := Open(Options{Devices: "60000"}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}
