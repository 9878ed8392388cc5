package proving

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/forecast"
	"github.com/pippin-zk/pippin/cmd/msm/internal/planning"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/plugin"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// plans runs msm plan.
func plans(t *testing.T, a *cli.App, args ...string) []planning.Plan {
	t.Helper()
	status, out, errs := msm(t, a, append([]string{"plan", "--format", "json"}, args...)...)
	var all []planning.Plan
	if err := json.Unmarshal([]byte(out), &all); status != cli.ExitOK || errs != "" || err != nil {
		t.Fatalf("status %d, %v, %s%s", status, err, errs, out)
	}
	return all
}

func TestPlan(t *testing.T) {
	all := plans(t, &cli.App{Open: clitest.NothingOpens(t)}, "--card", "h200", "--size", "2^20,2^26", "--curve",
		"bn254,bw6-761", "--group", "all", "--multiples", "1")
	if len(all) != 8 {
		t.Fatalf("%d plans", len(all))
	}
	for _, p := range all {
		c, err := backend.ParseCurve(p.Curve)
		if err != nil || p.Card != "NVIDIA H200" || p.Window*p.Windows < c.ScalarBits()-1 || p.Steps < 1 || p.Work <= 0 || p.Host <= p.Bases {
			t.Errorf("%v: %+v", err, p)
		}
		if p.Millis == nil || p.Resident == false || p.Rows != 0 || p.Multiples != 0 {
			t.Errorf("%+v", p)
		}
	}
	if p := all[0]; p.Points != 1<<20 || math.Abs(*p.Millis/4.43-1) > p.Within || p.Outside || p.Bases != 64<<20 {
		t.Errorf("%+v, %v ms", p, *p.Millis)
	}
	// The README's figure for 2^20 points of BN254, with the multiples that are made unasked.
	if p := plans(t, &cli.App{}, "--card", "h200")[0]; p.Rows < 10 || p.Multiples != int64(p.Rows)*p.Bases ||
		math.Abs(*p.Millis/3.49-1) > p.Within || p.Outside {
		t.Errorf("%+v, %v ms", p, *p.Millis)
	}
	if p := plans(t, &cli.App{}, "--card", "h200", "--multiples", "4")[0]; p.Rows < 2 || p.Rows > 4 {
		t.Errorf("%+v", p)
	}
	if p := all[7]; !p.Outside {
		t.Errorf("BW6-761 G2 was measured to 2^22: %+v", p)
	}
	// Half a gigabyte holds neither the bases of 2^24 points nor a forecast.
	if p := plans(t, &cli.App{}, "--card", "h200", "--memory", "512MiB", "--size", "2^24")[0]; p.Resident ||
		p.Millis != nil || p.Steps < 2 || p.Work > 512<<20 || p.Host < 2*p.Bases {
		t.Errorf("%+v", p)
	}
	if p := plans(t, &cli.App{}, "--card", "a100", "--memory", "78GiB")[0]; p.Millis != nil || p.Card != "a100" || !p.Resident {
		t.Errorf("%+v", p)
	}
}

func TestPlanText(t *testing.T) {
	status, out, errs := msm(t, &cli.App{}, "plan", "--card", "h200")
	if status != cli.ExitOK || errs != "" || !regexp.MustCompile(` ms ± [1-9][0-9]? %`).MatchString(out) ||
		!strings.Contains(out, "64.0 MiB") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	if _, out, _ = msm(t, &cli.App{}, "plan", "--memory", "8GiB"); !strings.Contains(out, "unknown card") {
		t.Error(out)
	}
	for args, want := range map[string]string{
		"--card a100":                `unknown card "a100": there are no records of it (of NVIDIA H100 80GB HBM3, NVIDIA H200 there are)`,
		"--card h200 --memory much":  "--memory",
		"--size 0":                   "--size",
		"--key a --constraints b":    "exclude each other",
		"--key none --curve all":     "--curve must name",
		"--key /nowhere --card h200": "no such file",
		"--format xml":               "--format",
		"--card h200 --curve bn255":  "did you mean",
	} {
		if status, _, errs := msm(t, &cli.App{}, append([]string{"plan"}, strings.Fields(args)...)...); status != cli.ExitUsage ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", args, status, errs)
		}
	}
}

// card is the CPU backend that says it is a card.
type card struct{ backend.Backend }

func (c card) Info() backend.Info {
	return backend.Info{
		Name: "cuda", Devices: []backend.Device{{Name: "NVIDIA H200", Memory: 100 << 30}, {Name: "NVIDIA T4", Memory: 15 << 30}},
	}
}

// TestPlanForCardsThere plans for the cards of the backend cuda.
func TestPlanForCardsThere(t *testing.T) {
	open := func(_ context.Context, name string) (backend.Backend, error) {
		if name != "cuda" {
			t.Errorf("%s is opened", name)
		}
		return card{cpu.New(cpu.Options{})}, nil
	}
	all := plans(t, &cli.App{Open: open})
	if len(all) != 2 || all[0].Millis == nil || all[1].Millis != nil || all[1].Card != "NVIDIA T4" {
		t.Errorf("%+v", all)
	}
	status, _, errs := msm(t, &cli.App{Open: clitest.WrongOpener}, "plan")
	if status != cli.ExitFailed || !strings.Contains(errs, "name a card with --card (measured: NVIDIA H100 80GB HBM3, NVIDIA H200)") {
		t.Errorf("status %d, %s", status, errs)
	}
	none := func(context.Context, string) (backend.Backend, error) { return nil, &plugin.NotFoundError{} }
	status, out, errs := msm(t, &cli.App{Open: none}, "plan", "--format", "json")
	if err := json.Unmarshal([]byte(out), &all); status != cli.ExitOK || err != nil || !strings.Contains(errs, "those with records") ||
		len(all) != len(forecast.Cards()) || all[0].Millis == nil || all[0].Card != forecast.Cards()[0].Name {
		t.Errorf("without a plugin: status %d, %v, %s%+v", status, err, errs, all)
	}
}

