package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
)

// Merge says whether equal bases of a key and equal scalars of a witness are
// merged.
type Merge string

const (
	MergeAuto  Merge = "auto" // where the prover expects that it pays
	MergeNever Merge = "never"
)

// Merges returns the ways there are.
func Merges() []Merge { return []Merge{MergeAuto, MergeNever} }

// ParseMerge checks the name of a way.
func ParseMerge(s string) (Merge, error) {
	if m := Merge(strings.ToLower(s)); slices.Contains(Merges(), m) {
		return m, nil
	}
	return "", fmt.Errorf("%w: merging %q (auto, never)", backend.ErrInvalidInput, s)
}

// ProveRun is the timed proofs of one circuit on one backend, beside gnark's
// of the same minutes. Times are milliseconds.
type ProveRun struct {
	Op          string `json:"op"` // groth16, plonk
	Circuit     string `json:"circuit"`
	Curve       string `json:"curve"`
	Constraints int    `json:"constraints"`
	Backend     string `json:"backend"`
	Version     string `json:"backend_version"`
	Device      string `json:"device"`
	Merge       Merge  `json:"merge,omitempty"` // of Groth16

	Count   int       `json:"count"` // length of Samples
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"` // in the order taken
	Spread  float64   `json:"spread"`     // the function Spread of them

	// Stock is the median of gnark's own prover. What gnark takes is absent where it did
	// not prove.
	Stock        float64   `json:"stock_ms,omitempty"`
	StockMin     float64   `json:"stock_min_ms,omitempty"`
	StockSamples []float64 `json:"stock_samples_ms,omitempty"`

	// Solve is the median of gnark's solver alone.
	Solve float64 `json:"solve_ms,omitempty"`
	// OwnSolve is the median over the proofs of what their own solver took, without
	// the time of MSMs that commitments inside the circuit made. It is absent from
	// records of when the solver was gnark's.
	OwnSolve float64 `json:"own_solve_ms,omitempty"`
	// AfterSolve is the median over the proofs of the time from the solver's end to
	// the proof.
	AfterSolve float64 `json:"after_solve_ms,omitempty"`
	// MSM is the median over the proofs of the time with an MSM or a program over
	// vectors on the backend.
	MSM float64 `json:"msm_ms"`
	// FFT is the median of a proof's transforms alone. Beside another process's
	// MSMs they cost a proof less.
	// PLONK's are on the backend.
	FFT     float64 `json:"fft_ms,omitempty"`
	LoadKey float64 `json:"load_key_ms"` // once for all proofs
	// Setup is what the keys took to make, from the compiled constraint system. It is
	// absent where they were read from files.
	Setup float64 `json:"setup_ms,omitempty"`

	// InFlight is how many proofs were in flight in a stream of several times Count or InFlight,
	// PerProof the time that it took, divided by their number, and Rate their number in a
	// second.
	InFlight int     `json:"in_flight,omitempty"`
	PerProof float64 `json:"per_proof_ms,omitempty"`
	Rate     float64 `json:"proofs_per_s,omitempty"`

	// Speedup is Stock / Median.
	Speedup float64 `json:"speedup,omitempty"`
	// SpeedupWithoutSolve is the same with Solve taken from Stock and OwnSolve from
	// Median; it is absent when solving was all that took time.
	SpeedupWithoutSolve float64 `json:"speedup_without_solve,omitempty"`

	// Verified is true only when every proof, the warm-up's and gnark's
	// included, was verified by gnark.
	Verified bool `json:"verified"`
	// Refused counts the backend's proofs that gnark refused.
	Refused int `json:"refused,omitempty"`
	// StockRefused counts gnark's own.
	StockRefused int `json:"stock_refused,omitempty"`
}

// WriteProveTable writes the machine and a line for each run, in width characters
// as WriteTable does.
func WriteProveTable(w io.Writer, form table.Form, r record.Record[ProveRun]) error {
	columns := []table.Column{
		{Head: "system", Keep: 2}, {Head: "circuit", Keep: table.Never}, {Head: "curve", Keep: 7}, {Head: "constraints", Keep: 3}, {Head: "backend", Keep: 8},
		{Head: "merging", Keep: 2}, {Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1}, {Head: "median ms", Keep: table.Never}, {Head: "spread", Keep: 1},
		{Head: "gnark ms", Keep: 9}, {Head: "faster", Keep: 9}, {Head: "without solving", Keep: 6}, {Head: "solve ms", Keep: 5}, {Head: "gnark's", Keep: 4}, {Head: "after it", Keep: 6},
		{Head: "MSM ms", Keep: 4}, {Head: "FFT ms", Keep: 4}, {Head: "in flight", Keep: 3}, {Head: "ms a proof", Keep: 3}, {Head: "proofs a second", Keep: 3}, {Head: "verified", Keep: 9},
	}
	rows, spreads := make([][]string, len(r.Runs)), make([]float64, len(r.Runs))
	for i, r := range r.Runs {
		spreads[i] = r.Spread
		rows[i] = []string{string(r.Op), r.Circuit, r.Curve, fmt.Sprint(r.Constraints), r.Backend, string(r.Merge), fmt.Sprint(r.Count),
			formatMillis(r.Min), formatMillis(r.Median), formatSpread(r.Spread), formatKnown(r.Stock), formatFactor(r.Speedup), formatFactor(r.SpeedupWithoutSolve),
			formatKnown(r.OwnSolve), formatKnown(r.Solve), formatKnown(r.AfterSolve), formatMillis(r.MSM), formatKnown(r.FFT), formatInFlight(r.InFlight), formatKnown(r.PerProof), formatKnown(r.Rate), verdict(r.Verified)}
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows, `
Times are of whole proofs, from the witness on, keys loaded before; medians but for the minimum; the spread is the median distance from the median.
"solve ms" is solving within the proofs, without the sums of commitments. gnark's solver and FFTs were timed alone. "after it" is from the end of the proof's own solving to the proof. MSM is the time with an MSM or a program over vectors on the backend, within the proofs.
"ms a proof" is a stream's time divided by its proofs, with as many "in flight" at a time.
`+noiseNote(spreads)+cutNote(r.Cut))
}

func verdict(verified bool) string {
	if verified {
		return "yes"
	}
	return "NO"
}

// formatFactor returns such as "x 3.14", or a dash for a factor that is not known.
func formatFactor(f float64) string {
	if f == 0 {
		return "-"
	}
	return fmt.Sprintf("x %.3g", f)
}

// formatInFlight returns a dash where no stream was measured.
func formatInFlight(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// formatKnown returns a dash where there is no such time.
func formatKnown(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return formatMillis(ms)
}
