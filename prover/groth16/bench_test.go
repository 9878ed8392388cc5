package groth16_test

import (
	"crypto/rand"
	"crypto/sha256"
	"flag"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/ecdsa"
	"github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/algebra/emulated/sw_emulated"
	"github.com/consensys/gnark/std/hash/mimc"
	"github.com/consensys/gnark/std/hash/sha2"
	"github.com/consensys/gnark/std/math/emulated"
	"github.com/consensys/gnark/std/math/uints"
	gnarkecdsa "github.com/consensys/gnark/std/signature/ecdsa"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

var backendName = flag.String("backend", "cpu", "backend of the engine in the benchmark and in the main test")

// signature verifies an ECDSA signature over secp256k1.
type signature struct {
	Sig gnarkecdsa.Signature[emulated.Secp256k1Fr]
	Msg emulated.Element[emulated.Secp256k1Fr]
	Pub gnarkecdsa.PublicKey[emulated.Secp256k1Fp, emulated.Secp256k1Fr]
}

func (c *signature) Define(api frontend.API) error {
	c.Pub.Verify(api, sw_emulated.GetCurveParams[emulated.Secp256k1Fp](), &c.Msg, &c.Sig)
	return nil
}

func assignSignature(*big.Int, int64) frontend.Circuit {
	key, err := ecdsa.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	msg := []byte("pippin")
	var sig ecdsa.Signature
	b, err := key.Sign(msg, sha256.New())
	if err == nil {
		_, err = sig.SetBytes(b)
	}
	if err != nil {
		panic(err)
	}
	hash := sha256.Sum256(msg)
	return &signature{
		Sig: gnarkecdsa.Signature[emulated.Secp256k1Fr]{
			R: emulated.ValueOf[emulated.Secp256k1Fr](sig.R[:]), S: emulated.ValueOf[emulated.Secp256k1Fr](sig.S[:]),
		},
		Msg: emulated.ValueOf[emulated.Secp256k1Fr](hash[:]),
		Pub: gnarkecdsa.PublicKey[emulated.Secp256k1Fp, emulated.Secp256k1Fr]{
			X: emulated.ValueOf[emulated.Secp256k1Fp](key.PublicKey.A.X), Y: emulated.ValueOf[emulated.Secp256k1Fp](key.PublicKey.A.Y),
		},
	}
}

// sha256Bytes hashes a secret message.
type sha256Bytes struct {
	Msg []uints.U8
	Out frontend.Variable
}

func (c *sha256Bytes) Define(api frontend.API) error {
	h, err := sha2.New(api)
	if err != nil {
		return err
	}
	h.Write(c.Msg)
	sum := frontend.Variable(0)
	for _, b := range h.Sum() {
		sum = api.Add(sum, b.Val)
	}
	api.AssertIsDifferent(sum, c.Out)
	return nil
}

// mimcChain hashes with MiMC again and again.
type mimcChain struct {
	steps int
	X     frontend.Variable
	Not   frontend.Variable `gnark:",public"`
}

func (c *mimcChain) Define(api frontend.API) error {
	x := c.X
	for range c.steps {
		h, err := mimc.NewMiMC(api)
		if err != nil {
			return err
		}
		h.Write(x)
		x = h.Sum()
	}
	api.AssertIsDifferent(x, c.Not)
	return nil
}

func sha256Sample(name string, size int) samples.Sample {
	return samples.Sample{Name: name, Circuit: func() frontend.Circuit { return &sha256Bytes{Msg: make([]uints.U8, size)} },
		Assign: func(_ *big.Int, seed int64) frontend.Circuit {
			return &sha256Bytes{uints.NewU8Array(make([]byte, size)), 0}
		}}
}

func mimcSample(name string, steps int) samples.Sample {
	return samples.Sample{Name: name, Circuit: func() frontend.Circuit { return &mimcChain{steps: steps} },
		Assign: func(_ *big.Int, seed int64) frontend.Circuit { return &mimcChain{X: seed, Not: 0} }}
}

var benchSamples = []samples.Sample{
	mimcSample("mimc-64", 64),
	mimcSample("mimc-256", 256),
	sha256Sample("sha256-64", 64),
	{Name: "ecdsa", Circuit: func() frontend.Circuit { return &signature{} }, Assign: assignSignature},
}

// BenchmarkProve lets gnark and this package prove in turns. It reports the median time of each, by
// the clock and of the processors, in milliseconds.
func BenchmarkProve(b *testing.B) {
	e := newEngine(b, engine.Config{Backend: *backendName})
	for _, s := range benchSamples {
		b.Run(s.Name, func(b *testing.B) {
			c := build(b, ecc.BN254, s)
			w := c.witness(b, 3)
			var load time.Duration // of the key loaded last
			type contender struct {
				name  string
				prove func() (stock.Proof, error)
				took  []time.Duration
				used  []time.Duration // of all processors
			}
			with := func(name string, e *engine.Engine, opts ...groth16.Option) *contender {
				start := time.Now()
				p, err := groth16.NewProver(e, c.ccs, c.pk, opts...)
				if err != nil {
					b.Fatal(err)
				}
				load = time.Since(start)
				b.Cleanup(func() { p.Close() })
				return &contender{name: name, prove: func() (stock.Proof, error) { return p.Prove(b.Context(), w) }}
			}
			all := []*contender{
				{name: "gnark", prove: func() (stock.Proof, error) { return stock.Prove(c.ccs, c.pk, w, backend.WithSolverOptions()) }},
				with("plain", e, groth16.MergeBases(groth16.MergeNever), groth16.MergeScalars(groth16.MergeNever)),
				with("bases", e, groth16.MergeScalars(groth16.MergeNever)),
				with("merged", e),
				with("overlap", e, groth16.Overlap(true)),
			}
			for round := 0; b.Loop(); round++ {
				for i := range all {
					x := all[(i+round)%len(all)]
					start, used := time.Now(), samples.CPUTime()
					if _, err := x.prove(); err != nil {
						b.Fatal(err)
					}
					x.took = append(x.took, time.Since(start))
					x.used = append(x.used, samples.CPUTime()-used)
				}
			}
			b.ReportMetric(float64(c.ccs.GetNbConstraints()), "constraints")
			b.ReportMetric(float64(load.Microseconds())/1e3, "load-ms")
			for _, x := range all {
				for unit, times := range map[string][]time.Duration{"-ms": x.took, "-cpu-ms": x.used} {
					slices.Sort(times)
					b.ReportMetric(float64(times[len(times)/2].Microseconds())/1e3, x.name+unit)
				}
			}
		})
	}
}
