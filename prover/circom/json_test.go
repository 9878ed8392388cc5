package circom

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/damage"
)

// made lists the circuits whose files snarkjs made.
var made = []string{"cubic", "cubic381", "silent"}

// fileOf returns a file of a circuit.
func fileOf(t testing.TB, circuit, name string) []byte {
	b, err := os.ReadFile(filepath.Join("testdata", circuit, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// proofOf reads snarkjs's proof of a circuit.
func proofOf(t testing.TB, circuit string) *Proof {
	p, err := ParseProof(fileOf(t, circuit, "proof.json"), fileOf(t, circuit, "public.json"))
	if err != nil {
		t.Fatal(circuit, err)
	}
	return p
}

// keyOf reads snarkjs's verification key of a circuit.
func keyOf(t testing.TB, circuit string) *VerifyingKey {
	vk, err := ParseVerifyingKey(fileOf(t, circuit, "verification_key.json"))
	if err != nil {
		t.Fatal(circuit, err)
	}
	return vk
}

// TestSnarkjsFiles reads what snarkjs wrote, and writes it again byte for byte.
func TestSnarkjsFiles(t *testing.T) {
	for _, circuit := range made {
		p, vk := proofOf(t, circuit), keyOf(t, circuit)
		calldata := func() ([]byte, error) { s, err := p.Calldata(); return []byte(s + "\n"), err }
		for name, write := range map[string]func() ([]byte, error){
			"proof.json": p.JSON, "public.json": p.PublicJSON, "verification_key.json": vk.JSON, "calldata.txt": calldata,
		} {
			got, err := write()
			if err != nil {
				t.Errorf("%s: %s: %v", circuit, name, err)
				continue
			}
			if want := fileOf(t, circuit, name); !bytes.Equal(got, want) {
				t.Errorf("%s: %s is\n%s\nsnarkjs wrote\n%s", circuit, name, got, want)
			}
		}
	}
}

// TestRapidsnarkFiles reads the two ways in which rapidsnark's files differ from snarkjs's.
func TestRapidsnarkFiles(t *testing.T) {
	var fields map[string]any
	if err := json.Unmarshal(fileOf(t, "silent", "proof.json"), &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "curve")
	line, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParseProof(line, []byte("null"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Curve != ecc.BN254 || len(p.Public) != 0 {
		t.Errorf("curve %s, %d public signals; BN254 and none are wanted", p.Curve, len(p.Public))
	}
}

// TestInfinityInFiles writes and reads points at infinity, as snarkjs has them.
func TestInfinityInFiles(t *testing.T) {
	p := proofOf(t, "cubic")
	none := func() *big.Int { return new(big.Int) }
	p.A, p.B = G1{none(), none()}, G2{[2]*big.Int{none(), none()}, [2]*big.Int{none(), none()}}
	b, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var f proofFile
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	if a, b := strings.Join(f.A, " "), strings.Join(append(append(f.B[0], f.B[1]...), f.B[2]...), " "); a != "0 1 0" || b != "0 0 1 0 0 0" {
		t.Errorf("infinity is %q in G1 and %q in G2", a, b)
	}
	again, err := ParseProof(b, []byte("[]"))
	if err != nil {
		t.Fatal(err)
	}
	if !isInfinity(again.A.coordinates()) || !isInfinity(again.B.coordinates()) || isInfinity(again.C.coordinates()) {
		t.Errorf("read back as %v", again)
	}
}

// TestFilesRefused changes one thing in a right file. The error names the place.
func TestFilesRefused(t *testing.T) {
	const q = "21888242871839275222246405745257275088696311157297823662689037894645226208583"
	proof, public := string(fileOf(t, "cubic", "proof.json")), `["35","5"]`
	key := string(fileOf(t, "cubic", "verification_key.json"))
	p, vk := proofOf(t, "cubic"), keyOf(t, "cubic")
	ax, b00, alpha, ic := p.A.X.String(), p.B.X[0].String(), vk.Alpha.X.String(), vk.IC[2].Y.String()
	offTwist := strings.Replace(proof, p.B.Y[1].String(), p.B.Y[0].String(), 1)
	for _, c := range []struct{ proof, public, key, want string }{
		{proof: `[]`, want: "proof: no JSON object"},
		{proof: ``, want: "proof: no JSON object"},
		{proof: proof[:100], want: "proof: "},
		{proof: proof + "{}", want: "behind its end"},
		{proof: strings.Replace(proof, `"pi_c"`, `"pi_d"`, 1), want: `"pi_d" is no part of it`},
		{proof: strings.Replace(proof, `"pi_c"`, `"PI_C"`, 1), want: `"PI_C" is no part of it`},
		{proof: strings.Replace(proof, `"pi_a"`, `"pi_c"`, 1), want: "pi_c is there twice"},
		{proof: strings.Replace(proof, `"protocol": "groth16",`, "", 1), want: "protocol is missing"},
		{proof: strings.Replace(proof, "groth16", "plonk", 1), want: `protocol "plonk", this is for groth16`},
		{proof: strings.Replace(proof, "bn128", "secq256r1", 1), want: `curve "secq256r1"`},
		{proof: strings.Replace(proof, ax, q, 1), want: "pi_a[0]: not below q"},
		{proof: strings.Replace(proof, ax, "-"+ax, 1), want: "pi_a[0]: "},
		{proof: strings.Replace(proof, ax, "0"+ax, 1), want: "pi_a[0]: "},
		{proof: strings.Replace(proof, ax, "0x12", 1), want: `pi_a[0]: "0x12" is no decimal number`},
		{proof: strings.Replace(proof, ax, strings.Repeat("9", 1<<20), 1), want: "pi_a[0]: not below q"},
		{proof: strings.Replace(proof, ax, "4", 1), want: "pi_a: not in the group"},
		{proof: strings.Replace(proof, `"`+ax+`"`, ax, 1), want: "pi_a: json: "},
		{proof: strings.Replace(proof, `"1"`, `"2"`, 1), want: `pi_a: no point [x, y, "1"]`},
		{proof: strings.Replace(proof, b00, q, 1), want: "pi_b[0][0]: not below q"},
		{proof: offTwist, want: "pi_b: not in the group"},
		{public: `["35",5]`, want: "public signals: json: "},
		{public: `["35","5"] 7`, want: "public signals: something stands behind its end"},
		{public: `["35","05"]`, want: `public signal 1: "05" is no decimal number`},
		{public: `["21888242871839275222246405745257275088548364400416034343698204186575808495617"]`, want: "public signal 0: not below r"},
		{public: `{}`, want: "public signals: json: "},
		{key: strings.Replace(key, `"nPublic": 2`, `"nPublic": 1`, 1), want: "nPublic: 1, but IC has 3 points"},
		{key: strings.Replace(key, `"nPublic": 2,`, ``, 1), want: "nPublic is missing"},
		{key: strings.Replace(key, alpha, "4", 1), want: "vk_alpha_1: not in the group"},
		{key: strings.Replace(key, ic, "4", 1), want: "IC[2]: not in the group"},
		{key: `{"IC": [[]]}`, want: "protocol is missing"},
		{key: strings.Replace(key, "vk_delta_2", "vk_gamma_2", 1), want: "vk_gamma_2 is there twice"},
	} {
		what, err := c.proof+c.key+c.public, error(nil)
		switch {
		case c.key != "":
			_, err = ParseVerifyingKey([]byte(c.key))
		case c.public != "":
			_, err = ParseProof([]byte(proof), []byte(c.public))
		default:
			_, err = ParseProof([]byte(c.proof), []byte(public))
		}
		known := errors.Is(err, backend.ErrInvalidInput) || errors.Is(err, backend.ErrUnsupported)
		if !known || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: %v, want %q in one line", what, err, c.want)
		}
	}
}

// TestOutsideOfTheSubgroup reads points of BLS12-381 that are on the curve, but not in the subgroup.
func TestOutsideOfTheSubgroup(t *testing.T) {
	p := proofOf(t, "cubic381")
	proof := string(fileOf(t, "cubic381", "proof.json"))
	// (0, 2) is on y^2 = x^3 + 4, and has order 3.
	proof = strings.Replace(proof, `"`+p.A.X.String()+`"`, `"0"`, 1)
	proof = strings.Replace(proof, `"`+p.A.Y.String()+`"`, `"2"`, 1)
	_, err := ParseProof([]byte(proof), []byte(`["35","5"]`))
	if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "pi_a: not in the group") {
		t.Error(err)
	}
}

// TestJSONOfWrongValues writes values that are no proof's.
func TestJSONOfWrongValues(t *testing.T) {
	for what, change := range map[string]func(*Proof){
		"curve":  func(p *Proof) { p.Curve = ecc.BW6_761 },
		"nil":    func(p *Proof) { p.C.Y = nil },
		"signs":  func(p *Proof) { p.A.X = big.NewInt(-1) },
		"signal": func(p *Proof) { p.Public[1] = nil },
	} {
		p := proofOf(t, "cubic")
		change(p)
		_, one := p.JSON()
		_, two := p.PublicJSON()
		_, three := p.Calldata()
		if (one == nil && two == nil) || three == nil {
			t.Errorf("%s: %v, %v and %v", what, one, two, three)
		}
	}
	if _, err := new(VerifyingKey).JSON(); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("a key without anything: %v", err)
	}
	vk := keyOf(t, "cubic")
	vk.IC = nil
	if _, err := vk.JSON(); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a key without IC: %v", err)
	}
}

// FuzzFiles reads any bytes as each of the files. What is read can be written and read again.
func FuzzFiles(f *testing.F) {
	for _, circuit := range made {
		f.Add(fileOf(f, circuit, "proof.json"), fileOf(f, circuit, "public.json"))
		f.Add(fileOf(f, circuit, "verification_key.json"), []byte("null"))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) { readAgain(t, one, two) })
}

