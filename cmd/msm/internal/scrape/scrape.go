// Package scrape reads the metrics that a prover or a plugin serves, and tells what happened
// between two looks at them.
package scrape

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pippin-zk/pippin/backend"
)

// Source is an address where a prover or a plugin serves metrics.
type Source struct {
	Address string // as it was given
	url     string
	client  *http.Client
}

// New returns a source: HOST:PORT, a URL or unix:PATH.
func New(address string) *Source {
	s := &Source{Address: address, url: address, client: &http.Client{Timeout: 10 * time.Second}}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		s.url = "http://unix/metrics"
		s.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}
	} else if !strings.Contains(address, "://") {
		if strings.HasPrefix(address, ":") {
			address = "127.0.0.1" + address
		}
		s.url = "http://" + address + "/metrics"
	}
	return s
}

// mostMetrics is the most that is read of an answer, in bytes.
const mostMetrics = 16 << 20

// Look reads the metrics as they are now. An address that is none is
// backend.ErrInvalidInput.
func (s *Source) Look(ctx context.Context) (*Look, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	r, err := s.client.Do(q)
	if err != nil {
		return nil, fmt.Errorf("nobody serves metrics at %s (docs/howto/observe.md says how): %w", s.Address, err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", s.url, r.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(r.Body, mostMetrics))
	if err != nil {
		return nil, fmt.Errorf("%s: no metrics: %w", s.url, err)
	}
	l := &Look{At: time.Now(), families: families}
	if len(l.Metrics("build_info")) == 0 {
		return nil, fmt.Errorf("%s serves metrics, and none of pippin", s.url)
	}
	return l, nil
}

// Look is metrics at one moment.
type Look struct {
	At       time.Time
	families map[string]*dto.MetricFamily
}

// Metrics returns those of a name that have these labels, as NAME=VALUE.
func (l *Look) Metrics(name string, labels ...string) (found []*dto.Metric) {
	for _, m := range l.families["pippin_"+name].GetMetric() {
		if !slices.ContainsFunc(labels, func(want string) bool {
			name, value, _ := strings.Cut(want, "=")
			return LabelOf(m, name) != value
		}) {
			found = append(found, m)
		}
	}
	return found
}

// LabelOf returns the value of a label of a metric.
func LabelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// Sum adds metrics up.
func (l *Look) Sum(name string, labels ...string) (v float64) {
	for _, m := range l.Metrics(name, labels...) {
		v += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return v
}

// Values lists those that a label has, in order.
func (l *Look) Values(name, label string) (all []string) {
	for _, m := range l.Metrics(name) {
		if v := LabelOf(m, label); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

// Rate returns the growth of a counter in a second; one that is less than before began
// anew.
func Rate(before, now *Look, name string, labels ...string) float64 {
	grown := now.Sum(name, labels...)
	if was := before.Sum(name, labels...); was <= grown {
		grown -= was
	}
	seconds := now.At.Sub(before.At).Seconds()
	if seconds <= 0 {
		return 0
	}
	return grown / seconds
}

// Durations is a histogram of what happened between two looks: how many took no
// longer than each bound.
type Durations struct {
	bounds, upTo []float64
	Count        float64
}

// Between returns the durations of phases with these labels between two looks.
func Between(before, now *Look, labels ...string) (d Durations) {
	counts := func(l *Look) (upTo map[float64]float64, n float64) {
		upTo = map[float64]float64{}
		for _, m := range l.Metrics("phase_duration_seconds", labels...) {
			for _, b := range m.GetHistogram().GetBucket() {
				upTo[b.GetUpperBound()] += float64(b.GetCumulativeCount())
			}
			n += float64(m.GetHistogram().GetSampleCount())
		}
		return upTo, n
	}
	then, was := counts(before)
	upTo, n := counts(now)
	if n < was { // began anew
		then, was = nil, 0
	}
	d.Count = n - was
	for b := range upTo {
		if !math.IsInf(b, 1) {
			d.bounds = append(d.bounds, b)
		}
	}
	slices.Sort(d.bounds)
	for _, b := range d.bounds {
		d.upTo = append(d.upTo, upTo[b]-then[b])
	}
	return d
}

// Quantile estimates a quantile, in seconds, within the bucket that it falls into.
func (d Durations) Quantile(q float64) float64 {
	want, low, below := q*d.Count, 0.0, 0.0
	for i, n := range d.upTo {
		if n >= want && n > below {
			return low + (d.bounds[i]-low)*(want-below)/(n-below)
		}
		low, below = d.bounds[i], n
	}
	return low
}
