package bench

import (
	"slices"
	"time"
)

// Median is the middle of the samples, or the mean of the two in the middle;
// 0 of none.
func Median(samples []time.Duration) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(samples))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return s[mid-1] + (s[mid]-s[mid-1])/2
}

// Min is the smallest sample; 0 of none.
func Min(samples []time.Duration) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	return slices.Min(samples)
}

// millis is d in milliseconds.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func allMillis(samples []time.Duration) []float64 {
	ms := make([]float64, len(samples))
	for i, s := range samples {
		ms[i] = millis(s)
	}
	return ms
}
