package circomwitness

import "encoding/binary"

// This file makes the code of a circuit interruptible. Compiled WebAssembly does not end with a context,
// and Go cannot interrupt it: a loop without an end would stop the whole process at its next garbage
// collection. So each loop counts, and calls the host now and then.
//
// wazero has an option for that. It calls the host in each round of a loop and starts a goroutine for
// each call of the code: hashes take twice as long with it, and the 240,000 calls for as many wires ten
// times.

// rounds is how many rounds of loops go by between two calls of the host, a power of two.
const rounds = 1 << 10

// pause is the function that loops call: circom's code imports it for debugging, and does not call it.
const pause = "showSharedRWMemory"

// The sections of a module that are read or changed here.
const (
	importSection = 2
	globalSection = 6
	exportSection = 7 // the first that follows the globals
	codeSection   = 10
)

// interruptible returns code whose loops call pause. It returns false for code that does not import
// pause or has instructions that circom does not use, and for what is no code.
func interruptible(wasm []byte) ([]byte, bool) {
	const head = 8 // magic and version
	if len(wasm) < head {
		return nil, false
	}
	in := &decoder{b: wasm, at: head}
	out := append([]byte(nil), wasm[:head]...)
	var m imports
	counted := false // the counter is there
	for in.at < len(in.b) && !in.bad {
		id := in.byte()
		content := in.bytes(in.u32())
		switch {
		case id == importSection:
			m = importsOf(content)
		case id == globalSection:
			content, counted = m.withCounter(content), true
		case id >= exportSection && !counted:
			out, counted = appendSection(out, globalSection, m.withCounter([]byte{0})), true
		}
		if id == codeSection {
			var ok bool
			if content, ok = m.withPauses(content); !ok {
				return nil, false
			}
		}
		out = appendSection(out, id, content)
	}
	return out, !in.bad && counted
}

// appendSection appends a section of a module.
func appendSection(to []byte, id byte, content []byte) []byte {
	to = binary.AppendUvarint(append(to, id), uint64(len(content)))
	return append(to, content...)
}

// imports is what is known of a module from what it imports, and from its globals.
type imports struct {
	globals uint64 // before those of the module itself
	pause   uint64 // the number of the function
	found   bool   // pause is imported
	counter uint64 // the number of the global that counts rounds
}

// importsOf reads the section of imports.
func importsOf(content []byte) (m imports) {
	in := &decoder{b: content}
	functions := uint64(0)
	for range in.u32() {
		in.bytes(in.u32()) // the module's name
		name := string(in.bytes(in.u32()))
		switch in.byte() {
		case 0:
			if name == pause {
				m.pause, m.found = functions, true
			}
			functions++
			in.u32()
		case 1:
			in.byte()
			in.limits()
		case 2:
			in.limits()
		case 3:
			in.bytes(2)
			m.globals++
		default:
			in.bad = true
		}
		if in.bad {
			return imports{}
		}
	}
	return m
}

// withCounter returns the section of globals with one more.
func (m *imports) withCounter(content []byte) []byte {
	in := &decoder{b: content}
	n := in.u32()
	m.counter = m.globals + n
	const i32, mutable, constant, end = 0x7f, 1, 0x41, 0x0b
	out := append(binary.AppendUvarint(nil, n+1), in.b[in.at:]...)
	return append(out, i32, mutable, constant, 0, end)
}

// withPauses returns the section of code with a pause in each loop.
func (m *imports) withPauses(content []byte) ([]byte, bool) {
	in := &decoder{b: content}
	count := in.u32()
	out := binary.AppendUvarint(nil, count)
	round := m.round()
	for range count {
		body := &decoder{b: in.bytes(in.u32())}
		if in.bad {
			return nil, false
		}
		code := body.withAfterLoops(round)
		if body.bad {
			return nil, false
		}
		out = append(binary.AppendUvarint(out, uint64(len(code))), code...)
	}
	return out, m.found && !in.bad
}

