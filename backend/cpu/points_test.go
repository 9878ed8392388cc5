package cpu_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	kzg254 "github.com/consensys/gnark-crypto/ecc/bn254/kzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/internal/layout"
)

// over runs steps on a backend, in a space with the id 1 that holds points.
func over(t testing.TB, b backend.Backend, e backend.Element, points []byte, steps ...backend.Step) [][]byte {
	t.Helper()
	v, _ := backend.As[backend.Programs](b)
	n := len(points) / e.Bytes()
	id, err := v.NewSpace(t.Context(), e, n)
	if err != nil {
		t.Fatal(err)
	}
	defer v.FreeSpace(t.Context(), id)
	all := []backend.Step{backend.Write{Dst: backend.Range{Space: id, Count: n}, Input: backend.Input{Bytes: points}}}
	for _, s := range steps {
		all = append(all, backend.Renamed(s, func(backend.SpaceID) backend.SpaceID { return id }, nil))
	}
	answers, err := v.Run(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	return answers[1:]
}

// TestEncodingsAreGnarks compares encodings with gnark-crypto's. Other tests compare the two
// backends.
func TestEncodingsAreGnarks(t *testing.T) {
	_, _, g1, _ := bn254.Generators()
	_, _, _, g2 := bls12381.Generators()
	var minus bn254.G1Affine
	minus.Neg(&g1)
	bn := []bn254.G1Affine{g1, {}, minus}
	bls := []bls12381.G2Affine{g2, {}, g2}
	bls[2].Neg(&g2)
	var compressed, plain, compressed2, plain2 []byte
	for i := range bn {
		a, b, c, d := bn[i].Bytes(), bn[i].RawBytes(), bls[i].Bytes(), bls[i].RawBytes()
		compressed, plain = append(compressed, a[:]...), append(plain, b[:]...)
		compressed2, plain2 = append(compressed2, c[:]...), append(plain2, d[:]...)
	}
	all := backend.Range{Space: 1, Count: 3}
	for _, b := range []backend.Backend{cpu.New(cpu.Options{}), cpu.NewReference()} {
		defer b.Close()
		for _, c := range []struct {
			e                 backend.Element
			points            []byte
			compressed, plain []byte
		}{
			{backend.PointOf(backend.BN254, backend.G1), layout.Bytes(bn), compressed, plain},
			{backend.PointOf(backend.BLS12381, backend.G2), layout.Bytes(bls), compressed2, plain2},
		} {
			got := over(t, b, c.e, c.points, backend.Read{Src: all, Encoding: backend.Compressed},
				backend.Read{Src: all, Encoding: backend.Uncompressed})
			if !bytes.Equal(got[0], c.compressed) || !bytes.Equal(got[1], c.plain) {
				t.Errorf("%s, %v: other bytes than gnark-crypto's", b.Info().Name, c.e)
			}
		}
	}
}

// TestTransformIsToLagrange: the inverse transform of powers is the key that gnark-crypto computes
// in Lagrange form.
func TestTransformIsToLagrange(t *testing.T) {
	const n = 64
	srs, err := kzg254.NewSRS(n, fr254.Modulus().Rsh(fr254.Modulus(), 3))
	if err != nil {
		t.Fatal(err)
	}
	want, err := kzg254.ToLagrangeG1(srs.Pk.G1)
	if err != nil {
		t.Fatal(err)
	}
	b := cpu.New(cpu.Options{})
	defer b.Close()
	all := backend.Range{Space: 1, Count: n}
	got := over(t, b, backend.PointOf(backend.BN254, backend.G1), layout.Bytes(srs.Pk.G1),
		backend.Transform{Dst: all, Src: all, Inverse: true}, backend.Read{Src: all})
	if !bytes.Equal(got[1], layout.Bytes(want)) {
		t.Error("another key than gnark-crypto's")
	}
}

// BenchmarkPoints measures steps over 2^12 points: fixed base, Lagrange form, checks and
// encodings.
func BenchmarkPoints(b *testing.B) {
	const n = 1 << 12
	own := cpu.New(cpu.Options{})
	defer own.Close()
	v, _ := backend.As[backend.Programs](own)
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		for _, g := range backend.Groups() {
			points, err := v.NewSpace(b.Context(), backend.PointOf(c, g), n)
			if err != nil {
				b.Fatal(err)
			}
			scalars, err := v.NewSpace(b.Context(), backend.ScalarOf(c), n)
			if err != nil {
				b.Fatal(err)
			}
			_, _, g1, g2 := bn254.Generators()
			_, _, h1, h2 := bls12381.Generators()
			base := [2][2][]byte{{layout.Bytes([]bn254.G1Affine{g1}), layout.Bytes([]bn254.G2Affine{g2})},
				{layout.Bytes([]bls12381.G1Affine{h1}), layout.Bytes([]bls12381.G2Affine{h2})}}[c/3][g-1]
			all, k := backend.Range{Space: points, Count: n}, backend.Range{Space: scalars, Count: n}
			one := backend.Range{Space: points, Offset: 0, Count: 1}
			rest := backend.Range{Space: points, Offset: 1, Count: n - 1}
			ratio := make([]byte, c.ScalarBytes())
			copy(ratio, "a scalar of three and more words")
			ratio[len(ratio)-1] = 0
			first := bytes.Clone(ratio)
			for name, s := range map[string]backend.Step{
				"fixed-base": backend.MultiplyPoints{Dst: rest, Src: one, Scalars: backend.Range{Space: scalars, Count: n - 1}},
				"transform":  backend.Transform{Dst: all, Src: all, Inverse: true},
				"subgroup":   backend.CheckPoints{Src: all, Subgroup: true},
				"compressed": backend.Read{Src: all, Encoding: backend.Compressed},
			} {
				b.Run(fmt.Sprintf("%v/%v/%s/%d", c, g, name, n), func(b *testing.B) {
					if _, err := v.Run(b.Context(), []backend.Step{backend.Write{Dst: one, Input: backend.Input{Bytes: base}},
						backend.Powers{Dst: k, First: first, Ratio: ratio},
						backend.MultiplyPoints{Dst: rest, Src: one, Scalars: backend.Range{Space: scalars, Count: n - 1}}}); err != nil {
						b.Fatal(err)
					}
					for b.Loop() {
						if _, err := v.Run(b.Context(), []backend.Step{s}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
