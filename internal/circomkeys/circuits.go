package circomkeys

import (
	"fmt"
	"iter"
	"math/big"
	"math/rand/v2"

	"github.com/pippin-zk/pippin/backend"
)

// Sample is a circuit with a witness.
type Sample struct {
	Circuit
	Name   string
	Values []*big.Int
}

// Names lists the circuits of ByName with a fixed size.
func Names() []string {
	return []string{"product", "nothing", "no public", "no private", "unread", "full domain", "many public", "factors", "bits of 40"}
}

// ByName returns a circuit, on a curve: one of Names, "2000 public", or
// "bits of N" with about N constraints.
func ByName(c backend.Curve, name string) (*Sample, error) {
	b := &builder{curve: c, values: []*big.Int{big.NewInt(1)}}
	public := 0
	switch name {
	case "product": // the output, one public and one private input
		b.wires(3*7, 3, 7)
		b.constrain(Constraint{A: terms(2, 1), B: terms(3, 1), C: terms(1, 1)})
		public = 2
	case "nothing": // an output that equals an input needs no constraint
		b.wires(11)
		public = 1
	case "no public":
		b.wires(5, 25)
		b.constrain(Constraint{A: terms(1, 1), B: terms(1, 1), C: terms(2, 1)})
	case "no private":
		b.wires(5*5+6, 5)
		b.constrain(Constraint{A: terms(2, 1), B: terms(2, 1), C: terms(1, 1, 0, -6)})
		public = 2
	case "unread": // wire 3 is in no constraint
		b.wires(9, 3, 77)
		b.constrain(Constraint{A: terms(2, 1), B: terms(2, 1), C: terms(1, 1)})
		public = 1
	case "full domain": // 30 rows of constraints and 2 of public signals fill a domain of 32
		b.chain(30)
		public = 1
	case "many public":
		b.manyPublic(100)
		public = 100
	case "2000 public":
		b.manyPublic(2000)
		public = 2000
	case "factors": // more factors than circom's circuits have
		b.factors(40)
		public = 1
	default:
		var n int
		if _, err := fmt.Sscanf(name, "bits of %d", &n); err != nil || n < 1 {
			return nil, fmt.Errorf("%w: no circuit %q", backend.ErrInvalidInput, name)
		}
		return bitsOf(c, n), nil
	}
	all := b.constraints
	return &Sample{Circuit{c, len(b.values), public, func(yield func(Constraint) bool) {
		for _, x := range all {
			if !yield(x) {
				return
			}
		}
	}}, name, b.values}, nil
}

// terms returns wires with factors.
func terms(wiresAndFactors ...int64) (all []Term) {
	for i := 0; i < len(wiresAndFactors); i += 2 {
		all = append(all, Term{int(wiresAndFactors[i]), wiresAndFactors[i+1]})
	}
	return all
}

// builder makes a small circuit.
type builder struct {
	curve       backend.Curve
	values      []*big.Int
	constraints []Constraint
}

// wires adds wires with values.
func (b *builder) wires(values ...int64) {
	for _, v := range values {
		b.values = append(b.values, big.NewInt(v))
	}
}

func (b *builder) constrain(c Constraint) { b.constraints = append(b.constraints, c) }

// add adds a wire whose value is a product modulo r, and returns its number.
func (b *builder) add(x, y *big.Int) int64 {
	z := new(big.Int).Mul(x, y)
	b.values = append(b.values, z.Mod(z, b.curve.ScalarField()))
	return int64(len(b.values) - 1)
}

// chain squares and adds 1, n times: wire 1 is the result.
func (b *builder) chain(n int) {
	b.wires(0, 3)
	at := int64(2)
	for i := range n {
		x := b.values[at]
		next := new(big.Int).Add(x, big.NewInt(1))
		if i == n-1 {
			b.values[1].Mod(next.Mul(x, next), b.curve.ScalarField())
			b.constrain(Constraint{A: terms(at, 1), B: terms(at, 1, 0, 1), C: terms(1, 1)})
			return
		}
		to := b.add(x, next)
		b.constrain(Constraint{A: terms(at, 1), B: terms(at, 1, 0, 1), C: terms(to, 1)})
		at = to
	}
}

// manyPublic makes each public signal the square of a private one.
func (b *builder) manyPublic(n int) {
	for i := range n {
		b.wires(int64(i) * int64(i))
	}
	for i := range n {
		b.wires(int64(i))
		b.constrain(Constraint{A: terms(int64(n+i+1), 1), B: terms(int64(n+i+1), 1), C: terms(int64(i+1), 1)})
	}
}

// factors multiplies sums whose factors are all different.
func (b *builder) factors(n int) {
	b.wires(0, 2)
	for i := range n {
		k := int64(i + 2)
		x := new(big.Int).Mul(b.values[2], big.NewInt(k*k))
		to := b.add(x.Sub(x, big.NewInt(k)), x)
		b.constrain(Constraint{A: terms(2, k*k, 0, -k), B: terms(2, k*k, 0, -k), C: terms(to, 1)})
	}
}

// bitsOf returns a circuit like those of hashes: most wires are bits, which are in A and B, and
// sums of 32 of them, which are in C only. About n constraints; the output is a product at the end.
func bitsOf(c backend.Curve, n int) *Sample {
	const word = 32
	words := (n + 2*word) / (2*word + 1)
	random := rand.New(rand.NewPCG(uint64(n), 5))
	values := []*big.Int{big.NewInt(1), new(big.Int)} // wire 1 is the output
	zero, one := new(big.Int), big.NewInt(1)
	for range words {
		sum := new(big.Int)
		at := len(values)
		for i := range word {
			bit := zero
			if random.IntN(2) == 1 {
				bit = one
				sum.SetBit(sum, i, 1)
			}
			values = append(values, bit)
		}
		for i := range word { // the exclusive or of neighbours
			values = append(values, new(big.Int).Xor(values[at+i], values[at+(i+1)%word]))
		}
		values = append(values, sum)
	}
	values[1].Mod(values[1].Mul(values[2], values[3]), c.ScalarField())
	return &Sample{Circuit{c, len(values), 1, bitConstraints(words, word)}, fmt.Sprintf("bits of %d", n), values}
}

// bitConstraints yields the constraints of bitsOf.
func bitConstraints(words, word int) iter.Seq[Constraint] {
	return func(yield func(Constraint) bool) {
		if !yield(Constraint{A: terms(2, 1), B: terms(3, 1), C: terms(1, 1)}) {
			return
		}
		for w := range words {
			at := 2 + w*(2*word+1)
			var sum []Term
			for i := range word {
				x, y, z := int64(at+i), int64(at+(i+1)%word), int64(at+word+i)
				sum = append(sum, Term{int(x), 1 << i})
				if !yield(Constraint{A: terms(x, 1), B: terms(x, 1, 0, -1)}) ||
					!yield(Constraint{A: terms(x, 2), B: terms(y, 1), C: terms(x, 1, y, 1, z, -1)}) {
					return
				}
			}
			// 1 times the sum of bits is the word.
			if !yield(Constraint{A: terms(0, 1), B: sum, C: []Term{{at + 2*word, 1}}}) {
				return
			}
		}
	}
}
