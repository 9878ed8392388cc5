package keys

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	bn254kzg "github.com/consensys/gnark-crypto/ecc/bn254/kzg"
	gnarkgroth16 "github.com/consensys/gnark/backend/groth16"
	groth16bn254 "github.com/consensys/gnark/backend/groth16/bn254"
	gnarkplonk "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// squares has X^8 = Y.
type squares struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *squares) Define(api frontend.API) error {
	x := c.X
	for range 3 {
		x = api.Mul(x, x)
	}
	api.AssertIsEqual(x, c.Y)
	return nil
}

// sample has a key of every kind on a curve.
func sample(t *testing.T, c backend.Curve) map[Kind]Key {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	field := c.ScalarField()
	rank1, err := frontend.Compile(field, r1cs.NewBuilder, &squares{})
	check(err)
	sparse, err := frontend.Compile(field, scs.NewBuilder, &squares{})
	check(err)
	pk, vk, err := gnarkgroth16.Setup(rank1)
	check(err)
	srs, lagrange, err := unsafekzg.NewSRS(sparse)
	check(err)
	plonkPK, plonkVK, err := gnarkplonk.Setup(sparse, srs, lagrange)
	check(err)
	return map[Kind]Key{Groth16Proving: pk, Groth16Verifying: vk, PLONKProving: plonkPK, PLONKVerifying: plonkVK, SRS: srs}
}

func written(t *testing.T, k Key, f Form) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(k, f, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestKeys describes, reads and writes keys of every kind in every form on every curve.
func TestKeys(t *testing.T) {
	for _, c := range backend.Curves() {
		for kind, k := range sample(t, c) {
			for _, form := range Forms() {
				if form == Dump && kind != Groth16Proving && kind != SRS {
					if err := Write(k, Dump, io.Discard); !errors.Is(err, backend.ErrUnsupported) {
						t.Errorf("a dump of %s: %v", kind, err)
					}
					continue
				}
				name := c.String() + " " + string(kind) + " " + string(form)
				b := written(t, k, form)
				d, err := Describe(t.Context(), bytes.NewReader(b), As{})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				sum := sha256.Sum256(b)
				if d.Kind != kind || d.Curve != c.String() || d.Form != form || d.Bytes != int64(len(b)) || d.SHA256 != hex.EncodeToString(sum[:]) {
					t.Errorf("%s is described as %+v", name, d)
				}
				got, read, err := Read(t.Context(), nil, bytes.NewReader(b), As{})
				if err != nil || !reflect.DeepEqual(read, d) || !bytes.Equal(written(t, got, form), b) {
					t.Errorf("%s: another key was read, or described: %+v, %v", name, read, err)
				}
				proving := kind == Groth16Proving || kind == PLONKProving || kind == SRS
				if proving != (len(d.Parts) > 0) {
					t.Errorf("%s has %d parts", name, len(d.Parts))
				}
				for _, behind := range []bool{false, true} {
					bad := b[:len(b)-1]
					if behind {
						bad = append(bytes.Clone(b), 0)
					}
					if _, err := Describe(t.Context(), bytes.NewReader(bad), As{}); !errors.Is(err, backend.ErrInvalidInput) {
						t.Errorf("%s, cut or longer (%v): %v", name, behind, err)
					}
				}
			}
		}
	}
}

// TestParts wants the parts of a proving key where they are.
func TestParts(t *testing.T) {
	pk := sample(t, backend.BN254)[Groth16Proving].(*groth16bn254.ProvingKey)
	for _, form := range Forms() {
		d, err := Describe(t.Context(), bytes.NewReader(written(t, pk, form)), As{})
		if err != nil {
			t.Fatal(err)
		}
		points := map[string]int{}
		for _, p := range d.Parts {
			points[p.Name] = p.Points
		}
		for name, want := range map[string]int{"G1.Alpha": 1, "G1.A": len(pk.G1.A), "G1.B": len(pk.G1.B),
			"G1.K": len(pk.G1.K), "G1.Z": len(pk.G1.Z), "G2.B": len(pk.G2.B)} {
			if points[name] != want {
				t.Errorf("%s: %s has %d points, want %d", form, name, points[name], want)
			}
		}
	}
}

// TestBadKeys names what is wrong.
func TestBadKeys(t *testing.T) {
	srs, err := bn254kzg.NewSRS(9, big.NewInt(5))
	if err != nil {
		t.Fatal(err)
	}
	lagrange := bn254kzg.SRS{Vk: srs.Vk}
	if lagrange.Pk.G1, err = bn254kzg.ToLagrangeG1(srs.Pk.G1[:8]); err != nil {
		t.Fatal(err)
	}
	// Nothing tells the curve of a Lagrange form, whose first point may be any.
	if _, err := Describe(t.Context(),
		bytes.NewReader(written(t, &lagrange, Raw)), As{}); !errors.Is(err, backend.ErrInvalidInput) ||
		!strings.Contains(err.Error(), "--kind and --curve") {
		t.Errorf("a Lagrange form: %v", err)
	}
	if d, err := Describe(t.Context(), bytes.NewReader(written(t, &lagrange, Raw)), As{SRS, backend.BN254}); err != nil ||
		d.Form != Raw || d.Parts[0].Points != 8 {
		t.Errorf("a Lagrange form that is named: %+v, %v", d, err)
	}
	if _, err := Describe(t.Context(),
		bytes.NewReader(written(t, &lagrange, Raw)), As{Kind: SRS}); !errors.Is(err, backend.ErrInvalidInput) ||
		!strings.Contains(err.Error(), "--curve") {
		t.Errorf("a Lagrange form without a curve: %v", err)
	}
	srs.Pk.G1[7] = bn254.G1Affine{}
	srs.Pk.G1[7].X.SetOne()
	for _, form := range []Form{Raw, Dump} {
		b := written(t, srs, form)
		if _, _, err := Read(t.Context(), nil, bytes.NewReader(b), As{}); !errors.Is(err, backend.ErrInvalidInput) ||
			!strings.Contains(err.Error(), "Pk.G1[7]: n") {
			t.Errorf("%s: %v", form, err)
		}
		// An outline does not look at points.
		if _, err := Describe(t.Context(), bytes.NewReader(b), As{}); err != nil {
			t.Errorf("%s: %v", form, err)
		}
	}
	for name, b := range map[string][]byte{"nothing": nil, "text": []byte(strings.Repeat("no key\n", 1000)), "zeros": make([]byte, 5000)} {
		if _, _, err := Read(t.Context(), nil, bytes.NewReader(b), As{}); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("broken")
	if _, _, err := Read(t.Context(), nil, io.MultiReader(bytes.NewReader([]byte("x")), failing{broken}),
		As{}); !errors.Is(err, broken) || errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Read(ctx, (*engine.Engine)(nil), bytes.NewReader(written(t, &lagrange, Raw)),
		As{SRS, backend.BN254}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }
