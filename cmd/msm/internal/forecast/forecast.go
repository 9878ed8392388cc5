// Package forecast predicts how long an MSM takes on a card that was measured.
// The time is a fixed part and one that is proportional to the cost of the
// backend's own plan, both fitted to the records in bench/results for each group
// of each card. What was not measured has no forecast.
package forecast

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
)

// Card is a measured card.
type Card struct {
	Name   string `json:"name"`         // as its driver says it
	Memory uint64 `json:"memory_bytes"` // that the backend used of it
	Fits   []Fit  `json:"fits"`
}

// Fit is the times of one group: Fixed and UnitNS a unit of a plan's cost.
type Fit struct {
	Curve string `json:"curve"`
	Group string `json:"group"`
	// Prepared is for bases with multiples.
	Prepared bool    `json:"prepared,omitempty"`
	Fixed    float64 `json:"fixed_ms"`
	UnitNS   float64 `json:"unit_ns"`
	From     int     `json:"from"` // least and most points that were measured
	To       int     `json:"to"`
	// Within is the largest error against the records, as a part of the measured
	// time.
	Within float64 `json:"within"`
}

// cards.json is written by: go test ./cmd/msm/internal/forecast -update
//
//go:embed cards.json
var table []byte

// Cards lists the measured cards.
var Cards = sync.OnceValue(func() []Card {
	var cards []Card
	if err := json.Unmarshal(table, &cards); err != nil {
		panic(fmt.Sprintf("forecast: cards.json: %v", err)) // embedded, and tested
	}
	return cards
})

// Find returns the measured card of a name such as "NVIDIA H200" or "h200", nil where
// there is none.
func Find(name string) *Card {
	cards := Cards()
	i := slices.IndexFunc(cards, func(c Card) bool { return plain(c.Name) == plain(name) })
	if i < 0 {
		return nil
	}
	return &cards[i]
}

// Names returns the measured cards as Find takes them, such as "h200".
func Names() (all []string) {
	for _, c := range Cards() {
		all = append(all, plain(c.Name))
	}
	return all
}

// plain returns a card's name without its maker.
func plain(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "nvidia ")
}

// Time is a forecast in milliseconds.
type Time struct {
	Millis float64
	Within float64 // largest error against the records
	// Outside: there are no records of as few or as many points, and the error may be larger.
	Outside bool
}

// Of predicts an MSM of n points of uniform scalars in shared memory, planned as
// o; false where nothing like it was measured: another group, bases that do not
// stay on the card, with multiples or without.
func (c *Card) Of(curve backend.Curve, group backend.Group, n int, o *msmplan.Outline) (Time, bool) {
	for _, f := range c.Fits {
		if f.Curve == curve.String() && f.Group == group.String() && f.Prepared == (o.Rows > 0) && o.Resident {
			return Time{f.Fixed + f.UnitNS*1e-6*o.Cost, f.Within, n < f.From || n > f.To}, true
		}
	}
	return Time{}, false
}
