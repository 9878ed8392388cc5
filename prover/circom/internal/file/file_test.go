package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circomkeys"
	"github.com/pippin-zk/pippin/internal/damage"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// made returns the key and the witness of a circuit.
func made(t testing.TB, c backend.Curve, name string) (key, witness []byte, s *circomkeys.Sample) {
	t.Helper()
	s, err := circomkeys.ByName(c, name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := resident.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return zkey(t, e, s), circomkeys.Witness(c, s.Values), s
}

func zkey(t testing.TB, e *engine.Engine, s *circomkeys.Sample) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := circomkeys.Write(t.Context(), e, &b, &s.Circuit, circomkeys.KnownSecrets(s.Curve)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestEntries compares entries with the circuit's own.
func TestEntries(t *testing.T) {
	for _, name := range []string{"factors", "bits of 40", "nothing"} {
		b, _, s := made(t, backend.BN254, name)
		k, err := OpenKey(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		e, err := k.Entries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		distinct := map[int64]bool{1: true} // of the rows of public signals
		row := 0
		for c := range s.Constraints {
			for side, terms := range [][]circomkeys.Term{c.A, c.B} {
				m := &e.Matrices[side]
				var want []int
				for _, term := range terms {
					want = append(want, term.Wire)
					distinct[term.Factor] = true
				}
				var got []int
				for i := m.Start[row]; i < m.Start[row+1]; i++ {
					got = append(got, int(m.Terms[2*i+1]))
				}
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Fatalf("%s: side %d of row %d has the wires %v, want %v", name, side, row, got, want)
				}
			}
			row++
		}
		if e.Rows != row+s.Public+1 {
			t.Errorf("%s: %d rows, want %d", name, e.Rows, row+s.Public+1)
		}
		if n := len(e.Factors) / 32; n != len(distinct) {
			t.Errorf("%s: %d factors, want %d", name, n, len(distinct))
		}
	}
}

// TestRefusals: lengths that wrap around, and entries just outside of the matrices.
func TestRefusals(t *testing.T) {
	good, _, _ := made(t, backend.BN254, "product")
	k, err := OpenKey(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	entry := int(k.entries.Offset) + 4
	for name, change := range map[string]func(b []byte){
		"a length of 2^64-12": func(b []byte) { binary.LittleEndian.PutUint64(b[k.A.at.Offset-8:], math.MaxUint64-11) },
		"a length of 2^63":    func(b []byte) { binary.LittleEndian.PutUint64(b[k.A.at.Offset-8:], 1<<63) },
		"a row too many":      func(b []byte) { binary.LittleEndian.PutUint32(b[entry+4:], uint32(k.Domain)) },
		"a wire too many":     func(b []byte) { binary.LittleEndian.PutUint32(b[entry+8:], uint32(k.Wires)) },
		"a third matrix":      func(b []byte) { binary.LittleEndian.PutUint32(b[entry:], 2) },
		"a section twice":     func(b []byte) { b[8]++ }, // with what is behind all
	} {
		b := append(slices.Clone(good), circomkeys.Section(keyProtocol, []byte{groth16, 0, 0, 0})...)
		change(b)
		k, err := OpenKey(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			_, err = k.Entries(t.Context())
		}
		if !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestContributions: a key says how many contributions it has, or nothing.
func TestContributions(t *testing.T) {
	b, _, _ := made(t, backend.BN254, "nothing")
	for n, b := range map[int][]byte{0: b, -1: b[:len(b)-12-68]} {
		if n < 0 {
			b = slices.Clone(b)
			b[8]-- // sections
		}
		k, err := OpenKey(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := k.Contributions(); ok != (n == 0) || got != 0 {
			t.Errorf("%d: %d, %v", n, got, ok)
		}
	}
}

// TestReadAll reads in small pieces, and returns the error of a reader.
func TestReadAll(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	got, err := ReadAll(iotest.HalfReader(bytes.NewReader(want)))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	if _, err := ReadAll(iotest.ErrReader(io.ErrClosedPipe)); err != io.ErrClosedPipe {
		t.Error(err)
	}
}

// factor bounds the memory that reading a file takes, by its size.
const factor = 16

var inputs = flag.Int("inputs", 3000, "files that TestRandomDamage reads")

// TestRandomDamage reads keys and witnesses with random damage: nothing panics, and memory is bounded
// by the file.
func TestRandomDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(7, uint64(*inputs)))
	var tally damage.Tally
	for _, c := range Curves {
		key, witness, _ := made(t, c, "product")
		for left := *inputs / 2; left > 0; left -= 100 {
			damage.Bounded(t, 100*len(key), factor, func() {
				for range 100 {
					_, _, err := Witness(damage.Bytes(r, witness))
					if err == nil {
						err = readKey(t, damage.Bytes(r, key))
					}
					tally.Add(err == nil)
				}
			})
		}
	}
	tally.Both(t)
}

// readKey reads all of a key.
func readKey(t *testing.T, b []byte) error {
	k, err := OpenKey(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	e, err := k.Entries(t.Context())
	if err != nil {
		return err
	}
	if e.Rows > k.Domain || len(e.Factors)%k.Curve.ScalarBytes() != 0 {
		t.Errorf("%d rows of %d, %d bytes of factors", e.Rows, k.Domain, len(e.Factors))
	}
	for _, p := range []*Points{&k.IC, &k.A, &k.B1, &k.B2, &k.C, &k.H} {
		if err := p.Read(make([]byte, p.Count*p.Bytes()), 0); err != nil {
			return err
		}
	}
	k.Contributions()
	return nil
}

// FuzzKey reads damaged keys: nothing panics, and memory is bounded by the file.
func FuzzKey(f *testing.F) {
	for _, c := range Curves {
		b, _, _ := made(f, c, "product")
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		damage.Bounded(t, len(b), factor, func() { _ = readKey(t, b) })
	})
}

// FuzzWitness reads damaged witnesses.
func FuzzWitness(f *testing.F) {
	for _, c := range Curves {
		_, w, _ := made(f, c, "product")
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		damage.Bounded(t, len(b), factor, func() {
			if _, values, err := Witness(b); err == nil && len(values)%scalarBytes != 0 {
				t.Errorf("%d bytes of values", len(values))
			}
		})
	})
}
