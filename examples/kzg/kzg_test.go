package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	goethkzg "github.com/crate-crypto/go-eth-kzg"

	"github.com/pippin-zk/pippin/examples/internal/demo"
)

var update = flag.Bool("update", false, "write g1_lagrange.bin from go-eth-kzg's setup")

func TestSetupIsTheModules(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/crate-crypto/go-eth-kzg").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "trusted_setup.json"))
	if err != nil {
		t.Fatal(err)
	}
	var setup goethkzg.JSONTrustedSetup
	if err := json.Unmarshal(text, &setup); err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, p := range setup.SetupG1Lagrange {
		b, err := hex.DecodeString(strings.TrimPrefix(p, "0x"))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, b...)
	}
	if *update {
		if err := os.WriteFile("g1_lagrange.bin", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(ceremony, want) {
		t.Fatal("g1_lagrange.bin is not the setup of go-eth-kzg")
	}
}

// The Lagrange polynomials sum to 1, so their points sum to the generator.
func TestSetupSumsToGenerator(t *testing.T) {
	points, err := lagrangePoints()
	if err != nil {
		t.Fatal(err)
	}
	var sum bls12381.G1Jac
	for i := range points {
		sum.AddMixed(&points[i])
	}
	generator, _, _, _ := bls12381.Generators()
	if !sum.Equal(&generator) {
		t.Fatal("the Lagrange points do not sum to the generator")
	}
}

func TestDamagedSetupIsRefused(t *testing.T) {
	whole := ceremony
	defer func() { ceremony = whole }()
	ceremony = bytes.Clone(whole)
	ceremony[47] ^= 1
	if _, err := lagrangePoints(); err == nil {
		t.Fatal("a damaged setup was accepted")
	}
}

func TestValuesNotBelowModulusAreRefused(t *testing.T) {
	var b goethkzg.Blob
	copy(b[fr.Bytes:], goethkzg.BlsModulus[:])
	if err := values(make([]fr.Element, goethkzg.ScalarsPerBlob), &b); err == nil {
		t.Fatal("the modulus was accepted as a value")
	}
}

func TestCommitmentsEqualGoEthKZGs(t *testing.T) {
	backends := strings.Split(demo.Backends(), ",")
	dir := t.TempDir()
	why := demo.NoPlugins()
	if why == "" {
		if err := demo.Build(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, backends, dir); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if got, want := strings.Count(out.String(), "  equal\n"), len(backends)*len(blobs()); got != want {
		t.Fatalf("%d equal commitments, want %d:\n%s", got, want, &out)
	}
	if why != "" {
		t.Skip("in process all is equal; " + why)
	}
}

func TestDifferenceIsReported(t *testing.T) {
	all := blobs()[:2]
	want := []goethkzg.KZGCommitment{{1}, {2}}
	if err := compare(io.Discard, all, want, want); err != nil {
		t.Fatal(err)
	}
	if err := compare(io.Discard, all, []goethkzg.KZGCommitment{{1}, {1}}, want); err == nil {
		t.Fatal("a wrong commitment was not reported")
	}
}
