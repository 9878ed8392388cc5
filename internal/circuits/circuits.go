// Package circuits has the circuits that are measured, with assignments that satisfy them.
package circuits

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"strings"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/ecdsa"
	"github.com/consensys/gnark-crypto/hash"
	_ "github.com/consensys/gnark-crypto/hash/all" // MiMC of every curve, by name
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/std/algebra/emulated/sw_emulated"
	"github.com/consensys/gnark/std/algebra/native/sw_bls12377"
	"github.com/consensys/gnark/std/hash/mimc"
	"github.com/consensys/gnark/std/hash/sha2"
	"github.com/consensys/gnark/std/math/emulated"
	"github.com/consensys/gnark/std/math/uints"
	recursion "github.com/consensys/gnark/std/recursion/groth16"
	signature "github.com/consensys/gnark/std/signature/ecdsa"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
)

// Names of circuits.
const (
	MiMC      = "mimc"      // a chain of hashes
	ECDSA     = "ecdsa"     // a signature over secp256k1
	SHA256    = "sha256-2k" // a digest of 2 KiB
	Recursion = "recursion" // a Groth16 proof over BLS12-377
	Squares   = "squares"   // as many constraints as are asked for
)

// MostSquares is the largest size of Squares.
const MostSquares = 1 << 26

const (
	sha256Message = 2048 // bytes
	fewChains     = 1 << 8
	manyChains    = 1 << 12
)

// Names returns the names of the circuits, small ones first.
func Names() []string {
	return []string{MiMC, Squares, Recursion, ECDSA, SHA256}
}

// Parse checks the name of a circuit.
func Parse(s string) (string, error) {
	if s = strings.ToLower(s); slices.Contains(Names(), s) {
		return s, nil
	}
	return "", fmt.Errorf("%w: unknown circuit %q (%s)", backend.ErrInvalidInput, s, strings.Join(Names(), ", "))
}

// CurvesOf returns the curves that a circuit is measured on where none are named.
func CurvesOf(circuit string) []backend.Curve {
	if circuit == Recursion {
		return []backend.Curve{backend.BW6761} // whose scalars are BLS12-377's coordinates
	}
	return []backend.Curve{backend.BN254}
}

// Statement is a circuit with an assignment that satisfies it. The name says all that the
// circuit depends on but the curve.
type Statement struct {
	Name                string
	Circuit, Assignment frontend.Circuit
}

// New makes the circuit of a name for a curve. hashes is the length of MiMC's chain,
// constraints the size of Squares; the others have one size. A curve that the circuit
// cannot be made for is backend.ErrUnsupported.
func New(name string, curve backend.Curve, hashes, constraints int) (*Statement, error) {
	switch name {
	case Squares:
		return squaresStatement(curve, constraints)
	case MiMC:
		return mimcStatement(curve, hashes), nil
	case ECDSA:
		return ecdsaStatement()
	case SHA256:
		return sha256Statement(sha256Message)
	case Recursion:
		return recursionStatement(curve)
	}
	return nil, fmt.Errorf("%w: unknown circuit %q", backend.ErrInvalidInput, name)
}

// mimcChain says: I know X that leads to Y when it is hashed steps times.
type mimcChain struct {
	steps int
	X     frontend.Variable
	Y     frontend.Variable `gnark:",public"`
}

func (c *mimcChain) Define(api frontend.API) error {
	h, err := mimc.NewMiMC(api)
	if err != nil {
		return err
	}
	x := c.X
	for range c.steps {
		h.Reset()
		h.Write(x)
		x = h.Sum()
	}
	api.AssertIsEqual(x, c.Y)
	return nil
}

func mimcStatement(curve backend.Curve, steps int) *Statement {
	h := hash.NewHash("MIMC_" + strings.ToUpper(curves.ID(curve).String()))
	x := make([]byte, h.BlockSize())
	x[len(x)-1] = 7
	y := x
	for range steps {
		h.Reset()
		h.Write(y) // a sum is below the modulus, so that this cannot fail
		y = h.Sum(nil)
	}
	return &Statement{fmt.Sprintf("%s-%d", MiMC, steps), &mimcChain{steps: steps},
		&mimcChain{X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}}
}

// squares says: I know numbers X whose squares of squares, a number of them each, have the
// sum Y. The squares have a constraint each, the sum has one or two, and the chains are
// independent of each other. So it compiles, and is solved, as fast as a circuit of that
// many constraints can be. All wires but a few have different values and points, and those
// in A, B, K and Z are as many as there are constraints: no prover saves any.
type squares struct {
	count int
	X     []frontend.Variable
	Y     frontend.Variable `gnark:",public"`
}

func (c *squares) Define(api frontend.API) error {
	ends := slices.Clone(c.X)
	for i := range c.count {
		x := &ends[i%len(ends)]
		*x = api.Mul(*x, *x)
	}
	api.AssertIsEqual(c.Y, api.Add(0, ends[0], ends[1:]...))
	return nil
}

