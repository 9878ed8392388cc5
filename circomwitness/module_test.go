package circomwitness

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// This file assembles WebAssembly with the functions of circom's, for a circuit without constraints:
// the wires are 1, x and shift. An x of 13 fails an assertion, and one of 99 is computed with without an
// end. It stands for code of circom,
// which TestCircomItself takes where circom is.

// Where the code has its values.
const (
	primeAt  = 512
	textAt   = 640
	sharedAt = 1024
	wiresAt  = 2048 // one after the other; wire 0 is data
)

// prime is BN254's r, little-endian.
var prime = []byte("\x01\x00\x00\xf0\x93\xf5\xe1\x43\x91\x70\xb9\x79\x48\xe8\x33\x28" +
	"\x5d\x58\x81\x81\xb6\x45\x50\xb8\x29\xa0\x31\xe1\x72\x4e\x64\x30")

// Instructions of WebAssembly.
const (
	opIf, opElse, opEnd, opReturn, opCall = 0x04, 0x05, 0x0b, 0x0f, 0x10
	opLoop, opBranch                      = 0x03, 0x0c
	opGet, opGlobalGet, opGlobalSet       = 0x20, 0x23, 0x24
	opLoad, opLoadByte, opStore           = 0x28, 0x2d, 0x36
	opEqual, opAdd, opMul                 = 0x46, 0x6a, 0x6c
	i32, empty                            = 0x7f, 0x40
)

// leb encodes a number of up to 32 bits as WebAssembly has it, with its sign.
func leb(v int32) (b []byte) {
	for {
		part := byte(v & 0x7f)
		v >>= 7
		if v == 0 && part&0x40 == 0 || v == -1 && part&0x40 != 0 {
			return append(b, part)
		}
		b = append(b, part|0x80)
	}
}

// size encodes a length.
func size(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func constant(v int32) []byte { return append([]byte{0x41}, leb(v)...) }

func get(local byte) []byte { return []byte{opGet, local} }

// join makes one of several pieces of code.
func join(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// vector encodes several things with their number before.
func vector(parts ...[]byte) []byte { return append(size(len(parts)), join(parts...)...) }

// sized puts its size before bytes.
func sized(b []byte) []byte { return append(size(len(b)), b...) }

func section(id byte, b []byte) []byte { return append([]byte{id}, sized(b)...) }

// at returns the address of word i, which is a local, of values at an address.
func at(base int32, i byte) []byte {
	return join(get(i), constant(4), []byte{opMul}, constant(base), []byte{opAdd})
}

// move copies a value of 32 bytes: the addresses are code.
func move(to, from []byte) []byte { return join(to, from, constant(32), []byte{0xfc, 0x0a, 0, 0}) }

// isName is 1 if the second local, the low half of a hash, is a name's.
func isName(name string) []byte {
	h := fnv.New64a()
	h.Write([]byte(name))
	return join(get(1), constant(int32(h.Sum64())), []byte{opEqual})
}

// module returns the code, without the functions that are left out: that it exports, or imports.
func module(without ...string) []byte {
	type function struct {
		name            string
		takes, returned int
		code            []byte
	}
	wire := func(i []byte) []byte { return join(i, constant(32), []byte{opMul}, constant(wiresAt), []byte{opAdd}) }
	load := []byte{opLoad, 2, 0}
	set := func(i int32) []byte { return move(constant(wiresAt+32*i), constant(sharedAt)) }
	functions := []function{
		{"getVersion", 0, 1, constant(2)},
		{"init", 1, 0, nil},
		{"getFieldNumLen32", 0, 1, constant(8)},
		{"getSharedRWMemoryStart", 0, 1, constant(sharedAt)},
		{"readSharedRWMemory", 1, 1, join(at(sharedAt, 0), load)},
		{"writeSharedRWMemory", 2, 0, join(at(sharedAt, 0), get(1), []byte{opStore, 2, 0})},
		{"getRawPrime", 0, 0, move(constant(sharedAt), constant(primeAt))},
		{"getWitnessSize", 0, 1, constant(3)},
		{"getInputSize", 0, 1, constant(2)},
		{"getInputSignalSize", 2, 1, join(
			isName("x"), []byte{opIf, empty}, constant(1), []byte{opReturn, opEnd},
			isName("shift"), []byte{opIf, empty}, constant(1), []byte{opReturn, opEnd}, constant(-1))},
		{"setInputSignal", 3, 0, join(
			isName("x"), []byte{opIf, empty}, set(1), []byte{opElse}, set(2), []byte{opEnd},
			constant(wiresAt+32), load, constant(13), []byte{opEqual}, []byte{opIf, empty},
			[]byte{opCall, 1}, constant(4), []byte{opCall, 0}, []byte{opEnd},
			constant(wiresAt+32), load, constant(99), []byte{opEqual}, []byte{opIf, empty},
			[]byte{opLoop, empty, opBranch, 0, opEnd, opEnd})},
		{"getWitness", 1, 0, move(constant(sharedAt), wire(get(0)))},
		// The text from where global 0 points, character by character.
		{"getMessageChar", 0, 1, join([]byte{opGlobalGet, 0}, []byte{opLoadByte, 0, 0},
			[]byte{opGlobalGet, 0}, constant(1), []byte{opAdd}, []byte{opGlobalSet, 0})},
	}
	var types, indices, exported, codes [][]byte
	signature := func(takes, returned int) []byte {
		b := append([]byte{0x60}, size(takes)...)
		for range takes {
			b = append(b, i32)
		}
		b = append(b, byte(returned))
		if returned > 0 {
			b = append(b, i32)
		}
		return b
	}
	types = append(types, signature(1, 0), signature(0, 0))
	name := func(s string) []byte { return sized([]byte(s)) }
	imported := [][]byte{
		join(name("runtime"), name("exceptionHandler"), []byte{0, 0}), join(name("runtime"), name("printErrorMessage"), []byte{0, 1}),
	}
	if !slices.Contains(without, pause) {
		imported = append(imported, join(name("runtime"), name(pause), []byte{0, 1}))
	}
	for i, f := range functions {
		types = append(types, signature(f.takes, f.returned))
		indices = append(indices, size(i+2))
		codes = append(codes, sized(join([]byte{0}, f.code, []byte{opEnd})))
		if !slices.Contains(without, f.name) {
			exported = append(exported, join(name(f.name), []byte{0}, size(i+len(imported))))
		}
	}
	exported = append(exported, join(name("memory"), []byte{2, 0}))
	one := make([]byte, 32)
	one[0] = 1
	data := func(where int32, b []byte) []byte {
		return join([]byte{0}, constant(where), []byte{opEnd}, sized(b))
	}
	return join([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, vector(types...)), section(2, vector(imported...)), section(3, vector(indices...)),
		section(5, vector([]byte{0, 1})),
		section(6, vector(join([]byte{i32, 1}, constant(textAt), []byte{opEnd}))),
		section(7, vector(exported...)), section(10, vector(codes...)),
		section(11, vector(data(primeAt, prime), data(wiresAt, one), data(textAt, []byte("Error in template T line: 7\x00")))))
}
