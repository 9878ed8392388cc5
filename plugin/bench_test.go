//go:build linux

package plugin

import (
	"fmt"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
)

// BenchmarkRoundTrip measures the overhead of a call: the backend only hashes one base and one
// scalar.
func BenchmarkRoundTrip(b *testing.B) {
	c := mustOpen(b, spec(b, ""))
	x := plugintest.NewBN(1)
	id := plugintest.Load(b, c, x.Bases())
	buf, err := c.Alloc(ctx, 32)
	if err != nil {
		b.Fatal(err)
	}
	defer buf.Free()
	for name, s := range map[string][]byte{"copied": x.Scalars, "in-place": buf.Bytes()} {
		b.Run(name, func(b *testing.B) {
			jobs := []backend.Job{{Bases: id, Count: 1, Input: backend.Input{Bytes: s}}}
			for b.Loop() {
				if _, err := c.MSM(ctx, jobs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkProgram measures the overhead of a program of 50 steps with a small write and small
// answers.
func BenchmarkProgram(b *testing.B) {
	c := mustOpen(b, spec(b, ""))
	id := plugintest.Space(b, c, 4)
	all := backend.Range{Space: id, Count: 4}
	steps := plugintest.WriteRead(id, make([]byte, 128))
	for len(steps) < 50 {
		steps = append(steps, backend.Read{Src: all})
	}
	for b.Loop() {
		if _, err := c.Run(ctx, steps); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFeed measures only the copy into shared memory with its counter.
func BenchmarkFeed(b *testing.B) {
	c := mustOpen(b, spec(b, ""))
	for _, mib := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("%dMiB", mib), func(b *testing.B) {
			src := make([]byte, mib<<20)
			for i := range src {
				src[i] = byte(i)
			}
			r, err := c.pool.Keep(ctx, len(src))
			if err != nil {
				b.Fatal(err)
			}
			defer r.Release()
			n, err := c.counters.Acquire(ctx, 1)
			if err != nil {
				b.Fatal(err)
			}
			f := feed{dst: r.Bytes(), src: src, counter: n[0], scalar: 32}
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if err := f.run(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen measures a start and an end of a plugin.
func BenchmarkOpen(b *testing.B) {
	s := spec(b, "")
	for b.Loop() {
		c, err := Open(ctx, s)
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
