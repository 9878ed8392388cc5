package mpcsetup_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	rand2 "math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	crypto "github.com/consensys/gnark-crypto/ecc/bn254/mpcsetup"
	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/groth16"
	bls12377mpc "github.com/consensys/gnark/backend/groth16/bls12-377/mpcsetup"
	bls12381mpc "github.com/consensys/gnark/backend/groth16/bls12-381/mpcsetup"
	bn254mpc "github.com/consensys/gnark/backend/groth16/bn254/mpcsetup"
	bw6761mpc "github.com/consensys/gnark/backend/groth16/bw6-761/mpcsetup"
	cs "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/groth16/mpcsetup"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/heaptest"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

func newEngine(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := pippin.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// randomly runs f with fixed randomness. Nothing else may run meanwhile.
func randomly(seed byte, f func()) { withReader(rand2.NewChaCha8([32]byte{seed}), f) }

func withReader(r io.Reader, f func()) {
	was := rand.Reader
	defer func() { rand.Reader = was }()
	rand.Reader = r
	f()
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func written(t testing.TB, v io.WriterTo) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := v.WriteTo(&b)
	must(t, err)
	if n != int64(b.Len()) {
		t.Fatalf("WriteTo says %d, it wrote %d bytes", n, b.Len())
	}
	return b.Bytes()
}

func read(t testing.TB, v io.ReaderFrom, b []byte) {
	t.Helper()
	n, err := v.ReadFrom(bytes.NewReader(b))
	must(t, err)
	if n != int64(len(b)) {
		t.Fatalf("gnark read %d of %d bytes", n, len(b))
	}
}

func keyBytes(t testing.TB, pk groth16.ProvingKey, vk groth16.VerifyingKey) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, write := range []func(io.Writer) (int64, error){pk.WriteRawTo, vk.WriteRawTo} {
		_, err := write(&b)
		must(t, err)
	}
	return b.Bytes()
}

func compile(t testing.TB, curve ecc.ID, s samples.Sample) any {
	t.Helper()
	ccs, err := frontend.Compile(curve.ScalarField(), r1cs.NewBuilder, s.Circuit())
	must(t, err)
	return ccs
}

// phase1 and phase2 are what gnark's types of four curves have in common.
type phase1[T, C any] interface {
	*T
	io.WriterTo
	io.ReaderFrom
	Initialize(n uint64)
	Contribute()
	Verify(*T) error
	Seal(beacon []byte) C
}

type phase2[Q, C, E, R any] interface {
	*Q
	io.WriterTo
	io.ReaderFrom
	Initialize(*R, *C) E
	Contribute()
	Verify(*Q) error
	Seal(*C, *E, []byte) (groth16.ProvingKey, groth16.VerifyingKey)
}

// TestCeremony lets gnark and the engine contribute in turns, on four curves. Each verifies the
// other's contributions. With the same randomness they do the same.
func TestCeremony(t *testing.T) {
	t.Run("BN254", func(t *testing.T) {
		for _, name := range []string{"commitments", "random of 60", "nothing private"} {
			t.Run(name, func(t *testing.T) { testCeremony[bn254mpc.Phase1](t, mpcsetup.BN254, ecc.BN254, name) })
		}
	})
	t.Run("BLS12-377", func(t *testing.T) {
		testCeremony[bls12377mpc.Phase1](t, mpcsetup.BLS12377, ecc.BLS12_377, "commitments")
	})
	t.Run("BLS12-381", func(t *testing.T) {
		testCeremony[bls12381mpc.Phase1](t, mpcsetup.BLS12381, ecc.BLS12_381, "commitments")
	})
	t.Run("BW6-761", func(t *testing.T) { testCeremony[bw6761mpc.Phase1](t, mpcsetup.BW6761, ecc.BW6_761, "cubic") })
}

