package tenancy

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
)

// file identifies a part of a file and its content. The kernel changes ctime with every write(2),
// and with the first write to a page through a mapping after the page went to the disk; nobody can
// set it. user is the user who sent the file: a file system that one user controls must not pass
// for another's.
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

// settled is how old the last change of a file must be before its content is identified by it. A
// later change within the same tick of the clock would not show.
const settled = 2 * time.Second

// keepsTime lists the file systems that change ctime in this way. File systems in memory do not for
// mappings, and others take their times from elsewhere. Files there are read each time.
var keepsTime = map[int64]bool{unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true}

// flush makes later writes through mappings change ctime, by writing dirty pages to the disk. It
// returns false if the file cannot be identified by its time.
func flush(b *backend.Bases) bool {
	if b.File == nil {
		return false
	}
	raw, err := b.File.SyscallConn()
	if err != nil {
		return false
	}
	failed := true
	err = raw.Control(func(fd uintptr) {
		var fs unix.Statfs_t
		if unix.Fstatfs(int(fd), &fs) == nil && keepsTime[int64(fs.Type)] {
			failed = unix.SyncFileRange(int(fd), 0, 0,
				unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER) != nil
		}
	})
	return err == nil && !failed
}

// maxFiles bounds the files that are remembered.
const maxFiles = 1 << 10

// identify returns what identifies bases in a regular file. It returns false if nothing does.
func identify(b *backend.Bases, user int) (file, bool) {
	if b.File == nil {
		return file{}, false
	}
	st, err := b.File.Stat()
	if err != nil || !st.Mode().IsRegular() {
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
