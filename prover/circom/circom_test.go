package circom_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math/big"
	rand2 "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circomkeys"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/circom"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
)

// built is a circuit with its files.
type built struct {
	*circomkeys.Sample
	key, witness []byte
	known        *circomkeys.Known
}

// cache keeps what build has made, by curve and name.
var cache sync.Map

// build makes the key and the witness of a circuit.
func build(t testing.TB, c backend.Curve, name string) *built {
	t.Helper()
	type id struct {
		c    backend.Curve
		name string
	}
	if b, ok := cache.Load(id{c, name}); ok {
		return b.(*built)
	}
	b := buildOn(t, newEngine(t, engine.Config{Open: new(faulty.Backends).Open}), c, name)
	cache.Store(id{c, name}, b)
	return b
}

// buildOn does what build does, on an engine, and keeps nothing.
func buildOn(t testing.TB, e *engine.Engine, c backend.Curve, name string) *built {
	t.Helper()
	s, err := circomkeys.ByName(c, name)
	if err != nil {
		t.Fatal(err)
	}
	var key bytes.Buffer
	known, err := circomkeys.Write(t.Context(), e, &key, &s.Circuit, circomkeys.KnownSecrets(c))
	if err != nil {
		t.Fatal(err)
	}
	return &built{s, key.Bytes(), circomkeys.Witness(c, s.Values), known}
}

