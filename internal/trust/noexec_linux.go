package trust

import "golang.org/x/sys/unix"

// NoExec reports whether nothing on the file system of a file can be executed.
func NoExec(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.ST_NOEXEC != 0
}
