package vector_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/vector"
)

// TestSparseProduct compares a product with one of whole numbers. The matrix has empty rows, rows of
// one entry, and one of 10^5 between them.
func TestSparseProduct(t *testing.T) {
	const height, width, long, short = 3000, 500, 100_000, 4000
	random := rand.New(rand.NewPCG(5, 6))
	number := func() (x fr.Element) { x.SetUint64(random.Uint64()); return *x.Inverse(&x) }
	src := make([]fr.Element, width)
	for i := range src {
		src[i] = number()
	}
	e := vector.Entries[fr.Element]{Values: []fr.Element{number(), {}, number()}}
	for i := range long + short {
		row := uint32(random.IntN(height))
		if i < long {
			row = 1234
		}
		e.Rows = append(e.Rows, row)
		e.Columns = append(e.Columns, uint32(random.IntN(width)))
		e.Factors = append(e.Factors, uint32(random.IntN(backend.FactorValue+len(e.Values))))
	}
	slices.Sort(e.Rows)
	want := make([]fr.Element, height)
	sums := make([]big.Int, height)
	for k, row := range e.Rows {
		x := src[e.Columns[k]].BigInt(new(big.Int))
		switch f := e.Factors[k]; f {
		case backend.FactorOne:
		case backend.FactorMinusOne:
			x.Neg(x)
		default:
			x.Mul(x, e.Values[f-backend.FactorValue].BigInt(new(big.Int)))
		}
		sums[row].Add(&sums[row], x)
	}
	for i := range want {
		want[i].SetBigInt(&sums[i])
	}

	elements := height + width + vector.BN254.MatrixElements(len(e.Rows), len(e.Values))
	s := open(t, newEngine(t, engine.Config{}), elements)
	x, y, m := s.New(width), s.New(height), s.NewMatrix(len(e.Rows), len(e.Values))
	if s.Left() != 0 {
		t.Errorf("%d elements are left", s.Left())
	}
	p := s.Program()
	p.Write(x, src)
	p.WriteMatrix(m, e)
	p.Fill(y, fr.One()) // of which nothing may be left
	p.SparseProduct(y, m, x)
	got := p.Read(y)
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Get(), want) {
		t.Error("another vector")
	}
}
