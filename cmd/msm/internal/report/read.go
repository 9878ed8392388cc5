package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/record"
)

// Read reads a record of format 2 or 1. What is no record, or of a later format, is
// backend.ErrInvalidInput.
func Read(from io.Reader) (r record.Record[Run], err error) {
	text, err := io.ReadAll(from)
	if err != nil {
		return r, err
	}
	var head struct{ Format int }
	if err := json.Unmarshal(text, &head); err != nil {
		return r, fmt.Errorf("%w: no record: %w", backend.ErrInvalidInput, err)
	}
	switch head.Format {
	case Format:
		err = json.Unmarshal(text, &r)
	case 0:
		r, err = readFormat1(text)
	default:
		return r, fmt.Errorf("%w: a record of format %d, this program reads 1 and %d", backend.ErrInvalidInput, head.Format, Format)
	}
	if err != nil {
		return r, fmt.Errorf("%w: no record: %w", backend.ErrInvalidInput, err)
	}
	return r, nil
}

// readFormat1 reads a record whose runs have a field for everything, by names that differ
// between operations.
func readFormat1(text []byte) (r record.Record[Run], err error) {
	var flat record.Record[map[string]any]
	if err := json.Unmarshal(text, &flat); err != nil {
		return r, err
	}
	r = record.Record[Run]{Machine: flat.Machine, Cut: flat.Cut}
	for _, fields := range flat.Runs {
		run, err := runOfFormat1(fields)
		if err != nil {
			return r, err
		}
		r.Runs = append(r.Runs, run)
	}
	return r, nil
}

// renamed are fields of format 1 that Run has by another name.
var renamed = map[string]string{
	"phase": "what", "circuit": "what", "order": "what", "number_op": "what", "step": "what", "kernel": "what",
	"blobs": "n", "verified": "checked", "refused": "wrong",
}

// isField reports whether Run has a field by this name, in which it keeps what format 1 had.
func isField(name string) bool {
	return slices.Contains([]string{"op", "what", "curve", "group", "n", "seed", "backend", "backend_version", "device", "count", "min_ms",
		"median_ms", "p95_ms", "max_ms", "spread", "samples_ms", "checked", "compared", "oracle", "wrong"}, name)
}

// inputsOfFormat1 are texts of format 1 that are inputs now, with their names; others are
// notes.
var inputsOfFormat1 = map[string]string{"distribution": InputDistribution, "path": InputPath, "where": InputPath, "merge": InputMerge,
	"system": InputSystem, "library": InputLibrary}

// isSizeOfFormat1 reports whether a number of an operation is a size now; others are figures.
func isSizeOfFormat1(op, name string) bool {
	return slices.Contains([]string{"bits", "batch", "steps", "tasks", "threads"}, name) ||
		op == "rsa" && name == "in_flight" || op == OpPeer && name == "multiples"
}

// unitsOfFormat1 are how the names of figures ended.
var unitsOfFormat1 = []struct{ end, unit string }{{"_ms", Milliseconds}, {"_bytes", Bytes}, {"_per_s", PerSecond}, {"_a_second", PerSecond}}

// runOfFormat1 returns a run of its fields.
func runOfFormat1(fields map[string]any) (r Run, err error) {
	same := map[string]any{}
	op, _ := fields["op"].(string)
	for name, v := range fields {
		if name = cmp.Or(renamed[name], name); isField(name) {
			same[name] = v
			continue
		}
		switch v := v.(type) {
		case string:
			if to, ok := inputsOfFormat1[name]; ok {
				r.Input(to, v)
			} else {
				r.Note(name, v)
			}
		case float64:
			if isSizeOfFormat1(op, name) {
				r.Size(name, int(v))
			} else {
				r.figureOfFormat1(name, v)
			}
		}
	}
	r.rowsOfFormat1(fields["back_to_back"])
	if stock, ok := r.Figures[FigureStock]; ok {
		stock.Samples = floats(fields["stock_samples_ms"])
		r.Figures[FigureStock] = stock
	}
	text, err := json.Marshal(same)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, err
	}
	if op == "groth16" && r.Inputs[InputMerge] == "" {
		r.Input(InputMerge, string(MergeAuto)) // there was no other way then
	}
	if len(r.Samples) > 0 {
		times := record.TimesOf(r.Durations())
		r.P95, r.Max, r.Spread = times.P95, times.Max, times.Spread
	}
	return r, nil
}

// figureOfFormat1 adds a number as a figure, whose unit the end of its name tells.
func (r *Run) figureOfFormat1(name string, v float64) {
	for _, u := range unitsOfFormat1 {
		if short, ok := strings.CutSuffix(name, u.end); ok {
			r.Figure(short, u.unit, v)
			return
		}
	}
	r.Figure(name, "", v)
}

// rowsOfFormat1 adds the figures of calls back to back, if there are any.
func (r *Run) rowsOfFormat1(of any) {
	rows, ok := of.(map[string]any)
	if !ok {
		return
	}
	number := func(name string) float64 { v, _ := rows[name].(float64); return v }
	name := FigureBackToBack
	if batch, _ := rows["batch"].(bool); batch {
		name = FigureBatch
	}
	set(&r.Figures, name, Figure{Value: number("median_ms"), Unit: Milliseconds, Samples: floats(rows["samples_ms"])})
	r.Figure(FigureCalls, "", number("calls"))
	r.Figure(FigureCallers, "", number("callers"))
	r.Figure(FigureEnergy, Joules, number("joules"))
}

func floats(v any) (all []float64) {
	list, _ := v.([]any)
	for _, x := range list {
		f, _ := x.(float64)
		all = append(all, f)
	}
	return all
}
