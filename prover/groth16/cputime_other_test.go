//go:build !unix

package groth16_test

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
