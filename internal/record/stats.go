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

// P95 returns the 95th percentile: the smallest sample that at least 95 % of the samples do
// not exceed. Of fewer than 20 it is the slowest; 0 of none.
func P95(samples []time.Duration) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(samples))
	return s[(95*len(s)+99)/100-1]
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

// Times is what a record says of samples, in milliseconds. The zero value is of none.
type Times struct {
	Count   int       `json:"count,omitempty"` // length of Samples
	Min     float64   `json:"min_ms,omitempty"`
	Median  float64   `json:"median_ms,omitempty"`
	P95     float64   `json:"p95_ms,omitempty"` // the function P95 of them
	Max     float64   `json:"max_ms,omitempty"`
	Spread  float64   `json:"spread"` // the function Spread of them
	Samples []float64 `json:"samples_ms,omitempty"`
}

// TimesOf returns the times of samples, in the order in which they were taken.
func TimesOf(samples []time.Duration) Times {
	if len(samples) == 0 {
		return Times{}
	}
	return Times{
		Count: len(samples), Min: Millis(Min(samples)), Median: Millis(Median(samples)), P95: Millis(P95(samples)),
		Max: Millis(slices.Max(samples)), Spread: Spread(samples), Samples: AllMillis(samples),
	}
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
