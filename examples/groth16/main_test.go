package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consensys/gnark/logger"
)

// A SHA-256 circuit takes a minute of one processor to set up.
var hashes = flag.String("hashes", "mimc", "statements to prove: mimc,sha256")

func TestRun(t *testing.T) {
	logger.Disable()
	for _, hash := range strings.Split(*hashes, ",") {
		for _, name := range []string{"", "cpu"} {
			s, err := statementOf(hash, []byte("pippin"))
			if err != nil {
				t.Fatal(err)
			}
			if err := run(t.Context(), name, s); err != nil {
				t.Errorf("%s on backend %q: %v", hash, name, err)
			}
		}
	}
}

// TestOneLine puts gnark's import back: prove.go is then gnark's alone, and
// still type-checks.
func TestOneLine(t *testing.T) {
	const ours, theirs = `"github.com/pippin-zk/pippin/prover/groth16"`, `"github.com/consensys/gnark/backend/groth16"`
	src, err := os.ReadFile("prove.go")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(src, []byte(ours)) != 1 || bytes.Count(src, []byte("pippin")) != 2 {
		t.Fatal("prove.go is more than one line of pippin")
	}
	dir := t.TempDir()
	stock := filepath.Join(dir, "prove.go")
	if err := os.WriteFile(stock, bytes.Replace(src, []byte(ours), []byte(theirs), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := filepath.Abs("prove.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {at: stock}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", "-overlay", list, ".").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
