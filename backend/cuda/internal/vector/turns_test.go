//go:build cuda && cgo && linux && (amd64 || arm64)

package vector

import (
	"bytes"
	"context"
	"math/big"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
)

// TestLongProgramsLetOthersIn: while a call computes powers for long, or maps a vector, another
// call's read of one element is answered. The long call's answers stay right.
func TestLongProgramsLetOthersIn(t *testing.T) {
	cudatest.OnFake(t)
	defer func(n int) { mostQueued = n }(mostQueued)
	mostQueued = 1
	k := open(t, backend.BN254, device.Options{})
	words := func(n int) backend.Range {
		s, err := k.NewSpace(t.Context(), backend.Elements{Element: backend.Word(), Count: n})
		k.must(err)
		id := backend.SpaceID(len(k.spaces) + 1)
		k.spaces[id] = s
		return backend.Range{Space: id, Count: n}
	}
	const long = 20 // steps
	const width, count = 2, 4
	numbers, element := words(5*width*count), k.space(1)
	batch := func(i, n int) backend.Batch {
		return backend.Batch{Space: numbers.Space, Offset: i * width * count, Words: width, Count: n}
	}
	fill := func(b backend.Batch, with byte) backend.Step {
		return backend.Write{Dst: b.Range(), Input: backend.Input{Bytes: bytes.Repeat([]byte{with}, 4*b.Words*b.Count)}}
	}
	a, e, m, dst, spare := batch(0, count), batch(1, 1), batch(2, 1), batch(3, count), batch(4, 1)
	powers := []backend.Step{fill(a, 0x5a), fill(e, 7), fill(m, 0xff)}
	powers = append(powers, slices.Repeat([]backend.Step{backend.Compute{Op: backend.NumExpMod, Dst: dst, A: a, B: e, M: m}}, long)...)
	powers = append(powers, backend.Read{Src: dst.Range()})
	number := func(with byte, words int) *big.Int { return new(big.Int).SetBytes(bytes.Repeat([]byte{with}, 4*words)) }
	power := new(big.Int).Exp(number(0x5a, width), number(7, width), number(0xff, width)).FillBytes(make([]byte, 4*width))
	slices.Reverse(power)

	x := k.space(10)
	whole := backend.Operand{Range: x, Stride: 1}
	doubles := []backend.Step{backend.Powers{Dst: x, First: k.bytes(big.NewInt(1)), Ratio: k.bytes(big.NewInt(1))}}
	doubles = append(doubles, slices.Repeat([]backend.Step{backend.Map{Count: 10, Dst: whole, Args: []backend.Operand{whole},
		Code: []backend.MapCode{{Op: backend.MapLoad}, {Op: backend.MapDouble}}}}, long)...)
	doubles = append(doubles, backend.Read{Src: x})
	double := k.bytes(slices.Repeat([]*big.Int{k.mod(new(big.Int).Lsh(big.NewInt(1), long))}, 10)...)

	for name, of := range map[string]struct {
		steps []backend.Step
		free  backend.Range // no other step touches it
		want  []byte
	}{"numbers": {powers, spare.Range(), bytes.Repeat(power, count)}, "vectors": {doubles, k.space(1), double}} {
		t.Run(name, func(t *testing.T) {
			read := make(chan []byte, 1)
			// meet is a step that waits until f returns.
			meet := func(f func()) backend.Step {
				size, err := backend.Elements{Element: k.spaces[of.free.Space].Element, Count: of.free.Count}.Size()
				k.must(err)
				return backend.Write{Dst: of.free, Input: backend.Input{Bytes: make([]byte, size), Ready: func(context.Context, int) error {
					f()
					return nil
				}}}
			}
			begin := meet(func() {
				go func() { read <- k.run(backend.Read{Src: element})[0] }()
				cudatest.Eventually(t, "another call waits", k.dev.Contended)
			})
			answered := meet(func() {
				cudatest.Eventually(t, "it is answered while the long program computes", func() bool { return len(read) > 0 })
			})
			steps := slices.Concat(of.steps[:long/2], []backend.Step{begin}, of.steps[long/2:], []backend.Step{answered})
			answers := k.run(steps...)
			if got := answers[len(answers)-2]; !bytes.Equal(got, of.want) {
				t.Errorf("the long program answers %x, want %x", got, of.want)
			}
			if got := <-read; !bytes.Equal(got, make([]byte, 32)) {
				t.Errorf("an element of zero is read as %x", got)
			}
		})
	}
}
