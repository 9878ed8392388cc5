package msmplan

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// Table is what was measured on a card, from which plans are made: whatever it says, a
// plan is a right one, and only its time depends on it. Tables are data: those in the
// folder tables belong to this program, and msm tune writes others.
type Table struct {
	Card string `json:"card"` // as its driver says it
	// What the nearest table for another card is found by: the compute capability,
	// such as "9.0", and the number of multiprocessors. A table of one card may lack them.
	Capability      string  `json:"capability,omitempty"`
	Multiprocessors int     `json:"multiprocessors,omitempty"`
	Groups          []Costs `json:"groups"`

	file string // where it was read; "" is this program
}

// Costs are what a group's MSMs take, in ns of the whole card where the name does not
// say otherwise. Of several for one group those with the least UpTo that is not below
// the number of points count.
type Costs struct {
	Curve string `json:"curve"`
	Group string `json:"group"`
	UpTo  int    `json:"up_to_points,omitempty"` // 0 is any number

	Addition float64 `json:"addition_ns"`                // of a point to a bucket, the card full
	Threads  int     `json:"threads"`                    // of a multiprocessor, that do it at a time
	Entry    float64 `json:"entry_ns"`                   // the digit of an entry, and its place in the sort
	Bucket   float64 `json:"bucket_ns"`                  // reading, cutting and writing a bucket, a chunk
	Reduce   float64 `json:"reduce"`                     // the reduction, as a factor of what its additions should take
	Launch   float64 `json:"launch_ns"`                  // a chunk's fixed time
	Copy     float64 `json:"copy_ns"`                    // the copy of a scalar
	Beside   float64 `json:"beside"`                     // what runs beside the accumulation, as a part of its own time
	Edwards  float64 `json:"edwards_ns,omitempty"`       // an addition in Edwards form; 0 where there is none, or it loses
	Pair     float64 `json:"pair_additions,omitempty"`   // an addition of affine points, in pairs, in additions; 0 where that loses
	Affine   float64 `json:"affine_additions,omitempty"` // the same, one entry of a task after the other; 0 where that loses
	Invert   float64 `json:"invert_ns,omitempty"`        // what a level of pairs takes beside, inverses and launches
	Quad     float64 `json:"quad_additions,omitempty"`   // an addition by four threads where few wait for it, in additions; 0 where it loses
	Units    float64 `json:"units_ns,omitempty"`         // what digits modulo six units take more, a scalar; 0 where they lose
	Step     float64 `json:"step_ns,omitempty"`          // what a step of affine sums takes beside: an inverse that a block waits for

	Overlap    int `json:"overlap_points"`  // from which the copy is worth hiding
	Piece      int `json:"piece_entries"`   // the shortest limit for tasks
	Chunk      int `json:"chunk_points"`    // the least that is worth a step of its own
	Shared     int `json:"shared_bytes"`    // that a block of the sort may have
	Together   int `json:"together_points"` // of small MSMs side by side, which fill the card
	PairLevels int `json:"pair_levels"`     // of pairs, where there are some
	PairTasks  int `json:"pair_tasks"`      // of which pairs are added up at a time
	FirstLevel int `json:"first_level"`     // of the reduction, and the others: logarithms
	Level      int `json:"level"`
}

// tuning is what newPlan goes by. Costs are in units of the time of one addition of a
// point to a bucket with the device full; Costs says what they are.
type Params struct {
	Entry, Reduce, Bucket, Launch, Beside, Copy float64
	Edwards, Pair, Affine, Invert, Step, Quad   float64
	Units                                       float64

	Overlap, Piece, Chunk, Shared int
	Together                      int
	PairLevels, PairTasks         int
	AffineLevels                  int

	Adding       int // threads that accumulate at a time
	Full         int // threads that keep the device busy
	PairBlock    int // threads of a block for pairs, and how many the device has at a time
	PairThreads  int
	AffinePlaces int // blocks that add up tasks one entry after the other at a time

	FirstLevel, Level int
	Window            int  // chosen beforehand; 0 is the best
	UnitWindows       int  // digits modulo six units, chosen beforehand for tables and plans that can have them; 0 is the best
	InTurn            bool // nothing runs beside the accumulation
}

