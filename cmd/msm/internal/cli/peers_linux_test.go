package cli

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/record"
)

// TestBenchPeers: a program's times stand beside the backend's, in a table and in a record.
func TestBenchPeers(t *testing.T) {
	scalars, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, 1, 16)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := fixtures.Expected(backend.BN254, backend.G1, 1, 0, scalars)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{
		"theirs": fmt.Sprintf("#!/bin/sh\necho ready\nwhile read -r line; do echo 5 %s; done\n", hex.EncodeToString(answer)),
		"peers.json": `{"nvcc": "13.0", "flags": "-O3", "programs": [{"name": "theirs", "library": "theirs", ` +
			`"commit": "c0ffee", "op": "msm", "curve": "bn254", "group": "g1", "multiples": [4]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	args := []string{"bench", "peers", "--programs", ".", "--backend", "cpu", "--size", "16",
		"--count", "3", "--cache", filepath.Join(folder, "cache")}
	out := filepath.Join(folder, "record.json")
	status, table, errs := cli(t, &App{}, append(args, "--format", "json", "--out", out)...)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("status %d, %v, %s", status, err, errs)
	}
	var r record.Record[report.Run]
	if err := json.Unmarshal(text, &r); status != ExitOK || err != nil || len(r.Runs) != 2 || !strings.Contains(table, "theirs") {
		t.Fatalf("status %d, %v, %s%s%s", status, err, table, errs, text)
	}
	if theirs := r.Runs[1]; theirs.Inputs["library"] != "theirs" || theirs.Median != 5 || !theirs.Checked ||
		theirs.Sizes["multiples"] != 4 || theirs.Notes["commit"] != "c0ffee" {
		t.Errorf("%+v", theirs)
	}
	for _, change := range [][]string{{"--programs", "/nowhere"}, {"--only", "another"}, {"--size", "12"},
		{"--curve", "p256"}, {"--count", "0"}, {"--format", "gobench"}} {
		if status, out, errs := cli(t, &App{}, append(args, change...)...); status != ExitUsage || out != "" || errs == "" {
			t.Errorf("%q: status %d, %s%s", change, status, errs, out)
		}
	}
}