func newEngine(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := engine.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// load loads the circuit's key.
func (b *built) load(t testing.TB, opts ...circom.KeyOption) *circom.Key {
	t.Helper()
	k, err := circom.ParseKey(b.key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

// of returns the circuit's witness.
func (b *built) of(t testing.TB) circom.Witness {
	t.Helper()
	w, err := circom.ParseWitness(b.witness)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// withReader sets the source of randomness during f.
func withReader(r io.Reader, f func()) {
	was := rand.Reader
	defer func() { rand.Reader = was }()
	rand.Reader = r
	f()
}

// point returns the product of a group's generator and a number, as numbers.
func point(c backend.Curve, g backend.Group, k *big.Int) (all []*big.Int) {
	of := curves.GroupOf(c, g)
	s := of.Sums(1)
	s.Set(0, of.Generator(), 0)
	s.Multiply(0, k)
	b, size := s.Point(0), c.FieldBytes()
	r := new(big.Int).Lsh(big.NewInt(1), uint(8*size))
	r.ModInverse(r, c.BaseField())
	for part := range slices.Chunk(b, size) {
		slices.Reverse(part)
		x := new(big.Int).SetBytes(part)
		all = append(all, x.Mul(x, r).Mod(x, c.BaseField()))
	}
	return all
}

// same compares a proof with the points that the set-up knows.
func (b *built) same(t *testing.T, p *circom.Proof, r, s *big.Int) {
	t.Helper()
	kA, kB, kC := b.known.Proof(b.Values, r, s)
	for _, part := range []struct {
		name  string
		got   []*big.Int
		group backend.Group
		k     *big.Int
	}{
		{"A", []*big.Int{p.A.X, p.A.Y}, backend.G1, kA},
		{"B", []*big.Int{p.B.X[0], p.B.X[1], p.B.Y[0], p.B.Y[1]}, backend.G2, kB},
		{"C", []*big.Int{p.C.X, p.C.Y}, backend.G1, kC},
	} {
		if !slices.EqualFunc(part.got, point(b.Curve, part.group, part.k), func(x, y *big.Int) bool { return x.Cmp(y) == 0 }) {
			t.Errorf("%s is another point", part.name)
		}
	}
	for i, x := range p.Public {
		if x.Cmp(b.Values[i+1]) != 0 {
			t.Errorf("public signal %d is %v", i, x)
		}
	}
}

// scalar returns what a Field's Random draws from a reader.
func scalar(c backend.Curve, from io.Reader) *big.Int {
	b := make([]byte, c.ScalarBytes())
	for {
		_, _ = io.ReadFull(from, b)
		b[len(b)-1] &= 0xff >> (8*len(b) - c.ScalarBits())
		little := slices.Clone(b)
		slices.Reverse(little)
		r := new(big.Int).Lsh(big.NewInt(1), uint(8*len(b)))
		x := new(big.Int).SetBytes(little)
		if x.Cmp(c.ScalarField()) < 0 {
			// The bytes are an element in Montgomery form.
			return x.Mul(x, r.ModInverse(r, c.ScalarField())).Mod(x, c.ScalarField())
		}
	}
}

// places are ways to compute proofs, which make no difference to them.
func places(t *testing.T) map[string][]circom.KeyOption {
	here := newEngine(t, engine.Config{Open: new(faulty.Backends).Open})
	elsewhere := newEngine(t, engine.Config{Open: (&faulty.Backends{Elsewhere: true}).Open})
	named, err := pippin.New(t.Context(), engine.Config{Backend: *backendName, Fallbacks: []string{engine.NoFallback}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { named.Close() })
	return map[string][]circom.KeyOption{
		"no engine":         {},
		*backendName:        {circom.WithEngine(named)},
		"here":              {circom.WithEngine(here), circom.WithoutPointChecks()},
		"here, merged":      {circom.WithEngine(here), circom.MergeBases(circom.MergeAlways), circom.MergeScalars(circom.MergeAlways)},
		"here, nothing":     {circom.WithEngine(here), circom.MergeBases(circom.MergeNever), circom.MergeScalars(circom.MergeNever)},
		"elsewhere":         {circom.WithEngine(elsewhere)},
		"elsewhere, merged": {circom.WithEngine(elsewhere), circom.MergeBases(circom.MergeAlways), circom.MergeScalars(circom.MergeAlways)},
	}
}

// TestProofs compares proofs of every circuit with what the set-up's secrets say that they are.
func TestProofs(t *testing.T) {
	for place, opts := range places(t) {
		for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
			for _, name := range circomkeys.Names() {
				t.Run(place+"/"+c.String()+"/"+name, func(t *testing.T) {
					b := build(t, c, name)
					k := b.load(t, opts...)
					var p *circom.Proof
					var err error
					withReader(rand2.NewChaCha8([32]byte{7}), func() { p, err = k.Prove(t.Context(), b.of(t)) })
					if err != nil {
						t.Fatal(err)
					}
					drawn := rand2.NewChaCha8([32]byte{7})
					r := scalar(c, drawn)
					b.same(t, p, r, scalar(c, drawn))
				})
			}
		}
	}
}

// TestOtherCurve: a witness on one curve is none for a key on another, though both have as many wires.
func TestOtherCurve(t *testing.T) {
	k, other := build(t, backend.BN254, "product").load(t), build(t, backend.BLS12381, "product")
	_, err := k.Prove(t.Context(), other.of(t))
	if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "different wtns curve") {
		t.Error(err)
	}
	_, err = k.Prove(t.Context(), circom.Witness{})
	if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "no witness") {
		t.Error(err)
	}
}

// TestWitnessAsFile: a witness is written as circom's calculators do, and tells its public signals.
func TestWitnessAsFile(t *testing.T) {
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		b := build(t, c, "product")
		w := b.of(t)
		file, err := w.MarshalBinary()
		if err != nil || !bytes.Equal(file, b.witness) || len(file) != circom.WitnessBytes(w.Len()) {
			t.Errorf("%v: %x, %v", c, file, err)
		}
		public := w.Public(2)
		if len(public) != 2 || public[0].Int64() != 21 || public[1].Int64() != 3 || len(w.Public(9)) != 3 || len(w.Public(0)) != 0 {
			t.Errorf("%v: public signals %v, %v", c, public, w.Public(9))
		}
	}
	none := circom.Witness{}
	if _, err := none.MarshalBinary(); !errors.Is(err, backend.ErrInvalidInput) || len(none.Public(2)) != 0 {
		t.Error(err)
	}
}

// TestManySignals proves with 2,000 public signals: rapidsnark makes such proofs several times over.
func TestManySignals(t *testing.T) {
	b := build(t, backend.BN254, "2000 public")
	p, err := b.load(t, circom.WithoutPointChecks()).Prove(t.Context(), b.of(t))
	if err != nil || len(p.Public) != 2000 || p.Public[1999].Int64() != 1999*1999 {
		t.Errorf("%v, %v", p, err)
	}
}

// TestReference proves small circuits on the backend that does nothing clever.
func TestReference(t *testing.T) {
	open := func(context.Context, string) (backend.Backend, error) { return elsewhere{cpu.NewReference()}, nil }
	e := newEngine(t, engine.Config{Open: open})
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		b := build(t, c, "product")
		if _, err := b.load(t, circom.WithEngine(e)).Prove(t.Context(), b.of(t)); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// elsewhere is a backend that says that another process computes.
type elsewhere struct{ backend.Backend }

func (e elsewhere) Info() backend.Info {
	i := e.Backend.Info()
	i.InProcess = false
	return i
}

// Unwrap is what backend.As looks for.
func (e elsewhere) Unwrap() backend.Backend { return e.Backend }

// TestKeyFacts: a key says what circuit it is for.
func TestKeyFacts(t *testing.T) {
	for _, name := range circomkeys.Names() {
		b := build(t, backend.BLS12381, name)
		constraints := 0
		for range b.Constraints {
			constraints++
		}
		k := b.load(t)
		if k.Curve() != ecc.BLS12_381 || k.NbWires() != b.Wires || k.NbPublic() != b.Public || k.NbConstraints() != constraints ||
			k.DomainSize() <= constraints+b.Public || !k.HasContribution() {
			t.Errorf("%s: %v, %d wires, %d public, %d constraints, domain of %d, contribution %v", name,
				k.Curve(), k.NbWires(), k.NbPublic(), k.NbConstraints(), k.DomainSize(), k.HasContribution())
		}
		if vk := k.VerifyingKey(); vk.NbPublic() != b.Public || vk.Check() != nil {
			t.Errorf("%s: a verifying key for %d signals: %v", name, vk.NbPublic(), vk.Check())
		}
	}
}

// TestWitnesses: a witness comes from bytes, a file, a pipe and elements.
func TestWitnesses(t *testing.T) {
	b := build(t, backend.BN254, "bits of 40")
	k := b.load(t)
	path := filepath.Join(t.TempDir(), "witness.wtns")
	if err := os.WriteFile(path, b.witness, 0o600); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	go func() {
		for part := range slices.Chunk(b.witness, 7) {
			_, _ = w.Write(part)
		}
		w.Close()
	}()
	elements := make([]fr.Element, len(b.Values))
	for i, v := range b.Values {
		elements[i].SetBigInt(v)
	}
	for name, read := range map[string]func() (circom.Witness, error){
		"bytes":    func() (circom.Witness, error) { return circom.ParseWitness(b.witness) },
		"file":     func() (circom.Witness, error) { return circom.OpenWitness(path) },
		"pipe":     func() (circom.Witness, error) { return circom.ReadWitness(r) },
		"elements": func() (circom.Witness, error) { return circom.WitnessOf(elements), nil },
	} {
		w, err := read()
		if err != nil {
			t.Error(name, err)
			continue
		}
		if w.Len() != b.Wires || w.Curve() != ecc.BN254 {
			t.Errorf("%s: %d wires on %v", name, w.Len(), w.Curve())
		}
		if _, err := k.Prove(t.Context(), w); err != nil {
			t.Error(name, err)
		}
	}
}

// TestReadKey: a key comes from a file, a reader and bytes, with the engine of Use.
func TestReadKey(t *testing.T) {
	b := build(t, backend.BN254, "product")
	f := faulty.Backends{Elsewhere: true}
	circom.Use(newEngine(t, engine.Config{Open: f.Open}))
	defer circom.Use(nil)
	path := filepath.Join(t.TempDir(), "circuit.zkey")
	if err := os.WriteFile(path, b.key, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() (*circom.Key, error){
		"file":   func() (*circom.Key, error) { return circom.OpenKey(path) },
		"reader": func() (*circom.Key, error) { return circom.ReadKey(io.MultiReader(bytes.NewReader(b.key))) },
		"bytes":  func() (*circom.Key, error) { return circom.ParseKey(b.key) },
	} {
		loads := f.Loads.Load()
		k, err := read()
		if err != nil {
			t.Error(name, err)
			continue
		}
		if f.Loads.Load() == loads {
			t.Errorf("%s: not on the engine of Use", name)
		}
		if _, err := k.Prove(t.Context(), b.of(t)); err != nil {
			t.Error(name, err)
		}
		if err := errors.Join(k.Close(), k.Close()); err != nil {
			t.Error(name, err)
		}
		if n := f.Held(); n != 0 {
			t.Errorf("%s: %d bases and spaces are left", name, n)
		}
		if _, err := k.Prove(t.Context(), b.of(t)); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("%s: after Close: %v", name, err)
		}
	}
}

// TestFreshKeyWarns: a key that nobody has contributed to proves, and the log says what that is
// worth.
func TestFreshKeyWarns(t *testing.T) {
	s, err := circomkeys.ByName(backend.BN254, "product")
	if err != nil {
		t.Fatal(err)
	}
	secrets := circomkeys.KnownSecrets(backend.BN254)
	secrets.Delta = big.NewInt(1)
	var log, key bytes.Buffer
	e := newEngine(t, engine.Config{Open: new(faulty.Backends).Open, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if _, err := circomkeys.Write(t.Context(), e, &key, &s.Circuit, secrets); err != nil {
		t.Fatal(err)
	}
	k, err := circom.ReadKey(&key, circom.WithEngine(e))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	w, err := circom.ParseWitness(circomkeys.Witness(backend.BN254, s.Values))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Prove(t.Context(), w); err != nil {
		t.Error(err)
	}
	if k.HasContribution() || !strings.Contains(log.String(), "nobody has contributed") {
		t.Errorf("contribution %v, log %q", k.HasContribution(), &log)
	}
}

// TestVerifyRefuses changes each part of a proof, and leaves signals out: snarkjs takes those for 0.
func TestVerifyRefuses(t *testing.T) {
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		b := build(t, c, "many public")
		k := b.load(t)
		good, err := k.Prove(t.Context(), b.of(t))
		if err != nil {
			t.Fatal(err)
		}
		vk := k.VerifyingKey()
		if err := vk.Verify(good); err != nil {
			t.Fatal(err)
		}
		one := big.NewInt(1)
		more := func(x *big.Int) *big.Int { return new(big.Int).Add(x, one) }
		off := new(big.Int).Add(c.BaseField(), good.A.X)
		for name, change := range map[string]func(p *circom.Proof){
			"no signals":          func(p *circom.Proof) { p.Public = nil },
			"a signal left out":   func(p *circom.Proof) { p.Public = p.Public[:len(p.Public)-1] },
			"a signal too many":   func(p *circom.Proof) { p.Public = append(slices.Clone(p.Public), new(big.Int)) },
			"another signal":      func(p *circom.Proof) { p.Public = append([]*big.Int{more(p.Public[0])}, p.Public[1:]...) },
			"a signal plus r":     func(p *circom.Proof) { p.Public[1] = new(big.Int).Add(p.Public[1], c.ScalarField()) },
			"a negative signal":   func(p *circom.Proof) { p.Public[1] = big.NewInt(-1) },
			"no signal":           func(p *circom.Proof) { p.Public[1] = nil },
			"another A":           func(p *circom.Proof) { p.A = p.C },
			"another C":           func(p *circom.Proof) { p.C = p.A },
			"infinity":            func(p *circom.Proof) { p.C = circom.G1{X: new(big.Int), Y: new(big.Int)} },
			"A off the curve":     func(p *circom.Proof) { p.A.Y = more(p.A.Y) },
			"B off the curve":     func(p *circom.Proof) { p.B.Y[1] = more(p.B.Y[1]) },
			"a coordinate plus q": func(p *circom.Proof) { p.A.X = off },
			"no coordinate":       func(p *circom.Proof) { p.B.X[0] = nil },
			"the other curve": func(p *circom.Proof) {
				p.Curve = map[ecc.ID]ecc.ID{ecc.BN254: ecc.BLS12_381, ecc.BLS12_381: ecc.BN254}[p.Curve]
			},
		} {
			p := *good
			p.Public = slices.Clone(good.Public)
			change(&p)
			if err := vk.Verify(&p); !errors.Is(err, circom.ErrNotVerified) {
				t.Errorf("%v: %s: %v", c, name, err)
			}
		}
		for name, change := range map[string]func(vk *circom.VerifyingKey){
			"no IC":               func(vk *circom.VerifyingKey) { vk.IC = nil },
			"alpha off the curve": func(vk *circom.VerifyingKey) { vk.Alpha.Y = more(vk.Alpha.Y) },
			"gamma off the curve": func(vk *circom.VerifyingKey) { vk.Gamma.Y[0] = more(vk.Gamma.Y[0]) },
			"IC off the curve":    func(vk *circom.VerifyingKey) { vk.IC[2].X = more(vk.IC[2].X) },
			"no delta":            func(vk *circom.VerifyingKey) { vk.Delta = circom.G2{} },
		} {
			other := k.VerifyingKey()
			change(other)
			if err := other.Check(); !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("%v: %s: %v", c, name, err)
			}
			if other.Verify(good) == nil {
				t.Errorf("%v: %s: the proof is right", c, name)
			}
		}
		if err := vk.Verify(nil); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("no proof: %v", err)
		}
		if err := (&circom.VerifyingKey{Curve: ecc.BW6_761, IC: vk.IC}).Verify(good); !errors.Is(err, backend.ErrUnsupported) {
			t.Errorf("a key on BW6-761: %v", err)
		}
	}
}

// TestSubgroup: on BLS12-381 a point of the curve can be outside of the group. Neither a proof nor
// a key may have one.
func TestSubgroup(t *testing.T) {
	b := build(t, backend.BLS12381, "product")
	outside := pointOutside(t)
	k := b.load(t)
	p, err := k.Prove(t.Context(), b.of(t))
	if err != nil {
		t.Fatal(err)
	}
	p.A = circom.G1{X: outside[0], Y: outside[1]}
	if err := k.VerifyingKey().Verify(p); !errors.Is(err, circom.ErrNotVerified) || !strings.Contains(err.Error(), "A: not in the group") {
		t.Error(err)
	}
	key := slices.Clone(b.key)
	at := sectionOf(t, key, 9) + 2*96 // H[2]
	copy(key[at:], montgomery(backend.BLS12381, outside))
	if _, err := circom.ParseKey(key); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "section 9: point 2") {
		t.Error(err)
	}
	unchecked, err := circom.ParseKey(key, circom.WithoutPointChecks())
	if err != nil {
		t.Fatal(err)
	}
	defer unchecked.Close()
	if _, err := unchecked.Prove(t.Context(), b.of(t)); !errors.Is(err, circom.ErrNotVerified) {
		t.Error(err)
	}
}