// params returns what plans go by on a card of so many multiprocessors.
func (c *Costs) params(multiprocessors int) Params {
	const blocksOfPairs, threads = 4, 512 // of a multiprocessor
	unit := c.Addition
	t := Params{
		Entry: c.Entry / unit, Reduce: c.Reduce, Bucket: c.Bucket / unit, Launch: c.Launch / unit, Beside: c.Beside, Copy: c.Copy / unit,
		Edwards: c.Edwards / unit, Pair: c.Pair, Affine: c.Affine, Invert: c.Invert / unit, Step: c.Step / unit, Quad: c.Quad,
		Units:   c.Units / unit,
		Overlap: c.Overlap, Piece: c.Piece, Chunk: c.Chunk, Shared: c.Shared, Together: c.Together,
		PairLevels: c.PairLevels, PairTasks: c.PairTasks,
		Adding: multiprocessors * c.Threads, Full: 1 << (bits.Len(uint(multiprocessors*threads)) - 1),
		FirstLevel: c.FirstLevel, Level: c.Level,
	}
	// What there are no kernels for is not planned, whatever a table says.
	if k, ok := kernel.ForPairs(c.Curve, c.Group); ok {
		t.PairBlock = k.PairsThere.Threads
		t.PairThreads = multiprocessors * blocksOfPairs * t.PairBlock
	} else {
		t.Pair = 0
	}
	if _, ok := kernel.ForAffine(c.Curve, c.Group); ok {
		t.AffineLevels, t.AffinePlaces = affineLevels, multiprocessors*blocksOfAffine(c.Curve, c.Group)
	} else {
		t.Affine = 0
	}
	if _, ok := kernel.ForForm(c.Curve, Edwards.Of(c.Group)); !ok {
		t.Edwards = 0
	}
	return t
}

// blocksOfAffine returns how many blocks of affine.cu a multiprocessor has at a time.
func blocksOfAffine(curve, group string) int {
	c, err1 := backend.ParseCurve(curve)
	g, err2 := backend.ParseGroup(group)
	if err1 == nil && err2 == nil && ElementBytes(c, g) <= 48 {
		return 4
	}
	return 2 // as registers allow
}

// check refuses what is no measurement, and what plans or kernels have no room for.
func (c *Costs) check() error {
	_, err1 := backend.ParseCurve(c.Curve)
	_, err2 := backend.ParseGroup(c.Group)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for name, v := range map[string][3]float64{ // with the least and the most
		"up_to_points": {float64(c.UpTo), 0, backend.MaxCount},
		"addition_ns":  {c.Addition, 1e-4, 1e6}, "threads": {float64(c.Threads), 32, 2048},
		"entry_ns": {c.Entry, 0, 1e6}, "bucket_ns": {c.Bucket, 0, 1e6}, "reduce": {c.Reduce, 0, 1e6},
		"launch_ns": {c.Launch, 0, 1e9}, "copy_ns": {c.Copy, 0, 1e6}, "beside": {c.Beside, 0, 10}, "edwards_ns": {c.Edwards, 0, 1e6},
		"pair_additions": {c.Pair, 0, 1e3}, "affine_additions": {c.Affine, 0, 1e3}, "step_ns": {c.Step, 0, 1e9},
		"quad_additions": {c.Quad, 0, 1e3}, "units_ns": {c.Units, 0, 1e6}, "invert_ns": {c.Invert, 0, 1e9},
		"overlap_points": {float64(c.Overlap), 1 << 10, backend.MaxCount}, "piece_entries": {float64(c.Piece), LeastPiece, kernel.LongestTask},
		"chunk_points": {float64(c.Chunk), 1 << 10, backend.MaxCount}, "shared_bytes": {float64(c.Shared), LeastShared, 1 << 20},
		"together_points": {float64(c.Together), 1, 1 << 24}, "pair_levels": {float64(c.PairLevels), 1, MostPairLevels},
		"pair_tasks": {float64(c.PairTasks), 1 << 10, 1 << 26}, "first_level": {float64(c.FirstLevel), 1, 6}, "level": {float64(c.Level), 1, 4},
	} {
		if !(v[0] >= v[1] && v[0] <= v[2]) { // NaN too
			return fmt.Errorf("%s %s: %s is %v, not between %v and %v", c.Curve, c.Group, name, v[0], v[1], v[2])
		}
	}
	return nil
}

const (
	LeastShared    = 98 << 10 // bytes that a block may have on the smallest cards
	MostPairLevels = 4        // that the kernels are tested with

	affineLevels = 4 // of affine additions one entry after the other: longer tasks lost
)

// costsOf returns those that count for so many points, nil where the table has none.
func (t *Table) costsOf(curve, group string, points int) *Costs {
	var best *Costs
	for i := range t.Groups {
		c := &t.Groups[i]
		if c.Curve != curve || c.Group != group || c.UpTo != 0 && c.UpTo < points {
			continue
		}
		if best == nil || best.UpTo == 0 || c.UpTo != 0 && c.UpTo < best.UpTo {
			best = c
		}
	}
	return best
}

//go:embed tables/*.json
var folder embed.FS

// ownTables are the program's own.
var ownTables = sync.OnceValue(func() []*Table {
	names, _ := fs.Glob(folder, "tables/*.json") // the pattern is a good one
	var all []*Table
	for _, name := range names {
		text, err := folder.ReadFile(name)
		if err == nil {
			var t *Table
			if t, err = ParseTable(text); err == nil {
				all = append(all, t)
			}
		}
		if err != nil {
			panic(fmt.Sprintf("cuda/msmplan: %s: %v", name, err)) // embedded, and tested
		}
	}
	return all
})

