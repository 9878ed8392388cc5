package driver

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
)

// sharedMemory returns a mapping of a new memfd.
func sharedMemory(t *testing.T, size, prot int) []byte {
	t.Helper()
	fd, err := unix.MemfdCreate("driver-test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(fd, 0, size, prot, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

func TestCheckShared(t *testing.T) {
	page := os.Getpagesize()
	shared := sharedMemory(t, 4*page, unix.PROT_READ|unix.PROT_WRITE)
	for _, b := range [][]byte{shared, shared[page : 2*page], shared[3*page+5:]} {
		if err := checkShared(b); err != nil {
			t.Error(err)
		}
	}
	private, err := unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(private)
	for name, b := range map[string][]byte{"private": private, "heap": make([]byte, 1<<20), "small": make([]byte, 1)} {
		if err := checkShared(b); !errors.Is(err, backend.ErrInternal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCoversShared(t *testing.T) {
	maps := []byte(`1000-2000 rw-s 00000000 00:01 1 /memfd:a (deleted)
2000-4000 r--s 00000000 00:01 2 /memfd:b (deleted)
4000-5000 rw-p 00000000 00:00 0
6000-7000 rw-s 00000000 00:01 3 /memfd:c (deleted)
`)
	for _, c := range []struct {
		from, to uint64
		want     bool
	}{
		{0x1000, 0x2000, true}, {0x1800, 0x3000, true}, {0x1000, 0x4000, true},
		{0x1000, 0x4001, false}, {0x4000, 0x4800, false}, {0xfff, 0x2000, false},
		{0x3000, 0x6800, false}, {0x6000, 0x7000, true}, {0x6000, 0x7001, false}, {0x8000, 0x9000, false},
	} {
		if got := coversShared(maps, c.from, c.to); got != c.want {
			t.Errorf("%x-%x: %v", c.from, c.to, got)
		}
	}
}
