package bench

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/vector"
)

// The sizes and the seed of TestPeers, whose programs are scripts.
const peerSize, peerBatch, peerSeed = 32, 20, 7

// peerFolder makes a folder of programs, scripts by their names.
func peerFolder(t *testing.T, programs string, scripts map[string]string) string {
	folder := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "peers.json"),
		[]byte(`{"nvcc": "13.0", "flags": "-O3", "programs": [`+programs+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// runPeers measures a folder's programs in turns with the CPU backend.
func runPeers(t *testing.T, folder string, curve backend.Curve, only ...string) ([]report.Run, string, error) {
	var notes strings.Builder
	open := func(context.Context, string) (backend.Backend, error) { return cpu.New(cpu.Options{}), nil }
	runs, _, err := Measure(t.Context(), &Peers{
		Common: Common{Open: open, Backends: []string{"cpu"}, Count: 2, Seed: peerSeed, CacheDir: filepath.Join(folder, "cache"),
			Note: func(s string) { fmt.Fprintln(&notes, s) }},
		Programs: folder, Only: only, Curves: []backend.Curve{curve}, Sizes: []int{peerSize}, Batches: []int{peerBatch},
	})
	return runs, notes.String(), err
}

// TestPeers: programs get the points and the plain scalars, are timed, and are refused or
// left out when they answer wrongly or not at all.
func TestPeers(t *testing.T) {
	scalars, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, peerSeed, peerSize)
	if err != nil {
		t.Fatal(err)
	}
	points, err := fixtures.NewPoints(backend.BN254, backend.G1, peerSeed)
	if err != nil {
		t.Fatal(err)
	}
	want, err := points.Expected(0, scalars)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(point []byte) string {
		return fmt.Sprintf("echo ready windows of 3 bits\nwhile read -r line; do echo 2.5 %s; done\n", hex.EncodeToString(point))
	}
	kept := t.TempDir()
	folder := peerFolder(t,
		`{"name": "good", "library": "theirs", "commit": "c0ffee", "op": "msm", "curve": "bn254", "group": "g1", "multiples": [1, 8]},
		{"name": "wrong", "library": "wrong", "op": "msm", "curve": "bn254", "group": "g1", "multiples": [1]},
		{"name": "dies", "library": "dies", "op": "msm", "curve": "bn254", "group": "g1", "multiples": [1]},
		{"name": "mute", "library": "mute", "op": "msm", "curve": "bn254", "group": "g1", "multiples": [1]},
		{"name": "absent", "library": "absent", "op": "msm", "curve": "bn254", "group": "g1", "multiples": [1]},
		{"name": "another", "library": "another", "op": "msm", "curve": "bls12-377", "group": "g1", "multiples": [1]}`,
		map[string]string{
			"good":  fmt.Sprintf("cp \"$1\" \"$2\" %s; echo \"$3 $4\" >> %s/sizes\n", kept, kept) + answer(want),
			"wrong": answer(make([]byte, len(want))),
			"dies":  "echo ready\nread -r line\necho out of memory >&2\nexit 3\n",
			"mute":  "echo hello\n",
		})
	runs, notes, err := runPeers(t, folder, backend.BN254)
	if !errors.Is(err, ErrWrong) || len(runs) != 3 {
		t.Fatalf("%v, %d runs, %s", err, len(runs), notes)
	}
	ours, one, eight := runs[0], runs[1], runs[2]
	if ours.Inputs[report.InputLibrary] != report.Pippin || !ours.Checked || ours.Count < 6 || ours.Median <= 0 {
		t.Errorf("ours %+v", ours)
	}
	if one.Inputs[report.InputLibrary] != "theirs" || one.Notes["commit"] != "c0ffee" ||
		one.Sizes["multiples"] != 1 || eight.Sizes["multiples"] != 8 || one.Notes["note"] != "windows of 3 bits" ||
		!one.Checked || one.Count != 2 || one.Median != 2.5 || !strings.Contains(one.Notes["flags"], "13.0") {
		t.Errorf("theirs %+v, %+v", one, eight)
	}
	for _, said := range []string{"dies, 32: left out: out of memory",
		"wrong, 32: left out: 3 of its 3 answers are not right", "exit status 3", `it said "hello"`, "absent, 32: left out"} {
		if !strings.Contains(notes, said) {
			t.Errorf("no %q in %s", said, notes)
		}
	}
	given, err := points.Bytes(peerSize)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(kept, "points")); err != nil || !bytes.Equal(got, given) {
		t.Errorf("other points, %v", err)
	}
	plain, err := os.ReadFile(filepath.Join(kept, "scalars"))
	if err != nil || len(plain) != len(scalars) {
		t.Fatal(err, len(plain))
	}
	for i := 0; i < len(plain); i += 32 {
		if fixtures.FromRaw(plain[i:i+32]).Cmp(fixtures.ScalarValue(backend.BN254, scalars[i:i+32])) != 0 {
			t.Fatalf("scalar %d differs", i/32)
		}
	}
	if got, err := os.ReadFile(filepath.Join(kept, "sizes")); string(got) != "32 1\n32 8\n" {
		t.Errorf("%q, %v", got, err)
	}
	var text strings.Builder
	if err := new(Peers).Sheet().Write(&text, table.Form{}, record.Record[report.Run]{Runs: runs}); err != nil ||
		!strings.Contains(text.String(), "theirs") {
		t.Error(err, text.String())
	}
}

