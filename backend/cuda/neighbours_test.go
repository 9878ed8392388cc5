//go:build cuda && cgo && linux && (amd64 || arm64)

package cuda

import (
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
)

// neighbour opens the card as another program would, and leaves it free when the test ends.
func neighbour(t *testing.T) *driver.Device {
	t.Helper()
	if err := driver.Init(); err != nil {
		t.Fatal(err)
	}
	fakecuda.Reset()
	t.Cleanup(fakecuda.Reset)
	d, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// leave takes the card's memory but for some of what is free.
func leave(t *testing.T, d *driver.Device, some int64) *driver.Memory {
	t.Helper()
	free, _, err := d.MemInfo()
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Alloc(free - some)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestNeighbourEnds: a backend that was opened while another program had the card's memory uses what
// that one gives back later.
func TestNeighbourEnds(t *testing.T) {
	if !quickly(t) {
		return
	}
	other := neighbour(t)
	held := leave(t, other, 64<<20)
	b := several(t, Options{Devices: "0"})
	defer b.Close()
	if err := held.Free(); err != nil {
		t.Fatal(err)
	}
	s, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), 4<<20)
	if err != nil {
		t.Fatalf("128 MiB of a card that has become free: %v", err)
	}
	if err := b.FreeSpace(t.Context(), s); err != nil {
		t.Error(err)
	}
}

// TestNeighbourGrows: where another program has taken what was free, multiples make room for vectors.
func TestNeighbourGrows(t *testing.T) {
	if !quickly(t) {
		return
	}
	other := neighbour(t)
	b := several(t, Options{Devices: "0"})
	defer b.Close()
	p, err := fixtures.NewPoints(backend.BN254, backend.G1, *seed)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1 << 12
	points, err := p.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	for range 24 {
		bases := backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n, Bytes: points, Hints: backend.Hints{Multiples: 32}}
		if _, err := b.LoadBases(t.Context(), bases); err != nil {
			t.Fatal(err)
		}
	}
	spare := b.Usage().Devices[0].Multiples
	if spare < 64<<20 {
		t.Fatalf("%d bytes of multiples: too few for this test", spare)
	}
	defer leave(t, other, 1<<20).Free()
	s, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), 1<<20)
	if err != nil {
		t.Fatalf("32 MiB, beside %d bytes of multiples: %v", spare, err)
	}
	if left := b.Usage().Devices[0].Multiples; left == 0 || left >= spare {
		t.Errorf("%d bytes of multiples are left, of %d: as few as possible should go", left, spare)
	}
	if err := b.FreeSpace(t.Context(), s); err != nil {
		t.Error(err)
	}
}

// TestSecretsOnAFullCard: a vector of secrets is overwritten before its memory is given back, also where
// no stream can be had, or the overwriting fails at first.
func TestSecretsOnAFullCard(t *testing.T) {
	if !quickly(t) {
		return
	}
	neighbour(t)
	b := several(t, Options{Devices: "0"})
	defer b.Close()
	round := func(rule string) error {
		t.Helper()
		id, err := b.NewSpace(t.Context(), backend.ScalarOf(backend.BN254), 16)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Run(t.Context(), []backend.Step{write(id, 0, elements(7, 16))}); err != nil {
			t.Fatal(err)
		}
		if err := fakecuda.Fail(rule); err != nil {
			t.Fatal(err)
		}
		defer fakecuda.Reset()
		return b.FreeSpace(t.Context(), id)
	}
	if err := round(""); err != nil {
		t.Fatal(err)
	}
	unwiped, taken := fakecuda.Counter("unwiped_memory"), fakecuda.Counter("memory")
	for _, rule := range []string{"cuStreamCreate@1=2", "cuMemsetD8Async@1=2", "cuStreamSynchronize@1=2", ""} {
		err := round(rule)
		if n := fakecuda.Counter("unwiped_memory") - unwiped; n != 0 {
			t.Errorf("%s: %d pieces of memory were given back as they were (%v)", rule, n, err)
		}
	}
	if n := fakecuda.Counter("memory") - taken; n != 0 {
		t.Errorf("%d bytes are still taken when everything can be overwritten", n)
	}
}
