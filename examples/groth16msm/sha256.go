package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/consensys/gnark/frontend"
)

// preimage states: I know a message, of one block, with this SHA-256 digest.
// It works on single bits, with no lookup tables: some 27,000 constraints.
type preimage struct {
	Message []frontend.Variable                // bytes, at most maxMessage of them
	Digest  [sha256.Size / 4]frontend.Variable `gnark:",public"` // words
}

// maxMessage leaves a block room for the padding: a bit and the length.
const maxMessage = sha256.BlockSize - 1 - 8

func sha256Statement(message string) (statement, error) {
	if len(message) > maxMessage {
		return statement{}, fmt.Errorf("a message of %d bytes, at most %d fit into one block", len(message), maxMessage)
	}
	known := &preimage{}
	for _, b := range []byte(message) {
		known.Message = append(known.Message, b)
	}
	digest := sha256.Sum256([]byte(message))
	for i := range known.Digest {
		known.Digest[i] = binary.BigEndian.Uint32(digest[4*i:])
	}
	return statement{
		title:      fmt.Sprintf("SHA-256 of %d bytes", len(message)),
		circuit:    &preimage{Message: make([]frontend.Variable, len(message))},
		assignment: known,
	}, nil
}

// word is 32 bits, least significant first.
type word [32]frontend.Variable

// Define implements frontend.Circuit. Source: FIPS 180-4, sections 5 and 6.2,
// whose names the variables have.
func (c *preimage) Define(api frontend.API) error {
	w := schedule(api, block(api, c.Message))
	var start, h [8]word
	for i, p := range primes(8) {
		start[i] = constant(fraction(math.Sqrt(float64(p))))
	}
	h = start
	for t, p := range primes(64) {
		a, b, c, d, e, f, g := h[0], h[1], h[2], h[3], h[4], h[5], h[6]
		k := fraction(math.Cbrt(float64(p)))
		t1 := []frontend.Variable{
			value(api, h[7]),
			value(api, xor3(api, rotate(e, 6), rotate(e, 11), rotate(e, 25))),
			value(api, choose(api, e, f, g)),
			k,
			value(api, w[t]),
		}
		t2 := []frontend.Variable{
			value(api, xor3(api, rotate(a, 2), rotate(a, 13), rotate(a, 22))),
			value(api, majority(api, a, b, c)),
		}
		h = [8]word{
			sum(api, append(t2, t1...)...), a, b, c,
			sum(api, append(t1, value(api, d))...), e, f, g,
		}
	}
	for i := range h {
		api.AssertIsEqual(c.Digest[i], value(api, sum(api, value(api, h[i]), value(api, start[i]))))
	}
	return nil
}

// block is the padded message.
func block(api frontend.API, message []frontend.Variable) (m [16]word) {
	var bytes [sha256.BlockSize]frontend.Variable
	for i := range bytes {
		bytes[i] = 0
	}
	copy(bytes[:], message)
	bytes[len(message)] = 0x80
	bits := 8 * len(message)
	bytes[len(bytes)-2], bytes[len(bytes)-1] = bits>>8, bits&0xff
	for i, b := range bytes {
		copy(m[i/4][8*(3-i%4):], api.ToBinary(b, 8))
	}
	return m
}

// schedule expands a block to a word for each round.
func schedule(api frontend.API, m [16]word) (w [64]word) {
	copy(w[:], m[:])
	for t := 16; t < len(w); t++ {
		x, y := w[t-15], w[t-2]
		w[t] = sum(api,
			value(api, xor3(api, rotate(y, 17), rotate(y, 19), shift(y, 10))),
			value(api, w[t-7]),
			value(api, xor3(api, rotate(x, 7), rotate(x, 18), shift(x, 3))),
			value(api, w[t-16]))
	}
	return w
}

func constant(v uint32) (w word) {
	for i := range w {
		w[i] = v >> i & 1
	}
	return w
}

// value is the number that the bits stand for: no constraint.
func value(api frontend.API, w word) frontend.Variable { return api.FromBinary(w[:]...) }

// sum is the sum modulo 2^32 of at most eight values below 2^32.
func sum(api frontend.API, v ...frontend.Variable) (w word) {
	all := frontend.Variable(0)
	for _, x := range v {
		all = api.Add(all, x)
	}
	copy(w[:], api.ToBinary(all, len(w)+3))
	return w
}

// rotate and shift go to the right, by less than 32.
func rotate(w word, by int) word {
	return word(slices.Concat(w[by:], w[:by]))
}

func shift(w word, by int) word {
	zero := constant(0)
	return word(slices.Concat(w[by:], zero[:by]))
}

func xor3(api frontend.API, a, b, c word) (w word) {
	for i := range w {
		w[i] = api.Xor(api.Xor(a[i], b[i]), c[i])
	}
	return w
}

// choose takes b's bit where a has a one, else c's.
func choose(api frontend.API, a, b, c word) (w word) {
	for i := range w {
		w[i] = api.Select(a[i], b[i], c[i])
	}
	return w
}

// majority is bc + a(b + c - 2bc).
func majority(api frontend.API, a, b, c word) (w word) {
	for i := range w {
		bc := api.Mul(b[i], c[i])
		w[i] = api.Add(bc, api.Mul(a[i], api.Sub(b[i], api.Mul(2, bc), api.Neg(c[i]))))
	}
	return w
}

// fraction is the first 32 bits behind the binary point. The roots are below 8,
// so that a float64 has 50 bits there.
func fraction(x float64) uint32 { return uint32((x - math.Floor(x)) * (1 << 32)) }

// primes are the first n.
func primes(n int) (p []int) {
	for k := 2; len(p) < n; k++ {
		if !slices.ContainsFunc(p, func(q int) bool { return k%q == 0 }) {
			p = append(p, k)
		}
	}
	return p
}
