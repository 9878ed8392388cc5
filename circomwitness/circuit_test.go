package circomwitness

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/damage"
)

// compiled returns the circuit of module.
func compiled(t testing.TB) *Circuit {
	c, err := Compile(t.Context(), module())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// wtns returns the .wtns file of the circuit of module.
func wtns(x, shift *big.Int) []byte {
	b := []byte("wtns\x02\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x28\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00\x00")
	b = append(b, prime...)
	b = append(b, "\x03\x00\x00\x00\x02\x00\x00\x00\x60\x00\x00\x00\x00\x00\x00\x00"...)
	for _, v := range []*big.Int{big.NewInt(1), x, shift} {
		value := v.FillBytes(make([]byte, 32))
		for i := range value {
			b = append(b, value[len(value)-1-i])
		}
	}
	return b
}

// TestCalculate has values as snarkjs reads them.
func TestCalculate(t *testing.T) {
	c := compiled(t)
	if c.Wires() != 3 {
		t.Errorf("%d wires", c.Wires())
	}
	r, _ := new(big.Int).SetString("21888242871839275222246405745257275088548364400416034343698204186575808495617", 10)
	minus := func(n int64) *big.Int { return new(big.Int).Sub(r, big.NewInt(n)) }
	for in, want := range map[string]*big.Int{
		`3`: big.NewInt(3), `"3"`: big.NewInt(3), `["3"]`: big.NewInt(3), `[[3]]`: big.NewInt(3), `" 3 "`: big.NewInt(3),
		`"0x1F"`: big.NewInt(31), `"0b101"`: big.NewInt(5), `"0o17"`: big.NewInt(15), `"010"`: big.NewInt(10), `""`: new(big.Int),
		`-1`: minus(1), `"-2"`: minus(2), `true`: big.NewInt(1), `1e3`: big.NewInt(1000), `9007199254740992`: big.NewInt(1 << 53),
		`"` + r.String() + `"`: new(big.Int), `"` + minus(1).String() + `"`: minus(1),
	} {
		got, err := c.Calculate(t.Context(), []byte(`{"x": `+in+`, "shift": "9"}`))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if !bytes.Equal(got, wtns(want, big.NewInt(9))) {
			t.Errorf("%s: % x, want %v", in, got, want)
		}
	}
}

// TestCalculateRefuses has inputs that are not the circuit's. The error is one line that names them.
func TestCalculateRefuses(t *testing.T) {
	c := compiled(t)
	for in, want := range map[string]string{
		``: "inputs: ", `[]`: "inputs: ", `{"x": 1, "shift": 2} 3`: "inputs: something stands behind their end",
		`{"x": 1}`:                                                "Not all inputs have been set. Only 1 out of 2",
		`{"x": 1, "shift": 2, "z": 1}`:                            "Signal z not found",
		`{"x": [], "shift": 2}`:                                   "Not enough values for input signal x",
		`{"x": [1, 2], "shift": 2}`:                               "Too many values for input signal x",
		`{"x": {"y": 1}, "shift": 2}`:                             "Signal x.y not found",
		`{"x": [{"y": 1}], "shift": 2}`:                           "Signal x[0].y not found",
		`{"x": null, "shift": 2}`:                                 "input x: ",
		`{"x": "1.5", "shift": 2}`:                                `input x: "1.5" is no number`,
		`{"x": "1_0", "shift": 2}`:                                `input x: "1_0" is no number`,
		`{"x": "0x-1", "shift": 2}`:                               "input x: ",
		`{"x": 1.5, "shift": 2}`:                                  "input x: 1.5 is not whole",
		`{"x": 9007199254740993, "shift": 2}`:                     "input x: 9007199254740993 is above 2^53",
		`{"x": 9007199254740994, "shift": 2}`:                     "input x: 9007199254740994 is above 2^53: write it as a string",
		`{"x": 1e999, "shift": 2}`:                                "input x: ",
		`{"x": 13, "shift": 2}`:                                   "Assert Failed. Error in template T line: 7",
		`{"x": "` + strings.Repeat("9", 1<<20) + `", "shift": 2}`: "input x: a text of 1048576 digits",
	} {
		_, err := c.Calculate(t.Context(), []byte(in))
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: %v, want %q in one line", in, err, want)
		}
	}
}

