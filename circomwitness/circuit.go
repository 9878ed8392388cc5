// Package circomwitness calculates witnesses of circom's circuits with the WebAssembly that
// "circom --wasm" makes, in pure Go. It is a module by itself: a program that has its witnesses from
// elsewhere asks for no WebAssembly.
//
//	circuit, err := circomwitness.Compile(ctx, wasm)
//	wtns, err := circuit.Calculate(ctx, inputJSON)
//	w, err := circom.ParseWitness(wtns)
//
// NewCalculator and ParseInputs are go-rapidsnark's functions of its package witness.
//
// A calculation takes longer than a proof on a GPU. circom's C++ calculator is faster and writes the
// same files. On processors other than amd64 and arm64 code is interpreted, which takes a hundred
// times as long.
package circomwitness

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/big"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/pippin-zk/pippin/backend"
)

// Circuit is a circuit whose code was compiled. It is safe for concurrent use: each calculation has
// memory for itself.
type Circuit struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
	prime   *big.Int
	words   int // of 32 bits in a value
	wires   int
}

// exports are the functions that circom 2 exports and that are called here.
var exports = []string{
	"init", "getFieldNumLen32", "getRawPrime", "getSharedRWMemoryStart", "getWitnessSize", "getWitness",
	"getInputSize", "getInputSignalSize", "setInputSignal",
}

