package plonk

import "github.com/pippin-zk/pippin/vector"

// The quotient h has 3n + 6 coefficients. On a coset where X^n is the constant p, its values are those of a
// polynomial of n coefficients, h mod (X^n - p): the remainder there. Three remainders give h mod M(X^n),
// where M(Y) = (Y - p0) (Y - p1) (Y - p2), and so h but for a multiple t M(X^n) of it. t has the six
// coefficients of h from 3n on. They depend on the highest coefficients of a few polynomials alone.
const (
	// overhang is how many coefficients the quotient has from 3n on.
	overhang = 6
	// topsEach is how many of a polynomial's n coefficients are its tops: the highest.
	topsEach = 4
	// topsOf is how many polynomials' tops are read.
	topsOf = ratio + 1 + 3
)

// fromAbove are the places of a polynomial's tops, from the highest coefficient down. Its coefficients are in
// reversed order: n-4, n-2, n-3 and n-1 end the four quarters.
var fromAbove = [topsEach]int{3, 1, 2, 0}

// readTops reads the tops of L, R, O and Z, then those of S1 to S3, where overhang needs them.
func (r *rounds[P, S]) readTops(p *vector.Program[S]) *vector.Answer[[]S] {
	if r.pieces > 3 {
		return nil
	}
	v, each := r.vectors, r.n/topsEach
	at := 0
	take := func(coefficients vector.Vector[S], count int) {
		n := count * topsEach
		p.MapTo(v.tops.Slice(at, at+n).View(), n, coefficients.Slice(each-1, count*r.n).Every(each).Expr())
		at += n
	}
	take(v.polynomials, ratio+1)
	take(r.device.key.coefficients.Slice((1+sigma1)*r.n, (1+columns)*r.n), 3)
	return p.Read(v.tops)
}

// remainders has what a polynomial is put together with from its remainders on all cosets.
type remainders[S any] struct {
	modulus []S   // M: its coefficients, from the lowest on
	weights [][]S // of X^(kn): the sum of all remainders, each times its weight
}

// newRemainders takes the values p of X^n on all cosets. Row k of the weights has the coefficients k of the
// polynomials that are 1 at one p and 0 at all others.
func (d *domain[S]) newRemainders() (m remainders[S]) {
	fr, one := d.field, d.field.One()
	var zero S
	m.modulus = []S{one}
	at := make([]S, len(d.cosets))
	for i, c := range d.cosets {
		at[i] = fr.Sum(c.vanishing, one)
		m.modulus = append(m.modulus, one)
		for k := i; k >= 0; k-- { // times Y - p
			below := zero
			if k > 0 {
				below = m.modulus[k-1]
			}
			m.modulus[k] = fr.Minus(below, fr.Product(at[i], m.modulus[k]))
		}
	}
	m.weights = make([][]S, len(at))
	for k := range m.weights {
		m.weights[k] = make([]S, len(at))
	}
	for i, p := range at {
		quotient := make([]S, len(at)) // of M by Y - p
		var carry, value S
		for k := len(at) - 1; k >= 0; k-- {
			carry = fr.Sum(m.modulus[k+1], fr.Product(carry, p))
			quotient[k] = carry
			value = fr.Sum(carry, fr.Product(value, p))
		}
		by := fr.Inverse(value)
		for k, q := range quotient {
			m.weights[k][i] = fr.Product(q, by)
		}
	}
	return m
}

// combine sets the quotient's coefficients from its remainders, and where there are three cosets from its
// overhang.
func (r *rounds[P, S]) combine(p *vector.Program[S], high []S) {
	v, n := r.vectors, r.n
	for k, weights := range r.remainders.weights {
		to := v.quotient.Slice(k*n, min((k+1)*n, v.quotient.Len()))
		var terms []vector.Term[S]
		for i, by := range weights {
			terms = append(terms, v.part(i).Slice(0, to.Len()).Times(by))
		}
		p.Sum(to, terms...)
	}
	if len(high) == 0 {
		return
	}
	for k, by := range r.remainders.modulus[:r.pieces] {
		more := r.secret(overhang)
		r.fr.AddScaledInto(more, high, by)
		r.addTo(p, v.quotient.Slice(k*n, (k+1)*n).View(), more)
	}
	p.Write(v.quotient.Slice(3*n, 3*n+overhang), high)
}

// overhang computes the quotient's coefficients from 3n on from what readTops read, or none where cosets determine
// the whole quotient. They are those of the numerator from 4n on, to which only the two products of the
// permutation argument reach:
//
//	alpha ((L + beta S1) (R + beta S2) (O + beta S3) Z(wX) - L R O Z)
//
// With X^(n+1), and X^(n+2) for Z, taken out, each factor is a series in 1/X, of which the first six terms
// count. beta X and gamma are too low to be among them. All of it is secret.
func (r *rounds[P, S]) overhang(tops []S) []S {
	if len(tops) == 0 {
		return nil
	}
	fr := r.fr
	stays, moves := r.series(ratio, tops), r.secret(overhang)
	// Z(wX) has w^(n+2-i) more at term i, and w^n is 1.
	power := fr.Product(r.root, r.root)
	back := fr.Inverse(r.root)
	for i := range moves {
		fr.Mul(&moves[i], &stays[i], &power)
		power = fr.Product(power, back)
	}
	for i := range ratio {
		wire := r.series(i, tops)
		r.timesInto(stays, wire)
		for k, place := range fromAbove {
			at := (ratio+1+i)*topsEach + place
			fr.AddScaledInto(wire[2+k:3+k], tops[at:at+1], r.beta)
		}
		r.timesInto(moves, wire)
	}
	high := r.secret(overhang)
	for i := range high {
		fr.Subtract(&high[i], &moves[overhang-1-i], &stays[overhang-1-i])
		fr.Mul(&high[i], &high[i], &r.alpha)
	}
	return high
}

// series returns the six highest coefficients of a blinded polynomial, from L to Z, the highest first.
func (r *rounds[P, S]) series(polynomial int, tops []S) []S {
	s := r.secret(overhang)
	high := r.st.high(polynomial)
	for i := range high {
		s[i] = high[len(high)-1-i]
	}
	for i := range s[len(high):] {
		s[len(high)+i] = tops[polynomial*topsEach+fromAbove[i]]
	}
	return s
}

// timesInto multiplies the series a by b, of as many terms.
func (r *rounds[P, S]) timesInto(a, b []S) {
	product := r.secret(1)
	for i := len(a) - 1; i >= 0; i-- {
		r.fr.Mul(&a[i], &a[i], &b[0])
		for k := range i {
			r.fr.Mul(&product[0], &a[k], &b[i-k])
			r.fr.AddTo(&a[i], &product[0])
		}
	}
}
