package plonk_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"math/big"
	rand2 "math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/internal/solve"
	"github.com/pippin-zk/pippin/prover/plonk"
)

func TestMain(m *testing.M) {
	logger.Disable()
	os.Exit(m.Run())
}

// curves are those of the tests that are the same on each: BN254 alone with
// -short, since the algorithm is written once for all.
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

// build compiles a sample and sets it up, once in a test run.
func build(t testing.TB, curve ecc.ID, s samples.Sample) *built {
	t.Helper()
	builds.Lock()
	defer builds.Unlock()
	key := curve.String() + s.Name
	if b := builds.m[key]; b != nil {
		return b
	}
	ccs, err := frontend.Compile(curve.ScalarField(), scs.NewBuilder, s.Circuit())
	if err != nil {
		t.Fatal(err)
	}
	srs, lagrange, err := unsafekzg.NewSRS(ccs)
	if err != nil {
		t.Fatal(err)
	}
	pk, vk, err := stock.Setup(ccs, srs, lagrange)
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

// withReader runs f while crypto/rand.Reader, which gnark-crypto draws from, is
// another. Nothing else may run.
func withReader(r io.Reader, f func()) {
	was := rand.Reader
	defer func() { rand.Reader = was }()
	rand.Reader = r
	f()
}

// draws is randomness that depends on what it is for, not on when it is drawn:
// gnark's prover draws for several purposes at the same time. Who draws is seen in
// the stack, in gnark's and in ours.
type draws struct {
	seed byte

	mu    sync.Mutex
	count map[string]int
}

func (d *draws) Read(b []byte) (int, error) {
	purpose := ""
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	for purpose == "" {
		f, more := frames.Next()
		for mark, p := range map[string]string{
			".initBlindingPolynomials": "blinding", ").draw": "blinding",
			".newInstance": "shards", ").shard": "shards",
			".bsb22Hint": "hint", ".commitment.func": "hint",
			".BatchVerifyMultiPoints": "verifier",
		} {
			if strings.Contains(f.Function, mark) {
				purpose = p
			}
		}
		if !more {
			break
		}
	}
	if purpose == "" {
		panic("drawn for no purpose that is known")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.count[purpose]
	if purpose == "hint" {
		i %= 2
	}
	d.count[purpose]++
	seed := [32]byte{d.seed, byte(i)}
	copy(seed[2:], purpose)
	_, err := rand2.NewChaCha8(seed).Read(b)
	b[len(b)-1] = 0 // below every modulus, so that nothing is drawn again
	return len(b), err
}

// proofBytes makes a proof with fixed randomness and encodes it.
func proofBytes(t testing.TB, seed byte, prove func() (stock.Proof, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	withReader(&draws{seed: seed, count: map[string]int{}}, func() {
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

var statistical = backend.WithStatisticalZeroKnowledge()

// TestProofEqualsStock is the main test: with the same randomness the proof is
// gnark's, byte for byte, with statistical zero knowledge too.
func TestProofEqualsStock(t *testing.T) {
	for _, curve := range curves() {
		for _, s := range samples.On(curve) {
			t.Run(curve.String()+"/"+s.Name, func(t *testing.T) {
				b := build(t, curve, s)
				w := b.witness(t, 3)
				p, err := plonk.NewProver(nil, b.ccs, b.pk)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				left := solve.LeftToGnark()
				defer func() {
					if n := solve.LeftToGnark() - left; n != 0 && s.Ours() {
						t.Errorf("%d of the circuits were solved by gnark's solver", n)
					}
				}()
				sets := [][]backend.ProverOption{{backend.WithSolverOptions(samples.Hints)}}
				if curve == ecc.BN254 || len(s.Name) < 6 { // the way there is the same on all curves
					sets = append(sets, append(sets[0][:1:1], statistical))
				}
				for _, opts := range sets {
					want := proofBytes(t, 1, func() (stock.Proof, error) { return stock.Prove(b.ccs, b.pk, w, opts...) })
					var proof stock.Proof
					got := proofBytes(t, 1, func() (_ stock.Proof, err error) {
						proof, err = p.Prove(t.Context(), w, opts...)
						return proof, err
					})
					if !bytes.Equal(got, want) {
						t.Errorf("%d options: another proof than gnark's", len(opts))
					}
					if other := proofBytes(t, 2, func() (stock.Proof, error) { return p.Prove(t.Context(), w, opts...) }); bytes.Equal(got, other) {
						t.Error("the randomness is not the test's: equality says nothing")
					}
					b.verify(t, proof, w)
				}
			})
		}
	}
}
