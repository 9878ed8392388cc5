package circom

import (
	"fmt"
	"math/big"
	"strings"
)

// Calldata returns the proof and its public signals as the arguments of the Solidity verifier that
// snarkjs or gnark makes of the key: pA, pB, pC and the signals, as text. It is what "snarkjs zkey
// export soliditycalldata" prints, without the end of the line. In the coordinates of B, c1 comes
// before c0.
func (p *Proof) Calldata() (string, error) {
	c, err := p.check()
	if err != nil {
		return "", err
	}
	if err := checkPublic(c, p.Public); err != nil {
		return "", err
	}
	signals := make([]string, len(p.Public))
	for i, v := range p.Public {
		signals[i] = word(v)
	}
	pair := func(a, b *big.Int) string { return "[" + word(a) + ", " + word(b) + "]" }
	return fmt.Sprintf("%s,[%s,%s],%s,[%s]", pair(p.A.X, p.A.Y), pair(p.B.X[1], p.B.X[0]), pair(p.B.Y[1], p.B.Y[0]),
		pair(p.C.X, p.C.Y), strings.Join(signals, ",")), nil
}

// word returns a number as a string with the hexadecimal digits of 32 bytes, or more where it is
// larger.
func word(v *big.Int) string { return fmt.Sprintf(`"0x%064x"`, v) }
