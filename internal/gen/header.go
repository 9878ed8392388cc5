package main

import (
	"bytes"
	"fmt"
	"math/big"
)

const command = "go run ./internal/gen"

// prime describes a prime field for the device.
type prime struct {
	name string // C++ name, such as bn254_fp
	p    *big.Int
}

// limbs returns the number of 32-bit limbs in gnark-crypto's layout: its elements are
// whole 64-bit words.
func (f prime) limbs() int { return 2 * ((f.p.BitLen() + 63) / 64) }

// r returns the Montgomery factor R = 2^(32 limbs).
func (f prime) r() *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(32*f.limbs())) }

// mont returns x R mod p.
func (f prime) mont(x *big.Int) *big.Int {
	y := new(big.Int).Mul(x, f.r())
	return y.Mod(y, f.p)
}

// writer collects a header.
type writer struct{ bytes.Buffer }

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// words writes a function that returns limb i of x, which the compiler folds
// into an immediate operand once the loop over i is unrolled.
func (w *writer) words(name, comment string, x *big.Int, limbs int) {
	w.line("  // %s", comment)
	w.line("  PIPPIN_HD static constexpr uint32_t %s(int i) {", name)
	w.line("    constexpr uint32_t w[%d] = {", limbs)
	mask := big.NewInt(0xffffffff)
	rest := new(big.Int).Set(x)
	for i := 0; i < limbs; i++ {
		if i%6 == 0 {
			w.WriteString("        ")
		}
		fmt.Fprintf(w, "0x%08x,", new(big.Int).And(rest, mask))
		if i%6 == 5 || i == limbs-1 {
			w.WriteByte('\n')
		} else {
			w.WriteByte(' ')
		}
		rest.Rsh(rest, 32)
	}
	w.line("    };")
	w.line("    return w[i];")
	w.line("  }")
}

// field writes the parameter struct of a prime field.
func (w *writer) field(f prime, what string) {
	n := f.limbs()
	two32 := new(big.Int).Lsh(big.NewInt(1), 32)
	np0 := new(big.Int).ModInverse(f.p, two32)
	np0.Sub(two32, np0)
	r := f.r()
	headroom := new(big.Int).Div(r, f.p)
	w.line("// %s.", what)
	w.line("struct %s {", f.name)
	w.line("  static constexpr int limbs = %d, bits = %d;", n, f.p.BitLen())
	w.line("  // The largest h with h p <= R = 2^%d.", 32*n)
	w.line("  static constexpr int headroom = %s;", headroom)
	w.line("  // -1/p mod 2^32.")
	w.line("  static constexpr uint32_t np0 = 0x%08x;", np0)
	w.words("p", "The modulus.", f.p, n)
	w.words("one", "R mod p: 1 in Montgomery form.", f.mont(big.NewInt(1)), n)
	r2 := new(big.Int).Mul(r, r)
	w.words("r2", "R^2 mod p.", r2.Mod(r2, f.p), n)
	w.line("};")
	w.line("")
}

// constant writes an element of a field in Montgomery form.
func (w *writer) constant(name, comment string, f prime, x *big.Int) {
	w.words(name, comment, f.mont(x), f.limbs())
}

// factor writes what products by an element are made with: the element, and the
// quotient of it times R by p.
func (w *writer) factor(name, comment string, f prime, x *big.Int) {
	quotient := new(big.Int).Mul(x, f.r())
	quotient.Div(quotient, f.p)
	both := new(big.Int).Mul(quotient, f.r())
	w.words(name, comment, both.Add(both, x), 2*f.limbs())
}
