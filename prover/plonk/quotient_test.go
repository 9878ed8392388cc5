package plonk

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/vector"
)

// polynomial is in powers of X, from the lowest on.
type polynomial []fr.Element

func random(n int) polynomial {
	p := make(polynomial, n)
	for i := range p {
		p[i].MustSetRandom()
	}
	return p
}

func (p polynomial) times(q polynomial) polynomial {
	product := make(polynomial, len(p)+len(q)-1)
	for i := range p {
		for k := range q {
			var t fr.Element
			product[i+k].Add(&product[i+k], t.Mul(&p[i], &q[k]))
		}
	}
	return product
}

// plus returns p + by q, where q is not longer.
func (p polynomial) plus(by fr.Element, q polynomial) polynomial {
	sum := slices.Clone(p)
	for i := range q {
		var t fr.Element
		sum[i].Add(&sum[i], t.Mul(&by, &q[i]))
	}
	return sum
}

// at returns p(by X).
func (p polynomial) at(by fr.Element) polynomial {
	moved, power := slices.Clone(p), fr.One()
	for i := range moved {
		moved[i].Mul(&moved[i], &power)
		power.Mul(&power, &by)
	}
	return moved
}

// onRounds calls f with the rounds of a proof of n rows, in a session of its own. Nothing is in its vectors.
func onRounds(t *testing.T, n int, f func(context.Context, *rounds[bn254.G1Affine, fr.Element]) error) {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Config{Open: new(faulty.Backends).Open, Fallbacks: []string{engine.NoFallback}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c, s := bn254Curve, sizeOf(n, 0)
	of := fft.NewDomain(uint64(n), fft.WithoutPrecompute())
	d := newDomain(c.fr, s, of.Generator, of.FrMultiplicativeGen, of.FrMultiplicativeGen)
	_, forKey := planKey(s, vector.Vector[fr.Element]{})
	_, forProof := planProof(s, vector.Vector[fr.Element]{})
	_, err = c.vectors.Repeat(t.Context(), e, forKey+forProof, func(ctx context.Context, session *vector.Session[fr.Element]) error {
		all := session.New(forKey + forProof)
		k, _ := planKey(s, all.Slice(0, forKey))
		v, _ := planProof(s, all.Slice(forKey, forKey+forProof))
		st := new(statement[bn254.G1Affine, fr.Element])
		if err := st.draw(d, false); err != nil {
			return err
		}
		return f(ctx, &rounds[bn254.G1Affine, fr.Element]{
			key:    &key[bn254.G1Affine, fr.Element]{curve: c, domain: d},
			device: &device[bn254.G1Affine, fr.Element]{session: session, key: k, vectors: v},
			st:     st,
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCombine puts a polynomial together from its remainders on cosets and its highest coefficients.
func TestCombine(t *testing.T) {
	for _, n := range []int{2, 4, 8, 16, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onRounds(t, n, func(ctx context.Context, r *rounds[bn254.G1Affine, fr.Element]) error {
				want := random(3*n + overhang)
				p := r.session.Program()
				for i, c := range r.cosets {
					remainder, power, one := make(polynomial, n), fr.One(), fr.One()
					var constant fr.Element // X^n
					constant.Add(&c.vanishing, &one)
					for at := 0; at < len(want); at += n {
						remainder = remainder.plus(power, want[at:min(at+n, len(want))])
						power.Mul(&power, &constant)
					}
					p.Write(r.vectors.part(i), remainder)
				}
				var high []fr.Element
				if r.pieces == 3 {
					high = want[3*n:]
				}
				r.combine(p, high)
				got := p.Read(r.vectors.quotient)
				if err := p.Run(ctx); err != nil {
					return err
				}
				if !slices.Equal(got.Get(), want) {
					t.Error("another polynomial than the one whose remainders they are")
				}
				return nil
			})
		})
	}
}

// TestOverhang compares with the whole product of the permutation argument's factors.
func TestOverhang(t *testing.T) {
	for _, n := range []int{8, 16, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onRounds(t, n, func(ctx context.Context, r *rounds[bn254.G1Affine, fr.Element]) error {
				some := random(3)
				r.alpha, r.beta, r.gamma = some[0], some[1], some[2]
				one, minus := fr.One(), minusOne(r.fr)
				p := r.session.Program()
				reversed := func(v vector.Vector[fr.Element], coefficients polynomial) {
					p.Write(r.vectors.on(0), coefficients)
					p.MapTo(v.Reversed(), n, r.vectors.on(0).Expr())
				}
				blinded := make([]polynomial, ratio+1) // L, R, O and Z
				for i := range blinded {
					c := random(n)
					reversed(r.vectors.polynomial(i), c)
					b := polynomial(r.st.b[i])
					blinded[i] = slices.Concat(c.plus(minus, b), b)
				}
				stays, moves := blinded[ratio], blinded[ratio].at(r.root)
				u := fr.One()
				for i, wire := range blinded[:ratio] {
					s := random(n)
					reversed(r.device.key.polynomial(sigma1+i), s)
					wire = wire.plus(r.gamma, polynomial{one})
					stays = stays.times(wire.plus(r.beta, polynomial{{}, u}))
					moves = moves.times(wire.plus(r.beta, s))
					u.Mul(&u, &r.shift)
				}
				read := r.readTops(p)
				if err := p.Run(ctx); err != nil {
					return err
				}
				want := make(polynomial, len(moves)).plus(r.alpha, moves.plus(minus, stays))[4*n:]
				if got := r.overhang(read.Get()); len(want) != overhang || !slices.Equal(got, want) {
					t.Errorf("%v, want %v", got, want)
				}
				return nil
			})
		})
	}
}
