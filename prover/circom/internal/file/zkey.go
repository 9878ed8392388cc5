package file

import (
	"io"
	"math/big"
	"math/bits"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// The types of a key's sections.
const (
	keyProtocol      = 1
	keyHeader        = 2
	keyIC            = 3
	keyEntries       = 4
	keyA             = 5
	keyB1            = 6
	keyB2            = 7
	keyC             = 8
	keyH             = 9
	keyContributions = 10
)

// protocols are the proof systems of keys by their numbers in section 1.
var protocols = map[int]string{2: "PLONK", 10: "FFLONK"}

const groth16 = 1

// Key is a proving key of snarkjs's Groth16: its header, and where its points and entries are.
type Key struct {
	container
	Curve         backend.Curve
	Wires, Public int
	Domain        int // a power of two

	// The points of the header, in memory layout.
	Alpha1, Beta1, Delta1 []byte
	Beta2, Gamma2, Delta2 []byte

	IC, A, B1, B2, C, H Points
	entries             Section
}

// Points are points of a section, in memory layout.
type Points struct {
	key   *Key
	kind  int
	group backend.Group
	at    Section
	Count int
}

// OpenKey reads the header of a key of some size, and checks the length of everything else.
func OpenKey(from io.ReaderAt, size int64) (*Key, error) {
	c, err := open(from, size, "zkey", keyContributions)
	if err != nil {
		return nil, err
	}
	k := &Key{container: *c}
	if err := k.protocol(); err != nil {
		return nil, err
	}
	if err := k.header(); err != nil {
		return nil, err
	}
	return k, k.lengths()
}

// protocol refuses keys of other proof systems by name.
func (k *Key) protocol() error {
	b, err := k.start(keyProtocol, 4)
	if err != nil {
		return err
	}
	n := number(b)
	if n == groth16 {
		return nil
	}
	if name, ok := protocols[n]; ok {
		return k.refuse("zkey file is not groth16: it is a key of %s (snarkjs groth16 setup makes one)", name)
	}
	return k.refuse("zkey file is not groth16: its protocol has the number %d", n)
}

// curveBytes returns how many bytes a header has before its points.
func curveBytes(c backend.Curve) int { return 4 + c.FieldBytes() + 4 + c.ScalarBytes() + 3*4 }

// header reads section 2.
func (k *Key) header() error {
	b, err := k.start(keyHeader, 4)
	if err != nil {
		return err
	}
	for _, c := range Curves {
		if number(b) != c.FieldBytes() {
			continue
		}
		size := curveBytes(c) + 3*c.PointBytes(backend.G1) + 3*c.PointBytes(backend.G2)
		if _, err := k.need(keyHeader, int64(size)); err != nil {
			return err
		}
		if b, err = k.start(keyHeader, size); err != nil {
			return err
		}
		if q := integer(b[4 : 4+c.FieldBytes()]); q.Cmp(c.BaseField()) != 0 {
			return k.refuse("zkey curve not supported: q = %v", q)
		}
		k.Curve = c
		return k.numbers(b)
	}
	return k.refuse("zkey curve not supported: coordinates of %d bytes", number(b))
}

// Curves are the curves of circom's circuits that can be proved here.
var Curves = []backend.Curve{backend.BN254, backend.BLS12381}

// numbers reads what follows q in section 2.
func (k *Key) numbers(b []byte) error {
	b = b[4+k.Curve.FieldBytes():]
	if n := number(b); n != k.Curve.ScalarBytes() {
		return k.refuse("scalars of %d bytes, should have %d", n, k.Curve.ScalarBytes())
	}
	b = b[4:]
	if r := integer(b[:k.Curve.ScalarBytes()]); r.Cmp(k.Curve.ScalarField()) != 0 {
		return k.refuse("zkey curve not supported: r = %v", r)
	}
	b = b[k.Curve.ScalarBytes():]
	k.Wires, k.Public, k.Domain = number(b), number(b[4:]), number(b[8:])
	b = b[3*4:]
	for _, p := range []struct {
		at *[]byte
		of backend.Group
	}{
		{&k.Alpha1, backend.G1}, {&k.Beta1, backend.G1}, {&k.Beta2, backend.G2}, {&k.Gamma2, backend.G2},
		{&k.Delta1, backend.G1}, {&k.Delta2, backend.G2},
	} {
		*p.at, b = b[:k.Curve.PointBytes(p.of)], b[k.Curve.PointBytes(p.of):]
	}
	return k.sizes()
}

// sizes refuses numbers that no circuit has. A domain needs roots of unity of twice its order.
func (k *Key) sizes() error {
	switch {
	case k.Domain < 2 || bits.OnesCount(uint(k.Domain)) != 1:
		return k.refuse("a domain of %d, should be a power of two", k.Domain)
	case bits.TrailingZeros(uint(k.Domain)) >= k.Curve.TwoAdicity():
		return k.refuse("a domain of 2^%d, there are no roots of unity for more than 2^%d on %v",
			bits.TrailingZeros(uint(k.Domain)), k.Curve.TwoAdicity()-1, k.Curve)
	case k.Public >= k.Wires:
		return k.refuse("%d public signals of %d wires", k.Public, k.Wires)
	case k.Public >= k.Domain:
		return k.refuse("%d public signals in a domain of %d", k.Public, k.Domain)
	case k.Wires > backend.MaxCount || k.Domain > backend.MaxCount:
		return k.refuse("%d wires in a domain of %d, the most is %d", k.Wires, k.Domain, backend.MaxCount)
	}
	return nil
}

// lengths compares the length of every section with what the header says.
func (k *Key) lengths() (err error) {
	for _, p := range []struct {
		to    *Points
		kind  int
		group backend.Group
		count int
	}{
		{&k.IC, keyIC, backend.G1, k.Public + 1},
		{&k.A, keyA, backend.G1, k.Wires},
		{&k.B1, keyB1, backend.G1, k.Wires},
		{&k.B2, keyB2, backend.G2, k.Wires},
		{&k.C, keyC, backend.G1, k.Wires - k.Public - 1},
		{&k.H, keyH, backend.G1, k.Domain},
	} {
		*p.to = Points{key: k, kind: p.kind, group: p.group, Count: p.count}
		if p.to.at, err = k.need(p.kind, int64(p.count)*int64(k.Curve.PointBytes(p.group))); err != nil {
			return err
		}
	}
	b, err := k.start(keyEntries, 4)
	if err != nil {
		return err
	}
	k.entries, err = k.need(keyEntries, 4+int64(number(b))*int64(k.entryBytes()))
	return err
}

// Bytes returns the size of a point.
func (p *Points) Bytes() int { return p.key.Curve.PointBytes(p.group) }

// Read fills to with points from number from on. A coordinate that is not below q is refused.
func (p *Points) Read(to []byte, from int) error {
	size := p.Bytes()
	if err := p.key.readTo(to, p.at.Offset+int64(from)*int64(size)); err != nil {
		return err
	}
	if i := layout.FirstNotBelow(to, layout.BaseField(p.key.Curve)); i >= 0 {
		return p.Refuse(from+i*p.key.Curve.FieldBytes()/size, "has a coordinate that is not below q")
	}
	return nil
}

// Refuse says what is wrong with a point.
func (p *Points) Refuse(i int, what string) error {
	return p.key.refuse("section %d: point %d %s", p.kind, i, what)
}

// integer returns a little-endian number.
func integer(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}
