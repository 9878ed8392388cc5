// Package units reads and writes numbers of points and of bytes as people do.
package units

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/pippin-zk/pippin/backend"
)

// binaryUnits are the suffixes of a size.
var binaryUnits = []struct {
	suffix string
	shift  int
}{{"Ki", 10}, {"Mi", 20}, {"Gi", 30}}

// ParseSize reads a number of points: 1000000, 2^20, 1<<20 or 1Mi, from 1 to
// backend.MaxCount. Anything else is backend.ErrInvalidInput.
func ParseSize(s string) (int, error) {
	factor, shift, err := splitSize(strings.TrimSpace(s))
	if err != nil {
		return 0, fmt.Errorf("%w: size %q: write 1000000, 2^20, 1<<20 or 1Mi", backend.ErrInvalidInput, s)
	}
	// MaxCount is below 2^32, so the comparison cannot overflow.
	if factor == 0 || shift > 32 || factor > backend.MaxCount>>shift {
		return 0, fmt.Errorf("%w: size %q: sizes go from 1 to %s", backend.ErrInvalidInput, s, FormatSize(backend.MaxCount))
	}
	return int(factor << shift), nil
}

// splitSize returns the size as factor * 2^shift.
func splitSize(s string) (factor uint64, shift int, err error) {
	number := func(t string) uint64 {
		v, e := strconv.ParseUint(t, 10, 63)
		if e != nil || t[0] == '+' {
			err = backend.ErrInvalidInput
		}
		return v
	}
	exponent := func(t string) int {
		return int(min(number(t), 64))
	}
	if base, exp, ok := strings.Cut(s, "<<"); ok {
		return number(base), exponent(exp), err
	}
	if exp, ok := strings.CutPrefix(s, "2^"); ok {
		return 1, exponent(exp), err
	}
	for _, u := range binaryUnits {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			return number(n), u.shift, err
		}
	}
	return number(s), 0, err
}

// FormatSize writes n as ParseSize reads it: powers of two from 2^10 on as
// such, other numbers in decimal.
func FormatSize(n int) string {
	if k := bits.TrailingZeros(uint(n)); n > 0 && k >= 10 && n == 1<<k {
		return "2^" + strconv.Itoa(k)
	}
	return strconv.Itoa(n)
}

// FormatBytes writes a size with a binary unit: "4.3 GiB".
func FormatBytes(n uint64) string {
	v, units := float64(n), []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	for v >= 1024 && len(units) > 1 {
		v, units = v/1024, units[1:]
	}
	if units[0] == "bytes" {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[0])
}

// ParseBytes reads an amount of memory: a number of bytes, or a number with KiB, MiB, GiB or
// TiB, such as 24GiB or 1.5 GiB.
func ParseBytes(s string) (int64, error) {
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
