//go:build cuda && cgo && linux && (amd64 || arm64)

package msm

import (
	"bytes"
	"errors"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// TestMultiples runs the phases with fewer sets than windows, over points whose multiples were
// computed before. The plan has more than one tile and more than one pass of the sort.
func TestMultiples(t *testing.T) {
	cudatest.OnFake(t)
	d, _ := open(t, device.Options{})
	const n, width, sets = 900, 11, 5
	curve, group := backend.BN254, backend.G1
	count := msmplan.Windows(curve, width)
	rows := (count + sets - 1) / sets
	// Row r is 2^(width sets r) times the points. Rows lie at a distance that is not n.
	const distance = n + 13
	in := inputOf(curve, group, n, 1<<30)
	in.Params.Window, in.Params.Reduce = width, 1e6 // as few buckets as possible
	in.Multiples = msmplan.Multiples{Rows: rows, Shift: width * sets, Distance: distance}
	p, err := msmplan.New(in)
	if err != nil {
		t.Fatal(err)
	}
	if p.Sets != sets || p.Skip != 1 || len(p.Chunks) != 1 || rows < 2 || rows*sets == count ||
		p.Sort.Tiles(p.Count) < 2 || p.Sort.Shift == 0 {
		t.Fatalf("%d windows in %d sets of %d rows, sorted by %+v: not what this test is for", count, p.Sets, rows, p.Sort)
	}

	f, err := fixtures.New(fixtures.Key{Curve: curve, Group: group, Set: fixtures.Infinities, Seed: *seed})
	if err != nil {
		t.Fatal(err)
	}
	first, err := f.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	scalars, err := fixtures.Scalars(curve, fixtures.PlonkL, *seed, n)
	if err != nil {
		t.Fatal(err)
	}
	want, err := f.Expected(0, scalars)
	if err != nil {
		t.Fatal(err)
	}
	points := make([]bn254.G1Affine, rows*distance)
	view, err := layout.View[bn254.G1Affine](first)
	if err != nil {
		t.Fatal(err)
	}
	copy(points, view)
	step := new(big.Int).Lsh(big.NewInt(1), width*sets)
	for r := 1; r < rows; r++ {
		for i := range n {
			points[r*distance+i].ScalarMultiplication(&points[(r-1)*distance+i], step)
		}
	}

	prog, err := loadKernels(d, curve, group, msmplan.Plain)
	if err != nil {
		t.Fatal(err)
	}
	pointBytes := layout.Bytes(points)
	var all device.Layout
	room, pointsAt, scalarsAt := all.Take(p.Work.Size), all.Take(int64(len(pointBytes))), all.Take(int64(len(scalars)))
	turn, err := d.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	memory, err := turn.Work(all.Size, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := turn.Compute
	if err := s.Write(pointsAt.In(memory), pointBytes); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(scalarsAt.In(memory), scalars); err != nil {
		t.Fatal(err)
	}
	read, err := d.Driver().NewEvent(false)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	r := &phases{Plan: p, groupKernels: prog, points: n, piece: p.Piece, TaskLists: p.Work.Lists[0],
		ahead: s, stream: s, after: s, memory: room.In(memory), mark: func(string) error { return nil }}
	if err := r.clearSums(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.makeTasks(scalarsAt.In(memory), true, 0, read), r.addUp(pointsAt.In(memory))); err != nil {
		t.Fatal(err)
	}
	if err := r.reduceBuckets(); err != nil {
		t.Fatal(err)
	}
	sums := make([]byte, p.Work.Sums.Size)
	if err := s.Read(sums, r.at(p.Work.Sums)); err != nil {
		t.Fatal(err)
	}
	got, err := finish(curves.GroupOf(curve, group), sums, p)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("wrong sum, or %v", err)
	}
}
