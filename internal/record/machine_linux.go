package record

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func describeSystem(m *Machine) {
	m.CPU = cpuModel(readFile("/proc/cpuinfo"), m.CPU)
	m.Memory = field(readFile("/proc/meminfo"), "MemTotal:")
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
}

// AvailableMemory returns what this process may still use without swapping: what
// the kernel estimates, or what the memory limits of the process's control
// groups leave if that is less. ok is false when it is unknown.
func AvailableMemory() (n uint64, ok bool) {
	n = field(readFile("/proc/meminfo"), "MemAvailable:")
	if n == 0 {
		return 0, false
	}
	if left, limited := cgroupLeft("/sys/fs/cgroup", readFile("/proc/self/cgroup")); limited {
		n = min(n, left)
	}
	return n, true
}

// cgroupLeft returns the least that any limited control group from the process's
// own up to the root leaves; page cache that the kernel can drop counts as
// left. membership is the text of /proc/self/cgroup.
func cgroupLeft(root, membership string) (left uint64, limited bool) {
	for line := range strings.Lines(membership) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		top, limit, usage, cache := root, "memory.max", "memory.current", "inactive_file"
		switch parts[1] {
		case "":
		case "memory":
			top, limit, usage, cache = filepath.Join(root, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
		default:
			continue
		}
		for dir := filepath.Join(top, parts[2]); ; dir = filepath.Dir(dir) {
			max, err1 := strconv.ParseUint(readFile(filepath.Join(dir, limit)), 10, 64) // "max" is no number
			used, err2 := strconv.ParseUint(readFile(filepath.Join(dir, usage)), 10, 64)
			if err1 == nil && err2 == nil {
				used -= min(used, field(readFile(filepath.Join(dir, "memory.stat")), cache))
				if here := max - min(max, used); !limited || here < left {
					left, limited = here, true
				}
			}
			if len(dir) <= len(top) {
				break
			}
		}
	}
	return left, limited
}

// field returns the number after a key at the start of a line, in bytes when the
// line ends in kB; 0 if there is none.
func field(text, key string) uint64 {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != key {
			continue
		}
		n, _ := strconv.ParseUint(f[1], 10, 64)
		if len(f) > 2 && f[2] == "kB" {
			n <<= 10
		}
		return n
	}
	return 0
}

// cpuModel returns the processor's name in /proc/cpuinfo, or otherwise.
func cpuModel(text, otherwise string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}

// readFile returns a small file's text without the space around it, or "".
func readFile(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
