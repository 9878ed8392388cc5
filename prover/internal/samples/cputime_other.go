//go:build !unix

package samples

import "time"

// CPUTime is not known here.
func CPUTime() time.Duration { return 0 }
