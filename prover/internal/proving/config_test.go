package proving

import (
	"errors"
	"strings"
	"sync"
	"testing"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/logger"
	"github.com/rs/zerolog"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/versions"
)

// TestIcicle: whoever asks for icicle is told what to do instead, by an error or, where gnark takes the
// option, by one line of the log.
func TestIcicle(t *testing.T) {
	var said strings.Builder
	was := logger.Logger()
	defer logger.Set(was)
	logger.Set(zerolog.New(&said))
	warnIcicle = sync.Once{}
	for range 2 {
		_, err := configOf([]gnark.ProverOption{gnark.WithIcicleAcceleration()})
		switch {
		case versions.Gnark() >= "0.15.0":
			if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "pippin.Use") {
				t.Errorf("%v", err)
			}
		case err != nil:
			t.Errorf("gnark takes the option: %v", err)
		}
	}
	if n := strings.Count(said.String(), "pippin.Use"); versions.Gnark() < "0.15.0" && n != 1 {
		t.Errorf("it is said %d times", n)
	}
	failed := errors.New("another")
	if _, err := configOf([]gnark.ProverOption{func(*gnark.ProverConfig) error { return failed }}); !errors.Is(err, failed) {
		t.Errorf("another option's error is %v", err)
	}
}