// Compile compiles the WebAssembly of a circuit, which takes up to a second for a large one. Code
// that is not circom's, or of circom 1, is backend.ErrInvalidInput. Close frees what it takes.
func Compile(ctx context.Context, wasm []byte) (_ *Circuit, err error) {
	code, ok := interruptible(wasm)
	config := wazero.NewRuntimeConfig()
	if !ok {
		code, config = wasm, config.WithCloseOnContextDone(true)
	}
	c := &Circuit{runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if err := c.host(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	if c.code, err = c.runtime.CompileModule(ctx, code); err != nil {
		return nil, refuse("no WebAssembly: %w", err)
	}
	for _, name := range exports {
		if _, ok := c.code.ExportedFunctions()[name]; !ok {
			return nil, refuse("it is no circuit of circom 2: it has no function %s", name)
		}
	}
	return c, c.facts(ctx)
}

// facts asks the code for what it says of its circuit.
func (c *Circuit) facts(ctx context.Context) error {
	k, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer k.end()
	words, wires := k.call("getFieldNumLen32"), k.call("getWitnessSize")
	if k.err == nil && (words < 1 || words > 12 || wires < 1 || wires > 1<<31) {
		return refuse("values of %d words, %d wires", words, wires)
	}
	c.words, c.wires = int(words), int(wires)
	k.call("getRawPrime")
	prime := slices.Clone(k.value())
	slices.Reverse(prime)
	c.prime = new(big.Int).SetBytes(prime)
	if k.err == nil && c.prime.Sign() == 0 {
		return refuse("its prime is 0")
	}
	return k.err
}

// Close frees the code. No calculation may be under way.
func (c *Circuit) Close() error { return c.runtime.Close(context.Background()) }

// Wires returns the number of wires: the length of a witness.
func (c *Circuit) Wires() int { return c.wires }

// Calculate returns the witness of an input.json as the bytes of a .wtns file. Inputs that are
// missing, unknown or of another length, and those for which an assertion of the circuit does not
// hold, are backend.ErrInvalidInput.
//
// The bytes are secret. The memory of the calculation is wiped. When ctx ends, Calculate returns its
// error within milliseconds, even if the circuit computes without an end.
func (c *Circuit) Calculate(ctx context.Context, inputJSON []byte) ([]byte, error) {
	inputs, err := parse(inputJSON)
	if err != nil {
		return nil, err
	}
	return c.calculate(ctx, inputs, true)
}

// calculate returns the witness of inputs. With checks, the circuit looks at its assertions too.
func (c *Circuit) calculate(ctx context.Context, inputs map[string]any, checks bool) ([]byte, error) {
	values, err := signals(inputs)
	if err != nil {
		return nil, err
	}
	k, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer k.end()
	flag := uint64(0)
	if checks {
		flag = 1
	}
	k.call("init", flag)
	for _, s := range values {
		k.set(s)
	}
	if want, got := k.call("getInputSize"), count(values); k.err == nil && uint64(got) < want {
		return nil, refuse("Not all inputs have been set. Only %d out of %d", got, want)
	}
	return k.witness()
}

// count returns the number of values of all signals.
func count(all []signal) (n int) {
	for _, s := range all {
		n += len(s.values)
	}
	return n
}

// calculation is the memory of one calculation. After its first error it does nothing.
type calculation struct {
	*Circuit
	ctx    context.Context
	module api.Module
	shared uint32 // where values pass through the memory
	says   *said
	stack  [3]uint64
	err    error
}

// said is what the code says about an error. It is in the context of calls.
type said struct{ text []string }

type saidKey struct{}

// begin makes memory for a calculation.
func (c *Circuit) begin(ctx context.Context) (*calculation, error) {
	k := &calculation{Circuit: c, says: new(said)}
	k.ctx = context.WithValue(ctx, saidKey{}, k.says)
	var err error
	if k.module, err = c.runtime.InstantiateModule(k.ctx, c.code, wazero.NewModuleConfig().WithName("")); err != nil {
		return nil, refuse("the circuit's code does not start: %w", err)
	}
	k.shared = uint32(k.call("getSharedRWMemoryStart"))
	if k.err != nil {
		k.end()
		return nil, k.err
	}
	return k, nil
}

// end wipes and frees the memory.
func (k *calculation) end() {
	if m := k.module.Memory(); m != nil {
		if b, ok := m.Read(0, m.Size()); ok {
			clear(b)
		}
	}
	_ = k.module.Close(context.Background()) // it has no exit code that would say anything
}

// call calls a function of the code and returns its result, or 0.
func (k *calculation) call(name string, args ...uint64) uint64 {
	return k.apply(k.module.ExportedFunction(name), args...)
}

func (k *calculation) apply(f api.Function, args ...uint64) uint64 {
	if k.err != nil {
		return 0
	}
	if k.err = backend.Ended(k.ctx); k.err != nil {
		return 0
	}
	clear(k.stack[:])
	copy(k.stack[:], args)
	if err := f.CallWithStack(k.ctx, k.stack[:]); err != nil {
		if k.err = backend.Ended(k.ctx); k.err == nil {
			k.err = k.says.about(err)
		}
		return 0
	}
	return uint64(uint32(k.stack[0]))
}

// value returns the value that the code left in its shared memory, little-endian. It is a view,
// valid until the next call.
func (k *calculation) value() []byte {
	if k.err != nil {
		return nil
	}
	b, ok := k.module.Memory().Read(k.shared, uint32(4*k.words))
	if !ok {
		k.err = refuse("its shared memory at %d is not in its memory", k.shared)
	}
	return b
}

// set gives the circuit the values of an input.
func (k *calculation) set(s signal) {
	h := fnv.New64a()
	h.Write([]byte(s.name))
	high, low := h.Sum64()>>32, h.Sum64()&(1<<32-1)
	size := int32(k.call("getInputSignalSize", high, low))
	switch {
	case k.err != nil:
		return
	case size < 0:
		k.err = refuse("Signal %s not found", s.name)
	case len(s.values) < int(size):
		k.err = refuse("Not enough values for input signal %s: %d of %d", s.name, len(s.values), size)
	case len(s.values) > int(size):
		k.err = refuse("Too many values for input signal %s: %d, it takes %d", s.name, len(s.values), size)
	}
	setSignal := k.module.ExportedFunction("setInputSignal")
	for i, v := range s.values {
		to := k.value()
		if k.err != nil {
			return
		}
		new(big.Int).Mod(v, k.prime).FillBytes(to)
		slices.Reverse(to)
		k.apply(setSignal, high, low, uint64(i))
	}
}

// witness returns the values of all wires as a .wtns file.
func (k *calculation) witness() ([]byte, error) {
	size := 4 * k.words
	b := make([]byte, 0, headBytes+size+size*k.wires)
	b = k.head(b)
	get := k.module.ExportedFunction("getWitness")
	for i := range k.wires {
		k.apply(get, uint64(i))
		b = append(b, k.value()...)
	}
	if k.err != nil {
		clear(b)
		return nil, k.err
	}
	return b, nil
}

// headBytes is the size of a .wtns file without its prime and its values.
const headBytes = 3*4 + (4 + 8 + 4 + 4) + (4 + 8)

// head appends what stands before the values.
func (k *calculation) head(b []byte) []byte {
	le, size := binary.LittleEndian, 4*k.words
	b = append(b, "wtns"...)
	b = le.AppendUint32(b, 2) // version
	b = le.AppendUint32(b, 2) // sections
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, uint64(4+size+4))
	b = le.AppendUint32(b, uint32(size))
	prime := k.prime.FillBytes(make([]byte, size))
	slices.Reverse(prime)
	b = append(b, prime...)
	b = le.AppendUint32(b, uint32(k.wires))
	b = le.AppendUint32(b, 2)
	return le.AppendUint64(b, uint64(size)*uint64(k.wires))
}

// refuse returns an error for input that is wrong.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", backend.ErrInvalidInput, fmt.Errorf(format, args...))
}

