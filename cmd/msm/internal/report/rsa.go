package report

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/record"
)

// RSARun is the timed batches of RSA signatures of one key by one backend, by crypto/rsa or
// by OpenSSL. Times are milliseconds.
type RSARun struct {
	Op      string `json:"op"`      // "rsa"
	Bits    int    `json:"bits"`    // of the modulus
	N       int    `json:"n"`       // signatures of a batch
	By      string `json:"backend"` // or "crypto/rsa", or "openssl"
	Version string `json:"backend_version,omitempty"`
	Device  string `json:"device"`
	// InFlight is how many batches are computed at a time.
	InFlight int `json:"in_flight"`

	Count   int       `json:"count,omitempty"` // length of Samples
	Min     float64   `json:"min_ms,omitempty"`
	Median  float64   `json:"median_ms,omitempty"` // the latency of a batch
	Samples []float64 `json:"samples_ms,omitempty"`
	// Rate is signatures a second over all batches, one after the other or in flight.
	Rate float64 `json:"signatures_a_second"`
	// Checked says that every signature of every batch was verified by crypto/rsa.
	Checked bool   `json:"checked"`
	Line    string `json:"line,omitempty"` // OpenSSL's own
}

// CryptoRSA and OpenSSL are names in RSARun.By.
const (
	CryptoRSA = "crypto/rsa"
	OpenSSL   = "openssl"
)

// WriteRSATable writes the machine and a line for each run.
func WriteRSATable(w io.Writer, form table.Form, r record.Record[RSARun]) error {
	columns := []table.Column{
		{Head: "bits", Keep: table.Never}, {Head: "batch", Keep: table.Never}, {Head: "by", Keep: 8}, {Head: "in flight", Keep: 2},
		{Head: "runs", Keep: 0}, {Head: "min ms", Keep: 1}, {Head: "median ms", Keep: table.Never},
		{Head: "signatures/s", Keep: 6}, {Head: "verified", Keep: 4}, {Head: "against crypto/rsa", Keep: 5},
	}
	stock := map[int]float64{} // the best of each width
	for _, run := range r.Runs {
		if run.By == CryptoRSA {
			stock[run.Bits] = max(stock[run.Bits], run.Rate)
		}
	}
	millis := func(v float64) string {
		if v == 0 {
			return "-"
		}
		return formatMillis(v)
	}
	var rows [][]string
	for _, run := range r.Runs {
		verdict, against := "-", ""
		if run.Checked {
			verdict = "all"
		}
		if s := stock[run.Bits]; s > 0 && run.By != CryptoRSA {
			against = fmt.Sprintf("%.2f times", run.Rate/s)
		}
		rows = append(rows, []string{fmt.Sprint(run.Bits), fmt.Sprint(run.N), run.By, fmt.Sprint(run.InFlight), fmt.Sprint(run.Count),
			millis(run.Min), millis(run.Median), fmt.Sprintf("%.4g", run.Rate), verdict, against})
	}
	return table.WriteWith(w, form, fmt.Sprintf("%s\n\n", r.Machine), columns, rows,
		"\nPKCS #1 v1.5 signatures of SHA-256 digests, of one key, padding and checks within the time. The time of a batch\n"+
			"is its latency. crypto/rsa and OpenSSL sign on all processors, crypto/rsa batches of up to 4096; against is to the most that crypto/rsa reached.\n"+cutNote(r.Cut))
}
