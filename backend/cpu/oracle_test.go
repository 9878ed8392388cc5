package cpu

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
)

// TestAgainstDiscreteLogs computes the same sums in three ways, one of which adds no points. If all
// other tests fail too, look at this one first.
func TestAgainstDiscreteLogs(t *testing.T) {
	const n, offset = 37, 3
	ctx := context.Background()
	for _, c := range backend.Curves() {
		for _, g := range backend.Groups() {
			for _, set := range fixtures.Sets() {
				p, err := fixtures.New(fixtures.Key{Curve: c, Group: g, Set: set, Seed: 7})
				if err != nil {
					t.Fatal(err)
				}
				points, err := p.Bytes(n + offset)
				if err != nil {
					t.Fatal(err)
				}
				scalars, err := fixtures.Scalars(c, fixtures.Witness, 3, n)
				if err != nil {
					t.Fatal(err)
				}
				want, err := p.Expected(offset, scalars)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range []backend.Backend{New(Options{Chunk: 10}), NewReference()} {
					t.Run(fmt.Sprint(c, "/", g, "/", set, "/", b.Info().Name), func(t *testing.T) {
						defer b.Close()
						id, err := b.LoadBases(ctx, backend.Bases{Curve: c, Group: g, Count: n + offset, Bytes: points, Hints: backend.Hints{Check: true}})
						if err != nil {
							t.Fatal(err)
						}
						got, err := b.MSM(ctx, []backend.Job{{Bases: id, Offset: offset, Count: n, Input: backend.Input{Bytes: scalars, Check: true}}})
						if err != nil {
							t.Fatal(err)
						}
						if !bytes.Equal(got[0], want) {
							t.Errorf("%x, want %x", got[0], want)
						}
					})
				}
			}
		}
	}
}