func testCeremony[T, P1, P2 any, S comparable, U, C, Q, E, R any, PT phase1[T, C], PQ phase2[Q, C, E, R]](t *testing.T,
	c *mpcsetup.Ceremony[P1, P2, S, U, C, Q, E, R], curve ecc.ID, circuit string) {
	defer mpcsetup.Part(37)() // so that programs have few points and are many, as in a long ceremony
	ctx := t.Context()
	var f faulty.Backends
	e := newEngine(t, engine.Config{Open: f.Open})
	sample := samples.ByName(circuit)
	ccs := compile(t, curve, sample)
	system := ccs.(*R)
	n := int(ecc.NextPowerOfTwo(max(2, uint64(ccs.(interface{ GetNbConstraints() int }).GetNbConstraints()))))

	// Phase 1: gnark, the engine, gnark.
	theirs := [3]PT{new(T), new(T), new(T)}
	theirs[0].Initialize(uint64(n))
	start := written(t, theirs[0])
	first := c.NewPhase1(n)
	if first.Len() != n || !bytes.Equal(written(t, first), start) {
		t.Fatal("the beginning of phase 1 is not gnark's")
	}
	randomly(1, theirs[0].Contribute)
	files := [][]byte{written(t, theirs[0])}
	ours, err := c.ReadPhase1(ctx, e, io.MultiReader(bytes.NewReader(files[0]), failing{t}))
	must(t, err)
	if !bytes.Equal(written(t, ours), files[0]) {
		t.Fatal("a contribution changes when it is read and written")
	}
	must(t, c.VerifyPhase1Step(ctx, e, first, ours))

	mine, err := c.ReadPhase1(ctx, e, bytes.NewReader(start))
	must(t, err)
	randomly(1, func() { must(t, c.ContributePhase1(ctx, e, mine)) })
	if !bytes.Equal(written(t, mine), files[0]) {
		t.Error("another contribution to phase 1 than gnark's of the same randomness")
	}
	must(t, c.ContributePhase1(ctx, e, ours))
	files = append(files, written(t, ours))
	read(t, theirs[1], files[1])
	must(t, theirs[0].Verify(theirs[1]))

	read(t, theirs[2], files[1])
	theirs[2].Contribute()
	files = append(files, written(t, theirs[2]))
	var all []*mpcsetup.Phase1[P1, P2, U]
	for _, b := range files {
		p, err := c.ReadPhase1(ctx, e, bytes.NewReader(b))
		must(t, err)
		all = append(all, p)
	}
	if !bytes.Equal(all[2].Challenge(), theirs1Challenge(theirs[2])) {
		t.Error("another challenge than gnark's")
	}
	beacon := []byte("a beacon")
	commons, err := c.VerifyPhase1(ctx, e, n, beacon, all)
	must(t, err)
	if !bytes.Equal(written(t, all[2]), files[2]) {
		t.Error("the seal changed the last contribution")
	}
	want := theirs[2].Seal(beacon)
	if !reflect.DeepEqual(*commons, want) {
		t.Fatal("other powers than gnark's of the same contributions and beacon")
	}
	again, err := c.ReadCommons(ctx, e, bytes.NewReader(written(t, any(commons).(io.WriterTo))))
	must(t, err)
	if !reflect.DeepEqual(again, commons) {
		t.Error("the powers change when they are written and read")
	}

	// Phase 2 begins the same for both, and goes on in turns.
	theirs2 := [3]PQ{new(Q), new(Q), new(Q)}
	evaluated := theirs2[0].Initialize(system, commons)
	q, evaluations, err := c.InitializePhase2(ctx, e, system, commons)
	must(t, err)
	start2 := written(t, theirs2[0])
	if !bytes.Equal(written(t, PQ(q)), start2) {
		t.Fatal("the beginning of phase 2 is not gnark's")
	}
	if fmt.Sprint(*evaluations) != fmt.Sprint(evaluated) { // nil is an empty slice
		t.Fatal("other evaluations than gnark's")
	}
	randomly(2, theirs2[0].Contribute)
	files = [][]byte{written(t, theirs2[0])}
	ours2, err := c.ReadPhase2(ctx, e, io.MultiReader(bytes.NewReader(files[0]), failing{t}))
	must(t, err)
	must(t, c.VerifyPhase2Step(ctx, e, q, ours2))
	mine2, err := c.ReadPhase2(ctx, e, bytes.NewReader(start2))
	must(t, err)
	randomly(2, func() { must(t, c.ContributePhase2(ctx, e, mine2)) })
	if !bytes.Equal(written(t, PQ(mine2)), files[0]) {
		t.Error("another contribution to phase 2 than gnark's of the same randomness")
	}
	must(t, c.ContributePhase2(ctx, e, ours2))
	files = append(files, written(t, PQ(ours2)))
	read(t, theirs2[1], files[1])
	must(t, theirs2[0].Verify(theirs2[1]))
	read(t, theirs2[2], files[1])
	theirs2[2].Contribute()
	files = append(files, written(t, theirs2[2]))
	var all2 []*Q
	for _, b := range files {
		p, err := c.ReadPhase2(ctx, e, bytes.NewReader(b))
		must(t, err)
		all2 = append(all2, p)
	}
	pk, vk, err := c.VerifyPhase2(ctx, e, system, commons, beacon, all2)
	must(t, err)
	if !bytes.Equal(written(t, PQ(all2[2])), files[2]) {
		t.Error("the seal changed the last contribution")
	}
	wantPK, wantVK := theirs2[2].Seal(commons, &evaluated, beacon)
	if !bytes.Equal(keyBytes(t, pk, vk), keyBytes(t, wantPK, wantVK)) || !reflect.DeepEqual(vk, wantVK) {
		t.Fatal("other keys than gnark's of the same contributions and beacon")
	}
	proves(t, curve, sample, pk, vk)
	if n := f.Held(); n != 0 {
		t.Errorf("%d bases and spaces are left", n)
	}
}