// Tuning is the table for a card: of one of these, or of what is nearest to it, with
// what the card's own file says before that.
type Tuning struct {
	own             *Table // nil where there is none
	table           *Table
	exact           bool // the table is of such a card
	multiprocessors int
}

// TuningFor finds the table for a card by its name, or else the nearest: of the same
// capability or the closest, with as many multiprocessors as possible alike. own, which
// may be nil, is a table of the card's own; one of another card is
// backend.ErrInvalidInput.
func TuningFor(card, capability string, multiprocessors int, own *Table) (Tuning, error) {
	if own != nil && own.Card != card {
		return Tuning{}, fmt.Errorf("%w: %s is of %s, not of %s: run msm tune on this card, or remove it",
			backend.ErrInvalidInput, own.file, own.Card, card)
	}
	distance := func(t *Table) (exact, major, minor, size int) {
		var a, b [2]int
		fmt.Sscanf(t.Capability, "%d.%d", &a[0], &a[1])
		fmt.Sscanf(capability, "%d.%d", &b[0], &b[1])
		if t.Card != card {
			exact = 1
		}
		return exact, abs(a[0] - b[0]), abs(a[1] - b[1]), abs(t.Multiprocessors - multiprocessors)
	}
	best := slices.MinFunc(ownTables(), func(t, u *Table) int {
		a, b, c, d := distance(t)
		e, f, g, h := distance(u)
		return cmp.Or(a-e, b-f, c-g, d-h)
	})
	if multiprocessors < 1 {
		multiprocessors = best.Multiprocessors
	}
	return Tuning{own: own, table: best, exact: best.Card == card, multiprocessors: multiprocessors}, nil
}

func abs(n int) int { return max(n, -n) }

// PlansOf is how what Tuning.String says begins.
const PlansOf = "plans of "

// String says where plans come from, for people.
func (t Tuning) String() string {
	s := PlansOf + t.table.Card
	if !t.exact {
		s += ", the nearest card that was measured (msm tune measures this one)"
	}
	if t.own != nil {
		s = PlansOf + t.own.file + ", of other groups " + strings.TrimPrefix(s, PlansOf)
	}
	return s
}

// Exact reports whether plans are of such a card, and not of one that is like it.
func (t Tuning) Exact() bool { return t.exact }

// Own reports whether there is a table of the card's own.
func (t Tuning) Own() bool { return t.own != nil }

// Costs returns what counts for so many points of a group.
func (t Tuning) Costs(curve backend.Curve, group backend.Group, points int) Costs {
	if t.own != nil {
		if c := t.own.costsOf(curve.String(), group.String(), points); c != nil {
			return *c
		}
	}
	return *t.table.costsOf(curve.String(), group.String(), points)
}

func (t Tuning) Params(curve backend.Curve, group backend.Group, points int) Params {
	c := t.Costs(curve, group, points)
	return c.params(t.multiprocessors)
}

// ParseTable reads a table; what is none is backend.ErrInvalidInput.
func ParseTable(text []byte) (*Table, error) {
	var t Table
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&t)
	if err == nil && d.Decode(new(any)) != io.EOF {
		err = errors.New("there is more behind it")
	}
	if err == nil && t.Card == "" {
		err = errors.New("it names no card")
	}
	for i := range t.Groups {
		if err == nil {
			err = t.Groups[i].check()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: no tuning table: %w", backend.ErrInvalidInput, err)
	}
	return &t, nil
}

// Bytes returns the text of a table's file; its error is that of ParseTable.
func (t *Table) Bytes() ([]byte, error) {
	text, err := json.MarshalIndent(t, "", "  ")
	if err == nil {
		_, err = ParseTable(text)
	}
	return append(text, '\n'), err
}

// mostTable bounds the bytes of a table's file.
const mostTable = 1 << 20

// ReadTable reads a table from a file. What is no table is backend.ErrInvalidInput, a
// file that is not there fs.ErrNotExist.
func ReadTable(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	text, err := io.ReadAll(io.LimitReader(f, mostTable+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostTable {
		return nil, fmt.Errorf("%w: %s: no tuning table: more than %d bytes", backend.ErrInvalidInput, path, mostTable)
	}
	t, err := ParseTable(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.file = path
	return t, nil
}

// OwnFile returns the file of a card's own table, "" where none is to be used: the one that
// setting names, TableFile's where it names none, and none where that has no folder or
// the setting is "none".
func OwnFile(setting, card string) string {
	switch setting {
	case "none":
		return ""
	case "":
		path, _ := TableFile(card)
		return path
	}
	return setting
}

// TableFile returns where the table of a card of the user's own is: in pippin/tuning of the
// folder for settings, which XDG_CONFIG_HOME names on Linux or else is ~/.config.
func TableFile(card string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	plain := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(card))
	return filepath.Join(dir, "pippin", "tuning", plain+".json"), nil
}
