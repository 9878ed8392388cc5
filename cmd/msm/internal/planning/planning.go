// Package planning says how cards would compute MSMs: alone, or all those of a proof whose
// bases stay on the card. The plans are the backend's own, and no card is needed.
package planning

import (
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/forecast"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/units"
)

// MSM is an MSM that is to be planned.
type MSM struct {
	What   string `json:"what,omitempty"` // its place in a proof
	Curve  string `json:"curve"`
	Group  string `json:"group"`
	Points int    `json:"points"`
	// Uniform is the hint that its scalars look random.
	Uniform bool `json:"uniform,omitempty"`

	curve backend.Curve
	group backend.Group
	table string // of bases, where MSMs share them; "" is one of its own
}

// Work is what is to be planned: MSMs that have nothing to do with one another or, of a
// proof, all that it computes.
type Work struct {
	MSMs  []MSM
	Proof bool
	// Bytes of the vectors that stay on a card with the key, and of those of each proof
	// in flight. They are 0 where MSMs are alone.
	KeyBytes, ProofBytes int64
}

// tables has the bytes of bases that are there, by their tables.
type tables map[string]int64

// more adds the bytes of an MSM's bases, and returns how many of them are not there
// yet: of a table that MSMs share, what it has to grow by.
func (t tables) more(table string, bases int64) int64 {
	if table == "" {
		return bases
	}
	grown := max(0, bases-t[table])
	t[table] += grown
	return grown
}

// Plan is an MSM as a card would compute it. Sizes are in bytes.
type Plan struct {
	MSM
	Card     string `json:"card"`
	Tuning   string `json:"tuning"` // where the plan comes from
	Tuned    bool   `json:"-"`      // by a table of the card's own
	Window   int    `json:"window_bits"`
	Windows  int    `json:"windows"`
	Buckets  int64  `json:"buckets"`
	Steps    int    `json:"steps"`
	Bases    int64  `json:"bases_bytes"`
	Resident bool   `json:"resident"`
	// Rows of multiples of the bases, themselves included, and all of their bytes.
	Rows      int   `json:"multiples,omitempty"`
	Multiples int64 `json:"multiples_bytes,omitempty"`
	Work      int64 `json:"work_bytes"`
	Host      int64 `json:"host_bytes"`

	// Of the whole proof, where they are known.
	KeyVectors   int64 `json:"key_vectors_bytes,omitempty"`
	ProofVectors int64 `json:"proof_vectors_bytes,omitempty"`

	// Millis is nil where nothing like it was measured. Within is the largest
	// error against the records, as a part.
	Millis  *float64 `json:"predicted_ms"`
	Within  float64  `json:"within,omitempty"`
	Outside bool     `json:"outside_of_records,omitempty"`
}

// Card is a card that MSMs are planned for.
type Card struct {
	Name     string
	Memory   int64          // bytes that may be used
	Measured *forecast.Card // nil for a card without records
	Tuning   msmplan.Tuning
}

// NewMSM returns an MSM of n points; what is its purpose in a proof, or "".
func NewMSM(what string, c backend.Curve, g backend.Group, n int) MSM {
	return MSM{What: what, Curve: c.String(), Group: g.String(), Points: n, curve: c, group: g}
}

// Proof reads a proving key or a constraint system of gnark's, and returns what a proof
// with it computes.
func Proof(r io.Reader, isKey bool, system proofsystem.System, c backend.Curve) (*Work, error) {
	sizes, err := sizesIn(r, isKey, system, c)
	if err != nil {
		return nil, err
	}
	all := &Work{
		Proof:      true,
		KeyBytes:   int64(sizes.KeyVectors) * int64(c.ScalarBytes()),
		ProofBytes: int64(sizes.ProofVectors) * int64(c.ScalarBytes()),
	}
	for _, m := range sizes.MSMs {
		w := NewMSM(m.Name, c, m.Group, m.Points)
		w.table, w.Uniform = m.Bases, m.Uniform
		all.MSMs = append(all.MSMs, w)
	}
	return all, nil
}