// theirs1Challenge returns the field challenge of a gnark Phase1.
func theirs1Challenge(p any) []byte {
	return reflect.ValueOf(p).Elem().FieldByName("Challenge").Bytes()
}

// failing fails the test when it is read.
type failing struct{ t *testing.T }

func (f failing) Read([]byte) (int, error) {
	f.t.Error("a byte behind the contribution was read")
	return 0, io.EOF
}

// proves makes and verifies a proof with gnark.
func proves(t testing.TB, curve ecc.ID, s samples.Sample, pk groth16.ProvingKey, vk groth16.VerifyingKey) {
	t.Helper()
	ccs, err := frontend.Compile(curve.ScalarField(), r1cs.NewBuilder, s.Circuit())
	must(t, err)
	w, err := frontend.NewWitness(s.Assign(curve.ScalarField(), 3), curve.ScalarField())
	must(t, err)
	proof, err := groth16.Prove(ccs, pk, w, gnark.WithSolverOptions(samples.Hints))
	must(t, err)
	public, err := w.Public()
	must(t, err)
	must(t, groth16.Verify(proof, vk, public))
}

// small is the domain of the wrong contributions.
const small = 8

// TestWrongPhase1 replaces each part of a contribution by another valid part. The verification must
// refuse it.
func TestWrongPhase1(t *testing.T) {
	const s1, s2 = bn254.SizeOfG1AffineCompressed, bn254.SizeOfG2AffineCompressed
	c, ctx := mpcsetup.BN254, t.Context()
	before := c.NewPhase1(small)
	must(t, c.ContributePhase1(ctx, nil, before))
	b := written(t, before)
	p, err := c.ReadPhase1(ctx, nil, bytes.NewReader(b))
	must(t, err)
	must(t, c.ContributePhase1(ctx, nil, p))
	good, other := written(t, p), c.NewPhase1(small)
	must(t, c.ContributePhase1(ctx, nil, other))
	valid := written(t, other) // with valid parts that do not belong to this one
	const proofs = 3 * (s1 + s2)
	parts := map[string][2]int{ // offset and length
		"the proof of tau": {0, s1 + s2}, "the proof of alpha": {s1 + s2, s1 + s2}, "the proof of beta": {2 * (s1 + s2), s1 + s2},
		"the commitment of tau": {0, s1}, "what proves beta": {2*(s1+s2) + s1, s2},
		"beta on G2": {proofs + 8, s2},
	}
	at := proofs + 8 + s2
	for _, v := range []struct {
		name    string
		n, size int
	}{{"tau on G1", 2*small - 2, s1}, {"tau on G2", small - 1, s2}, {"beta", small, s1}, {"alpha", small, s1}} {
		for _, i := range []int{0, 1, v.n / 2, v.n - 1} {
			parts[fmt.Sprintf("%s, point %d", v.name, i)] = [2]int{at + i*v.size, v.size}
		}
		at += v.n * v.size
	}
	parts["the challenge"] = [2]int{at + 1, 32}
	if at+33 != len(good) {
		t.Fatalf("the parts are %d bytes, the contribution has %d", at+33, len(good))
	}
	verify := func(b []byte) error {
		next, err := c.ReadPhase1(ctx, nil, bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		return c.VerifyPhase1Step(ctx, nil, before, next)
	}
	must(t, verify(good))
	for what, p := range parts {
		bad := bytes.Clone(good)
		copy(bad[p[0]:p[0]+p[1]], valid[p[0]:])
		if err := verify(bad); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s is another: %v", what, err)
		}
	}
	// gnark too accepts a contribution that ends without its challenge.
	if err := verify(append(bytes.Clone(good[:at]), 0)); err != nil {
		t.Errorf("without the challenge: %v", err)
	}
	larger := c.NewPhase1(2 * small)
	if err := c.VerifyPhase1Step(ctx, nil, before, larger); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("of another size: %v", err)
	}
	if err := c.VerifyPhase1Step(ctx, nil, before, c.NewPhase1(small)); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("of nobody: %v", err)
	}
	if _, err := c.VerifyPhase1(ctx, nil, small, nil, []*mpcsetup.BN254Phase1{p}); err == nil ||
		!strings.Contains(err.Error(), "contribution 0") {
		t.Errorf("without the one before: %v", err)
	}
}

