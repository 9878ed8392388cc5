package assignment

import (
	"crypto/rand"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/constraint"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"
	_ "github.com/consensys/gnark/std/algebra/emulated/sw_bls12381"
	_ "github.com/consensys/gnark/std/algebra/emulated/sw_bn254"
	_ "github.com/consensys/gnark/std/algebra/emulated/sw_bw6761"
	_ "github.com/consensys/gnark/std/algebra/emulated/sw_emulated"
	_ "github.com/consensys/gnark/std/algebra/native/twistededwards"
	emu "github.com/consensys/gnark/std/math/emulated"

	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// emulatedCall calls a hint with two emulated numbers.
type emulatedCall[T emu.FieldParams] struct {
	hint      solver.Hint
	S, Lambda emu.Element[T]
}

func (c *emulatedCall[T]) Define(api frontend.API) error {
	f, err := emu.NewField[T](api)
	if err != nil {
		return err
	}
	// gnark v0.13, which has no such hints, does not have this method, and v0.16 has options more.
	in := []any{c.hint, 4, 4, []frontend.Variable(nil), []*emu.Element[T]{&c.S, &c.Lambda}}
	args := make([]reflect.Value, len(in))
	for i, v := range in {
		args[i] = reflect.ValueOf(v)
	}
	out := reflect.ValueOf(f).MethodByName("NewHintGeneric").Call(args)
	err, _ = out[2].Interface().(error)
	return err
}

// TestHintsSayWhatGnarksSay calls every hint that is replaced, in the curves' fields.
func TestHintsSayWhatGnarksSay(t *testing.T) {
	logger.Disable()
	hints := map[string]solver.Hint{}
	for _, h := range solver.GetRegisteredHints() {
		hints[solver.GetHintName(h)] = h
	}
	seen := map[string]bool{}
	same := func(name string, circuit, assigned frontend.Circuit) {
		t.Helper()
		seen[name] = true
		ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder[constraint.U64], circuit)
		if err != nil {
			t.Fatal(err)
		}
		w, err := frontend.NewWitness(assigned, ecc.BN254.ScalarField())
		if err != nil {
			t.Fatal(err)
		}
		system := ccs.(*cs254.R1CS)
		cfg, err := solver.NewConfig()
		if err != nil {
			t.Fatal(err)
		}
		id := solver.GetHintID(hints[name])
		quick := newHint[fr254.Element](id, name, cfg.HintFunctions[id]).f
		if solver.GetHintName(quick) == name {
			t.Fatalf("%s is not replaced", name)
		}
		called := false
		_, _ = system.Solve(w, solver.OverrideHint(id, func(q *big.Int, in, out []*big.Int) error {
			called = true
			ours := make([]*big.Int, len(out))
			for i := range ours {
				ours[i] = new(big.Int)
			}
			err := hints[name](q, in, out)
			if errOurs := quick(q, in, ours); (err == nil) != (errOurs == nil) {
				t.Errorf("%s: %v, gnark says %v", name, errOurs, err)
			} else if err == nil && !slices.EqualFunc(ours, out, func(a, b *big.Int) bool { return a.Cmp(b) == 0 }) {
				t.Errorf("%s says %v, gnark's %v", name, ours, out)
			}
			return err
		}))
		if !called {
			t.Errorf("%s is not called", name)
		}
	}
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	slow := 0
	for name, e := range library {
		if e.quick == nil || !has(name) {
			continue
		}
		slow++
		hint, ok := hints[name]
		switch {
		case !ok:
			t.Errorf("gnark has no hint %s", name)
		case strings.Contains(name, "sw_emulated"):
			emulatedCalls[emu.Secp256k1Fr](same, name, hint, rounds)
			emulatedCalls[emu.BN254Fr](same, name, hint, rounds)
		case strings.Contains(name, "sw_bn254"):
			emulatedCalls[emu.BN254Fr](same, name, hint, rounds)
		case strings.Contains(name, "sw_bls12381"):
			emulatedCalls[emu.BLS12381Fr](same, name, hint, rounds)
		case strings.Contains(name, "sw_bw6761"):
			emulatedCalls[emu.BW6761Fr](same, name, hint, rounds)
		default:
			// The order of a curve over BN254's scalar field, and numbers of its size.
			order, _ := new(big.Int).SetString("2736030358979909402780800718157159386076813972158567259200215660948447373041", 10)
			n, extra := 6, []frontend.Variable{order}
			if strings.Contains(name, "Ext") {
				n, extra = 12, append(extra, random(order))
			}
			for _, k := range [][2]*big.Int{{random(order), random(order)}, {big.NewInt(0), big.NewInt(0)},
				{big.NewInt(0), random(order)}, {big.NewInt(1), big.NewInt(5)}} {
				in := append([]frontend.Variable{k[0], k[1]}, extra...)
				same(name, samples.CallOf(hint, n, len(in)), &samples.Call{In: in})
				same(name, samples.CallOf(hint, n+1, len(in)), &samples.Call{In: in})
			}
		}
	}
	if len(seen) != slow {
		t.Errorf("%d hints of %d were called", len(seen), slow)
	}
}

func emulatedCalls[T emu.FieldParams](same func(string, frontend.Circuit, frontend.Circuit), name string, hint solver.Hint, rounds int) {
	var f T
	r := f.Modulus()
	// A cube root of 1: r is 1 modulo 3.
	lambda, one := new(big.Int), big.NewInt(1)
	e := new(big.Int).Div(new(big.Int).Sub(r, one), big.NewInt(3))
	for g := int64(2); lambda.Cmp(one) <= 0; g++ {
		lambda.Exp(big.NewInt(g), e, r)
	}
	ks := []*big.Int{big.NewInt(0), big.NewInt(1), new(big.Int).Sub(r, one), lambda}
	for range rounds {
		ks = append(ks, random(r))
	}
	for _, k := range ks {
		same(name, &emulatedCall[T]{hint: hint}, &emulatedCall[T]{S: emu.ValueOf[T](k), Lambda: emu.ValueOf[T](lambda)})
	}
}

func random(below *big.Int) *big.Int {
	k, err := rand.Int(rand.Reader, below)
	if err != nil {
		panic(err)
	}
	return k
}
