package library

import (
	"math/big"
	"slices"

	"github.com/consensys/gnark-crypto/ecc"
	_ "github.com/consensys/gnark-crypto/hash/all" // GKR asks for them by name
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/algebra/emulated/sw_emulated"
	"github.com/consensys/gnark/std/algebra/native/twistededwards"
	"github.com/consensys/gnark/std/conversion"
	"github.com/consensys/gnark/std/evmprecompiles"
	"github.com/consensys/gnark/std/gkrapi"
	"github.com/consensys/gnark/std/gkrapi/gkr"
	"github.com/consensys/gnark/std/hash"
	_ "github.com/consensys/gnark/std/hash/all"
	"github.com/consensys/gnark/std/hash/mimc"
	gkrmimc "github.com/consensys/gnark/std/hash/mimc/gkr-mimc"
	"github.com/consensys/gnark/std/hash/poseidon2"
	gkrposeidon2 "github.com/consensys/gnark/std/hash/poseidon2/gkr-poseidon2"
	"github.com/consensys/gnark/std/hash/ripemd160"
	"github.com/consensys/gnark/std/hash/sha2"
	"github.com/consensys/gnark/std/hash/sha3"
	"github.com/consensys/gnark/std/lookup/logderivlookup"
	"github.com/consensys/gnark/std/math/bits"
	"github.com/consensys/gnark/std/math/bitslice"
	"github.com/consensys/gnark/std/math/cmp"
	"github.com/consensys/gnark/std/math/emulated"
	"github.com/consensys/gnark/std/math/emulated/emparams"
	"github.com/consensys/gnark/std/math/uints"
	"github.com/consensys/gnark/std/multicommit"
	"github.com/consensys/gnark/std/rangecheck"
	"github.com/consensys/gnark/std/selector"

	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// libraryCase is a circuit with some packages of gnark's std, and a witness that is right. A
// circuit that does not compile on a curve is left out there.
type libraryCase struct {
	name string
	long bool // only in the long form
	make func(id ecc.ID) (circuit, assigned frontend.Circuit)
}

// using is a circuit of small secret numbers.
type using struct {
	X []frontend.Variable
	f func(api frontend.API, x []frontend.Variable) error
}

func (c *using) Define(api frontend.API) error { return c.f(api, c.X) }

// small makes a circuit of the numbers 1, 2, ..
func small(n int, f func(api frontend.API, x []frontend.Variable) error) func(ecc.ID) (circuit, assigned frontend.Circuit) {
	return func(ecc.ID) (frontend.Circuit, frontend.Circuit) {
		a := &using{}
		for i := range n {
			a.X = append(a.X, i+1)
		}
		return &using{make([]frontend.Variable, n), f}, a
	}
}

// hashing makes a circuit that hashes bytes.
func hashing(n int, hash func(api frontend.API, in []uints.U8) ([]uints.U8, error)) func(ecc.ID) (circuit, assigned frontend.Circuit) {
	return small(n, func(api frontend.API, x []frontend.Variable) error {
		b, err := uints.NewBytes(api)
		if err != nil {
			return err
		}
		var in []uints.U8
		for _, v := range x {
			in = append(in, b.ValueOf(v))
		}
		out, err := hash(api, in)
		if err != nil {
			return err
		}
		again, err := conversion.BytesToNative(api, out[:16])
		if err != nil {
			return err
		}
		api.AssertIsDifferent(again, 0)
		return nil
	})
}

// sumOf returns the hash of bytes by what a constructor returned.
func sumOf(h hash.BinaryHasher, err error, in []uints.U8) ([]uints.U8, error) {
	if err != nil {
		return nil, err
	}
	h.Write(in)
	return h.Sum(), nil
}

// measured makes one of the circuits that are measured.
func measured(name string, hashes int) func(ecc.ID) (circuit, assigned frontend.Circuit) {
	return func(id ecc.ID) (frontend.Circuit, frontend.Circuit) {
		c, ok := curves.WithID(id)
		if !ok || !slices.Contains(circuits.CurvesOf(name), c) {
			return nil, nil
		}
		s, err := circuits.New(name, c, hashes, 0)
		if err != nil {
			return nil, nil
		}
		return s.Circuit, s.Assignment
	}
}

// fieldCircuit computes in a field of emulated numbers.
type fieldCircuit struct {
	A, B emulated.Element[emparams.Secp256k1Fp]
}

func (c *fieldCircuit) Define(api frontend.API) error {
	f, err := emulated.NewField[emparams.Secp256k1Fp](api)
	if err != nil {
		return err
	}
	sum := f.Add(f.Mul(&c.A, &c.B), f.Inverse(&c.B))
	f.AssertIsEqual(f.Mul(f.Sub(sum, f.Div(f.One(), &c.B)), &c.B), f.Mul(&c.A, f.Mul(&c.B, &c.B)))
	f.AssertIsInRange(f.Reduce(sum))
	bytes, err := conversion.EmulatedToBytes(api, &c.A)
	if err != nil {
		return err
	}
	back, err := conversion.BytesToEmulated[emparams.Secp256k1Fp](api, bytes)
	if err != nil {
		return err
	}
	f.AssertIsEqual(back, &c.A)
	return nil
}

// pointCircuit adds and multiplies points of BN254, as Ethereum's precompiles do.
type pointCircuit struct {
	P, Q sw_emulated.AffinePoint[emulated.BN254Fp]
	K    emulated.Element[emulated.BN254Fr]
}

func (c *pointCircuit) Define(api frontend.API) error {
	curve, err := sw_emulated.New[emulated.BN254Fp, emulated.BN254Fr](api, sw_emulated.GetBN254Params())
	if err != nil {
		return err
	}
	sum := evmprecompiles.ECAdd(api, &c.P, &c.Q)
	curve.AssertIsEqual(evmprecompiles.ECMul(api, sum, &c.K), evmprecompiles.ECAdd(api, evmprecompiles.ECMul(api, &c.P, &c.K),
		evmprecompiles.ECMul(api, &c.Q, &c.K)))
	return nil
}

// powerCircuit is the precompile MODEXP.
type powerCircuit struct {
	A, E, M emulated.Element[emparams.Mod1e256]
}

func (c *powerCircuit) Define(api frontend.API) error {
	f, err := emulated.NewField[emparams.Mod1e256](api)
	if err != nil {
		return err
	}
	f.AssertIsEqual(evmprecompiles.Expmod(api, &c.A, &c.E, &c.M), f.NewElement(big.NewInt(827981)))
	return nil
}

func libraryCases() []libraryCase {
	return []libraryCase{
		{"multicommit", false, small(4, func(api frontend.API, x []frontend.Variable) error {
			multicommit.WithCommitment(api, func(api frontend.API, c frontend.Variable) error {
				api.AssertIsDifferent(api.Mul(c, x[0]), x[1])
				return nil
			}, x[0], x[1])
			multicommit.WithCommitment(api, func(api frontend.API, c frontend.Variable) error {
				api.AssertIsDifferent(api.Mul(c, x[2]), x[3])
				return nil
			}, x[2], x[3])
			return nil
		})},
		{"rangecheck", false, small(8, func(api frontend.API, x []frontend.Variable) error {
			r := rangecheck.New(api)
			for i, v := range x {
				r.Check(v, 4+9*i)
			}
			return nil
		})},
		{"bits", false, small(4, func(api frontend.API, x []frontend.Variable) error {
			api.AssertIsEqual(bits.FromBinary(api, bits.ToBinary(api, x[0], bits.WithNbDigits(20))), x[0])
			api.AssertIsEqual(bits.FromTernary(api, bits.ToTernary(api, x[1], bits.WithNbDigits(15))), x[1])
			lower, upper := bitslice.Partition(api, x[2], 5, bitslice.WithNbDigits(40))
			api.AssertIsEqual(api.Add(lower, api.Mul(upper, 32)), x[2])
			api.AssertIsEqual(api.Add(cmp.IsLess(api, x[0], x[3]), cmp.IsLess(api, x[3], x[0])), 1)
			return nil
		})},
		{"selector", false, small(8, func(api frontend.API, x []frontend.Variable) error {
			api.AssertIsEqual(selector.Mux(api, x[0], x...), x[1])
			api.AssertIsEqual(selector.Map(api, x[2], x, x), x[2])
			for _, v := range selector.Slice(api, x[0], x[3], x)[4:] {
				api.AssertIsEqual(v, 0)
			}
			selector.Partition(api, x[4], true, x)
			return nil
		})},
		{"lookup", false, small(12, func(api frontend.API, x []frontend.Variable) error {
			t := logderivlookup.New(api)
			for _, v := range x {
				t.Insert(api.Mul(v, v))
			}
			for i, v := range t.Lookup(x[:8]...) {
				api.AssertIsEqual(v, api.Mul(x[i+1], x[i+1]))
			}
			return nil
		})},
		{"uints", true, small(8, func(api frontend.API, x []frontend.Variable) error {
			u, err := uints.New[uints.U32](api)
			if err != nil {
				return err
			}
			a, b := u.ValueOf(x[0]), u.ValueOf(x[1])
			for i := 2; i < len(x); i += 2 {
				a, b = u.Add(u.Xor(a, u.ValueOf(x[i])), u.Lrot(b, i)), u.Or(u.And(b, u.Not(a)), u.Rshift(u.ValueOf(x[i+1]), 1))
			}
			u.AssertEq(u.Xor(a, b), u.Xor(b, a))
			return nil
		})},
		{"emulated", false, func(ecc.ID) (frontend.Circuit, frontend.Circuit) {
			value := emulated.ValueOf[emparams.Secp256k1Fp]
			return &fieldCircuit{}, &fieldCircuit{value(123456789), value(new(big.Int).Lsh(big.NewInt(5), 200))}
		}},
		{"modulus of the witness", false, func(ecc.ID) (frontend.Circuit, frontend.Circuit) {
			return &samples.Modular{Products: 3}, samples.ModularBy(97)
		}},
		{"GKR", false, small(3, func(api frontend.API, x []frontend.Variable) error {
			g, err := gkrapi.New(api)
			if err != nil {
				return err
			}
			in := g.NewInput()
			out := g.Mul(in, g.Mul(in, in))
			c, err := g.Compile("MIMC")
			if err != nil {
				return err
			}
			for _, v := range x {
				o, err := c.AddInstance(map[gkr.Variable]frontend.Variable{in: v})
				if err != nil {
					return err
				}
				api.AssertIsEqual(o[out], api.Mul(v, v, v))
			}
			return nil
		})},
		{"MiMC", true, measured(circuits.MiMC, 3)},
		{"mimc and gkr-mimc", true, small(4, func(api frontend.API, x []frontend.Variable) error {
			one, err := mimc.New(api)
			if err != nil {
				return err
			}
			other, err := gkrmimc.New(api)
			if err != nil {
				return err
			}
			one.Write(x...)
			other.Write(x...)
			api.AssertIsEqual(one.Sum(), other.Sum())
			return nil
		})},
		{"poseidon2 and gkr-poseidon2", true, small(4, func(api frontend.API, x []frontend.Variable) error {
			one, err := poseidon2.New(api)
			if err != nil {
				return err
			}
			other, err := gkrposeidon2.New(api)
			if err != nil {
				return err
			}
			one.Write(x...)
			other.Write(x...)
			api.AssertIsEqual(one.Sum(), other.Sum())
			return nil
		})},
		{"twistededwards", true, func(id ecc.ID) (frontend.Circuit, frontend.Circuit) {
			return small(2, func(api frontend.API, x []frontend.Variable) error {
				params, err := edwardsOf(id)
				if err != nil {
					return err
				}
				c, err := twistededwards.NewEdCurve(api, params)
				if err != nil {
					return err
				}
				base := twistededwards.Point{X: c.Params().Base[0], Y: c.Params().Base[1]}
				p, q := c.ScalarMul(base, x[0]), c.ScalarMul(base, x[1])
				sum := c.Add(p, q)
				c.AssertIsOnCurve(sum)
				api.AssertIsEqual(sum.X, c.ScalarMul(base, api.Add(x[0], x[1])).X)
				return nil
			})(id)
		}},
		{"sha2", true, hashing(40, func(api frontend.API, in []uints.U8) ([]uints.U8, error) {
			h, err := sha2.New(api)
			return sumOf(h, err, in)
		})},
		{"sha3", true, hashing(40, func(api frontend.API, in []uints.U8) ([]uints.U8, error) {
			h, err := sha3.New256(api)
			return sumOf(h, err, in)
		})},
		{"ripemd160", true, hashing(40, func(api frontend.API, in []uints.U8) ([]uints.U8, error) {
			h, err := ripemd160.New(api)
			return sumOf(h, err, in)
		})},
		{"expmod", true, func(ecc.ID) (frontend.Circuit, frontend.Circuit) {
			value := emulated.ValueOf[emparams.Mod1e256]
			return &powerCircuit{}, &powerCircuit{value(5), value(11), value(1000003)}
		}},
		{"points of BN254", true, func(ecc.ID) (frontend.Circuit, frontend.Circuit) {
			value := emulated.ValueOf[emulated.BN254Fp]
			p := sw_emulated.AffinePoint[emulated.BN254Fp]{X: value(1), Y: value(2)}
			return &pointCircuit{}, &pointCircuit{p, p, emulated.ValueOf[emulated.BN254Fr](987654321)}
		}},
		{"ECDSA", true, measured(circuits.ECDSA, 0)},
		{"EdDSA", true, signed},
		{"ECRECOVER", true, recovered},
		{"pairings of BLS12-377", true, nativePaired},
		{"recursion of Groth16", true, measured(circuits.Recursion, 0)},
		{"recursion of PLONK", true, plonkVerified},
		{"pairings of BN254", true, bnPaired},
		{"pairings of BLS12-381", true, blsPaired},
	}
}