// TestCompileRefuses has code that is not circom's.
func TestCompileRefuses(t *testing.T) {
	for what, code := range map[string][]byte{
		"nothing": nil, "text": []byte("no code"), "half": module()[:200], "an empty module": []byte("\x00asm\x01\x00\x00\x00"),
		"circom 1": module("getFieldNumLen32"),
	} {
		if _, err := Compile(t.Context(), code); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCalculateEnds has a context that has ended.
func TestCalculateEnds(t *testing.T) {
	c := compiled(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Calculate(ctx, []byte(`{"x": 1, "shift": 2}`)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestEndlessLoop calculates without an end until a context ends, while the process collects garbage. Code
// that does not import what loops call ends too. The memory is wiped.
func TestEndlessLoop(t *testing.T) {
	for what, code := range map[string][]byte{"circom's code": module(), "code without pause": module(pause)} {
		if _, ok := interruptible(code); ok != (what == "circom's code") {
			t.Errorf("%s: interruptible %v", what, ok)
		}
		c, err := Compile(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var collecting sync.WaitGroup
		collecting.Go(func() {
			time.Sleep(10 * time.Millisecond)
			runtime.GC()
			cancel()
		})
		_, err = c.Calculate(ctx, []byte(`{"x": 99, "shift": 2}`))
		collecting.Wait()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, err := c.Calculate(ctx, []byte(`{"x": 99, "shift": 2}`)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
		got, err := c.Calculate(t.Context(), []byte(`{"x": 98, "shift": 2}`))
		if err != nil || !bytes.Equal(got, wtns(big.NewInt(98), big.NewInt(2))) {
			t.Errorf("%s, after that: % x, %v", what, got, err)
		}
	}
}

// TestLoopsAreFound: code is left as it is where it is damaged or unknown, and nothing panics.
func TestLoopsAreFound(t *testing.T) {
	whole := module()
	changed, ok := interruptible(whole)
	if !ok || bytes.Equal(changed, whole) {
		t.Fatal("the code is as it was")
	}
	for n := range whole {
		_, _ = interruptible(whole[:n])
		for _, b := range []byte{0, 0x7f, 0xff} {
			damaged := bytes.Clone(whole)
			damaged[n] = b
			_, _ = interruptible(damaged)
		}
	}
	for body, ok := range map[string]bool{
		"\x00\x03\x40\x0c\x00\x0b\x0b": true, "\x00\xfd\x0c\x0b": false, "\x00\x41": false, "\x01\xff\xff\xff\xff\x0f": false,
		"\x00\x0e\x01\x00\x00\x0b": true, "\x00\x0e\xff\xff\xff\xff\x0f\x0b": false, "\x00\x44\x00\x0b": false,
	} {
		d := &decoder{b: []byte(body)}
		if got := d.withAfterLoops([]byte("+")); d.bad == ok || ok && len(got) != len(body)+strings.Count(body, "\x03\x40") {
			t.Errorf("% x: % x, %v", body, got, d.bad)
		}
	}
}

// TestAtATime calculates on several goroutines, each with its own values.
func TestAtATime(t *testing.T) {
	c := compiled(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				x := int64(100*i + j + 20)
				got, err := c.Calculate(t.Context(), fmt.Appendf(nil, `{"x": %d, "shift": %d}`, x, x+1))
				if err != nil || !bytes.Equal(got, wtns(big.NewInt(x), big.NewInt(x+1))) {
					t.Errorf("%d: % x, %v", x, got, err)
				}
			}
		})
	}
	all.Wait()
}

// TestCalculator has go-rapidsnark's calls.
func TestCalculator(t *testing.T) {
	calculator, err := NewCalculator(module())
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := ParseInputs([]byte(`{"x": ["0x10"], "shift": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	if x, ok := inputs["x"].([]any); !ok || x[0].(*big.Int).Int64() != 16 {
		t.Errorf("inputs %v", inputs)
	}
	want := wtns(big.NewInt(16), big.NewInt(2))
	file, err := calculator.CalculateWTNSBin(inputs, true)
	if err != nil || !bytes.Equal(file, want) {
		t.Errorf("% x, %v", file, err)
	}
	values, err := calculator.CalculateBinWitness(inputs, false)
	if err != nil || !bytes.Equal(values, want[len(want)-96:]) {
		t.Errorf("% x, %v", values, err)
	}
	numbers, err := calculator.CalculateWitness(map[string]any{"x": []*big.Int{big.NewInt(16)}, "shift": 2.0}, true)
	if err != nil || fmt.Sprint(numbers) != "[1 16 2]" {
		t.Errorf("%v, %v", numbers, err)
	}
	if _, err := ParseInputs([]byte(`{"x": {"y": "no"}}`)); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
}

// TestMemoryIsWiped looks for a secret in the memory of a calculation after its end.
func TestMemoryIsWiped(t *testing.T) {
	c := compiled(t)
	k, err := c.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	secret := big.NewInt(0x7365637265742121)
	k.set(signal{"x", []*big.Int{secret}})
	memory, _ := k.module.Memory().Read(0, k.module.Memory().Size())
	if !bytes.Contains(memory, []byte("!!terces")) {
		t.Fatal("the secret is not in the memory")
	}
	k.end()
	if bytes.Contains(memory, []byte("!!terces")) {
		t.Error("the secret is left")
	}
}

// TestCircomItself compares with the files of circom and snarkjs, where both are installed:
// npm install -g circom2@0.2.23
func TestCircomItself(t *testing.T) {
	circom, err := exec.LookPath("circom2")
	if err != nil {
		t.Skip("no circom2 in PATH: npm install -g circom2@0.2.23")
	}
	for circuit, curve := range map[string]string{"cubic": "bn128", "cubic381": "bls12381", "silent": "bn128"} {
		dir := t.TempDir()
		from := filepath.Join("..", "prover", "circom", "testdata", circuit)
		read := func(path string) []byte {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		if err := os.WriteFile(filepath.Join(dir, "circuit.circom"), read(filepath.Join(from, "circuit.circom")), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(circom, "circuit.circom", "--wasm", "-p", curve)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		c, err := Compile(t.Context(), read(filepath.Join(dir, "circuit_js", "circuit.wasm")))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Calculate(t.Context(), read(filepath.Join(from, "input.json")))
		if err != nil || !bytes.Equal(got, read(filepath.Join(from, "witness.wtns"))) {
			t.Errorf("%s: % x, %v", circuit, got, err)
		}
		if circuit == "silent" {
			_, err := c.Calculate(t.Context(), []byte(`{"a": 5, "b": 8}`))
			if err == nil || !strings.Contains(err.Error(), "Assert Failed. Error in template Factors_0 line: ") {
				t.Errorf("a wrong factor: %v", err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// FuzzInputs calculates with any inputs.
func FuzzInputs(f *testing.F) {
	for _, s := range []string{`{"x": 1, "shift": [2]}`, `{"x": {"y": [{"z": 1}]}}`, `{"x": "0x1", "shift": -1e2}`} {
		f.Add([]byte(s))
	}
	c := compiled(f)
	f.Fuzz(func(t *testing.T, b []byte) { calculateAny(t, c, b) })
}

// calculateAny calculates with any inputs, for which there is a witness or an error that says so.
func calculateAny(t *testing.T, c *Circuit, b []byte) (calculated bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // an x of 99 would take for ever
	defer cancel()
	got, err := c.Calculate(ctx, b)
	if err == nil && len(got) != len(wtns(new(big.Int), new(big.Int))) {
		t.Errorf("%q: %d bytes", b, len(got))
	}
	if err != nil && !errors.Is(err, backend.ErrInvalidInput) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%q: %v", b, err)
	}
	return err == nil
}

var inputs = flag.Int("inputs", 3000, "inputs that TestRandomDamage calculates with")

// TestRandomDamage calculates with inputs with random damage: nothing panics, and memory is bounded by
// the inputs.
func TestRandomDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(9, uint64(*inputs)))
	c := compiled(t)
	good := []string{`{"x": 1, "shift": [2]}`, `{"x": "0x1F", "shift": ["12345678901234567890"]}`, `{"x": [[3]], "shift": {"y": [{"z": 1}]}}`}
	var tally damage.Tally
	for left := *inputs; left > 0; left -= 100 {
		var all [100][]byte
		size := 0
		for i := range all {
			all[i] = damage.Text(r, []byte(good[r.IntN(len(good))]))
			size += len(all[i])
		}
		damage.Bounded(t, size, 100, func() {
			for _, b := range all {
				if in, err := parse(b); err == nil {
					_, _ = signals(in)
				}
			}
		})
		for _, b := range all {
			tally.Add(calculateAny(t, c, b))
		}
	}
	tally.Both(t)
}
