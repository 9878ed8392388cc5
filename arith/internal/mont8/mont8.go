// Package mont8 raises eight residues at a time to a public exponent, one in each lane of
// AVX-512, by its products of 52 bits. Modulus and exponent are public; no branch and no
// address depends on anything else.
package mont8

import "math/big"

// Lanes is how many residues are computed at a time.
const Lanes = 8

// digit is how many bits of a number lie in a word.
const digit, mask = 52, 1<<digit - 1

// most is the most digits of a number: the sums of a product, four digits' for each of its
// own, stay below 2^64.
const most = 510

// Powers are x^e modulo m. Safe for concurrent use.
type Powers struct {
	e     uint32
	width int      // words of 32 bits of a number
	n     int      // digits of one: R = 2^(52 n) is above 4 m
	m     []uint64 // digits
	k0    uint64   // -1/m modulo 2^52
	one   []uint64 // in each lane
	back  []uint64 // R^(e+1) modulo m, in each lane
}

// New returns nil where the processor has no such products, for an even modulus, an exponent
// of 0, and numbers of more than 26,000 bits. Numbers have width words of 32 bits.
func New(m *big.Int, e uint32, width int) *Powers {
	p := &Powers{e: e, width: width, n: (32*width + 2 + digit - 1) / digit}
	if !available || m.Bit(0) == 0 || m.Sign() < 0 || m.BitLen() > 32*width || e == 0 || p.n < 2 || p.n > most {
		return nil
	}
	radix := new(big.Int).Lsh(big.NewInt(1), digit)
	k0 := new(big.Int).ModInverse(m, radix)
	p.k0 = k0.Sub(radix, k0).Uint64()
	p.m = digits(m, p.n)
	p.one = everywhere(digits(big.NewInt(1), p.n))
	r := new(big.Int).Lsh(big.NewInt(1), uint(digit*p.n))
	p.back = everywhere(digits(r.Exp(r, big.NewInt(int64(e)+1), m), p.n))
	return p
}

// digits returns x in n digits.
func digits(x *big.Int, n int) []uint64 {
	d := make([]uint64, n)
	x = new(big.Int).Set(x)
	low := new(big.Int)
	for i := range d {
		d[i] = low.And(x, big.NewInt(mask)).Uint64()
		x.Rsh(x, digit)
	}
	return d
}

// everywhere returns digits with each in all lanes.
func everywhere(d []uint64) []uint64 {
	all := make([]uint64, 0, Lanes*len(d))
	for _, v := range d {
		for range Lanes {
			all = append(all, v)
		}
	}
	return all
}

// Work is memory of one goroutine. Wipe it.
type Work struct{ x, y, z, want []uint64 }

// Work makes room for Are.
func (p *Powers) Work() *Work {
	room := func() []uint64 { return make([]uint64, Lanes*p.n) }
	return &Work{room(), room(), room(), room()}
}

// Wipe clears what the last call left.
func (w *Work) Wipe() {
	for _, b := range [][]uint64{w.x, w.y, w.z, w.want} {
		clear(b)
	}
}

// Are reports whether all x are below m and their powers are those given, eight numbers each,
// one after the other.
func (p *Powers) Are(w *Work, powers, x []uint32) bool {
	p.load(w.x, x)
	p.load(w.want, powers)
	var below [Lanes]uint64 // borrows of x - m
	for i, m := range p.m {
		for lane := range Lanes {
			below[lane] = (w.x[Lanes*i+lane] - m - below[lane]) >> 63
		}
	}
	y, z := w.y, w.z
	copy(y, w.x)
	bits := 31
	for p.e>>bits == 0 {
		bits--
	}
	for i := bits - 1; i >= 0; i-- { // without R: every product divides by one
		mul(z, y, y, p)
		y, z = z, y
		if p.e>>i&1 == 1 {
			mul(z, y, w.x, p)
			y, z = z, y
		}
	}
	mul(z, y, p.back, p) // x^e R
	mul(y, z, p.one, p)  // x^e, below m
	var differ uint64
	for i, v := range w.want {
		differ |= v ^ y[i]
	}
	for _, b := range below {
		differ |= b ^ 1
	}
	return differ == 0
}

// load takes eight numbers apart.
func (p *Powers) load(d []uint64, x []uint32) {
	for lane := range Lanes {
		number := x[lane*p.width : (lane+1)*p.width]
		for i := range p.n {
			word, shift := digit*i/32, uint(digit*i%32)
			var v [3]uint64
			for k := range v {
				if word+k < p.width {
					v[k] = uint64(number[word+k])
				}
			}
			d[Lanes*i+lane] = ((v[0]|v[1]<<32)>>shift | v[2]<<(64-shift)) & mask
		}
	}
}
