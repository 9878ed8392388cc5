package record

import (
	"slices"
	"testing"
	"time"
)

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		in          []time.Duration
		min, median time.Duration
	}{
		{nil, 0, 0},
		{[]time.Duration{7}, 7, 7},
		{[]time.Duration{9, 3}, 3, 6},
		{[]time.Duration{5, 100, 1}, 1, 5},
		{[]time.Duration{4, 1, 3, 2000}, 1, 3}, // (3+4)/2 in whole nanoseconds
		{[]time.Duration{1 << 62, 1<<62 + 2}, 1 << 62, 1<<62 + 1},
	} {
		in := slices.Clone(c.in)
		if got := Min(in); got != c.min {
			t.Errorf("Min(%v) = %d, want %d", c.in, got, c.min)
		}
		if got := Median(in); got != c.median {
			t.Errorf("Median(%v) = %d, want %d", c.in, got, c.median)
		}
		if !slices.Equal(in, c.in) {
			t.Errorf("samples %v were reordered to %v", c.in, in)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		samples []time.Duration
		want    float64
	}{{nil, 0}, {[]time.Duration{7}, 0}, {[]time.Duration{90, 100, 120}, 0.1}, {[]time.Duration{100, 100, 100, 5000},
		0}, {[]time.Duration{0, 0}, 0}} {
		if got := Spread(c.samples); got != c.want {
			t.Errorf("%v: %v, want %v", c.samples, got, c.want)
		}
	}
}

// TestTimes: one slow sample of many is seen though neither median nor spread has it.
func TestTimes(t *testing.T) {
	var samples []time.Duration
	for i := range 20 {
		samples = append(samples, time.Duration(100+i)*time.Millisecond)
	}
	samples[7] = time.Second
	got := TimesOf(samples)
	if got.Count != 20 || got.Min != 100 || got.Median != 110.5 || got.P95 != 119 || got.Max != 1000 ||
		got.Spread > 0.05 || !slices.Equal(got.Samples, AllMillis(samples)) {
		t.Errorf("%+v", got)
	}
	if got := TimesOf(samples[:8]); got.P95 != 1000 || got.Max != 1000 {
		t.Errorf("of few: %+v", got)
	}
	if got := TimesOf(samples[:1]); got.Min != 100 || got.Median != 100 || got.P95 != 100 || got.Max != 100 {
		t.Errorf("of one: %+v", got)
	}
	if got := TimesOf(nil); got.Count != 0 || got.P95 != 0 || got.Samples != nil {
		t.Errorf("of none: %+v", got)
	}
}
