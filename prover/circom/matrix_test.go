package circom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/circomkeys"
	"github.com/pippin-zk/pippin/prover/circom"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
)

// part is a section of a file.
type part struct {
	kind uint32
	b    []byte
}

// cut returns a file's first eight bytes and its sections.
func cut(b []byte) (head []byte, all []part) {
	for at := 12; at < len(b); {
		kind, n := binary.LittleEndian.Uint32(b[at:]), int(binary.LittleEndian.Uint64(b[at+4:]))
		at += 12
		all = append(all, part{kind, bytes.Clone(b[at : at+n])})
		at += n
	}
	return b[:8], all
}

// join is the reverse of cut.
func join(head []byte, all []part) []byte {
	b := binary.LittleEndian.AppendUint32(slices.Clone(head), uint32(len(all)))
	for _, p := range all {
		b = append(b, circomkeys.Section(p.kind, p.b)...)
	}
	return b
}

// changed returns a file with changed sections.
func changed(b []byte, change func(all []part) []part) []byte {
	head, all := cut(b)
	return join(head, change(all))
}

// with returns a file with a change of one section's bytes.
func with(b []byte, kind uint32, change func(b []byte) []byte) []byte {
	return changed(b, func(all []part) []part {
		i := slices.IndexFunc(all, func(p part) bool { return p.kind == kind })
		all[i].b = change(all[i].b)
		return all
	})
}

// without returns a file without a section.
func without(b []byte, kind uint32) []byte {
	return changed(b, func(all []part) []part {
		return slices.DeleteFunc(all, func(p part) bool { return p.kind == kind })
	})
}

// set returns a change that writes a number of 4 bytes.
func set(at int, v uint32) func([]byte) []byte {
	return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
}

// plusNumber returns a change that adds to a number of 32 bytes.
func plusNumber(at int, v *big.Int) func([]byte) []byte {
	return func(b []byte) []byte {
		n := b[at : at+32]
		slices.Reverse(n)
		x := new(big.Int).SetBytes(n)
		x.Add(x, v).FillBytes(n)
		slices.Reverse(n)
		return b
	}
}

// short returns a change that leaves out the last bytes.
func short(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }

// length returns a file whose section number i, from 0 on, claims a length.
func length(b []byte, i int, v uint64) []byte {
	b = bytes.Clone(b)
	at := 12
	for range i {
		at += 12 + int(binary.LittleEndian.Uint64(b[at+4:]))
	}
	binary.LittleEndian.PutUint64(b[at+4:], v)
	return b
}

// damaged is a file, and what its refusal must say; "" if it is not to be refused.
type damaged struct {
	b    []byte
	says string
}

// places in a header of BN254, and the sizes of what sections have.
const (
	atQ, atR, atWires = 4, 40, 72
	atPublic          = atWires + 4
	atDomain          = atPublic + 4
	atAlpha           = atDomain + 4
	entrySize         = 12 + 32
)

// firstFinite returns where the first point that is not infinity begins.
func firstFinite(b []byte, size int) int {
	for at := 0; ; at += size {
		if !bytes.Equal(b[at:at+size], make([]byte, size)) {
			return at
		}
	}
}

