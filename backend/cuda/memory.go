package cuda

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pippin-zk/pippin/backend"
)

// ParseMemory reads an amount of memory for Options: a number of bytes, or a number with KiB, MiB,
// GiB or TiB, such as 24GiB or 1.5 GiB.
func ParseMemory(s string) (int64, error) {
	number, unit := strings.TrimSpace(s), 1.0
	for i, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n, ok := strings.CutSuffix(number, u); ok {
			number, unit = strings.TrimSpace(n), float64(int64(1)<<(10*(i+1)))
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) || v*unit > math.MaxInt64/2 || v*unit < 1 {
		return 0, fmt.Errorf("%w: %q is no amount of memory, such as 24GiB", backend.ErrInvalidInput, s)
	}
	return int64(v * unit), nil
}
