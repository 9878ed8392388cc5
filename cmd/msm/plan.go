package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/forecast"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/table"
	"github.com/pippin-zk/pippin/internal/units"
)

// planFlags is the command line of msm plan.
type planFlags struct {
	size, curves, groups string
	key, constraints     string
	system               string
	cards, memory        string
	most                 int
	format               string
}

// work is an MSM that is to be planned.
type work struct {
	What   string `json:"what,omitempty"` // its place in a proof
	Curve  string `json:"curve"`
	Group  string `json:"group"`
	Points int    `json:"points"`

	curve backend.Curve
	group backend.Group
	table string // of bases, where MSMs share them; "" is one of its own
}

// proofWork is what a proof computes: its MSMs, and the bytes of the vectors that
// stay on the card with the key, and of those of each proof in flight.
type proofWork struct {
	msms           []work
	ofKey, ofProof int64
}

// tables is the bytes of bases that are there, by their tables.
type tables map[string]int64

// more adds the bytes of an MSM's bases, and answers how many of them are not there
// yet: of a table that MSMs share, what it has to grow by.
func (t tables) more(table string, bases int64) int64 {
	if table == "" {
		return bases
	}
	grown := max(0, bases-t[table])
	t[table] += grown
	return grown
}

// planned is an MSM as a card would compute it. Sizes are in bytes.
type planned struct {
	work
	Card     string `json:"card"`
	Tuning   string `json:"tuning"` // where the plan comes from
	tuned    bool   // by a table of the card's own
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

// planCard is a card that MSMs are planned for; measured is nil for one without
// records.
type planCard struct {
	name     string
	memory   int64
	measured *forecast.Card
	tuning   msmplan.Tuning
}

// newPlanCard finds what there is about a card. A table of its own counts where it is
// in use there; there are no times for its plans, for costs of two tables do not compare.
func (a *app) newPlanCard(name string, memory int64, here bool) (planCard, error) {
	c := planCard{name: name, memory: memory, measured: forecast.Find(name)}
	var own *msmplan.Table
	if path := a.tableFile(name); here && path != "" {
		var err error
		if own, err = msmplan.ReadTable(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.note(oneLine(err))
		}
	}
	var err error
	if c.tuning, err = msmplan.TuningFor(name, "", 0, own); err != nil {
		a.note(oneLine(err))
		c.tuning, err = msmplan.TuningFor(name, "", 0, nil)
	}
	if c.tuning.Own() {
		c.measured = nil
	}
	return c, err
}

func (a *app) planCommand() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan",
		Short: "Say how MSMs, or those of a proof, would be computed on a card, and what they take",
		Long: `Say how a card would compute MSMs: in how many windows, with how many buckets and
steps, what stays on the card, how much memory that takes there and on the host,
and how long. The plan is the backend's own and needs no card. Times are of uniform
scalars in shared memory, predicted from the records of cards that were measured,
with the largest error against those; a card without records has none.

With --key or --constraints the MSMs are those of a proof, one after the other, all
bases kept. What a prover merges is not taken off, and the time is without solving and
without what is done to vectors. The memory of PLONK's vectors is counted, that of
Groth16's, which is less than its bases', is not.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.plan(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.size, "size", "2^20", "points: 1000000, 2^20, 1Mi"+several)
	flags.StringVar(&f.curves, "curve", "bn254", names(backend.Curves()))
	flags.StringVar(&f.groups, "group", "g1", names(backend.Groups()))
	flags.StringVar(&f.key, "key", "", "file of a gnark proving key of --curve, instead of --size and --group")
	flags.StringVar(&f.constraints, "constraints", "", "file of a gnark constraint system of --curve, instead of --size and --group: at most so many points")
	flags.StringVar(&f.system, "system", string(proofsystem.Groth16), "of --key and --constraints: groth16, plonk")
	flags.StringVar(&f.cards, "card", "", "measured cards by name, such as h200"+several+" (default those of the backend cuda)")
	flags.StringVar(&f.memory, "memory", "", "memory of the card that may be used, such as 24GiB; alone, a card without records")
	flags.IntVar(&f.most, "multiples", 0, "how many multiples of each base may be made beforehand, itself included: 1 is none, 0 what the backend chooses")
	flags.StringVar(&f.format, "format", "table", "table, json")
	completes(c, "curve", backend.Curves(), "all")
	completes(c, "group", backend.Groups(), "all")
	completes(c, "format", []string{"table", "json"})
	completes(c, "system", proofsystem.Systems())
	c.MarkFlagFilename("key")
	c.MarkFlagFilename("constraints")
	return c
}

func (a *app) plan(ctx context.Context, f planFlags) error {
	if err := oneOf("format", f.format, "table", "json"); err != nil {
		return err
	}
	todo, err := f.work()
	if err != nil {
		return err
	}
	cards, err := a.planCards(ctx, f)
	if err != nil {
		return err
	}
	proof := f.key != "" || f.constraints != ""
	var all []planned
	for _, card := range cards {
		on, err := planOn(card, todo, f.most, proof)
		if err != nil {
			return err
		}
		all = append(all, on...)
	}
	if f.format == "json" {
		return writeJSON(a.stdout, all)
	}
	return writePlans(a.stdout, all, proof)
}

// work is what is to be planned.
func (f *planFlags) work() (*proofWork, error) {
	system, err := proofsystem.Parse(f.system)
	if err != nil {
		return nil, usageError{err}
	}
	curves, err := parseCurves(f.curves)
	if err != nil {
		return nil, err
	}
	if f.key != "" && f.constraints != "" {
		return nil, usageError{errors.New("--key and --constraints exclude each other")}
	}
	if path := f.key + f.constraints; path != "" {
		if len(curves) != 1 {
			return nil, usageError{errors.New("--curve must name the one curve of the file")}
		}
		file, err := os.Open(path)
		if err != nil {
			return nil, usageError{err}
		}
		defer file.Close()
		sizes, err := sizesIn(bufio.NewReaderSize(file, 1<<20), f.key != "", system, curves[0])
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w: is it of --curve %v and --system %s, and written by gnark's WriteTo or WriteRawTo?", backend.ErrInvalidInput, path, err, curves[0], system)
		}
		all := &proofWork{
			ofKey:   int64(sizes.KeyVectors) * int64(curves[0].ScalarBytes()),
			ofProof: int64(sizes.ProofVectors) * int64(curves[0].ScalarBytes()),
		}
		for _, m := range sizes.MSMs {
			w := newWork(m.Name, curves[0], m.Group, m.Points)
			w.table = m.Bases
			all.msms = append(all.msms, w)
		}
		return all, nil
	}
	groups, err := parseGroups(f.groups)
	if err != nil {
		return nil, err
	}
	sizes, err := parseSizes(f.size)
	if err != nil {
		return nil, err
	}
	all := &proofWork{}
	for _, c := range curves {
		for _, g := range groups {
			for _, n := range sizes {
				all.msms = append(all.msms, newWork("", c, g, n))
			}
		}
	}
	return all, nil
}

func newWork(what string, c backend.Curve, g backend.Group, n int) work {
	return work{What: what, Curve: c.String(), Group: g.String(), Points: n, curve: c, group: g}
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

// planCards are the cards that were named, or those that are there.
func (a *app) planCards(ctx context.Context, f planFlags) (cards []planCard, err error) {
	var memory int64
	if f.memory != "" {
		if memory, err = cuda.ParseMemory(f.memory); err != nil {
			return nil, usageError{fmt.Errorf("--memory: %w", err)}
		}
	}
	var known []string
	for _, c := range forecast.Cards() {
		known = append(known, c.Name)
	}
	if f.cards == "" && memory > 0 {
		c, err := a.newPlanCard("a card", memory, false)
		return []planCard{c}, err
	}
	if f.cards == "" {
		open, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		b, err := a.opener()(open, "cuda")
		if err != nil {
			return nil, fmt.Errorf("%w; name a card with --card (measured: %s), or give --memory", err, strings.Join(known, ", "))
		}
		for _, d := range b.Info().Devices {
			c, err := a.newPlanCard(d.Name, int64(d.Memory), true)
			if err != nil {
				return nil, errors.Join(err, b.Close())
			}
			cards = append(cards, c)
		}
		return cards, b.Close()
	}
	for name := range strings.SplitSeq(f.cards, ",") {
		used := memory
		if c := forecast.Find(name); c != nil {
			name = c.Name
			if used == 0 {
				used = int64(c.Memory)
			}
		}
		if used == 0 {
			return nil, usageError{fmt.Errorf("--card: unknown card %q: there are no records of it (of %s there are); with --memory it is planned for, without times", name, strings.Join(known, ", "))}
		}
		c, err := a.newPlanCard(name, used, false)
		if err != nil {
			return nil, err
		}
		cards = append(cards, c)
	}
	return cards, nil
}

// planOn plans MSMs on a card: each alone, or those of a proof with the bases of
// all, loaded in this order as far as they find room. Then multiples of them are made,
// at most so many of each; 0 is what the backend would make.
func planOn(card planCard, todo *proofWork, most int, proof bool) ([]planned, error) {
	kept := todo.ofKey + todo.ofProof
	if kept >= card.memory {
		return nil, fmt.Errorf("%w: %s has %s, and the proof's vectors need %s", backend.ErrOutOfMemory, card.name,
			units.FormatBytes(uint64(card.memory)), units.FormatBytes(uint64(kept)))
	}
	stays := make([]bool, len(todo.msms))
	loaded := make(tables)
	for i, w := range todo.msms {
		if !proof {
			break
		}
		o, err := msmplan.Outlined(card.tuning, w.curve, w.group, w.Points, 1, card.memory-kept)
		if stays[i] = err == nil && o.Resident; stays[i] {
			kept += loaded.more(w.table, o.Bases)
		}
	}
	var all []planned
	prepared := make(tables)
	for i, w := range todo.msms {
		memory := card.memory - kept + prepared[w.table]
		if stays[i] {
			memory += int64(w.Points) * int64(w.curve.PointBytes(w.group)) // its own are among them
		}
		o, err := msmplan.Outlined(card.tuning, w.curve, w.group, w.Points, most, memory)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", card.name, err)
		}
		if proof {
			kept += prepared.more(w.table, o.Multiples)
		}
		p := planned{
			work: w, Card: card.name, Tuning: card.tuning.String(), tuned: card.tuning.Own(), Window: o.Window, Windows: o.Windows, Buckets: o.Buckets, Steps: len(o.Chunks),
			Bases: o.Bases, Resident: o.Resident, Rows: o.Rows, Multiples: o.Multiples, Work: o.Work,
			Host: o.Bases + int64(w.Points)*int64(w.curve.ScalarBytes()), KeyVectors: todo.ofKey, ProofVectors: todo.ofProof,
		}
		if !o.Resident {
			p.Host += o.Bases // the plugin's copy, from which they are streamed
		}
		if card.measured != nil {
			if t, ok := card.measured.Of(w.curve, w.group, w.Points, &o); ok {
				p.Millis, p.Within, p.Outside = &t.Millis, t.Within, t.Outside
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// prepared is the multiples for people.
func (p *planned) prepared() string {
	if p.Rows == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, %s", p.Rows, units.FormatBytes(uint64(p.Multiples)))
}

// time is the forecast for people.
func (p *planned) time() string {
	switch {
	case p.Millis == nil && (!p.Resident || p.tuned):
		return "not measured"
	case p.Millis == nil:
		return "unknown card"
	case p.Outside:
		return fmt.Sprintf("%s ms, beyond records", short(*p.Millis))
	}
	return fmt.Sprintf("%s ms ± %.0f %%", short(*p.Millis), 100*p.Within)
}

// short is a number with three digits or more.
func short(v float64) string {
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(max(v, 1e-9))))), v)
}

func writePlans(w io.Writer, all []planned, proof bool) error {
	columns := []table.Column{
		{Head: "card", Keep: 4}, {Head: "of", Keep: table.Never}, {Head: "points", Keep: table.Never}, {Head: "windows", Keep: 1}, {Head: "buckets", Keep: 0},
		{Head: "steps", Keep: 0}, {Head: "bases", Keep: 3}, {Head: "multiples", Keep: 3}, {Head: "work", Keep: 3}, {Head: "host", Keep: 2}, {Head: "time", Keep: table.Never},
	}
	size := func(n int64) string { return units.FormatBytes(uint64(n)) }
	var rows [][]string
	for _, p := range all {
		of := p.Curve + " " + p.Group
		if p.What != "" {
			of = p.What
		}
		bases := size(p.Bases)
		if !p.Resident {
			bases += ", streamed"
		}
		rows = append(rows, []string{p.Card, of, units.FormatSize(p.Points), fmt.Sprintf("%d of %d bits", p.Windows, p.Window), fmt.Sprint(p.Buckets),
			fmt.Sprint(p.Steps), bases, p.prepared(), size(p.Work), size(p.Host), p.time()})
	}
	if err := table.Write(w, width(w), false, columns, rows); err != nil {
		return err
	}
	if err := writeTunings(w, all); err != nil || !proof {
		return err
	}
	return writeSums(w, all)
}

// writeTunings says where the plans of each card come from.
func writeTunings(w io.Writer, all []planned) error {
	said := map[string]bool{}
	for _, p := range all {
		if said[p.Card] {
			continue
		}
		said[p.Card] = true
		if _, err := fmt.Fprintf(w, "\n%s: %s\n", p.Card, p.Tuning); err != nil {
			return err
		}
	}
	return nil
}

// writeSums says what all MSMs of a proof take together, for each card.
func writeSums(w io.Writer, all []planned) error {
	for len(all) > 0 {
		card, bases, multiples, work, host, millis, within, known := all[0].Card, int64(0), int64(0), int64(0), int64(0), 0.0, 0.0, true
		ofKey, ofProof := all[0].KeyVectors, all[0].ProofVectors
		loaded, prepared := make(tables), make(tables)
		for len(all) > 0 && all[0].Card == card {
			p := all[0]
			all = all[1:]
			more := loaded.more(p.table, p.Bases)
			if p.Resident {
				bases += more
			}
			multiples += prepared.more(p.table, p.Multiples)
			work, host = max(work, p.Work), host+p.Host-p.Bases+more
			if known = known && p.Millis != nil && !p.Outside; known {
				millis, within = millis+*p.Millis, max(within, p.Within)
			}
		}
		time := "no time for all of them"
		if known {
			time = fmt.Sprintf("%s ms ± %.0f %% for the MSMs one after the other", short(millis), 100*within)
		}
		if _, err := fmt.Fprintf(w, "\n%s: %s of bases, %s of multiples and %s of work on the card, %s on the host, %s\n", card,
			units.FormatBytes(uint64(bases)), units.FormatBytes(uint64(multiples)), units.FormatBytes(uint64(work)), units.FormatBytes(uint64(host)), time); err != nil {
			return err
		}
		if ofKey > 0 {
			if _, err := fmt.Fprintf(w, "vectors on the card: %s that stay with the key, %s for each proof in flight\n",
				units.FormatBytes(uint64(ofKey)), units.FormatBytes(uint64(ofProof))); err != nil {
				return err
			}
		}
	}
	return nil
}