// sizesIn reads what a proof computes from a proving key or a constraint system.
func sizesIn(r io.Reader, isKey bool, system proofsystem.System, c backend.Curve) (*proofsystem.Sizes, error) {
	scheme, err := system.On(c)
	if err != nil {
		return nil, err
	}
	if isKey {
		keys := scheme.NewKeys()
		if err := keys.ReadProving(r); err != nil {
			return nil, err
		}
		return keys.Sizes()
	}
	constraints := scheme.NewConstraints()
	if _, err := constraints.ReadFrom(r); err != nil {
		return nil, err
	}
	return scheme.SizesOf(constraints)
}

// Plan plans MSMs on a card: each alone, or those of a proof with the bases of
// all, loaded in this order as far as they find room. Then multiples of them are made,
// at most so many of each; 0 is what the backend would make.
func (card Card) Plan(todo *Work, most int) ([]Plan, error) {
	kept := todo.KeyBytes + todo.ProofBytes
	if kept >= card.Memory {
		return nil, fmt.Errorf("%w: %s has %s, and the proof's vectors need %s", backend.ErrOutOfMemory, card.Name,
			units.FormatBytes(uint64(card.Memory)), units.FormatBytes(uint64(kept)))
	}
	stays := make([]bool, len(todo.MSMs))
	loaded := make(tables)
	for i, w := range todo.MSMs {
		if !todo.Proof {
			break
		}
		o, err := msmplan.Outlined(card.Tuning, w.curve, w.group, w.Points, backend.Hints{Multiples: 1}, card.Memory-kept)
		if stays[i] = err == nil && o.Resident; stays[i] {
			kept += loaded.more(w.table, o.Bases)
		}
	}
	var all []Plan
	prepared := make(tables)
	for i, w := range todo.MSMs {
		memory := card.Memory - kept + prepared[w.table]
		if stays[i] {
			memory += int64(w.Points) * int64(w.curve.PointBytes(w.group)) // its own are among them
		}
		o, err := msmplan.Outlined(card.Tuning, w.curve, w.group, w.Points, backend.Hints{Multiples: most, Uniform: w.Uniform}, memory)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", card.Name, err)
		}
		if todo.Proof {
			kept += prepared.more(w.table, o.Multiples)
		}
		p := Plan{
			MSM: w, Card: card.Name, Tuning: card.Tuning.String(), Tuned: card.Tuning.Own(), Window: o.Window,
			Windows: o.Windows, Buckets: o.Buckets, Steps: len(o.Chunks),
			Bases: o.Bases, Resident: o.Resident, Rows: o.Rows, Multiples: o.Multiples, Work: o.Work,
			Host: o.Bases + int64(w.Points)*int64(w.curve.ScalarBytes()), KeyVectors: todo.KeyBytes, ProofVectors: todo.ProofBytes,
		}
		if !o.Resident {
			p.Host += o.Bases // the plugin's copy, from which they are streamed
		}
		if card.Measured != nil {
			if t, ok := card.Measured.Of(w.curve, w.group, w.Points, &o); ok {
				p.Millis, p.Within, p.Outside = &t.Millis, t.Within, t.Outside
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// Sum is what all MSMs of a proof take on one card. Sizes are in bytes.
type Sum struct {
	Card                         string
	Bases, Multiples, Work, Host int64
	KeyVectors, ProofVectors     int64
	Millis, Within               float64 // the MSMs one after the other, where Known
	Known                        bool    // whether the time of every one is known
}

// Sums adds up the MSMs of a proof for each card. Those of a card follow one another.
func Sums(all []Plan) (sums []Sum) {
	for len(all) > 0 {
		s := Sum{Card: all[0].Card, KeyVectors: all[0].KeyVectors, ProofVectors: all[0].ProofVectors, Known: true}
		loaded, prepared := make(tables), make(tables)
		for len(all) > 0 && all[0].Card == s.Card {
			p := all[0]
			all = all[1:]
			more := loaded.more(p.table, p.Bases)
			if p.Resident {
				s.Bases += more
			}
			s.Multiples += prepared.more(p.table, p.Multiples)
			s.Work, s.Host = max(s.Work, p.Work), s.Host+p.Host-p.Bases+more
			if s.Known = s.Known && p.Millis != nil && !p.Outside; s.Known {
				s.Millis, s.Within = s.Millis+*p.Millis, max(s.Within, p.Within)
			}
		}
		sums = append(sums, s)
	}
	return sums
}
