package scrape

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// TestLook reads metrics twice and tells rates, of counters that began anew too.
func TestLook(t *testing.T) {
	calls, took := 10, 1
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `# TYPE pippin_build_info gauge
pippin_build_info{version="v1"} 1
# TYPE pippin_calls_total counter
pippin_calls_total{backend="b",outcome="answered"} %d
pippin_calls_total{backend="a",outcome="failed"} 1
# TYPE pippin_phase_duration_seconds histogram
pippin_phase_duration_seconds_bucket{phase="msm",le="1"} %d
pippin_phase_duration_seconds_bucket{phase="msm",le="+Inf"} %[2]d
pippin_phase_duration_seconds_sum{phase="msm"} 1
pippin_phase_duration_seconds_count{phase="msm"} %[2]d
`, calls, took)
	}))
	defer s.Close()
	from := New(s.URL)
	before, err := from.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	calls, took = 30, 5
	now, err := from.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now.At = before.At.Add(2 * time.Second)
	if r := Rate(before, now, "calls_total", "outcome=answered"); r != 10 {
		t.Errorf("%v answers a second", r)
	}
	if r := Rate(now, &Look{At: now.At.Add(time.Second), families: before.families}, "calls_total", "outcome=answered"); r != 10 {
		t.Errorf("%v answers a second of a counter that began anew", r)
	}
	if r := Rate(now, now, "calls_total"); r != 0 {
		t.Errorf("%v calls a second in no time", r)
	}
	if v := now.Values("calls_total", "backend"); !slices.Equal(v, []string{"a", "b"}) ||
		now.Sum("calls_total") != 31 || LabelOf(now.Metrics("build_info")[0], "version") != "v1" {
		t.Errorf("%q, %v", v, now.Sum("calls_total"))
	}
	if d := Between(before, now, "phase=msm"); d.Count != 4 || d.Quantile(0.5) != 0.5 {
		t.Errorf("%+v, median %v", d, d.Quantile(0.5))
	}
	if _, err := New("http://a b").Look(t.Context()); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
}

func TestQuantile(t *testing.T) {
	d := Durations{bounds: []float64{1, 2, 4}, upTo: []float64{10, 10, 20}, Count: 20}
	if a, b, c := d.Quantile(0.25), d.Quantile(0.75), (Durations{}).Quantile(0.5); a != 0.5 || b != 3 || c != 0 {
		t.Errorf("%v, %v, %v", a, b, c)
	}
}