// TestWrongPhase2 does the same for phase 2, in memory.
func TestWrongPhase2(t *testing.T) {
	c, ctx := mpcsetup.BN254, t.Context()
	system := compile(t, ecc.BN254, samples.ByName("commitments")).(*cs.R1CS)
	n := int(ecc.NextPowerOfTwo(uint64(system.GetNbConstraints())))
	commons, err := c.SealPhase1(ctx, nil, c.NewPhase1(n), nil)
	must(t, err)
	before, _, err := c.InitializePhase2(ctx, nil, system, commons)
	must(t, err)
	good := written(t, before)
	contributed := func() *bn254mpc.Phase2 {
		q, err := c.ReadPhase2(ctx, nil, bytes.NewReader(good))
		must(t, err)
		must(t, c.ContributePhase2(ctx, nil, q))
		return q
	}
	next, other := written(t, contributed()), contributed()
	for what, change := range map[string]func(q *bn254mpc.Phase2){
		"":                     func(q *bn254mpc.Phase2) {},
		"delta on G1":          func(q *bn254mpc.Phase2) { q.Parameters.G1.Delta = other.Parameters.G1.Delta },
		"delta on G2":          func(q *bn254mpc.Phase2) { q.Parameters.G2.Delta = other.Parameters.G2.Delta },
		"Z":                    func(q *bn254mpc.Phase2) { q.Parameters.G1.Z[3] = other.Parameters.G1.Z[3] },
		"the last of PKK":      func(q *bn254mpc.Phase2) { k := q.Parameters.G1.PKK; k[len(k)-1] = k[0] },
		"all of Z":             func(q *bn254mpc.Phase2) { copy(q.Parameters.G1.Z, other.Parameters.G1.Z) },
		"sigma":                func(q *bn254mpc.Phase2) { q.Parameters.G2.Sigma[1] = other.Parameters.G2.Sigma[1] },
		"SigmaCKK":             func(q *bn254mpc.Phase2) { q.Parameters.G1.SigmaCKK[0][1] = other.Parameters.G1.SigmaCKK[0][1] },
		"the proof of delta":   func(q *bn254mpc.Phase2) { q.Delta = other.Delta },
		"the proof of sigma":   func(q *bn254mpc.Phase2) { q.Sigmas[0] = other.Sigmas[0] },
		"proofs that changed":  func(q *bn254mpc.Phase2) { q.Sigmas[0], q.Sigmas[1] = q.Sigmas[1], q.Sigmas[0] },
		"a proof of nothing":   func(q *bn254mpc.Phase2) { q.Delta = crypto.UpdateProof{} },
		"the challenge":        func(q *bn254mpc.Phase2) { q.Challenge[0] ^= 1 },
		"fewer points":         func(q *bn254mpc.Phase2) { q.Parameters.G1.Z = q.Parameters.G1.Z[1:] },
		"fewer in a basis":     func(q *bn254mpc.Phase2) { q.Parameters.G1.SigmaCKK[0] = q.Parameters.G1.SigmaCKK[0][1:] },
		"fewer proofs":         func(q *bn254mpc.Phase2) { q.Sigmas = q.Sigmas[1:] },
		"fewer commitments":    func(q *bn254mpc.Phase2) { q.Sigmas, q.Parameters.G2.Sigma, q.Parameters.G1.SigmaCKK = nil, nil, nil },
		"a contribution to it": func(q *bn254mpc.Phase2) { q.Contribute() },
	} {
		q, err := c.ReadPhase2(ctx, nil, bytes.NewReader(next))
		must(t, err)
		change(q)
		if err := c.VerifyPhase2Step(ctx, nil, before, q); what == "" && err != nil || what != "" && !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("another: %q: %v", what, err)
		}
	}
	short, err := c.SealPhase1(ctx, nil, c.NewPhase1(2), nil)
	must(t, err)
	if _, _, err := c.InitializePhase2(ctx, nil, system, short); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("more constraints than powers: %v", err)
	}
	commons.G1.Tau = commons.G1.Tau[1:]
	if _, _, err := c.InitializePhase2(ctx, nil, system, commons); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("powers of no domain: %v", err)
	}
}