// pointOutside returns a point of BLS12-381 that is on the curve and not in the subgroup.
func pointOutside(t *testing.T) []*big.Int {
	t.Helper()
	q := backend.BLS12381.BaseField()
	for x := int64(1); ; x++ {
		y := big.NewInt(x*x*x + 4)
		if y = new(big.Int).ModSqrt(y, q); y == nil {
			continue
		}
		p := curves.GroupOf(backend.BLS12381, backend.G1).New(1)
		copy(p.Bytes(), montgomery(backend.BLS12381, []*big.Int{big.NewInt(x), y}))
		if p.OnCurve(0) && !p.InSubgroup(0) {
			return []*big.Int{big.NewInt(x), y}
		}
	}
}

// montgomery returns coordinates in memory layout.
func montgomery(c backend.Curve, coordinates []*big.Int) (b []byte) {
	size := c.FieldBytes()
	for _, x := range coordinates {
		m := new(big.Int).Lsh(x, uint(8*size))
		part := m.Mod(m, c.BaseField()).FillBytes(make([]byte, size))
		slices.Reverse(part)
		b = append(b, part...)
	}
	return b
}

// sectionOf returns where the content of a section begins in a file.
func sectionOf(t testing.TB, b []byte, kind uint32) int {
	t.Helper()
	for at := 12; at < len(b); {
		length := int(binary.LittleEndian.Uint64(b[at+4:]))
		if at += 12; binary.LittleEndian.Uint32(b[at-12:]) == kind {
			return at
		}
		at += length
	}
	t.Fatalf("no section %d", kind)
	return 0
}

// TestRoots: snarkjs's roots of unity are powers of 5 on both curves, gnark-crypto's are not on
// BLS12-381. With the wrong ones every proof is wrong, which TestProofs shows; here it is seen that
// the two differ.
func TestRoots(t *testing.T) {
	for c, same := range map[backend.Curve]bool{backend.BN254: true, backend.BLS12381: false} {
		w, err := curves.Of(c).Fr.Root(8)
		if err != nil {
			t.Fatal(err)
		}
		r := c.ScalarField()
		e := new(big.Int).Sub(r, big.NewInt(1))
		five := new(big.Int).Exp(big.NewInt(5), e.Rsh(e, 3), r)
		if got := w.Int(0, new(big.Int)).Cmp(five) == 0; got != same {
			t.Errorf("%v: gnark-crypto's root is snarkjs's: %v", c, got)
		}
	}
}