// damagedKeys returns the good and bad keys that there are of a good one.
func damagedKeys(good []byte) map[string]damaged {
	q, r := backend.BN254.BaseField(), backend.BN254.ScalarField()
	one := big.NewInt(1)
	all := map[string]damaged{
		"sections reversed":       {changed(good, func(all []part) []part { slices.Reverse(all); return all }), ""},
		"no section 10":           {without(good, 10), ""},
		"a section of other type": {changed(good, func(all []part) []part { return append(all, part{77, []byte("hello")}) }), ""},
		"entries reversed": {with(good, 4, func(b []byte) []byte {
			entries := slices.Collect(slices.Chunk(b[4:], entrySize))
			slices.Reverse(entries)
			return append(b[:4:4], slices.Concat(entries...)...)
		}), ""},
		"bytes behind the sections": {append(slices.Clone(good), 1, 2, 3), ""},

		"empty":                       {nil, "0 bytes are too few"},
		"another magic":               {append([]byte("zkez"), good[4:]...), `not a zkey file: it begins with "zkez"`},
		"a witness":                   {append([]byte("wtns"), good[4:]...), `not a zkey file`},
		"version 9":                   {slices.Concat(good[:4], []byte{9, 0, 0, 0}, good[8:]), "version 9"},
		"version 0":                   {slices.Concat(good[:4], []byte{0, 0, 0, 0}, good[8:]), "version 0"},
		"11 bytes":                    {good[:11], "11 bytes are too few"},
		"20 bytes":                    {good[:20], "sections do not fit into 20 bytes"},
		"100 bytes":                   {good[:100], "sections do not fit into 100 bytes"},
		"half":                        {good[:len(good)/2], "the file ends at"},
		"a byte less":                 {good[:len(good)-1], "section 10 has"},
		"2^32-1 sections":             {slices.Concat(good[:8], []byte{255, 255, 255, 255}, good[12:]), "4294967295 sections do not fit"},
		"2,000 empty sections":        {join(good[:8], make([]part, 2000)), "2000 sections, 1024 are the most"},
		"a length of 2^40":            {length(good, 3, 1<<40), "section 4 has 1099511627776 bytes"},
		"a length of 2^63":            {length(good, 3, 1<<63), "section 4 has 9223372036854775808 bytes"},
		"a length of 2^64-12":         {length(good, 3, math.MaxUint64-11), "section 4 has 18446744073709551604 bytes"},
		"a length that hides another": {length(good, 0, 4+12), "section"},
		"a section twice":             {changed(good, func(all []part) []part { return append(all, all[4]) }), "section 5 is there twice"},

		"PLONK":                    {with(good, 1, set(0, 2)), "zkey file is not groth16: it is a key of PLONK"},
		"FFLONK":                   {with(good, 1, set(0, 10)), "zkey file is not groth16: it is a key of FFLONK"},
		"protocol 7":               {with(good, 1, set(0, 7)), "zkey file is not groth16: its protocol has the number 7"},
		"coordinates of 2^31":      {with(good, 2, set(0, 1<<31)), "zkey curve not supported"},
		"another q":                {with(good, 2, plusNumber(atQ, big.NewInt(2))), "zkey curve not supported: q = 2188"},
		"another r":                {with(good, 2, plusNumber(atR, big.NewInt(2))), "zkey curve not supported: r = 2188"},
		"scalars of 48 bytes":      {with(good, 2, set(atR-4, 48)), "scalars of 48 bytes"},
		"2^32-1 wires":             {with(good, 2, set(atWires, math.MaxUint32)), "4294967295 wires"},
		"a wire more":              {with(good, 2, set(atWires, 5)), "section 5 has 256 bytes, should have 320"},
		"1,000 public of 4":        {with(good, 2, set(atPublic, 1000)), "1000 public signals of 4 wires"},
		"a domain of 0":            {with(good, 2, set(atDomain, 0)), "a domain of 0"},
		"a domain of 3":            {with(good, 2, set(atDomain, 3)), "a domain of 3"},
		"a domain of 2":            {with(good, 2, set(atDomain, 2)), "2 public signals in a domain of 2"},
		"a domain of 2^28":         {with(good, 2, set(atDomain, 1<<28)), "a domain of 2^28, there are no roots of unity for more than 2^27"},
		"a domain of 2^31":         {with(good, 2, set(atDomain, 1<<31)), "a domain of 2^31"},
		"a header too short":       {with(good, 2, short(1)), "section 2 has 659 bytes, should have 660"},
		"alpha off the curve":      {with(good, 2, plusNumber(atAlpha, one)), "section 2: alpha1"},
		"beta1 off the curve":      {with(good, 2, plusNumber(atAlpha+64, one)), "section 2: beta1"},
		"beta2 off the curve":      {with(good, 2, plusNumber(atAlpha+128, one)), "section 2: beta2"},
		"gamma off the curve":      {with(good, 2, plusNumber(atAlpha+256, one)), "section 2: gamma2"},
		"delta1 off the curve":     {with(good, 2, plusNumber(atAlpha+384, one)), "section 2: delta1"},
		"delta2 off the curve":     {with(good, 2, plusNumber(atAlpha+448, one)), "section 2: delta2"},
		"2^31 entries":             {with(good, 4, set(0, 1<<31)), "section 4 has"},
		"matrix 7":                 {with(good, 4, set(4, 7)), "section 4: entry 0: matrix 7"},
		"row 2^31-1":               {with(good, 4, set(8, math.MaxInt32)), "section 4: entry 0: matrix 0, row 2147483647 of 4"},
		"wire 2^31-1":              {with(good, 4, set(12, math.MaxInt32)), "section 4: entry 0: matrix 0, row 0 of 4, wire 2147483647 of 4"},
		"a factor not below r":     {with(good, 4, plusNumber(4+12, r)), "section 4: entry 0: the factor is not below r"},
		"half an entry":            {with(good, 4, short(entrySize/2)), "section 4 has"},
		"no number of the entries": {with(good, 4, func([]byte) []byte { return nil }), "section 4 has 0 bytes"},
	}
	for kind, name := range map[uint32]string{1: "1", 2: "2", 3: "3", 4: "4", 5: "5", 6: "6", 7: "7", 8: "8", 9: "9"} {
		all["no section "+name] = damaged{without(good, kind), "section " + name + " is missing"}
		size := map[uint32]int{3: 64, 5: 64, 6: 64, 7: 128, 8: 64, 9: 64}[kind]
		if size == 0 {
			continue
		}
		at := func(change func(int) func([]byte) []byte) []byte {
			return with(good, kind, func(b []byte) []byte { return change(firstFinite(b, size))(b) })
		}
		all["a point less in section "+name] = damaged{with(good, kind, short(size)), "section " + name + " has"}
		all["a point off the curve in section "+name] = damaged{
			at(func(at int) func([]byte) []byte { return plusNumber(at, one) }), "section " + name + ": point"}
		all["a coordinate not below q in section "+name] = damaged{
			at(func(at int) func([]byte) []byte { return plusNumber(at, q) }), "has a coordinate that is not below q"}
	}
	return all
}