// TestDamagedFiles cuts files, changes a bit in each part, and puts in points outside of the
// subgroup.
func TestDamagedFiles(t *testing.T) {
	const s1, s2 = bls12381.SizeOfG1AffineCompressed, bls12381.SizeOfG2AffineCompressed
	c, ctx := mpcsetup.BLS12381, t.Context()
	e := newEngine(t, engine.Config{Backend: "cpu"})
	p := c.NewPhase1(4)
	first := written(t, p)
	must(t, c.ContributePhase1(ctx, e, p))
	good := written(t, p)
	readIt := func(b []byte) (err error) {
		_, err = c.ReadPhase1(ctx, e, bytes.NewReader(b))
		return err
	}
	for n := 0; n < len(good); n += 1 + len(good)/41 {
		if err := readIt(good[:n]); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("cut at %d of %d: %v", n, len(good), err)
		}
	}
	before, err := c.ReadPhase1(ctx, e, bytes.NewReader(first))
	must(t, err)
	for at := 7; at < len(good); at += 1 + len(good)/53 {
		bad := bytes.Clone(good)
		bad[at] ^= 4
		next, err := c.ReadPhase1(ctx, e, bytes.NewReader(bad))
		if err == nil {
			err = c.VerifyPhase1Step(ctx, e, before, next)
		}
		if !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("a bit of byte %d is another: %v", at, err)
		}
	}
	const tau = 3*(s1+s2) + 8 + s2
	bad := bytes.Clone(good)
	outside := outsideOfSubgroup(t)
	copy(bad[tau+2*s1:], outside[:])
	if err := readIt(bad); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "G1.Tau[1:][2]: not in the subgroup") {
		t.Errorf("a point outside of the subgroup: %v", err)
	}
	for _, n := range []uint64{0, 3, 1 << 60} {
		bad := bytes.Clone(good)
		binary.BigEndian.PutUint64(bad[3*(s1+s2):], n)
		if err := readIt(bad); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "size of the domain") {
			t.Errorf("a domain of %d elements: %v", n, err)
		}
	}
	claims := binary.BigEndian.AppendUint64(bytes.Clone(good[:3*(s1+s2)]), 1<<27)
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	if err := readIt(append(claims, good[3*(s1+s2)+8:]...)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("more claimed than there is: %v", err)
	}
	runtime.ReadMemStats(&m1)
	if n := m1.TotalAlloc - m0.TotalAlloc; n > 1<<28 {
		t.Errorf("%d bytes were taken for what is not there", n)
	}

	system := compile(t, ecc.BN254, samples.ByName("commitments")).(*cs.R1CS)
	commons, err := mpcsetup.BN254.SealPhase1(ctx, e,
		mpcsetup.BN254.NewPhase1(int(ecc.NextPowerOfTwo(uint64(system.GetNbConstraints())))), nil)
	must(t, err)
	q, _, err := mpcsetup.BN254.InitializePhase2(ctx, e, system, commons)
	must(t, err)
	good = written(t, q)
	for n := 0; n < len(good); n += 1 + len(good)/41 {
		if _, err := mpcsetup.BN254.ReadPhase2(ctx, e, bytes.NewReader(good[:n])); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("phase 2 cut at %d of %d: %v", n, len(good), err)
		}
	}
}

