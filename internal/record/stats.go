package record

import (
	"slices"
	"time"
)

// Median returns the middle of the samples, or the mean of the two in the middle;
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

// Min returns the smallest sample; 0 of none.
func Min(samples []time.Duration) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	return slices.Min(samples)
}

// Spread returns how far the samples are from their median, as a share of it: the median of
// the distances. Half of the samples are nearer. 0 of none.
func Spread(samples []time.Duration) float64 {
	mid := Median(samples)
	if mid <= 0 {
		return 0
	}
	away := make([]time.Duration, len(samples))
	for i, s := range samples {
		away[i] = (s - mid).Abs()
	}
	return float64(Median(away)) / float64(mid)
}

// Millis returns d in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// AllMillis returns the samples in milliseconds.
func AllMillis(samples []time.Duration) []float64 {
	ms := make([]float64, len(samples))
	for i, s := range samples {
		ms[i] = Millis(s)
	}
	return ms
}
