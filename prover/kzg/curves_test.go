package kzg_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	stock377 "github.com/consensys/gnark-crypto/ecc/bls12-377/kzg"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	stock381 "github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	stock254 "github.com/consensys/gnark-crypto/ecc/bn254/kzg"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	stock761 "github.com/consensys/gnark-crypto/ecc/bw6-761/kzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/kzg"
)

// on is one curve: gnark-crypto's functions and ours.
type on[P, S, O, B, PK, VK, SRS any] struct {
	curve backend.Curve

	newSRS   func(size uint64, alpha *big.Int) (*SRS, error)
	keys     func(*SRS) (PK, VK)
	points   func(PK) []P
	commit   func([]S, PK, ...int) (P, error)
	open     func([]S, S, PK) (O, error)
	batch    func([][]S, []P, S, hash.Hash, PK, ...[]byte) (B, error)
	verify   func(*P, *O, S, VK) error
	batchOK  func([]P, *B, S, hash.Hash, VK, ...[]byte) error
	lagrange func([]P) ([]P, error)

	// Errors: a polynomial is too long, digests are not as many as polynomials, a key is too short.
	size, count, least error

	load        func(context.Context, *engine.Engine, PK) (*kzg.Key[P, S, O, B], error)
	ourSRS      func(context.Context, *engine.Engine, uint64, *big.Int) (*SRS, error)
	ourLagrange func(context.Context, *engine.Engine, []P) ([]P, error)
	read        func(context.Context, *engine.Engine, io.Reader) (*SRS, error)
	multiproofs func(context.Context, *engine.Engine, PK, kzg.Cosets) (*kzg.Multiproofs[P, S], error)
}

// compared is a curve without its types.
type compared interface {
	equals(t *testing.T, e *engine.Engine, n int, alpha *big.Int)
	keysEqual(t *testing.T, e *engine.Engine, n int, alpha *big.Int)
	openings(t *testing.T, e *engine.Engine, c kzg.Cosets, matrix bool, polynomials ...int)
}

var curveTests = map[backend.Curve]compared{
	backend.BN254: on[bn254.G1Affine, fr254.Element, stock254.OpeningProof, stock254.BatchOpeningProof,
		stock254.ProvingKey, stock254.VerifyingKey, stock254.SRS]{
		backend.BN254,
		stock254.NewSRS, func(s *stock254.SRS) (stock254.ProvingKey, stock254.VerifyingKey) { return s.Pk, s.Vk },
		func(k stock254.ProvingKey) []bn254.G1Affine { return k.G1 },
		stock254.Commit, stock254.Open, stock254.BatchOpenSinglePoint, stock254.Verify, stock254.BatchVerifySinglePoint, stock254.ToLagrangeG1,
		stock254.ErrInvalidPolynomialSize, stock254.ErrInvalidNbDigests, stock254.ErrMinSRSSize,
		kzg.LoadBN254, kzg.NewSRSBN254, kzg.ToLagrangeBN254, kzg.ReadSRSBN254, kzg.LoadMultiproofsBN254,
	},
	backend.BLS12377: on[bls12377.G1Affine, fr377.Element, stock377.OpeningProof, stock377.BatchOpeningProof,
		stock377.ProvingKey, stock377.VerifyingKey, stock377.SRS]{
		backend.BLS12377,
		stock377.NewSRS, func(s *stock377.SRS) (stock377.ProvingKey, stock377.VerifyingKey) { return s.Pk, s.Vk },
		func(k stock377.ProvingKey) []bls12377.G1Affine { return k.G1 },
		stock377.Commit, stock377.Open, stock377.BatchOpenSinglePoint, stock377.Verify, stock377.BatchVerifySinglePoint, stock377.ToLagrangeG1,
		stock377.ErrInvalidPolynomialSize, stock377.ErrInvalidNbDigests, stock377.ErrMinSRSSize,
		kzg.LoadBLS12377, kzg.NewSRSBLS12377, kzg.ToLagrangeBLS12377, kzg.ReadSRSBLS12377, kzg.LoadMultiproofsBLS12377,
	},
	backend.BLS12381: on[bls12381.G1Affine, fr381.Element, stock381.OpeningProof, stock381.BatchOpeningProof,
		stock381.ProvingKey, stock381.VerifyingKey, stock381.SRS]{
		backend.BLS12381,
		stock381.NewSRS, func(s *stock381.SRS) (stock381.ProvingKey, stock381.VerifyingKey) { return s.Pk, s.Vk },
		func(k stock381.ProvingKey) []bls12381.G1Affine { return k.G1 },
		stock381.Commit, stock381.Open, stock381.BatchOpenSinglePoint, stock381.Verify, stock381.BatchVerifySinglePoint, stock381.ToLagrangeG1,
		stock381.ErrInvalidPolynomialSize, stock381.ErrInvalidNbDigests, stock381.ErrMinSRSSize,
		kzg.LoadBLS12381, kzg.NewSRSBLS12381, kzg.ToLagrangeBLS12381, kzg.ReadSRSBLS12381, kzg.LoadMultiproofsBLS12381,
	},
	backend.BW6761: on[bw6761.G1Affine, fr761.Element, stock761.OpeningProof, stock761.BatchOpeningProof,
		stock761.ProvingKey, stock761.VerifyingKey, stock761.SRS]{
		backend.BW6761,
		stock761.NewSRS, func(s *stock761.SRS) (stock761.ProvingKey, stock761.VerifyingKey) { return s.Pk, s.Vk },
		func(k stock761.ProvingKey) []bw6761.G1Affine { return k.G1 },
		stock761.Commit, stock761.Open, stock761.BatchOpenSinglePoint, stock761.Verify, stock761.BatchVerifySinglePoint, stock761.ToLagrangeG1,
		stock761.ErrInvalidPolynomialSize, stock761.ErrInvalidNbDigests, stock761.ErrMinSRSSize,
		kzg.LoadBW6761, kzg.NewSRSBW6761, kzg.ToLagrangeBW6761, kzg.ReadSRSBW6761, kzg.LoadMultiproofsBW6761,
	},
}

