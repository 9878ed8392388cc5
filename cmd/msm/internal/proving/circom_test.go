package proving

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
)

// circomFile returns the path of a file of package circom's tests.
func circomFile(circuit, name string) string {
	return filepath.Join("..", "..", "..", "..", "prover", "circom", "testdata", circuit, name)
}

// TestCircom goes through the commands of rapidsnark and snarkjs for each circuit.
func TestCircom(t *testing.T) {
	for _, circuit := range []string{"cubic", "cubic381", "silent"} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		quiet := func(args ...string) {
			t.Helper()
			status, out, errs := msm(t, &cli.App{}, append([]string{"circom"}, args...)...)
			if status != cli.ExitOK || out != "" || errs != "" {
				t.Errorf("%s: %q: status %d, %s%s", circuit, args, status, errs, out)
			}
		}
		quiet("prove", circomFile(circuit, "circuit.zkey"), circomFile(circuit, "witness.wtns"), at("proof.json"), at("public.json"))
		quiet("vkey", circomFile(circuit, "circuit.zkey"), at("vkey.json"))
		same(t, at("public.json"), circomFile(circuit, "public.json"))
		same(t, at("vkey.json"), circomFile(circuit, "verification_key.json"))

		status, out, errs := msm(t, &cli.App{}, "circom", "verify", at("vkey.json"), at("public.json"), at("proof.json"))
		if status != cli.ExitOK || errs != "" || !strings.Contains(out, "verified, with ") {
			t.Errorf("%s: status %d, %s%s", circuit, status, errs, out)
		}
		status, out, errs = msm(t, &cli.App{}, "circom", "calldata", circomFile(circuit, "public.json"), circomFile(circuit, "proof.json"))
		want, err := os.ReadFile(circomFile(circuit, "calldata.txt"))
		if err != nil || status != cli.ExitOK || errs != "" || out != string(want) {
			t.Errorf("%s: status %d, %v, %s%s", circuit, status, err, errs, out)
		}
	}
}

// same compares two files.
func same(t *testing.T, got, want string) {
	t.Helper()
	a, err := os.ReadFile(got)
	if err != nil {
		t.Error(err)
		return
	}
	b, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("%s is\n%s\nnot\n%s", got, a, b)
	}
}

// TestCircomInfo tells what a key is of.
func TestCircomInfo(t *testing.T) {
	path := circomFile("cubic381", "circuit.zkey")
	status, out, errs := msm(t, &cli.App{}, "circom", "info", path)
	if status != cli.ExitOK || errs != "" || !strings.Contains(out, "groth16, bls12-381") || strings.Contains(out, "nobody") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	var i keyInfo
	status, out, errs = msm(t, &cli.App{}, "circom", "info", path, "--format", "json")
	want := keyInfo{path, "groth16", "bls12-381", 6, 2, 8, 7, true, 5716}
	if err := json.Unmarshal([]byte(out), &i); err != nil || status != cli.ExitOK || i != want {
		t.Errorf("status %d, %v, %s%s", status, err, errs, out)
	}
}

// TestCircomFails has each command fail in one line that names the file, and leave nothing behind.
func TestCircomFails(t *testing.T) {
	dir := t.TempDir()
	key, witness := circomFile("cubic", "circuit.zkey"), circomFile("cubic", "witness.wtns")
	vkey, public, proof := circomFile("cubic", "verification_key.json"), circomFile("cubic", "public.json"), circomFile("cubic", "proof.json")
	out1, out2 := filepath.Join(dir, "proof.json"), filepath.Join(dir, "public.json")
	one := filepath.Join(t.TempDir(), "one.json")
	if err := os.WriteFile(one, []byte(`["35"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{key + "x", []string{"prove", key + "x", witness, out1, out2}},
		{witness, []string{"prove", witness, witness, out1, out2}},
		{"Invalid witness length. Circuit: 6, witness: 3", []string{"prove", key, circomFile("silent", "witness.wtns"), out1, out2}},
		{"different wtns curve", []string{"prove", key, circomFile("cubic381", "witness.wtns"), out1, out2}},
		{"missing", []string{"prove", key, witness, filepath.Join(dir, "missing", "proof.json"), out2}},
		{witness + ": ", []string{"prove", key, out1, out2, "--wasm", witness, "--input", public}},
		{"1 public signals, the key has 2", []string{"verify", vkey, one, proof}},
		{"silent", []string{"verify", vkey, public, circomFile("silent", "proof.json")}},
		{proof, []string{"verify", proof, public, proof}},
		{witness, []string{"info", witness}},
		{dir, []string{"info", dir}},
		{witness, []string{"vkey", witness, out1}},
		{public, []string{"calldata", proof, public}},
	} {
		status, out, errs := msm(t, &cli.App{}, append([]string{"circom"}, c.args...)...)
		if status != cli.ExitFailed || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: status %d, want %q in one line, %s%s", c.args, status, c.want, errs, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// TestCircomCalculates proves from inputs, where circom is.
func TestCircomCalculates(t *testing.T) {
	circom, err := exec.LookPath("circom2")
	if err != nil {
		t.Skip("no circom2 in PATH: npm install -g circom2@0.2.23")
	}
	source, err := os.ReadFile(circomFile("cubic", "circuit.circom"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "circuit.circom"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command(circom, "circuit.circom", "--wasm")
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	public := filepath.Join(dir, "public.json")
	status, out, errs := msm(t, &cli.App{}, "circom", "prove", circomFile("cubic", "circuit.zkey"), filepath.Join(dir, "proof.json"), public,
		"--wasm", filepath.Join(dir, "circuit_js", "circuit.wasm"), "--input", circomFile("cubic", "input.json"))
	if status != cli.ExitOK || out != "" || errs != "" {
		t.Fatalf("status %d, %s%s", status, errs, out)
	}
	same(t, public, circomFile("cubic", "public.json"))
}

// TestCircomUsage has the wrong arguments.
func TestCircomUsage(t *testing.T) {
	key, witness := circomFile("cubic", "circuit.zkey"), circomFile("cubic", "witness.wtns")
	for _, args := range [][]string{
		{"nonsense"}, {"prove"}, {"prove", key, witness, "p"}, {"prove", key, witness, "p", "u", "x"}, {"verify", "a", "b"},
		{"prove", key, witness, filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "u"), "--backend", "cpu,reference"},
		{"prove", key, "p", "u", "--wasm", "w"}, {"prove", key, "p", "u", "--input", "i"},
		{"prove", key, witness, "p", "u", "--wasm", "w", "--input", "i"},
		{"info"}, {"info", key, "--format", "csv"}, {"vkey", key}, {"calldata", key},
	} {
		status, out, errs := msm(t, &cli.App{Open: clitest.NothingOpens(t)}, append([]string{"circom"}, args...)...)
		if status != cli.ExitUsage || out != "" || !strings.HasPrefix(errs, "msm: ") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
	if status, out, _ := msm(t, &cli.App{}, "circom"); status != cli.ExitOK || !strings.Contains(out, "calldata") {
		t.Errorf("status %d, %s", status, out)
	}
}
