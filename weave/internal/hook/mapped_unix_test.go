//go:build unix

package hook

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/internal/layout"
)

// mapped is memory that is not Go's, with points in it.
func mapped(t *testing.T, p []bn254.G1Affine) (raw []byte, at []bn254.G1Affine) {
	t.Helper()
	raw, err := unix.Mmap(-1, 0, len(layout.Bytes(p)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	copy(raw, layout.Bytes(p))
	at, err = layout.View[bn254.G1Affine](raw)
	if err != nil {
		t.Fatal(err)
	}
	return raw, at
}

// TestUnmapped has a program map its SRS and give it back, all of it or but for
// the part that it still uses. Reading the rest would end the process, when the
// device dies or a part is compared.
func TestUnmapped(t *testing.T) {
	b := newBench(t, Options{})
	other := points(200)
	raw, srs := mapped(t, points(64<<10/64*10))
	for range 3 {
		b.check(t, srs)
	}
	b.want(t, "once, loaded, resident")

	// The first 100 points are in the first two pages, of whatever size.
	const kept = 2 << 16
	if err := unix.Mprotect(raw[kept:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	b.check(t, srs[:100])
	b.check(t, srs[100:kept/64])
	b.want(t, "resident, resident")
	b.world.kill()
	b.check(t, srs[:100])
	b.check(t, srs[:100])
	b.want(t, "once, loaded")

	if err := unix.Munmap(raw); err != nil {
		t.Fatal(err)
	}
	b.world.kill()
	b.check(t, other)
	b.check(t, other)
	b.check(t, other)
	b.want(t, "once, loaded, resident")
	if len(b.world.opened) != 3 {
		t.Errorf("%d devices, want 3", len(b.world.opened))
	}
}