// readAgain reads bytes as each of the files, and reports whether they are one. What is read can be
// written and read again.
func readAgain(t *testing.T, one, two []byte) (read bool) {
	if p, err := ParseProof(one, two); err == nil {
		read = true
		proof, err := p.JSON()
		public, err2 := p.PublicJSON()
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		again, err := ParseProof(proof, public)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.JSON(); err != nil || !bytes.Equal(second, proof) {
			t.Fatalf("%s, then %s, %v", proof, second, err)
		}
	}
	if vk, err := ParseVerifyingKey(one); err == nil {
		read = true
		if _, err := vk.JSON(); err != nil {
			t.Fatal(err)
		}
	}
	return read
}

var inputs = flag.Int("inputs", 1000, "files that TestRandomDamage reads")

// damaged returns a proof and its public signals, or a key in the place of the proof, one of them with
// damage.
func damaged(t *testing.T, r *rand.Rand) (f [2][]byte) {
	circuit := made[r.IntN(len(made))]
	f = [2][]byte{fileOf(t, circuit, "proof.json"), fileOf(t, circuit, "public.json")}
	which := r.IntN(3)
	if which == 2 {
		which, f[0] = 0, fileOf(t, circuit, "verification_key.json")
	}
	f[which] = damage.Text(r, f[which])
	return f
}

// TestRandomDamage reads JSON with random damage: nothing panics, and memory is bounded by the file.
func TestRandomDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(8, uint64(*inputs)))
	var tally damage.Tally
	for left := *inputs; left > 0; left -= 100 {
		var all [100][2][]byte
		size := 0
		for i := range all {
			all[i] = damaged(t, r)
			size += len(all[i][0]) + len(all[i][1])
		}
		damage.Bounded(t, size, 100, func() {
			for _, f := range all {
				_, _ = ParseProof(f[0], f[1])
				_, _ = ParseVerifyingKey(f[0])
			}
		})
		for _, f := range all {
			tally.Add(readAgain(t, f[0], f[1]))
		}
	}
	tally.Both(t)
}