// random returns n random scalars.
func (s on[P, S, O, B, PK, VK, SRS]) random(t *testing.T, n int) []S {
	t.Helper()
	b, err := fixtures.Scalars(s.curve, fixtures.Uniform, rand.Uint64(), n)
	if err != nil {
		t.Fatal(err)
	}
	v, err := layout.View[S](b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// equals wants the same answers of both sides for polynomials of many lengths, and the same
// errors.
func (s on[P, S, O, B, PK, VK, SRS]) equals(t *testing.T, e *engine.Engine, n int, alpha *big.Int) {
	srs, err := s.newSRS(uint64(n), alpha)
	if err != nil {
		t.Fatal(err)
	}
	pk, vk := s.keys(srs)
	k, err := s.load(t.Context(), e, pk)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	// gnark-crypto 0.22's kzg.Committer has this method, in these types.
	var _ interface {
		Commit([]S) (P, error)
	} = k.Committer(t.Context())

	ctx, point := t.Context(), s.random(t, 1)[0]
	same := func(what string, got any, err error, want any, wantErr error) {
		t.Helper()
		if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s differs from gnark-crypto's: %v, %v; want %v, %v", what, got, err, want, wantErr)
		}
	}
	var polynomials [][]S
	var digests []P
	for _, size := range []int{n - 7, 0, 1, 2, n, n - 1} {
		p := s.random(t, size)
		before := append([]S{}, p...)
		c, err := k.Commit(ctx, p, 1)
		want, wantErr := s.commit(p, pk)
		if size == 0 && wantErr != nil { // gnark-crypto below v0.20
			same("commitment to nothing", c, err, want, nil)
			continue
		}
		same("commitment", c, err, want, wantErr)
		c, err = k.Committer(ctx).Commit(p)
		same("the Committer's commitment", c, err, want, wantErr)
		o, err := k.Open(ctx, p, point)
		if wantO, wantErr := s.open(p, point, pk); size != 1 || wantErr == nil { // below v0.20 it opens no constants
			same("opening", o, err, wantO, wantErr)
		}
		if !reflect.DeepEqual(append([]S{}, p...), before) {
			t.Errorf("a polynomial of %d coefficients was changed", size)
		}
		if err := s.verify(&c, &o, point, vk); err != nil {
			t.Errorf("opening of %d coefficients: %v", size, err)
		}
		polynomials, digests = append(polynomials, p), append(digests, c)
	}
	for count := 1; count <= len(polynomials); count++ {
		data := [][]byte{[]byte("some"), []byte("data")}[:count%3]
		b, err := k.BatchOpenSinglePoint(ctx, polynomials[:count], digests[:count], point, sha256.New(), data...)
		want, wantErr := s.batch(polynomials[:count], digests[:count], point, sha256.New(), pk, data...)
		same("batch opening", b, err, want, wantErr)
		if err := s.batchOK(digests[:count], &b, point, sha256.New(), vk, data...); err != nil {
			t.Errorf("batch opening of %d: %v", count, err)
		}
	}

	long := s.random(t, n+1)
	_, err = k.Commit(ctx, long)
	wantError(t, "Commit", err, s.size)
	_, err = k.Committer(ctx).Commit(long)
	wantError(t, "Committer", err, s.size)
	_, err = k.Open(ctx, long, point)
	wantError(t, "Open", err, s.size)
	_, err = k.BatchOpenSinglePoint(ctx, [][]S{long}, digests[:1], point, sha256.New())
	wantError(t, "BatchOpenSinglePoint", err, s.size)
	_, err = k.BatchOpenSinglePoint(ctx, polynomials, digests[:1], point, sha256.New())
	wantError(t, "BatchOpenSinglePoint", err, s.count)
	_, err = k.BatchOpenSinglePoint(ctx, nil, nil, point, sha256.New())
	wantError(t, "BatchOpenSinglePoint of nothing", err, backend.ErrInvalidInput)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = k.Commit(cancelled, polynomials[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err = k.Committer(cancelled).Commit(polynomials[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Committer: %v", err)
	}
}

// keysEqual wants keys that are made and read on the engine to be gnark-crypto's.
func (s on[P, S, O, B, PK, VK, SRS]) keysEqual(t *testing.T, e *engine.Engine, n int, alpha *big.Int) {
	ctx := t.Context()
	want, err := s.newSRS(uint64(n), alpha)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.ourSRS(ctx, e, uint64(n), alpha)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a key of %d points differs from gnark-crypto's: %v", n, err)
	}
	writer := any(want).(kzg.SRS)
	for name, write := range map[string]func(io.Writer) (int64, error){
		"compressed": writer.WriteTo, "raw": writer.WriteRawTo,
		"dumped": func(w io.Writer) (int64, error) { return 0, writer.WriteDump(w) },
	} {
		var file bytes.Buffer
		if _, err := write(&file); err != nil {
			t.Fatal(err)
		}
		file.WriteByte(7) // behind the key
		written := bytes.Clone(file.Bytes()[:file.Len()-1])
		read, err := s.read(ctx, e, &file)
		if err != nil || !reflect.DeepEqual(read, want) || file.Len() != 1 {
			t.Errorf("a %s key of %d points is not the one that was written: %v", name, n, err)
		}
		untyped, err := kzg.ReadSRS(ctx, e, curves.ID(s.curve), bytes.NewReader(written))
		if err != nil || !reflect.DeepEqual(untyped, writer) {
			t.Errorf("a %s key of %d points, by its curve, is not the one that was written: %v", name, n, err)
		}
		if alpha.Cmp(big.NewInt(1)) <= 0 {
			continue // one secret is enough for damaged keys
		}
		for at := 0; at < len(written); at += len(written) / 5 {
			if _, err := s.read(ctx, e, bytes.NewReader(written[:at])); !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("a %s key cut at %d: %v", name, at, err)
			}
		}
		written[len(written)-5] ^= 1
		if _, err := s.read(ctx, e, bytes.NewReader(written)); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("a %s key with wrong lines: %v", name, err)
		}
	}
	pk, _ := s.keys(want)
	form, err := s.lagrange(s.points(pk))
	if err != nil {
		t.Fatal(err)
	}
	points, err := s.ourLagrange(ctx, e, s.points(pk))
	if err != nil || !reflect.DeepEqual(points, form) {
		t.Errorf("the Lagrange form of %d points differs from gnark-crypto's: %v", n, err)
	}
	if _, err := s.ourLagrange(ctx, e, s.points(pk)[:n-1]); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a key of %d points in Lagrange form: %v", n-1, err)
	}
	if _, err := s.ourSRS(ctx, e, 1, alpha); !errors.Is(err, s.least) {
		t.Errorf("a key of one point: %v", err)
	}
}

