package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestReadFormat1: what a record of format 1 says is where format 2 has it.
func TestReadFormat1(t *testing.T) {
	const text = `{"machine": {"cpu": "x"}, "cut": "error", "runs": [
		{"op": "msm", "curve": "bn254", "group": "g1", "n": 64, "bases": "9f", "backend": "cuda", "backend_version": "1", "device": "d", "devices": 2, "distribution": "uniform",
		 "seed": 3, "path": "arena", "measure": "end-to-end", "count": 3, "min_ms": 1, "median_ms": 2, "samples_ms": [2, 9, 1], "spread": 0.5, "load_bases_ms": 7,
		 "multiples": 8, "back_to_back": {"calls": 4, "callers": 2, "batch": true, "median_ms": 5, "samples_ms": [5, 6], "joules": 0.25}, "checked": true, "oracle": "o"},
		{"op": "groth16", "circuit": "ecdsa", "curve": "bn254", "constraints": 100, "backend": "cpu", "median_ms": 4, "stock_ms": 8, "stock_samples_ms": [7, 8],
		 "in_flight": 4, "proofs_per_s": 6, "speedup": 2, "verified": false, "refused": 1},
		{"op": "cold", "system": "plonk", "key_bytes": 99, "read_ms": 1.5, "verified": true},
		{"op": "numbers", "number_op": "mulmod", "bits": 256, "where": "resident", "steps": 2, "words": 10},
		{"op": "rsa", "in_flight": 4, "signatures_a_second": 12, "line": "l"},
		{"op": "peer", "library": "theirs", "multiples": 4, "min_ms": 9},
		{"op": "cells", "blobs": 64, "parts": [{"name": "space"}]}]}`
	got, err := Read(strings.NewReader(text))
	if err != nil || got.Machine.CPU != "x" || got.Cut != "error" || len(got.Runs) != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	// The same as format 2.
	const want = `{"format": 2, "machine": {"cpu": "x"}, "runs": [
		{"op": "msm", "curve": "bn254", "group": "g1", "n": 64, "inputs": {"distribution": "uniform", "path": "arena"}, "seed": 3, "backend": "cuda", "backend_version": "1",
		 "device": "d", "notes": {"bases": "9f", "measure": "end-to-end"}, "count": 3, "min_ms": 1, "median_ms": 2, "p95_ms": 9, "max_ms": 9, "samples_ms": [2, 9, 1], "spread": 0.5,
		 "figures": {"devices": {"value": 2}, "load_bases": {"value": 7, "unit": "ms"}, "multiples": {"value": 8}, "batch": {"value": 5, "unit": "ms", "samples": [5, 6]},
		  "calls": {"value": 4}, "callers": {"value": 2}, "joules": {"value": 0.25, "unit": "J"}}, "checked": true, "oracle": "o"},
		{"op": "groth16", "what": "ecdsa", "curve": "bn254", "inputs": {"merge": "auto"}, "backend": "cpu", "median_ms": 4, "figures": {"constraints": {"value": 100},
		  "stock": {"value": 8, "unit": "ms", "samples": [7, 8]}, "in_flight": {"value": 4}, "proofs": {"value": 6, "unit": "1/s"}, "speedup": {"value": 2}}, "wrong": 1},
		{"op": "cold", "inputs": {"system": "plonk"}, "figures": {"key": {"value": 99, "unit": "B"}, "read": {"value": 1.5, "unit": "ms"}}, "checked": true},
		{"op": "numbers", "what": "mulmod", "sizes": {"bits": 256, "steps": 2}, "inputs": {"path": "resident"}, "figures": {"words": {"value": 10}}},
		{"op": "rsa", "sizes": {"in_flight": 4}, "notes": {"line": "l"}, "figures": {"signatures": {"value": 12, "unit": "1/s"}}},
		{"op": "peer", "inputs": {"library": "theirs"}, "sizes": {"multiples": 4}, "min_ms": 9},
		{"op": "cells", "n": 64}]}`
	same, err := Read(strings.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Runs {
		if !reflect.DeepEqual(got.Runs[i], same.Runs[i]) {
			t.Errorf("%+v\nnot\n%+v", got.Runs[i], same.Runs[i])
		}
	}
}

// TestReadCommitted: every committed record is read, with all its runs and their times.
func TestReadCommitted(t *testing.T) {
	files, err := filepath.Glob("../../../../bench/results/*/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(bytes.NewReader(text))
		var flat struct {
			Runs []struct {
				Op      string
				Median  float64   `json:"median_ms"`
				Samples []float64 `json:"samples_ms"`
			}
		}
		if err := errors.Join(err, json.Unmarshal(text, &flat)); err != nil || len(r.Runs) != len(flat.Runs) {
			t.Fatalf("%s: %v, %d runs of %d", path, err, len(r.Runs), len(flat.Runs))
		}
		for i, run := range r.Runs {
			if f := flat.Runs[i]; run.Op != f.Op || run.Median != f.Median || !slices.Equal(run.Samples, f.Samples) ||
				len(run.Samples) > 0 && run.Max != slices.Max(run.Samples) {
				t.Errorf("%s, run %d: %+v", path, i, run)
			}
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for says, text := range map[string]string{
		"no record":             "nothing",
		"record of format 3":    `{"format": 3, "runs": []}`,
		"no record: json":       `{"format": 2, "runs": [{"op": 1}]}`,
		"cannot unmarshal into": `{"runs": [{"op": "msm", "n": "many"}]}`,
	} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, backend.ErrInvalidInput) ||
			!strings.Contains(err.Error(), strings.Split(says, " into")[0]) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
