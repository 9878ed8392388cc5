package cpu_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
)

// TestYields: an exponentiation calls Yield between its elements, and within elements that take
// long. A program calls it between its steps.
func TestYields(t *testing.T) {
	b := cpu.New(cpu.Options{})
	defer b.Close()
	v, ok := backend.As[backend.Programs](b)
	if !ok {
		t.Fatal("no programs")
	}
	// asked counts the calls of Yield by a program.
	asked := func(words, count int) int64 {
		t.Helper()
		id, err := v.NewSpace(t.Context(), backend.Word(), words*(2*count+2))
		if err != nil {
			t.Fatal(err)
		}
		all := make([]byte, 4*words*(2*count+2))
		for i := range all {
			if i < 8*words { // the modulus and the exponent
				all[i] = 0xff
			} else if i%7 == 1 && i%(4*words) != 4*words-1 {
				all[i] = byte(i)
			}
		}
		batch := func(from, n int) backend.Batch {
			return backend.Batch{Space: id, Offset: from * words, Words: words, Count: n}
		}
		var n atomic.Int64
		ctx := backend.WithYield(t.Context(), func(context.Context) error { n.Add(1); return nil })
		if _, err := v.Run(ctx, []backend.Step{
			backend.Write{Dst: backend.Range{Space: id, Count: len(all) / 4}, Input: backend.Input{Bytes: all}},
			backend.Compute{Op: backend.NumExpMod, M: batch(0, 1), B: batch(1, 1), A: batch(2, count), Dst: batch(2+count, count)},
		}); err != nil {
			t.Fatal(err)
		}
		if err := v.FreeSpace(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return n.Load()
	}
	if n := asked(32, 100); n < 50 {
		t.Errorf("asked %d times in 100 elements", n)
	}
	if n := asked(512, 1); n < 1000 {
		t.Errorf("asked %d times in one element that takes long", n)
	}
}
