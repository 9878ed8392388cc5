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

// TestOneLine puts gnark's import back: prove.go and the program cubic are then gnark's alone,
// and still type-check.
func TestOneLine(t *testing.T) {
	for _, path := range []string{"prove.go", filepath.Join("..", "cubic", "main.go")} {
		t.Run(path, func(t *testing.T) { oneLine(t, path) })
	}
}

func oneLine(t *testing.T, path string) {
	const ours, theirs = `"github.com/pippin-zk/pippin/prover/groth16"`, `"github.com/consensys/gnark/backend/groth16"`
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(src, []byte(ours)) != 1 || bytes.Count(src, []byte("pippin")) != 2 {
		t.Fatalf("%s is more than one line of pippin", path)
	}
	dir := t.TempDir()
	stock := filepath.Join(dir, "stock.go")
	if err := os.WriteFile(stock, bytes.Replace(src, []byte(ours), []byte(theirs), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := filepath.Abs(path)
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
	if out, err := exec.Command("go", "vet", "-overlay", list, "./"+filepath.ToSlash(filepath.Dir(path))).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