// outsideOfSubgroup returns a point of BLS12-381 that is on the curve but not in the subgroup.
func outsideOfSubgroup(t *testing.T) [bls12381.SizeOfG1AffineCompressed]byte {
	t.Helper()
	var p bls12381.G1Affine
	four := fp.NewElement(4)
	for p.X.SetUint64(5); ; p.X.Add(&p.X, new(fp.Element).SetOne()) {
		var y2 fp.Element
		y2.Square(&p.X).Mul(&y2, &p.X).Add(&y2, &four)
		if p.Y.Sqrt(&y2) != nil && p.IsOnCurve() && !p.IsInSubGroup() {
			return p.Bytes()
		}
	}
}

// TestDeathAndEnd kills the backend at each of its computing calls in turn, and ends the context in
// the middle. A contribution is complete or there is none.
func TestDeathAndEnd(t *testing.T) {
	defer mpcsetup.Part(7)()
	c := mpcsetup.BN254
	start := written(t, c.NewPhase1(small))
	contribute := func(ctx context.Context, e *engine.Engine, opts ...mpcsetup.Option) (b []byte, err error) {
		p, err := c.ReadPhase1(t.Context(), nil, bytes.NewReader(start))
		must(t, err)
		randomly(9, func() { err = c.ContributePhase1(ctx, e, p, opts...) })
		return written(t, p), err
	}
	made, of := 0, 0
	want, err := contribute(t.Context(), nil, mpcsetup.OnPoints(func(points, all int) {
		if points <= made {
			t.Errorf("%d points after %d", points, made)
		}
		made, of = points, all
	}))
	must(t, err)
	if made != of || of != 2*small-1+3*small+1 {
		t.Errorf("told of %d of %d points", made, of)
	}
	for at := int64(1); ; at++ {
		var f faulty.Backends
		e := newEngine(t, engine.Config{Open: f.Open})
		f.Die.Store(at)
		got, err := contribute(t.Context(), e)
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("a death at call %d: another contribution", at)
		}
		if f.Die.Load() > 0 {
			if at < 10 {
				t.Errorf("%d calls compute", at-1)
			}
			break
		}
	}
	p, err := c.ReadPhase1(t.Context(), nil, bytes.NewReader(want))
	must(t, err)
	made, of = 0, 0
	must(t, c.VerifyPhase1Step(t.Context(), nil, c.NewPhase1(small), p, mpcsetup.OnPoints(func(points, all int) { made, of = points, all })))
	if made != of || of != 2*small-2+3*(small-1) {
		t.Errorf("a verification told of %d of %d points", made, of)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got, err := contribute(ctx, nil, mpcsetup.OnPoints(func(points, _ int) { cancel() }))
	if !errors.Is(err, context.Canceled) || !bytes.Equal(got, start) {
		t.Errorf("cancelled: %v, changed: %v", err, !bytes.Equal(got, start))
	}
}

// counter is a reader of bytes that keeps none of them.
type counter uint64

func (c *counter) Read(b []byte) (int, error) {
	for i := range b {
		*c = *c*6364136223846793005 + 1442695040888963407
		b[i] = byte(*c >> 56)
	}
	return len(b), nil
}