// damagedWitnesses does what damagedKeys does.
func damagedWitnesses(good, other []byte) map[string]damaged {
	r := backend.BN254.ScalarField()
	return map[string]damaged{
		"sections reversed": {changed(good, func(all []part) []part { slices.Reverse(all); return all }), ""},

		"empty":              {nil, "0 bytes are too few"},
		"11 bytes":           {good[:11], "11 bytes are too few"},
		"40 bytes":           {good[:40], "section 1 has"},
		"a byte less":        {good[:len(good)-1], "section 2 has"},
		"a value less":       {good[:len(good)-32], "section 2 has"},
		"no values":          {without(good, 2), "section 2 is missing"},
		"no header":          {without(good, 1), "section 1 is missing"},
		"a short header":     {with(good, 1, short(1)), "section 1 has"},
		"another r":          {with(good, 1, plusNumber(4, big.NewInt(2))), "different wtns curve: r = 2188"},
		"values of 48 bytes": {with(good, 1, set(0, 48)), "values of 48 bytes"},
		"2^31-1 values":      {with(good, 1, set(36, math.MaxInt32)), "section 2 has 128 bytes, should have 68719476704"},
		"another circuit's":  {other, "Invalid witness length. Circuit: 4, witness: 3"},
		"a value plus r":     {with(good, 2, plusNumber(32, r)), "wtns: the value of wire 1 is not below r"},
		"wire 0 is 2":        {with(good, 2, plusNumber(0, big.NewInt(1))), "wtns: the value of wire 0 is not 1"},
	}
}

// TestDamagedFiles proves with odd files and has damaged ones refused, in one line that names the
// place, before anything is computed.
func TestDamagedFiles(t *testing.T) {
	b := build(t, backend.BN254, "product")
	other := build(t, backend.BN254, "no public")
	f := faulty.Backends{Elsewhere: true}
	e := newEngine(t, engine.Config{Open: f.Open})
	good, refused := 0, 0
	try := func(kind, name string, d damaged, zkey, wtns []byte) {
		t.Helper()
		calls := f.Die.Load() // each call that computes is one less
		err := prove(t, e, zkey, wtns, kind == "zkey")
		switch {
		case d.says == "" && err == nil:
			good++
		case d.says == "":
			t.Errorf("%s: %s: %v", kind, name, err)
		case !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), d.says) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: %s: %v, want one line with %q", kind, name, err, d.says)
		case kind == "wtns" && f.Die.Load() != calls:
			t.Errorf("%s: %s: refused after something was computed", kind, name)
		default:
			refused++
		}
	}
	for name, d := range damagedKeys(b.key) {
		try("zkey", name, d, d.b, b.witness)
	}
	for name, d := range damagedWitnesses(b.witness, other.witness) {
		try("wtns", name, d, b.key, d.b)
	}
	t.Logf("%d files proved, %d were refused", good, refused)
	if n := f.Spaces.Load(); n != 0 {
		t.Errorf("%d spaces are left", n)
	}
}

