package report

import (
	"fmt"
	"time"

	"github.com/pippin-zk/pippin/internal/record"
)

// cutNote returns a line below a table, "" for what is whole.
func cutNote(c record.Cut) string {
	if c == "" {
		return ""
	}
	return fmt.Sprintf("\nCut short by an %s: not everything that was asked for is in it.\n", c)
}

// cutInTitle returns how the title of a plot ends, "" for what is whole.
func cutInTitle(c record.Cut) string {
	if c == "" {
		return ""
	}
	return ", cut short by an " + string(c)
}

// Path says where the scalars were when the clock started.
type Path string

// The paths.
const (
	// Copy: an ordinary Go slice. A plugin's client copies it into shared
	// memory within the time measured; in process nothing is copied.
	Copy Path = "copy"
	// Arena: memory from Group.NewScalars that the plugin reads in place.
	Arena Path = "arena"
)

// What a run's times include.
const (
	// EndToEnd is from host scalars to the affine point, in process.
	EndToEnd = "end-to-end"
	// EndToEndPlugin is the same through a plugin process.
	EndToEndPlugin = "end-to-end through the plugin"
)

// Oracle names what answers were compared with: the inner product of the
// scalars with the bases' known discrete logarithms, times the generator.
const Oracle = "discrete logarithms"

// OpPhase is Op of a run that is a phase of MSMs, those of the run before it.
const OpPhase = "msm-phase"

// Run is the timed MSMs of one backend on one input. Times are milliseconds.
type Run struct {
	Op           string `json:"op"`              // "msm", or OpPhase
	Phase        string `json:"phase,omitempty"` // of OpPhase, such as "accumulate": its time on all devices
	Curve        string `json:"curve"`
	Group        string `json:"group"`
	N            int    `json:"n"`
	Bases        string `json:"bases"` // their digest: backend.Bases.Digest
	Backend      string `json:"backend"`
	Version      string `json:"backend_version"`
	Device       string `json:"device"`
	Devices      int    `json:"devices,omitempty"` // how many; 0 is not known
	Distribution string `json:"distribution"`
	Seed         uint64 `json:"seed"`
	Path         Path   `json:"path"`
	Measure      string `json:"measure"` // EndToEnd or EndToEndPlugin

	Count    int       `json:"count"` // length of Samples
	Min      float64   `json:"min_ms"`
	Median   float64   `json:"median_ms"`
	Samples  []float64 `json:"samples_ms"` // in the order taken
	Spread   float64   `json:"spread"`     // the function Spread of them
	LoadBase float64   `json:"load_bases_ms"`
	// Multiples is how many of each base the backend might make before, within the
	// time to load them; 0 or 1 is none but the base.
	Multiples int `json:"multiples,omitempty"`

	// BackToBack is nil when it was not asked for.
	BackToBack *BackToBack `json:"back_to_back,omitempty"`

	// Checked is true only when every answer, the warm-up's included, was
	// compared and right.
	Checked bool `json:"checked"`
	// Oracle is what they were compared with; "" when they were not.
	Oracle string `json:"oracle,omitempty"`
	// Wrong counts the answers that differed.
	Wrong int `json:"wrong,omitempty"`
}

// BackToBack is the time that a call takes among many without a pause, or an MSM in
// a batch of as many. What a backend does after an answer, such as wiping what held
// scalars, delays the next call and is in it. Times are milliseconds a call, a sample
// a row: with several callers the reciprocal of their throughput together.
type BackToBack struct {
	Calls   int       `json:"calls"`             // in a row
	Callers int       `json:"callers,omitempty"` // that shared them, where it is not one
	Batch   bool      `json:"batch,omitempty"`   // a row is one batch
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"`
	// Energy is the mean, in joules, of what the backend's devices used for a call
	// back to back, whatever else they did meanwhile; 0 is not known.
	Energy float64 `json:"joules,omitempty"`
}

// SetSamples fills in everything that follows from the samples.
func (r *Run) SetSamples(samples []time.Duration) {
	r.Count, r.Min, r.Median, r.Samples, r.Spread = len(samples), record.Millis(record.Min(samples)), record.Millis(record.Median(samples)), record.AllMillis(samples), record.Spread(samples)
}

// SetRows fills in the times of BackToBack from those of rows, and its energy from
// the joules of those rows of which they are known.
func (r *Run) SetRows(of BackToBack, rows []time.Duration, joules []float64) {
	each := make([]time.Duration, len(rows))
	for i, d := range rows {
		each[i] = d / time.Duration(of.Calls)
	}
	for _, j := range joules {
		of.Energy += j / float64(of.Calls*len(joules))
	}
	of.Min, of.Median, of.Samples = record.Millis(record.Min(each)), record.Millis(record.Median(each)), record.AllMillis(each)
	r.BackToBack = &of
}
