package share

import (
	"syscall"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// file is what a part of a file is known by. The kernel changes ctime with every
// write, and nobody can set it; user is whose file it was said to be, so that no
// user's strange file system is taken for another's.
type file struct {
	user          int
	device, inode uint64
	size          int64
	mtime, ctime  syscall.Timespec
	curve         backend.Curve
	group         backend.Group
	count         int
	offset        int64
}

// settled is how old the last change of a file must be for its content to be
// known by it: a later one within the same tick of the clock would not show.
const settled = 2 * time.Second

// maxFiles bounds the files that are remembered.
const maxFiles = 1 << 10

// identify is what bases in a regular file are known by.
func identify(b *backend.Bases, user int) (file, bool) {
	if b.File == nil {
		return file{}, false
	}
	st, err := b.File.Stat()
	if err != nil || !st.Mode().IsRegular() || time.Since(st.ModTime()) < settled {
		return file{}, false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(sys.Ctim.Unix())) < settled {
		return file{}, false
	}
	return file{
		user: user, device: sys.Dev, inode: sys.Ino, size: sys.Size, mtime: sys.Mtim, ctime: sys.Ctim,
		curve: b.Curve, group: b.Group, count: b.Count, offset: b.FileOffset,
	}, true
}
