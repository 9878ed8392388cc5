package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/units"
)

// Need is one use of memory.
type Need struct {
	What  string
	Bytes uint64
}

// Sum returns the bytes of all needs.
func Sum(needs []Need) (n uint64) {
	for _, x := range needs {
		n += x.Bytes
	}
	return n
}

// Needs estimates the host memory of the largest of the configured MSMs,
// plugin processes included. What a plugin takes on its device, and what an
// unknown plugin takes for itself beside the shared memory, is not in it.
func (c *MSM) Needs() []Need {
	var most []Need
	for _, curve := range c.Curves {
		for _, g := range c.Groups {
			for _, n := range c.Sizes {
				if needs := c.needsOf(curve, g, n); Sum(needs) > Sum(most) {
					most = needs
				}
			}
		}
	}
	return most
}

const (
	cpuDigitBits = 16        // of the digits that the CPU backend makes of scalars, 2 bytes each
	fixedNeed    = 256 << 20 // tables, buckets, the programs themselves
)

func (c *MSM) needsOf(curve backend.Curve, g backend.Group, n int) []Need {
	points := uint64(n) * uint64(curve.PointBytes(g))
	scalars := uint64(n) * uint64(curve.ScalarBytes())
	if c.Batch {
		scalars *= uint64(1 + c.BackToBack)
	}
	// The CPU backend has digits of a part of the scalars at a time, but those
	// of earlier parts stay until the collector runs, which may be at the end.
	digits := uint64(n) * 2 * uint64(curve.ScalarBits()/cpuDigitBits+1)
	what := fmt.Sprintf("%v %v %s", curve, g, units.FormatSize(n))
	needs := []Need{{what + " bases, mapped from the cache", points}, {what + " scalars", scalars}}
	for _, b := range c.Backends {
		switch {
		case b == "cpu":
			needs = append(needs, Need{b + " digits", digits})
			continue
		case !isPlugin(b):
			continue
		case isCPUPlugin(b):
			needs = append(needs, Need{b + " bases", points}, Need{b + " digits", digits})
		}
		for _, p := range c.Paths {
			needs = append(needs, Need{fmt.Sprintf("%s scalars in shared memory (%s)", b, p), scalars})
		}
	}
	return append(needs, Need{"everything else", fixedNeed})
}

// isPlugin tells a backend with a process of its own, by its name.
func isPlugin(name string) bool {
	return strings.HasPrefix(name, "plugin:") || name == "cuda" || strings.HasPrefix(name, "cuda:")
}

func isCPUPlugin(name string) bool {
	return name == "plugin:cpu" || strings.HasPrefix(name, "plugin:") && strings.HasSuffix(name, "msm-backend-cpu")
}

// CheckMemory refuses, with ErrMemory, what does not fit into available bytes.
func (c *MSM) CheckMemory(available uint64) error { return checkMemory(c.Needs(), available) }

// Needs estimates the host memory of the largest of the configured batches, as
// MSM.Needs does.
func (c *Numbers) Needs() []Need {
	var most []Need
	for _, op := range c.Ops {
		for _, bits := range c.Bits {
			if needs := c.needsOf(op, bits, slices.Max(c.sizes(op, bits))); Sum(needs) > Sum(most) {
				most = needs
			}
		}
	}
	return most
}

// CheckMemory refuses, with ErrMemory, what does not fit into available bytes.
func (c *Numbers) CheckMemory(available uint64) error {
	return checkMemory(c.Needs(), available)
}

// needsOf estimates the memory of a batch. An operation has at most two operands of an
// element and an answer of both their widths, and a backend reads answers into memory of
// their own.
func (c *Numbers) needsOf(op backend.NumberOp, bits, elements int) []Need {
	element := 4 * uint64((bits+31)/32)
	n := uint64(elements)
	what := fmt.Sprintf("%v of %d bits, %d elements", op, bits, n)
	needs := []Need{{what, 4 * element * n}}
	for _, b := range c.Backends {
		needs = append(needs, Need{b + " spaces and answers", 6 * element * n})
	}
	if c.Check {
		needs = append(needs, Need{"math/big's answers", 6 * element * n})
	}
	return append(needs, Need{"everything else", fixedNeed})
}

func checkMemory(needs []Need, available uint64) error {
	if Sum(needs) <= available {
		return nil
	}
	var parts []string
	for _, n := range needs {
		parts = append(parts, fmt.Sprintf("%s %s", n.What, units.FormatBytes(n.Bytes)))
	}
	return fmt.Errorf("%w: about %s needed, %s available (%s)", ErrMemory,
		units.FormatBytes(Sum(needs)), units.FormatBytes(available), strings.Join(parts, ", "))
}