// round returns the code that a loop runs in each round: it counts, and calls pause.
func (m *imports) round() []byte {
	const (
		constant, add, and, eqz  = 0x41, 0x6a, 0x71, 0x45
		get, set                 = 0x23, 0x24
		when, nothing, call, end = 0x04, 0x40, 0x10, 0x0b
	)
	b := binary.AppendUvarint([]byte{get}, m.counter)
	b = append(b, constant, 1, add, set)
	b = binary.AppendUvarint(b, m.counter)
	b = binary.AppendUvarint(append(b, get), m.counter)
	b = append(b, constant)
	b = append(b, signed(rounds-1)...)
	b = append(b, and, eqz, when, nothing, call)
	return append(binary.AppendUvarint(b, m.pause), end)
}

// signed encodes a number that is not negative as WebAssembly has signed ones.
func signed(v uint64) []byte {
	b := binary.AppendUvarint(nil, v)
	if b[len(b)-1]&0x40 == 0 {
		return b
	}
	b[len(b)-1] |= 0x80
	return append(b, 0)
}

// decoder reads a module. After its first error it reads nothing more and returns zeros.
type decoder struct {
	b   []byte
	at  int
	bad bool
}

func (d *decoder) byte() byte {
	if d.bad || d.at >= len(d.b) {
		d.bad = true
		return 0
	}
	d.at++
	return d.b[d.at-1]
}

func (d *decoder) bytes(n uint64) []byte {
	if d.bad || n > uint64(len(d.b)-d.at) {
		d.bad = true
		return nil
	}
	d.at += int(n)
	return d.b[d.at-int(n) : d.at]
}

// u32 reads a number of up to 32 bits.
func (d *decoder) u32() uint64 {
	if d.bad {
		return 0
	}
	v, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 || v >= 1<<32 {
		d.bad = true
		return 0
	}
	d.at += n
	return v
}

// number passes over a number of any length and sign.
func (d *decoder) number() {
	for d.byte()&0x80 != 0 {
	}
}

// limits passes over the limits of a memory or table.
func (d *decoder) limits() {
	if d.byte()&1 != 0 {
		d.u32()
	}
	d.u32()
}

// withAfterLoops returns a function's body with code at the begin of each loop.
func (d *decoder) withAfterLoops(code []byte) (out []byte) {
	for range d.u32() { // its locals
		d.u32()
		if d.byte(); d.bad {
			return nil
		}
	}
	const loop = 0x03
	done := 0
	for d.at < len(d.b) && !d.bad {
		if d.instruction() == loop {
			out = append(append(out, d.b[done:d.at]...), code...)
			done = d.at
		}
	}
	return append(out, d.b[done:]...)
}

// instruction passes over an instruction with what belongs to it, and returns its first byte. Those of
// WebAssembly 1 are known, and those that fill and copy memory.
func (d *decoder) instruction() byte {
	op := d.byte()
	switch {
	case op >= 0x02 && op <= 0x04: // block, loop, if: a type
		d.number()
	case op == 0x0c, op == 0x0d, op == 0x10, op >= 0x20 && op <= 0x24: // branches, calls, locals and globals
		d.u32()
	case op == 0x0e: // br_table
		for range d.u32() + 1 {
			d.u32()
			if d.bad {
				break
			}
		}
	case op == 0x11, op >= 0x28 && op <= 0x3e: // call_indirect, loads and stores
		d.u32()
		d.u32()
	case op == 0x3f, op == 0x40: // size and growth of the memory
		d.byte()
	case op == 0x41, op == 0x42: // constants
		d.number()
	case op == 0x43:
		d.bytes(4)
	case op == 0x44:
		d.bytes(8)
	case op == 0xfc:
		d.extended()
	case op <= 0x01, op == 0x05, op == 0x0b, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4:
	default:
		d.bad = true
	}
	return op
}

// extended passes over what follows 0xfc.
func (d *decoder) extended() {
	switch op := d.u32(); {
	case op <= 7: // conversions
	case op == 8: // memory.init
		d.u32()
		d.byte()
	case op == 9: // data.drop
		d.u32()
	case op == 10: // memory.copy
		d.bytes(2)
	case op == 11: // memory.fill
		d.byte()
	default:
		d.bad = true
	}
}