// openings wants the values and proofs of random polynomials to be what the secret of a key
// says, by numbers of math/big.
func (s on[P, S, O, B, PK, VK, SRS]) openings(t *testing.T, e *engine.Engine, c kzg.Cosets, matrix bool, polynomials ...int) {
	alpha := big.NewInt(987654321)
	srs, err := s.newSRS(uint64(c.Coefficients), alpha)
	if err != nil {
		t.Fatal(err)
	}
	pk, _ := s.keys(srs)
	m, err := s.multiproofs(t.Context(), e, pk, c)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	kzg.ByMatrix(m, matrix, 3) // the matrix for three is resident, for two it is made in the program
	var given [][]S
	for _, n := range polynomials {
		given = append(given, s.random(t, n))
	}
	all, err := m.Open(t.Context(), given...)
	if err != nil {
		t.Fatal(err)
	}
	r := s.curve.ScalarField()
	w := s.root(t, c.Domain)
	power := func(x *big.Int, k int) *big.Int { return new(big.Int).Exp(x, big.NewInt(int64(k)), r) }
	for i := range given {
		p, count := s.numbers(t, given[i]), c.Domain/c.Size
		for j := range count {
			for k, got := range s.numbers(t, all[i].Values[j]) {
				want, x := new(big.Int), power(w, j+count*k)
				for n := len(p) - 1; n >= 0; n-- {
					want.Mod(want.Add(want.Mul(want, x), p[n]), r)
				}
				if got.Cmp(want) != 0 {
					t.Fatalf("value %d of coset %d of polynomial %d is wrong", k, j, i)
				}
			}
			// The quotient by X^l - z at alpha, by long division.
			z, q, rest := power(w, j*c.Size), new(big.Int), s.numbers(t, given[i])
			for k := len(rest) - 1; k >= c.Size; k-- {
				q.Add(q, new(big.Int).Mul(power(alpha, k-c.Size), rest[k]))
				rest[k-c.Size].Add(rest[k-c.Size], rest[k].Mul(rest[k], z))
			}
			want := curves.Of(s.curve).G1.Sums(1)
			want.Set(0, curves.Of(s.curve).G1.Generator(), 0)
			want.Multiply(0, q.Mod(q, r))
			if !bytes.Equal(layout.Bytes(all[i].Proofs[j:j+1]), want.Point(0)) {
				t.Fatalf("proof %d of polynomial %d of %d coefficients is wrong", j, i, len(p))
			}
		}
	}
	if _, err := m.Open(t.Context(), make([]S, c.Coefficients+1)); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a polynomial that is too long: %v", err)
	}
	if _, err := s.multiproofs(t.Context(), e, pk,
		kzg.Cosets{Coefficients: 2 * c.Coefficients, Domain: 2 * c.Coefficients, Size: 1}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a key that is too short: %v", err)
	}
}

// numbers returns the values of scalars.
func (s on[P, S, O, B, PK, VK, SRS]) numbers(t *testing.T, of []S) (v []*big.Int) {
	t.Helper()
	e, err := curves.Of(s.curve).Fr.Elements(layout.Bytes(of))
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.Len() {
		v = append(v, e.Int(i, new(big.Int)))
	}
	return v
}

// root returns gnark-crypto's root of unity of order n.
func (s on[P, S, O, B, PK, VK, SRS]) root(t *testing.T, n int) *big.Int {
	t.Helper()
	w, err := curves.Of(s.curve).Fr.Root(n)
	if err != nil {
		t.Fatal(err)
	}
	return w.Int(0, new(big.Int))
}
