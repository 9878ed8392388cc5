package report

// Series is what somebody did with a circuit on one backend again and again, and how long
// it took. Times are milliseconds.
type Series struct {
	Op          string `json:"op"`
	System      string `json:"system"` // groth16, plonk
	Circuit     string `json:"circuit"`
	Curve       string `json:"curve"`
	Constraints int    `json:"constraints"`
	Backend     string `json:"backend"`
	Version     string `json:"backend_version"`
	Device      string `json:"device"`

	Count   int       `json:"count"` // length of Samples
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"`
	Stock   float64   `json:"stock_ms,omitempty"` // gnark's, once

	// Verified is true only when gnark accepted every proof.
	Verified bool `json:"verified"`
	Refused  int  `json:"refused,omitempty"` // how many it did not
}