// prove makes a proof of a key and a witness. Points are not checked if the key is known to be good,
// so that nothing but the proof computes.
func prove(t *testing.T, e *engine.Engine, zkey, wtns []byte, check bool) error {
	opts := []circom.KeyOption{circom.WithEngine(e)}
	if !check {
		opts = append(opts, circom.WithoutPointChecks())
	}
	k, err := circom.ParseKey(zkey, opts...)
	if err != nil {
		return err
	}
	defer k.Close()
	w, err := circom.ParseWitness(wtns)
	if err != nil {
		return err
	}
	p, err := k.Prove(t.Context(), w)
	if err == nil {
		err = k.VerifyingKey().Verify(p)
	}
	return err
}

var files = flag.String("files", "", "folder with folders of circuit.zkey and witness.wtns for TestSnarkjsFiles")

// TestSnarkjsFiles proves with files that snarkjs and circom have made.
func TestSnarkjsFiles(t *testing.T) {
	if *files == "" {
		t.Skip("-files names no folder")
	}
	keys, err := filepath.Glob(filepath.Join(*files, "*", "circuit.zkey"))
	if err != nil || len(keys) == 0 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	for _, path := range keys {
		for place, opts := range places(t) {
			k, err := circom.OpenKey(path, opts...)
			if err != nil {
				t.Error(err)
				continue
			}
			w, err := circom.OpenWitness(filepath.Join(filepath.Dir(path), "witness.wtns"))
			if err == nil {
				_, err = k.Prove(t.Context(), w)
			}
			if err = errors.Join(err, k.Close()); err != nil {
				t.Errorf("%s: %s: %v", place, path, err)
			}
		}
	}
	t.Logf("%d circuits", len(keys))
}

// TestWrongKey: a point that is another point of its group ends at the verification.
func TestWrongKey(t *testing.T) {
	b := build(t, backend.BN254, "product")
	for kind, size := range map[uint32]int{5: 64, 6: 64, 7: 128, 8: 64, 9: 64} {
		wrong := with(b.key, kind, func(s []byte) []byte {
			at := firstFinite(s, size)
			copy(s[at:at+size], bytes.Repeat([]byte{0}, size))
			return s
		})
		if err := prove(t, nil, wrong, b.witness, true); !errors.Is(err, circom.ErrNotVerified) {
			t.Errorf("section %d: %v", kind, err)
		}
	}
}

// TestBeyond4GiB reads a key whose points begin 5 GiB behind its begin, of which nothing is on the disk.
func TestBeyond4GiB(t *testing.T) {
	b := build(t, backend.BN254, "product")
	head, all := cut(b.key)
	const hole = 5 << 30
	path := filepath.Join(t.TempDir(), "circuit.zkey")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(b []byte) {
		if _, err := f.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	write(binary.LittleEndian.AppendUint32(slices.Clone(head), uint32(len(all)+1)))
	write(binary.LittleEndian.AppendUint32(nil, 77))
	write(binary.LittleEndian.AppendUint64(nil, hole))
	if _, err := f.Seek(hole, io.SeekCurrent); err != nil {
		t.Skip(err)
	}
	for _, p := range all {
		write(circomkeys.Section(p.kind, p.b))
	}
	k, err := circom.OpenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if _, err := k.Prove(t.Context(), b.of(t)); err != nil {
		t.Error(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.zkey")
	if err := os.WriteFile(wrong, b.key[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := circom.OpenKey(wrong); err == nil || !strings.HasPrefix(err.Error(), wrong+": ") {
		t.Errorf("an error that does not name the file: %v", err)
	}
}
