// Package known has small computations whose answers are known, by which an engine finds a backend that
// computes wrongly: an MSM, a transform, and multiples of points.
package known

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/known/sum"
	"github.com/pippin-zk/pippin/internal/layout"
)

// How much is computed: about a millisecond on a card.
const (
	vector = 1 << 10
	points = 1 << 6
)

// curve is what known answers are of. A card adds and multiplies for the others on the same units.
const curve = backend.BN254

var (
	scalarsOf = backend.ScalarOf(curve)
	pointsOf  = backend.PointOf(curve, backend.G1)
)

// All lists the computations. The answers of programs are those of the backend cpu in this process, which computes
// them when they are first needed.
func All() []engine.Known { return slices.Clone(all) }

var all = []engine.Known{
	sum.Known(),
	{Name: "transform", Can: func(i backend.Info) bool { return i.Can.HasPrograms(scalarsOf) }, Run: right(transform)},
	{Name: "points", Can: func(i backend.Info) bool {
		return i.Can.HasPrograms(scalarsOf) && i.Can.HasPrograms(pointsOf)
	}, Run: right(multiply)},
}

// Test has a backend compute everything of All that it can, and returns an error if an answer is wrong. It
// accuses no backend that only refuses.
func Test(ctx context.Context, b backend.Backend) error {
	for _, k := range all {
		if !k.Can(b.Info()) {
			continue
		}
		if err := k.Run(ctx, b); errors.Is(err, engine.ErrWrongAnswer) {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	return nil
}

// right has a backend compute, and compares its answer with that of the backend cpu.
func right(compute func(context.Context, backend.Backend) ([]byte, error)) func(context.Context, backend.Backend) error {
	want := sync.OnceValues(func() ([]byte, error) {
		here := cpu.New(cpu.Options{})
		defer here.Close()
		return compute(context.Background(), here)
	})
	return func(ctx context.Context, b backend.Backend) error {
		want, err := want()
		if err != nil {
			return err
		}
		got, err := compute(ctx, b)
		if err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("%w: it computes something else than gnark-crypto", engine.ErrWrongAnswer)
		}
		return err
	}
}

// inputs returns points, and scalars of full width.
var inputs = sync.OnceValues(func() (pts []bn254.G1Affine, scalars []fr.Element) {
	_, _, g, _ := bn254.Generators()
	scalars = sum.Scalars(max(vector, points))
	return bn254.BatchScalarMultiplicationG1(&g, scalars[:points]), scalars
})

// transform computes a transform of a vector there and, on a coset, back.
func transform(ctx context.Context, b backend.Backend) ([]byte, error) {
	_, scalars := inputs()
	shift := layout.Bytes(scalars[:1])
	return run(ctx, b, []backend.Elements{{Element: scalarsOf, Count: vector}}, func(in []backend.SpaceID) []backend.Step {
		all := backend.Range{Space: in[0], Count: vector}
		return []backend.Step{
			backend.Write{Dst: all, Input: backend.Input{Bytes: layout.Bytes(scalars[:vector])}},
			backend.Transform{Dst: all, Src: all}, backend.Read{Src: all},
			backend.Transform{Dst: all, Src: all, Inverse: true, Shift: shift}, backend.Read{Src: all},
		}
	})
}

// multiply multiplies points by scalars, each by one.
func multiply(ctx context.Context, b backend.Backend) ([]byte, error) {
	pts, scalars := inputs()
	has := []backend.Elements{{Element: scalarsOf, Count: points}, {Element: pointsOf, Count: points}}
	return run(ctx, b, has, func(in []backend.SpaceID) []backend.Step {
		by, all := backend.Range{Space: in[0], Count: points}, backend.Range{Space: in[1], Count: points}
		return []backend.Step{
			backend.Write{Dst: by, Input: backend.Input{Bytes: layout.Bytes(scalars[:points])}},
			backend.Write{Dst: all, Input: backend.Input{Bytes: layout.Bytes(pts[:points])}},
			backend.MultiplyPoints{Dst: all, Src: all, Scalars: by}, backend.Read{Src: all},
		}
	})
}

// run runs a program over spaces that it takes and frees, and returns its answers one after the other.
func run(ctx context.Context, b backend.Backend, has []backend.Elements,
	steps func([]backend.SpaceID) []backend.Step) (_ []byte, err error) {
	v, ok := backend.As[backend.Programs](b)
	if !ok {
		return nil, fmt.Errorf("%w: no programs", backend.ErrUnsupported)
	}
	var ids []backend.SpaceID
	defer func() {
		for _, id := range ids {
			if freed := v.FreeSpace(context.WithoutCancel(ctx), id); err == nil {
				err = freed
			}
		}
	}()
	for _, e := range has {
		id, err := v.NewSpace(ctx, e.Element, e.Count)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	out, err := v.Run(ctx, steps(ids))
	return slices.Concat(out...), err
}