func squaresStatement(curve backend.Curve, constraints int) (*Statement, error) {
	q := curve.ScalarField()
	chains, count := min(fewChains, constraints-1), constraints-1
	if constraints >= 2*manyChains {
		chains, count = manyChains, constraints-2 // gnark gives a sum of 300 terms a constraint of its own
	}
	x, ends := make([]frontend.Variable, chains), make([]*big.Int, chains)
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i := range x {
		all.Go(func() error {
			v, err := rand.Int(rand.Reader, q)
			if err != nil {
				return err
			}
			steps := (count + chains - 1 - i) / chains
			x[i] = v
			ends[i] = new(big.Int).Exp(v, new(big.Int).Lsh(big.NewInt(1), uint(steps)), q)
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	sum := new(big.Int)
	for _, v := range ends {
		sum.Add(sum, v)
	}
	return &Statement{fmt.Sprintf("%s-%d", Squares, constraints), &squares{count, make([]frontend.Variable, chains), nil},
		&squares{count, x, sum.Mod(sum, q)}}, nil
}

// preimage says: I know a message with this SHA-256 digest.
type preimage struct {
	Message []uints.U8
	Digest  [sha256.Size]frontend.Variable `gnark:",public"`
}

func (c *preimage) Define(api frontend.API) error {
	h, err := sha2.New(api)
	if err != nil {
		return err
	}
	h.Write(c.Message)
	for i, b := range h.Sum() {
		api.AssertIsEqual(b.Val, c.Digest[i])
	}
	return nil
}

func sha256Statement(size int) (*Statement, error) {
	message := make([]byte, size)
	if _, err := rand.Read(message); err != nil {
		return nil, err
	}
	assignment := &preimage{Message: uints.NewU8Array(message)}
	for i, b := range sha256.Sum256(message) {
		assignment.Digest[i] = b
	}
	return &Statement{SHA256, &preimage{Message: make([]uints.U8, size)}, assignment}, nil
}

// signed says: I know a signature of a message under a key.
type signed struct {
	Signature signature.Signature[emulated.Secp256k1Fr]
	Message   emulated.Element[emulated.Secp256k1Fr]                          `gnark:",public"`
	Key       signature.PublicKey[emulated.Secp256k1Fp, emulated.Secp256k1Fr] `gnark:",public"`
}

func (c *signed) Define(api frontend.API) error {
	c.Key.Verify(api, sw_emulated.GetCurveParams[emulated.Secp256k1Fp](), &c.Message, &c.Signature)
	return nil
}

func ecdsaStatement() (*Statement, error) {
	key, err := ecdsa.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	message := []byte("pippin")
	b, err := key.Sign(message, sha256.New())
	if err != nil {
		return nil, err
	}
	var s ecdsa.Signature
	if _, err := s.SetBytes(b); err != nil {
		return nil, err
	}
	digest := sha256.Sum256(message)
	return &Statement{ECDSA, &signed{}, &signed{
		Signature: signature.Signature[emulated.Secp256k1Fr]{
			R: emulated.ValueOf[emulated.Secp256k1Fr](s.R[:]),
			S: emulated.ValueOf[emulated.Secp256k1Fr](s.S[:]),
		},
		Message: emulated.ValueOf[emulated.Secp256k1Fr](digest[:]),
		Key: signature.PublicKey[emulated.Secp256k1Fp, emulated.Secp256k1Fr]{
			X: emulated.ValueOf[emulated.Secp256k1Fp](key.PublicKey.A.X),
			Y: emulated.ValueOf[emulated.Secp256k1Fp](key.PublicKey.A.Y),
		},
	}}, nil
}

// product is the circuit of the inner proof.
type product struct {
	A, B frontend.Variable
	C    frontend.Variable `gnark:",public"`
}

func (c *product) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.A, c.B), c.C)
	return nil
}

// verified says: I know a Groth16 proof over BLS12-377 of a statement with
// these public inputs, under a key that is part of the statement.
type verified struct {
	Proof  recursion.Proof[sw_bls12377.G1Affine, sw_bls12377.G2Affine]
	Key    recursion.VerifyingKey[sw_bls12377.G1Affine, sw_bls12377.G2Affine, sw_bls12377.GT]
	Public recursion.Witness[sw_bls12377.ScalarField] `gnark:",public"`
}

func (c *verified) Define(api frontend.API) error {
	v, err := recursion.NewVerifier[sw_bls12377.ScalarField, sw_bls12377.G1Affine, sw_bls12377.G2Affine, sw_bls12377.GT](api)
	if err != nil {
		return err
	}
	return v.AssertProof(c.Key, c.Proof, c.Public)
}

func recursionStatement(curve backend.Curve) (*Statement, error) {
	if curve != backend.BW6761 {
		return nil, fmt.Errorf("%w: circuit %s on %v: it verifies a proof over BLS12-377, inside %v only", backend.ErrUnsupported,
			Recursion, curve, backend.BW6761)
	}
	inner, outer := ecc.BLS12_377.ScalarField(), ecc.BW6_761.ScalarField()
	ccs, err := frontend.Compile(inner, r1cs.NewBuilder, &product{})
	if err != nil {
		return nil, err
	}
	pk, vk, err := stock.Setup(ccs)
	if err != nil {
		return nil, err
	}
	full, err := frontend.NewWitness(&product{A: 3, B: 5, C: 15}, inner)
	if err != nil {
		return nil, err
	}
	public, err := full.Public()
	if err != nil {
		return nil, err
	}
	proof, err := stock.Prove(ccs, pk, full, recursion.GetNativeProverOptions(outer, inner))
	if err != nil {
		return nil, err
	}
	assignment := &verified{}
	if assignment.Proof, err = recursion.ValueOfProof[sw_bls12377.G1Affine, sw_bls12377.G2Affine](proof); err != nil {
		return nil, err
	}
	if assignment.Key, err = recursion.ValueOfVerifyingKey[sw_bls12377.G1Affine, sw_bls12377.G2Affine, sw_bls12377.GT](vk); err != nil {
		return nil, err
	}
	if assignment.Public, err = recursion.ValueOfWitness[sw_bls12377.ScalarField](public); err != nil {
		return nil, err
	}
	return &Statement{Recursion, &verified{
		Key:    recursion.PlaceholderVerifyingKey[sw_bls12377.G1Affine, sw_bls12377.G2Affine, sw_bls12377.GT](ccs),
		Public: recursion.PlaceholderWitness[sw_bls12377.ScalarField](ccs),
	}, assignment}, nil
}
