package shm

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
)

// mfdNoExecSeal is MFD_NOEXEC_SEAL of Linux 6.3, which older versions of x/sys,
// as woven programs have them, do not know.
const mfdNoExecSeal = 0x8

// required are the seals without which a mapped file could be cut off under
// its reader, which is a SIGBUS.
const required = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

func create(size int, answers bool) (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate("pippin-arena", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|mfdNoExecSeal)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("pippin-arena", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, nil, memoryError("memfd_create", size, err)
	}
	f := os.NewFile(uintptr(fd), "pippin-arena")
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		f.Close()
		return nil, nil, memoryError("ftruncate", size, err)
	}
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, nil, memoryError("mmap", size, err)
	}
	if err := seal(fd, answers); err != nil {
		unmap(mem)
		f.Close()
		return nil, nil, memoryError("sealing", size, err)
	}
	// Both are wishes: the arena works without them.
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE)
	dontDump(mem)
	if err := populate(mem, unix.MADV_POPULATE_WRITE); err != nil {
		unmap(mem)
		f.Close()
		return nil, nil, memoryError("touching", size, err)
	}
	return f, mem, nil
}

// seal fixes the size and, unless answers are to be written, where the kernel
// can (5.1) lets nobody but the mapping made before write: a plugin cannot
// change its host's memory.
func seal(fd int, answers bool) error {
	if answers {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, required)
		return err
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, required|unix.F_SEAL_FUTURE_WRITE)
	if errors.Is(err, unix.EINVAL) {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, required)
	}
	return err
}

// sealsWrites reports whether the kernel knows F_SEAL_FUTURE_WRITE.
var sealsWrites = sync.OnceValue(func() bool {
	fd, err := unix.MemfdCreate("pippin-seals", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE)
	return err == nil
})

// attach maps an arena. One that is not written here has no holes and gets none, since
// that seal forbids to punch any: reading a hole would take memory of this process's
// and not of whoever sent it.
func attach(f *os.File, size int, writable bool) ([]byte, error) {
	want := required
	if !writable && sealsWrites() {
		want |= unix.F_SEAL_FUTURE_WRITE
	}
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&want != want {
		return nil, fmt.Errorf("%w: shared segment is not sealed as it must be (seals %#x, want %#x)",
			backend.ErrInvalidInput, max(seals, 0), want)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: shared segment: %w", backend.ErrInvalidInput, err)
	}
	if st.Size() != int64(size) {
		return nil, fmt.Errorf("%w: shared segment has %d bytes, not the %d announced",
			backend.ErrInvalidInput, st.Size(), size)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); !writable && (!ok || sys.Blocks*512 < int64(size)) {
		return nil, fmt.Errorf("%w: shared segment of %d bytes has holes", backend.ErrInvalidInput, size)
	}
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, size, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, memoryError("mmap", size, err)
	}
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE)
	dontDump(mem)
	if !writable { // whose pages exist already; it saves page faults later
		_ = populate(mem, unix.MADV_POPULATE_READ)
	}
	return mem, nil
}

func dontDump(mem []byte) { _ = unix.Madvise(mem, unix.MADV_DONTDUMP) }

// populate faults all pages in, in parallel: one core does about 1.4 GiB/s.
func populate(mem []byte, how int) error {
	errs := make(chan error, maxWorkers+1)
	parallel(len(mem), func(from, to int) {
		err := unix.Madvise(mem[from:to], how)
		for errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			err = unix.Madvise(mem[from:to], how)
		}
		if errors.Is(err, unix.EINVAL) { // before Linux 5.14
			err = nil
			if how == unix.MADV_POPULATE_WRITE {
				for i := from; i < to; i += PageSize {
					mem[i] = 0
				}
			}
		}
		errs <- err
	})
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func lock(mem []byte) error { return unix.Mlock(mem) }

func unmap(mem []byte) { _ = unix.Munmap(mem) }

// memoryError sorts a system's refusal into lack of a feature or of memory.
func memoryError(what string, size int, err error) error {
	sentinel := backend.ErrOutOfMemory
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EINVAL) {
		sentinel = backend.ErrUnsupported
	}
	return fmt.Errorf("%w: shared memory of %d bytes: %s: %w", sentinel, size, what, err)
}
