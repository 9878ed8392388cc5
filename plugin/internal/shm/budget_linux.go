package shm

import (
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// DefaultBudget returns half of the memory that this process may have: the
// machine's, or what its control groups allow.
func DefaultBudget() int64 {
	limit := groupLimit(os.DirFS("/"))
	var si unix.Sysinfo_t
	if err := unix.Sysinfo(&si); err == nil {
		limit = min(limit, uint64(si.Totalram)*uint64(si.Unit))
	} else if limit == math.MaxUint64 {
		return 1 << 30
	}
	return int64(limit / 2)
}

// groupLimit returns the least memory limit of this process's control groups and
// those above them, of both versions; math.MaxUint64 when there is none.
func groupLimit(root fs.FS) uint64 {
	limit := uint64(math.MaxUint64)
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return limit
	}
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path, of which version 2 has neither number
		// nor names.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		dir, file := "sys/fs/cgroup", "memory.max"
		if f[1] != "" {
			if dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"; !strings.Contains(","+f[1]+",", ",memory,") {
				continue
			}
		}
		// In a container the path may be the host's and not be there, but
		// the top is what the container sees of its own group.
		for at := path.Clean("/" + f[2]); ; at = path.Dir(at) {
			text, err := fs.ReadFile(root, path.Join(dir, at, file))
			if err == nil {
				// "max" is no number and no limit.
				if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
					limit = min(limit, n)
				}
			}
			if at == "/" {
				break
			}
		}
	}
	return limit
}