// causes are what circom's code reports by number, in the words of its other calculators.
var causes = []string{
	1: "Signal not found.", 2: "Too many signals set.", 3: "Signal already set.", 4: "Assert Failed.", 5: "Not enough memory.",
	6: "Input signal array access exceeds the size.", 7: "Out of bounds array access.",
}

// host makes the functions that circom's code calls.
func (c *Circuit) host(ctx context.Context) error {
	fail := func(ctx context.Context, code int32) {
		cause := "Unknown error."
		if code > 0 && int(code) < len(causes) {
			cause = causes[code]
		}
		s := ctx.Value(saidKey{}).(*said)
		s.text = append([]string{cause}, s.text...)
		panic(errStopped) // wazero makes an error of it, which ends the call
	}
	message := func(ctx context.Context, m api.Module) {
		s := ctx.Value(saidKey{}).(*said)
		if text := messageOf(ctx, m); len(s.text) < mostLines {
			s.text = append(s.text, text)
		}
	}
	goOn := func(ctx context.Context) {
		if ctx.Err() != nil {
			panic(errStopped)
		}
	}
	drop := func(ctx context.Context, m api.Module) { messageOf(ctx, m) }
	_, err := c.runtime.NewHostModuleBuilder("runtime").
		NewFunctionBuilder().WithFunc(fail).Export("exceptionHandler").
		NewFunctionBuilder().WithFunc(message).Export("printErrorMessage").
		NewFunctionBuilder().WithFunc(drop).Export("writeBufferMessage"). // of log()
		NewFunctionBuilder().WithFunc(goOn).Export(pause).
		Instantiate(ctx)
	return err
}

var errStopped = errors.New("the circuit stopped")

// The most that is kept of what the code says.
const (
	mostLines = 32
	mostChars = 4 << 10
)

// messageOf returns the text that the code has ready, character by character until a 0.
func messageOf(ctx context.Context, m api.Module) string {
	next := m.ExportedFunction("getMessageChar")
	if next == nil {
		return ""
	}
	var text strings.Builder
	for range mostChars {
		r, err := next.Call(ctx)
		if err != nil || len(r) == 0 || r[0] == 0 {
			break
		}
		text.WriteByte(byte(r[0]))
	}
	return strings.TrimSpace(text.String())
}

// about returns the error of a call: what the code said if it said why, else what wazero says.
func (s *said) about(err error) error {
	if len(s.text) > 0 {
		return refuse("%s", strings.Join(s.text, " "))
	}
	first, _, _ := strings.Cut(err.Error(), "\n") // a stack trace follows
	return refuse("the circuit's code failed: %s", first)
}
