package proving

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/keys"
)

// keyFile writes an SRS of 9 points on BLS12-381, in compressed form.
func keyFile(t *testing.T, spoil func(*kzg.SRS)) string {
	t.Helper()
	srs, err := kzg.NewSRS(9, big.NewInt(5))
	if err != nil {
		t.Fatal(err)
	}
	spoil(srs)
	var b bytes.Buffer
	if _, err := srs.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "srs.key")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKey tells what a key is, checks it, and converts it there and back.
func TestKey(t *testing.T) {
	path := keyFile(t, func(*kzg.SRS) {})
	status, out, errs := msm(t, &cli.App{}, "key", "info", path)
	if status != cli.ExitOK || errs != "" || !strings.Contains(out, "kzg-srs, bls12-381, compressed") ||
		!strings.Contains(out, "Pk.G1") || !strings.Contains(out, "sha256 ") {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	var d keys.Description
	status, out, errs = msm(t, &cli.App{}, "key", "info", path, "--format", "json")
	if err := json.Unmarshal([]byte(out), &d); err != nil || status != cli.ExitOK || d.Kind != keys.SRS ||
		len(d.Parts) != 1 || d.Parts[0].Points != 9 {
		t.Errorf("status %d, %v, %s%s", status, err, errs, out)
	}
	var checked checkedKey
	status, out, errs = msm(t, &cli.App{}, "key", "check", path, "--format", "json")
	if err := json.Unmarshal([]byte(out), &checked); err != nil || status != cli.ExitOK || !checked.Valid || checked.SHA256 != d.SHA256 {
		t.Errorf("status %d, %v, %s%s", status, err, errs, out)
	}
	from := path
	for _, form := range []string{"raw", "dump", "compressed"} {
		to := filepath.Join(t.TempDir(), form)
		if status, out, errs := msm(t, &cli.App{}, "key", "convert", from, "--to", form, "--out", to); status != cli.ExitOK ||
			errs != "" || !strings.Contains(out, " to "+form) {
			t.Fatalf("status %d, %s%s", status, errs, out)
		}
		if status, out, _ := msm(t, &cli.App{}, "key", "check", to); status != cli.ExitOK ||
			!strings.Contains(out, ", "+form+": all 9 points are on the curve") {
			t.Errorf("status %d, %s", status, out)
		}
		from = to
	}
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := os.ReadFile(from); err != nil || !bytes.Equal(is, was) {
		t.Errorf("there and back it is another file: %v", err)
	}
}

// TestKeyIsBad: a point outside of the subgroup is named, and nothing is written.
func TestKeyIsBad(t *testing.T) {
	path := keyFile(t, func(srs *kzg.SRS) {
		var p bls12381.G1Affine
		for p.X.SetUint64(1); ; p.X.Double(&p.X) {
			p.Y.Square(&p.X).Mul(&p.Y, &p.X)
			four := p.X
			four.SetUint64(4)
			p.Y.Add(&p.Y, &four)
			if p.Y.Sqrt(&p.Y) != nil && !p.IsInSubGroup() {
				break
			}
		}
		srs.Pk.G1[6] = p
	})
	const place = "Pk.G1[6]: not in the subgroup of order r"
	status, out, errs := msm(t, &cli.App{}, "key", "check", path)
	if status != cli.ExitFailed || out != "" || !strings.Contains(errs, place) || !strings.Contains(errs, path) {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
	var checked checkedKey
	status, out, _ = msm(t, &cli.App{}, "key", "check", path, "--format", "json")
	if err := json.Unmarshal([]byte(out), &checked); err != nil || status != cli.ExitFailed || checked.Valid ||
		!strings.Contains(checked.Problem, place) {
		t.Errorf("status %d, %v, %s", status, err, out)
	}
	folder := t.TempDir()
	if status, _, errs := msm(t, &cli.App{}, "key", "convert", path, "--to", "raw", "--out",
		filepath.Join(folder, "raw")); status != cli.ExitFailed || !strings.Contains(errs, place) {
		t.Errorf("status %d, %s", status, errs)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

func TestKeyUsage(t *testing.T) {
	path := keyFile(t, func(*kzg.SRS) {})
	for _, args := range [][]string{
		{"info"}, {"info", path, path}, {"info", filepath.Join(t.TempDir(), "missing")}, {"info", t.TempDir()},
		{"info", path, "--kind", "x"}, {"info", path, "--curve", "x"},
		{"check", path, "--format", "csv"}, {"check", path, "--backend", "cpu,reference"},
		{"convert", path}, {"convert", path, "--to", "raw"}, {"convert", path, "--to", "x", "--out", "y"}, {"x"},
	} {
		if status, out, errs := msm(t, &cli.App{}, append([]string{"key"}, args...)...); status != cli.ExitUsage ||
			out != "" || !strings.HasPrefix(errs, "msm: ") {
			t.Errorf("%q: status %d, %s%s", args, status, errs, out)
		}
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := msm(t, &cli.App{}, "key", "info", text); status != cli.ExitFailed ||
		!strings.Contains(errs, "no key that is known") {
		t.Errorf("status %d, %s", status, errs)
	}
}
