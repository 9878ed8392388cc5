package rapidsnark

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/circom"
)

// fileOf returns a file of a circuit of package circom's tests.
func fileOf(t testing.TB, circuit, name string) []byte {
	b, err := os.ReadFile(filepath.Join("..", "testdata", circuit, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGroth16 proves and verifies with go-rapidsnark's calls, on both curves and without public
// signals.
func TestGroth16(t *testing.T) {
	t.Cleanup(func() { Use(nil) })
	for circuit, signals := range map[string][]string{"cubic": {"35", "5"}, "cubic381": {"35", "5"}, "silent": {}} {
		zkey, wtns, vk := fileOf(t, circuit, "circuit.zkey"), fileOf(t, circuit, "witness.wtns"), fileOf(t, circuit, "verification_key.json")
		p, err := Groth16Prover(zkey, wtns)
		if err != nil {
			t.Fatal(circuit, err)
		}
		if !slices.Equal(p.PubSignals, signals) {
			t.Errorf("%s: public signals %q", circuit, p.PubSignals)
		}
		if err := VerifyGroth16(*p, vk); err != nil {
			t.Errorf("%s: %v", circuit, err)
		}
		for what, change := range map[string]func(*ZKProof){
			"another signal":  func(p *ZKProof) { p.PubSignals[0] = "36" },
			"a signal less":   func(p *ZKProof) { p.PubSignals = p.PubSignals[1:] },
			"no proof":        func(p *ZKProof) { p.Proof = nil },
			"A and C swapped": func(p *ZKProof) { p.Proof.A, p.Proof.C = p.Proof.C, p.Proof.A },
		} {
			if len(signals) == 0 && strings.Contains(what, "signal") {
				continue
			}
			data := *p.Proof
			wrong := ZKProof{Proof: &data, PubSignals: slices.Clone(p.PubSignals)}
			change(&wrong)
			if VerifyGroth16(wrong, vk) == nil {
				t.Errorf("%s: verifies with %s", circuit, what)
			}
		}
	}
}

// TestRaw returns what rapidsnark writes: one line, the names in its order, no curve.
func TestRaw(t *testing.T) {
	t.Cleanup(func() { Use(nil) })
	proof, public, err := Groth16ProverRaw(fileOf(t, "cubic", "circuit.zkey"), fileOf(t, "cubic", "witness.wtns"))
	if err != nil {
		t.Fatal(err)
	}
	if public != `["35","5"]` {
		t.Errorf("public signals are %s", public)
	}
	at := -1
	for _, name := range []string{`{"pi_a":["`, `],"pi_b":[["`, `],["1","0"]],"pi_c":["`, `,"1"],"protocol":"groth16"}`} {
		next := strings.Index(proof, name)
		if next <= at {
			t.Fatalf("%s is not where it should be in %s", name, proof)
		}
		at = next
	}
	if _, err := circom.ParseProof([]byte(proof), []byte(public)); err != nil {
		t.Error(err)
	}
	_, public, err = Groth16ProverRaw(fileOf(t, "silent", "circuit.zkey"), fileOf(t, "silent", "witness.wtns"))
	if err != nil || public != "[]" {
		t.Errorf("no public signals are %s, %v", public, err)
	}
	b, err := json.Marshal(ZKProof{&ProofData{}, []string{"1"}})
	if want := `{"proof":{"pi_a":null,"pi_b":null,"pi_c":null,"protocol":""},"pub_signals":["1"]}`; err != nil || string(b) != want {
		t.Errorf("ZKProof is %s, %v", b, err)
	}
}

// TestRefused gives wrong input to each function.
func TestRefused(t *testing.T) {
	t.Cleanup(func() { Use(nil) })
	zkey, wtns := fileOf(t, "cubic", "circuit.zkey"), fileOf(t, "cubic", "witness.wtns")
	for what, in := range map[string][2][]byte{
		"no key": {nil, wtns}, "half a key": {zkey[:len(zkey)/2], wtns}, "no witness": {zkey, nil},
		"another circuit's witness": {zkey, fileOf(t, "silent", "witness.wtns")},
		"another curve's witness":   {zkey, fileOf(t, "cubic381", "witness.wtns")},
	} {
		if _, err := Groth16Prover(in[0], in[1]); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
		if _, _, err := Groth16ProverRaw(in[0], in[1]); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := VerifyGroth16(ZKProof{}, []byte("{}")); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("no key: %v", err)
	}
}

// counted is a key that counts how often it is opened and closed.
type counted struct {
	name string
	in   *counts
}

type counts struct {
	mu             sync.Mutex
	loads, closes  []string
	open, mostOpen int
	fail           atomic.Bool
}

func (c *counted) Prove(context.Context, circom.Witness, ...circom.ProveOption) (*circom.Proof, error) {
	return nil, nil
}

func (c *counted) Close() error {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.closes = append(c.in.closes, c.name)
	c.in.open--
	return nil
}

// load is how keys of bytes are loaded in tests; the first byte is the key's name.
func (c *counts) load(b []byte, _ []circom.KeyOption) (resident, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail.Load() {
		return nil, errors.New("no room")
	}
	c.loads = append(c.loads, string(b[:1]))
	c.open++
	c.mostOpen = max(c.mostOpen, c.open)
	return &counted{string(b[:1]), c}, nil
}

// take has a key for the length of a call.
func take(t *testing.T, k *keys, b []byte) {
	_, done, err := k.of(b)
	if err != nil {
		t.Fatal(err)
	}
	done()
}

// keyNamed returns bytes that begin with a name, and are too long for all of them to be sampled.
func keyNamed(name string) []byte {
	b := make([]byte, 1<<20)
	copy(b, name)
	return b
}

// TestKeyIsFound loads a key once for the same bytes, for a copy of them, and not for others in
// their place.
func TestKeyIsFound(t *testing.T) {
	var c counts
	k := newKeys(options{limit: 1 << 40}, c.load)
	a := keyNamed("a")
	take(t, k, a)
	take(t, k, a)
	take(t, k, slices.Clone(a))
	if len(c.loads) != 1 {
		t.Errorf("loaded %q", c.loads)
	}
	copy(a, "b")
	take(t, k, a)
	take(t, k, keyNamed("a"))
	if !slices.Equal(c.loads, []string{"a", "b"}) {
		t.Errorf("loaded %q, want a and b", c.loads)
	}
	other := keyNamed("a")
	other[len(other)/2+1]++ // may be between samples, at another address
	take(t, k, other)
	if len(c.loads) != 3 {
		t.Errorf("loaded %q: a byte in the middle was not seen", c.loads)
	}
}

// TestLimit drops the key that was used the longest ago, never the last one.
func TestLimit(t *testing.T) {
	var c counts
	k := newKeys(options{limit: 2 << 20}, c.load)
	a, b, d := keyNamed("a"), keyNamed("b"), keyNamed("d")
	for _, key := range [][]byte{a, b, a, d} {
		take(t, k, key)
	}
	if !slices.Equal(c.closes, []string{"b"}) {
		t.Errorf("closed %q, want b", c.closes)
	}
	k.use(&options{})
	if c.open != 0 {
		t.Errorf("%d keys are open after Use", c.open)
	}
	take(t, k, a)
	take(t, k, a)
	if n := len(c.loads); n != 4 {
		t.Errorf("%d loads, want 4: the last key stays even without room", n)
	}
}

// TestKeyInUseStays drops a key that a call has: it is closed after the call.
func TestKeyInUseStays(t *testing.T) {
	var c counts
	k := newKeys(options{limit: 0}, c.load)
	_, done, err := k.of(keyNamed("a"))
	if err != nil {
		t.Fatal(err)
	}
	take(t, k, keyNamed("b"))
	if len(c.closes) != 0 {
		t.Errorf("closed %q while a call has it", c.closes)
	}
	done()
	if !slices.Equal(c.closes, []string{"a"}) {
		t.Errorf("closed %q, want a", c.closes)
	}
}

// TestFailedLoadIsForgotten loads a key again after an error.
func TestFailedLoadIsForgotten(t *testing.T) {
	var c counts
	k := newKeys(options{limit: 1 << 40}, c.load)
	a := keyNamed("a")
	c.fail.Store(true)
	if _, _, err := k.of(a); err == nil {
		t.Fatal("no error")
	}
	c.fail.Store(false)
	take(t, k, a)
	if len(k.all) != 1 || k.all[0].users != 0 {
		t.Errorf("%d keys", len(k.all))
	}
}

// TestCallsShareALoad asks for few keys on many goroutines, under a limit that drops them all the
// time.
func TestCallsShareALoad(t *testing.T) {
	for _, limit := range []int64{1 << 40, 1 << 20} {
		var c counts
		k := newKeys(options{limit: limit}, c.load)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for j := range 20 {
					name := string(rune('a' + (i+j)%3))
					key, done, err := k.of(keyNamed(name))
					if err != nil {
						t.Error(err)
						return
					}
					if got := key.(*counted).name; got != name {
						t.Errorf("key %s for %s", got, name)
					}
					done()
				}
			})
		}
		all.Wait()
		if limit > 1<<30 && len(c.loads) != 3 {
			t.Errorf("%d loads of 3 keys", len(c.loads))
		}
		k.use(&options{})
		if c.open != 0 || len(c.loads) != len(c.closes) {
			t.Errorf("%d keys are open; %d loads, %d closes", c.open, len(c.loads), len(c.closes))
		}
	}
}
