package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// Format is the format of records with these runs, in record.Record.
const Format = 2

// Run is one row of a record: what somebody computed again and again from one input, how long
// it took, and whether the answers were right. It is the same for all operations. What only
// some of them have is data: inputs, sizes, notes and figures by name.
type Run struct {
	Op    string `json:"op"`             // the operation, such as "msm"
	What  string `json:"what,omitempty"` // which one of several: a circuit, a phase, an order, a step
	Curve string `json:"curve,omitempty"`
	Group string `json:"group,omitempty"`
	N     int    `json:"n,omitempty"` // how many points, elements, numbers, blobs
	// Inputs and Sizes tell runs of one operation apart, beside the fields above and Backend.
	Inputs map[string]string `json:"inputs,omitempty"` // such as "path": "arena"
	Sizes  map[string]int    `json:"sizes,omitempty"`  // such as "bits": 2048
	Seed   uint64            `json:"seed,omitempty"`

	Backend string            `json:"backend,omitempty"`
	Version string            `json:"backend_version,omitempty"`
	Device  string            `json:"device,omitempty"`
	Notes   map[string]string `json:"notes,omitempty"` // facts in words

	record.Times
	Figures map[string]Figure `json:"figures,omitempty"`

	// Checked is true only when all that was compared, in the run to warm up too, was right.
	Checked  bool   `json:"checked"`
	Compared int    `json:"compared,omitempty"` // parts of an answer, where not all of it was
	Oracle   string `json:"oracle,omitempty"`   // what answers were compared with
	Wrong    int    `json:"wrong,omitempty"`    // answers that differed
}

// Figure is a number beside a run's times, such as what another library took.
type Figure struct {
	Value   float64   `json:"value"`             // the median, where there are samples
	Unit    string    `json:"unit,omitempty"`    // Milliseconds and so on, "" for a count
	Samples []float64 `json:"samples,omitempty"` // in the order taken
}

// The units of figures.
const (
	Milliseconds = "ms"
	Bytes        = "B"
	Joules       = "J"
	PerSecond    = "1/s"
)

// Input adds an input by name; "" is left out.
func (r *Run) Input(name, value string) { add(&r.Inputs, name, value) }

// Size adds a size by name; 0 is left out.
func (r *Run) Size(name string, n int) { add(&r.Sizes, name, n) }

// Note adds a note by name; "" is left out.
func (r *Run) Note(name, text string) { add(&r.Notes, name, text) }

// Figure adds a number by name; 0 is not known and left out.
func (r *Run) Figure(name, unit string, value float64) {
	if value != 0 {
		set(&r.Figures, name, Figure{Value: value, Unit: unit})
	}
}

// Took adds a time by name; 0 is not known and left out.
func (r *Run) Took(name string, d time.Duration) { r.Figure(name, Milliseconds, record.Millis(d)) }

// Sampled adds times by name, as their median, and with keep as samples too.
func (r *Run) Sampled(name string, samples []time.Duration, keep bool) {
	if len(samples) == 0 {
		return
	}
	f := Figure{Value: record.Millis(record.Median(samples)), Unit: Milliseconds}
	if keep {
		f.Samples = record.AllMillis(samples)
	}
	set(&r.Figures, name, f)
}

// Value returns a figure's value, 0 where there is none.
func (r *Run) Value(name string) float64 { return r.Figures[name].Value }

// Rate returns how many of N a second there are, by the median.
func (r *Run) Rate() float64 { return float64(r.N) / r.Median * 1e3 }

// Durations returns the samples.
func (r *Run) Durations() (all []time.Duration) {
	for _, ms := range r.Samples {
		all = append(all, time.Duration(math.Round(ms*float64(time.Millisecond))))
	}
	return all
}

// Clone returns a run that shares nothing that the methods change.
func (r Run) Clone() Run {
	r.Inputs, r.Sizes, r.Notes, r.Figures = maps.Clone(r.Inputs), maps.Clone(r.Sizes), maps.Clone(r.Notes), maps.Clone(r.Figures)
	return r
}

// Workload names what was computed, without who did; runs of one input are compared.
func (r *Run) Workload() string {
	parts := []string{r.Op, r.What, r.Curve, r.Group}
	if r.N > 0 {
		parts = append(parts, units.FormatSize(r.N))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Sizes)) {
		parts = append(parts, strconv.Itoa(r.Sizes[name])+" "+name)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Inputs)) {
		if name != InputPath && name != InputLibrary {
			parts = append(parts, r.Inputs[name])
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// Name names what was computed and who did.
func (r *Run) Name() string {
	who := cmp.Or(r.Backend, r.Inputs[InputLibrary])
	return strings.TrimSpace(strings.Join([]string{r.Workload(), who, r.Inputs[InputPath]}, " "))
}

// add sets a value that is not zero.
func add[V comparable](m *map[string]V, name string, v V) {
	var zero V
	if v != zero {
		set(m, name, v)
	}
}

func set[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}