// TestPeersTransforms: a library's root of unity may be another one than ours, but must be
// of the size's order.
func TestPeersTransforms(t *testing.T) {
	elements, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, peerSeed, peerSize)
	if err != nil {
		t.Fatal(err)
	}
	open := func(context.Context, string) (backend.Backend, error) { return cpu.New(cpu.Options{}), nil }
	values, powers, err := valuesOfBytes(t, open, elements)
	if err != nil {
		t.Fatal(err)
	}
	scripts, programs := map[string]string{}, ""
	for name, power := range map[string]int{"same": 1, "third": 3, "even": 2} {
		var natural, reversed []byte
		for i := range peerSize {
			natural = append(natural, values[i*power%peerSize]...)
			reversed = append(reversed, values[int(bits.Reverse8(uint8(i))>>3)*power%peerSize]...)
		}
		root := fixtures.Raw(fixtures.ScalarValue(backend.BN254, powers[power]), 32)
		folder := t.TempDir()
		for order, content := range map[string][]byte{"natural": natural, "reversed": reversed} {
			if err := os.WriteFile(filepath.Join(folder, order), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		scripts[name] = fmt.Sprintf("echo ready\nwhile read -r line; do cat %s/$4 > \"$2\"; echo 1 %s; done\n", folder, hex.EncodeToString(root))
		programs += fmt.Sprintf(`{"name": %q, "library": %q, "op": "ntt", "curve": "bn254", "group": "", "multiples": []},`, name, name)
	}
	folder := peerFolder(t, strings.TrimSuffix(programs, ","), scripts)
	for name, right := range map[string]bool{"same": true, "third": true, "even": false} {
		runs, notes, err := runPeers(t, folder, backend.BN254, name)
		if want := map[bool]int{true: 4}[right]; len(runs) != want || errors.Is(err, ErrWrong) == right || err != nil && right {
			t.Fatalf("%s: %v, %d runs, %s", name, err, len(runs), notes)
		}
		for i, run := range runs {
			if !run.Checked || run.What != [...]string{"natural to reversed", "natural to natural"}[i/2] {
				t.Errorf("%s: %+v", name, run)
			}
		}
	}
}

// valuesOfBytes is valuesOf with elements as bytes.
func valuesOfBytes(t *testing.T, open func(context.Context, string) (backend.Backend, error),
	elements []byte) (values, powers [][]byte, err error) {
	v, err := layout.View[fr.Element](elements)
	if err != nil {
		return nil, nil, err
	}
	each := func(all []fr.Element) (b [][]byte) {
		for i := range all {
			b = append(b, layout.Bytes(all[i:i+1]))
		}
		return b
	}
	a, b, err := valuesOf(t.Context(), open, vector.BN254, v)
	return each(a), each(b), err
}

// TestPeersRefuses: what cannot be measured is refused before anything is opened.
func TestPeersRefuses(t *testing.T) {
	folder := peerFolder(t, `{"name": "p", "library": "l", "op": "msm", "curve": "bn254", "group": "g1", "multiples": [1]}`, nil)
	open := func(context.Context, string) (backend.Backend, error) { return nil, errors.New("opened") }
	good := Peers{Common: Common{Open: open, Backends: []string{"cpu"}, Count: 1}, Programs: folder,
		Curves: []backend.Curve{backend.BN254}, Sizes: []int{8}, Batches: []int{8}}
	for what, change := range map[string]func(*Peers){
		"no size":    func(c *Peers) { c.Sizes = nil },
		"a size":     func(c *Peers) { c.Sizes = []int{12} },
		"no batch":   func(c *Peers) { c.Batches = nil },
		"no numbers": func(c *Peers) { c.Batches = []int{0} },
		"no runs":    func(c *Peers) { c.Count = 0 },
		"no folder":  func(c *Peers) { c.Programs = filepath.Join(folder, "nothing") },
		"no program": func(c *Peers) { c.Only = []string{"q"} },
		"no curve":   func(c *Peers) { c.Curves = nil },
		"no backend": func(c *Peers) { c.Backends = nil },
	} {
		cfg := good
		change(&cfg)
		if _, _, err := Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestPeersPowers: programs of each width get the modulus, the bases and the exponents, and are
// left out when a power of the sample is wrong.
func TestPeersPowers(t *testing.T) {
	const bits = 64
	l := newNumberWork(backend.NumExpMod, bits, peerBatch, peerSeed)
	if err := l.oracle(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	right := l.want[0].bytes
	wrong := bytes.Clone(right)
	wrong[0] ^= 1 // the first is in every sample
	scripts := map[string]string{}
	for name, answer := range map[string][]byte{"right": right, "wrong": wrong} {
		kept := filepath.Join(t.TempDir(), "answer")
		if err := os.WriteFile(kept, answer, 0o600); err != nil {
			t.Fatal(err)
		}
		scripts[name] = fmt.Sprintf("[ \"$3 $4\" = '%d %d' ] && [ $(wc -c < \"$1\") = %d ] || exit 1\n", peerBatch, bits, 8*(1+2*peerBatch)) +
			fmt.Sprintf("echo ready 8 threads\nwhile read -r line; do cat %s > \"$2\"; echo '1.5 '; done\n", kept)
	}
	programs := `{"name": "right", "library": "theirs", "commit": "c0ffee", "op": "power", "bits": 64},
		{"name": "wrong", "library": "wrong", "op": "power", "bits": 64}`
	runs, notes, err := runPeers(t, peerFolder(t, programs, scripts), backend.BN254)
	if !errors.Is(err, ErrWrong) || !strings.Contains(notes, "wrong, 20: left out: 3 of its 3 answers are not right") || len(runs) != 2 {
		t.Fatalf("%v, %s, %d runs", err, notes, len(runs))
	}
	for i, library := range []string{report.Pippin, "theirs"} {
		r := runs[i]
		if r.Op != report.OpPeerPowers || r.Inputs[report.InputLibrary] != library || r.Sizes["bits"] != bits || r.N != peerBatch || !r.Checked ||
			r.Compared == 0 || r.Median <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if runs[1].Median != 1.5 || runs[1].Notes["note"] != "8 threads" {
		t.Errorf("%+v", runs[1])
	}
}