// cubic has a few constraints.
type cubic struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *cubic) Define(api frontend.API) error {
	api.AssertIsEqual(c.Y, api.Add(api.Mul(c.X, c.X, c.X), c.X, 5))
	return nil
}

// TestPlanOfFiles plans the proofs of a key and of its constraint system.
func TestPlanOfFiles(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []ecc.ID{ecc.BN254, ecc.BW6_761} {
		system, err := frontend.Compile(id.ScalarField(), r1cs.NewBuilder, &cubic{})
		if err != nil {
			t.Fatal(err)
		}
		key, _, err := groth16.Setup(system)
		if err != nil {
			t.Fatal(err)
		}
		curve := strings.ReplaceAll(id.String(), "_", "-")
		for name, write := range map[string]func(io.Writer) (int64, error){
			"key": key.WriteTo, "key-raw": key.WriteRawTo, "constraints": system.WriteTo,
		} {
			var b bytes.Buffer
			if _, err := write(&b); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name+curve)
			if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			flag, _, _ := strings.Cut(name, "-")
			all := plans(t, &cli.App{}, "--"+flag, path, "--curve", curve, "--card", "h200")
			points := map[string]int{}
			g1, g2 := 0, 0
			for _, p := range all {
				points[p.What] = p.Points
				if p.Group == "g2" {
					g2 += p.Points
				} else {
					g1 += p.Points
				}
			}
			// 3 more points of the key in G1 and 2 in G2 are in no MSM.
			if flag == "key" && (g1 != key.NbG1()-3 || g2 != key.NbG2()-2) || points["Z"] != 3 || points["A"] < 3 {
				t.Errorf("%s of %v: %v; the key has %d and %d", name, id, points, key.NbG1(), key.NbG2())
			}
			status, out, errs := msm(t, &cli.App{}, "plan", "--"+flag, path, "--curve", curve, "--memory", "1GiB")
			if status != cli.ExitOK || errs != "" || !strings.Contains(out, "\na card: ") || !strings.Contains(out, "B in G2") {
				t.Errorf("status %d, %s%s", status, errs, out)
			}
		}
	}
	status, _, errs := msm(t, &cli.App{}, "plan", "--key", filepath.Join(dir, "constraintsbn254"), "--card", "h200")
	if status != cli.ExitUsage && status != cli.ExitFailed || !strings.Contains(errs, "is it of --curve bn254") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestPlanOfPLONKFiles plans the proofs of a key and of its constraint system: two
// tables of bases for nine sums, and the vectors beside them.
func TestPlanOfPLONKFiles(t *testing.T) {
	system, err := frontend.Compile(ecc.BN254.ScalarField(), scs.NewBuilder, &cubic{})
	if err != nil {
		t.Fatal(err)
	}
	srs, lagrange, err := unsafekzg.NewSRS(system)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := plonk.Setup(system, srs, lagrange)
	if err != nil {
		t.Fatal(err)
	}
	_, n := plonk.SRSSize(system)
	used := system.GetNbConstraints() + system.GetNbPublicVariables()
	for flag, write := range map[string]func(io.Writer) (int64, error){"key": key.WriteTo, "constraints": system.WriteTo} {
		var b bytes.Buffer
		if _, err := write(&b); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), flag)
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		all := plans(t, &cli.App{}, "--system", "plonk", "--"+flag, path, "--card", "h200")
		want := map[string]int{"L": used, "Z": n, "quotient 2": n + 2, "opening at zeta": n + 2}
		if flag == "key" {
			want["L"] = n // it does not know how many are used
		}
		if len(all) != 9 {
			t.Fatalf("%d sums", len(all))
		}
		for _, p := range all {
			if points, ok := want[p.What]; ok && p.Points != points {
				t.Errorf("%s: %s of %d points, want %d", flag, p.What, p.Points, points)
			}
		}
		ofKey, ofProof := plonk.Elements(n, 0)
		if all[0].KeyVectors != 32*int64(ofKey) || all[0].ProofVectors != 32*int64(ofProof) || ofKey < 37*n || ofProof < 10*n {
			t.Errorf("vectors of %d and %d bytes; elements %d and %d", all[0].KeyVectors, all[0].ProofVectors, ofKey, ofProof)
		}
		bases := units.FormatBytes(uint64(64 * (n + n + 2)))
		status, out, errs := msm(t, &cli.App{}, "plan", "--system", "plonk", "--"+flag, path, "--memory", "1GiB")
		if status != cli.ExitOK || errs != "" || !strings.Contains(out, "\na card: "+bases+" of bases") ||
			!strings.Contains(out, "for each proof in flight") {
			t.Errorf("status %d, want %s of bases, %s%s", status, bases, errs, out)
		}
		if status, _, errs := msm(t, &cli.App{}, "plan", "--system", "plonk", "--"+flag, path, "--memory",
			"8KiB"); status != cli.ExitFailed || !strings.Contains(errs, "vectors need") {
			t.Errorf("status %d, %s", status, errs)
		}
		if status, _, errs := msm(t, &cli.App{}, "plan", "--"+flag, path, "--card", "h200"); status == cli.ExitOK ||
			!strings.Contains(errs, "--system groth16") {
			t.Errorf("as Groth16's: status %d, %s", status, errs)
		}
	}
}
