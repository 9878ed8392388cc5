package vector_test

import (
	"context"
	"fmt"
	"log"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254/kzg"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/vector"
)

// Two polynomials are multiplied: their values at twice as many points, the products
// of these, and the way back. Bits of indices stay reversed in between, which saves
// reordering.
func Example() {
	ctx := context.Background()
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu"}) // or "plugin:cpu", "cuda"
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	const n = 4
	session, err := vector.BN254.Open(ctx, e, 2*2*n+2*n)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	input := session.New(2 * n)
	a, b := session.New(2*n), session.New(2*n)

	p := session.Program()
	p.Write(input.Slice(0, n), []fr.Element{fr.NewElement(1), fr.NewElement(2), fr.NewElement(3), fr.NewElement(4)})
	p.Write(input.Slice(n, 2*n), []fr.Element{fr.NewElement(1), fr.NewElement(1), fr.NewElement(0), fr.NewElement(0)})
	values := vector.Transform[fr.Element]{To: backend.Reversed}
	p.Transform(a, input.Slice(0, n), values) // shorter: filled up with zeros
	p.Transform(b, input.Slice(n, 2*n), values)
	p.Mul(a, a, b)
	p.Transform(a, a, vector.Transform[fr.Element]{Inverse: true, From: backend.Reversed})
	product := p.Read(a)
	if err := p.Run(ctx); err != nil {
		log.Fatal(err)
	}
	for _, c := range product.Get() {
		fmt.Print(c.String(), " ")
	}
	// Output: 1 3 5 7 4 0 0 0
}

// A KZG commitment and its opening, with the polynomial on the backend all the time:
// what comes back are two points and a value. Repeat does it again should the
// backend die meanwhile.
func ExampleField_Repeat() {
	ctx := context.Background()
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	const n = 1 << 10
	srs, err := kzg.NewSRS(n, big.NewInt(42)) // a toy's setup
	if err != nil {
		log.Fatal(err)
	}
	bases, err := msm.BN254G1.Load(ctx, e, srs.Pk.G1)
	if err != nil {
		log.Fatal(err)
	}
	defer bases.Close()

	polynomial := make(fr.Vector, n)
	polynomial.MustSetRandom()
	point := fr.NewElement(7)
	var digest kzg.Digest
	var opening kzg.OpeningProof
	_, err = vector.BN254.Repeat(ctx, e, 2*n, func(ctx context.Context, session *vector.BN254Session) error {
		f, quotient := session.New(n), session.New(n-1)
		p := session.Program()
		p.Write(f, polynomial)
		commitment := vector.Commit(p, bases, f)
		value := p.Divide(quotient, f, point)
		proof := vector.Commit(p, bases, quotient)
		if err := p.Run(ctx); err != nil {
			return err
		}
		digest = commitment.Get()
		opening = kzg.OpeningProof{H: proof.Get(), ClaimedValue: value.Get()}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}

	want, err := kzg.Commit(polynomial, srs.Pk)
	if err != nil {
		log.Fatal(err)
	}
	wantOpening, err := kzg.Open(polynomial, point, srs.Pk)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(digest == want, opening == wantOpening, kzg.Verify(&digest, &opening, point, srs.Vk))
	// Output: true true <nil>
}

// A long expression is one pass over memory, and what it uses twice is computed
// once: here the products of a permutation argument, without its division.
func ExampleProgram_Map() {
	ctx := context.Background()
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	session, err := vector.BN254.Open(ctx, e, 4*4)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	wire, identity, permuted, ratio := session.New(4), session.New(4), session.New(4), session.New(4)
	beta, gamma := vector.Const(fr.NewElement(10)), vector.Const(fr.NewElement(1))

	p := session.Program()
	p.Powers(identity, fr.One(), fr.NewElement(2)) // 1 2 4 8
	p.Map(permuted, identity.Rotate(1).Expr())     // 2 4 8 1
	p.Fill(wire, fr.NewElement(3))
	term := func(s vector.Vector[fr.Element]) vector.Expr[fr.Element] {
		return wire.Expr().Add(beta.Mul(s.Expr())).Add(gamma)
	}
	p.Map(ratio, term(identity))
	top := p.Products(ratio, ratio)
	p.Map(ratio, term(permuted))
	bottom := p.Products(ratio, ratio)
	points := p.Read(ratio)
	if err := p.Run(ctx); err != nil {
		log.Fatal(err)
	}
	for _, c := range points.Get() {
		fmt.Print(c.String(), " ")
	}
	fmt.Println(top.Get() == bottom.Get())
	// Output: 24 1056 88704 1241856 true
}
