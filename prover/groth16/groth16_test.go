package groth16_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"math/big"
	rand2 "math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

func TestMain(m *testing.M) {
	logger.Disable()
	os.Exit(m.Run())
}

// curves are those on which the same tests run. With -short that is BN254 alone, since the
// algorithm is written once for all.
func curves() []ecc.ID {
	if testing.Short() {
		return []ecc.ID{ecc.BN254}
	}
	return []ecc.ID{ecc.BN254, ecc.BLS12_377, ecc.BLS12_381, ecc.BW6_761}
}

// built is a circuit with its keys.
type built struct {
	samples.Sample
	field *big.Int
	ccs   constraint.ConstraintSystem
	pk    stock.ProvingKey
	vk    stock.VerifyingKey
}

// build compiles a sample and makes its keys, once in a test run.
func build(t testing.TB, curve ecc.ID, s samples.Sample) *built {
	t.Helper()
	builds.Lock()
	defer builds.Unlock()
	key := curve.String() + s.Name
	if b := builds.m[key]; b != nil {
		return b
	}
	ccs, err := frontend.Compile(curve.ScalarField(), r1cs.NewBuilder, s.Circuit())
	if err != nil {
		t.Fatal(err)
	}
	pk, vk, err := stock.Setup(ccs)
	if err != nil {
		t.Fatal(err)
	}
	b := &built{s, curve.ScalarField(), ccs, pk, vk}
	builds.m[key] = b
	return b
}

var builds = struct {
	sync.Mutex
	m map[string]*built
}{m: map[string]*built{}}

func (b *built) witness(t testing.TB, seed int64) witness.Witness {
	t.Helper()
	w, err := frontend.NewWitness(b.Assign(b.field, seed), b.field)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (b *built) verify(t testing.TB, proof stock.Proof, w witness.Witness, opts ...backend.VerifierOption) {
	t.Helper()
	public, err := w.Public()
	if err != nil {
		t.Fatal(err)
	}
	if err := stock.Verify(proof, b.vk, public, opts...); err != nil {
		t.Errorf("gnark does not verify the proof: %v", err)
	}
}

// withReader runs f with another crypto/rand.Reader, from which gnark-crypto draws. Nothing else
// may run meanwhile.
func withReader(r io.Reader, f func()) {
	was := rand.Reader
	defer func() { rand.Reader = was }()
	rand.Reader = r
	f()
}

// proofBytes makes a proof with fixed randomness and encodes it.
func proofBytes(t testing.TB, seed byte, prove func() (stock.Proof, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	withReader(rand2.NewChaCha8([32]byte{seed}), func() {
		proof, err := prove()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proof.WriteRawTo(&out); err != nil {
			t.Fatal(err)
		}
	})
	return out.Bytes()
}

func newEngine(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := pippin.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// modes are ways to prove that make no difference to the proof.
func modes(e *engine.Engine) map[string]func(b *built) (*groth16.Prover, error) {
	mode := func(e *engine.Engine, opts ...groth16.Option) func(b *built) (*groth16.Prover, error) {
		return func(b *built) (*groth16.Prover, error) { return groth16.NewProver(e, b.ccs, b.pk, opts...) }
	}
	return map[string]func(b *built) (*groth16.Prover, error){
		"no engine, plain":  mode(nil, groth16.MergeBases(groth16.MergeNever), groth16.MergeScalars(groth16.MergeNever)),
		"no engine":         mode(nil),
		"engine, plain":     mode(e, groth16.MergeBases(groth16.MergeNever), groth16.MergeScalars(groth16.MergeNever)),
		"engine":            mode(e),
		"engine, overlap":   mode(e, groth16.Overlap(true)),
		"engine, vectors":   mode(e, groth16.Quotient(true)),
		"vectors, merged":   mode(e, groth16.Quotient(true), groth16.MergeBases(groth16.MergeAlways)),
		"engine, here":      mode(e, groth16.Quotient(false)),
		"engine, merge all": mode(e, groth16.MergeBases(groth16.MergeAlways), groth16.MergeScalars(groth16.MergeAlways)),
	}
}

// TestProofEqualsStock is the main test: with the same randomness every way to prove gives gnark's
// proof, byte for byte.
func TestProofEqualsStock(t *testing.T) {
	e := newEngine(t, engine.Config{Backend: *backendName, Fallbacks: []string{engine.NoFallback}, Check: engine.CheckCurve, CheckInput: true})
	for _, curve := range curves() {
		for _, s := range samples.On(curve) {
			t.Run(curve.String()+"/"+s.Name, func(t *testing.T) {
				b := build(t, curve, s)
				w := b.witness(t, 3)
				opt := backend.WithSolverOptions(samples.Hints)
				want := proofBytes(t, 1, func() (stock.Proof, error) { return stock.Prove(b.ccs, b.pk, w, opt) })
				other := proofBytes(t, 2, func() (stock.Proof, error) { return stock.Prove(b.ccs, b.pk, w, opt) })
				if bytes.Equal(want, other) {
					t.Fatal("the randomness is not the test's: equality would say nothing")
				}
				left := solve.LeftToGnark()
				defer func() {
					if n := solve.LeftToGnark() - left; n != 0 && s.Ours() {
						t.Errorf("%d of the circuits were solved by gnark's solver", n)
					}
				}()
				for name, newProver := range modes(e) {
					p, err := newProver(b)
					if err != nil {
						t.Fatal(err)
					}
					var proof stock.Proof
					got := proofBytes(t, 1, func() (_ stock.Proof, err error) {
						proof, err = p.Prove(t.Context(), w, opt)
						return proof, err
					})
					if !bytes.Equal(got, want) {
						t.Errorf("%s: another proof than gnark's", name)
					}
					b.verify(t, proof, w)
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}