// TestContributionIsWiped: the numbers that a contribution drew are gone from memory, in Montgomery
// form and as numbers, and so is some of what was computed from them.
func TestContributionIsWiped(t *testing.T) {
	c, p := mpcsetup.BN254, mpcsetup.BN254.NewPhase1(64)
	var drawn, redrawn counter
	withReader(&drawn, func() { must(t, c.ContributePhase1(t.Context(), nil, p)) })
	dump := heaptest.Dump(t)
	names := []string{"tau", "alpha", "beta", "tau^2", "tau alpha"}
	waste := make([]fr.Element, len(names))
	withReader(&redrawn, func() {
		for i := range 3 {
			waste[i].MustSetRandom()
		}
	})
	if drawn != redrawn {
		t.Fatal("the contribution did not draw what gnark's draws")
	}
	waste[3].Square(&waste[0])
	waste[4].Mul(&waste[0], &waste[1])
	secrets := map[string][]byte{}
	var numbers []*big.Int
	for i, name := range names {
		number := waste[i].BigInt(new(big.Int))
		numbers = append(numbers, number)
		secrets[name] = layout.Bytes(waste[i : i+1])
		secrets[name+" as a number"] = layout.Bytes(number.Bits())
	}
	now := heaptest.Dump(t)
	for what, b := range secrets {
		if bytes.Contains(dump, b) {
			t.Errorf("%s is still in memory", what)
		}
		if !bytes.Contains(now, b) {
			t.Errorf("%s is not found where it is", what)
		}
	}
	runtime.KeepAlive(slices.Concat(numbers))
}

// TestCeremonyOfOne: a ceremony for a circuit of one constraint is gnark's, as far as gnark has one:
// its Verify panics, since no point has a factor of tau.
func TestCeremonyOfOne(t *testing.T) {
	c, ctx := mpcsetup.BN254, t.Context()
	sample := samples.ByName("nothing private")
	system := compile(t, ecc.BN254, sample).(*cs.R1CS)
	if n := system.GetNbConstraints(); n != 1 {
		t.Fatalf("the circuit has %d constraints", n)
	}
	theirs := bn254mpc.NewPhase1(1)
	p := c.NewPhase1(1)
	if !bytes.Equal(written(t, p), written(t, theirs)) {
		t.Fatal("the beginning of phase 1 is not gnark's")
	}
	randomly(1, theirs.Contribute)
	var all []*mpcsetup.Phase1[bn254.G1Affine, bn254.G2Affine, crypto.UpdateProof]
	for i := range 2 {
		if i == 0 {
			randomly(1, func() { must(t, c.ContributePhase1(ctx, nil, p)) })
		} else {
			must(t, c.ContributePhase1(ctx, nil, p))
		}
		file := written(t, p)
		if i == 0 && !bytes.Equal(file, written(t, theirs)) {
			t.Error("another contribution than gnark's of the same randomness")
		}
		next, err := c.ReadPhase1(ctx, nil, bytes.NewReader(file))
		must(t, err)
		all = append(all, next)
	}
	beacon := []byte("a beacon")
	commons, err := c.VerifyPhase1(ctx, nil, 1, beacon, all)
	must(t, err)
	for place := range 3 { // the proofs of tau, alpha and beta
		file, other := written(t, all[0]), written(t, all[1])
		const size = bn254.SizeOfG1AffineCompressed + bn254.SizeOfG2AffineCompressed
		copy(file[place*size:(place+1)*size], other[place*size:])
		bad, err := c.ReadPhase1(ctx, nil, bytes.NewReader(file))
		must(t, err)
		if err := c.VerifyPhase1Step(ctx, nil, c.NewPhase1(1), bad); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("another contribution's proof %d: %v", place, err)
		}
	}
	q, _, err := c.InitializePhase2(ctx, nil, system, commons)
	must(t, err)
	must(t, c.ContributePhase2(ctx, nil, q))
	pk, vk, err := c.VerifyPhase2(ctx, nil, system, commons, beacon, []*bn254mpc.Phase2{q})
	must(t, err)
	proves(t, ecc.BN254, sample, pk, vk)
}
