package filesystem

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// kinds are the file systems that the kernel answers for by itself, from a disk of this machine;
// files in memory are known otherwise. Others ask a process (FUSE) or another machine (NFS), or are made of such
// ones (overlays): a thread that reads there may wait for ever, and no signal ends it.
var kinds = map[string]bool{"ext2": true, "ext3": true, "ext4": true, "xfs": true, "btrfs": true}

// Mounts lists the mounts that this process sees, and System is where the kernel tells of disks.
// Tests name others.
var Mounts, System = "/proc/self/mountinfo", "/sys"

// Look reports whether a file is a regular one, and whether it is on a file system that always
// answers. It does not ask the file system itself, not even for its kind, since that may already
// wait for ever.
func Look(f *os.File) (regular, answers bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, false
	}
	var st unix.Statx_t
	var failed, noMemory error
	err = raw.Control(func(fd uintptr) {
		failed = unix.Statx(int(fd), "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_MNT_ID, &st)
		_, noMemory = unix.FcntlInt(fd, unix.F_GET_SEALS, 0) // which only files in memory have
	})
	if err != nil || failed != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false, false
	}
	return true, noMemory == nil || onMachine(&st)
}

// onMachine reports whether a file is on a file system of kinds.
func onMachine(st *unix.Statx_t) bool {
	device := strconv.Itoa(int(st.Dev_major)) + ":" + strconv.Itoa(int(st.Dev_minor))
	id := ""
	if st.Mask&unix.STATX_MNT_ID != 0 {
		id = strconv.FormatUint(st.Mnt_id, 10)
	}
	if kind, known := mounted(id, device); known {
		return kinds[kind]
	}
	return st.Dev_major != 0 && onDisk(device)
}

// mounted returns the kind of the file system of a mount, or else of one with the same device:
// a file of another container has a mount that is not listed here.
func mounted(id, device string) (kind string, known bool) {
	text, err := os.ReadFile(Mounts)
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text)) {
		// ID parent major:minor root point options.. - kind source options
		f := strings.Fields(line)
		_, rest, ok := strings.Cut(line, " - ")
		if !ok || len(f) < 3 {
			continue
		}
		of, _, _ := strings.Cut(rest, " ")
		if f[0] == id {
			return of, true
		}
		if f[2] == device {
			kind, known = of, true
		}
	}
	return kind, known
}

// onDisk reports whether a disk is mounted as a file system that answers, wherever that is.
func onDisk(device string) bool {
	disk, err := os.Readlink(filepath.Join(System, "dev/block", device))
	if err != nil {
		return false
	}
	for kind := range kinds {
		if _, err := os.Stat(filepath.Join(System, "fs", kind, filepath.Base(disk))); err == nil {
			return true
		}
	}
	return false
}
