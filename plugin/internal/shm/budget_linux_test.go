package shm

import (
	"math"
	"testing"
	"testing/fstest"
)

// TestBudgetReadsControlGroups: in a container the machine's memory is not
// what a process may have.
func TestBudgetReadsControlGroups(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  uint64
	}{
		"none": {fstest.MapFS{}, math.MaxUint64},
		"version 2": {fstest.MapFS{
			"proc/self/cgroup":                 file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max":     file("2000\n"),
			"sys/fs/cgroup/a/memory.max":       file("max\n"),
			"sys/fs/cgroup/another/memory.max": file("1\n"),
		}, 2000},
		"version 2, the limit is further up": {fstest.MapFS{
			"proc/self/cgroup":             file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"),
			"sys/fs/cgroup/a/memory.max":   file("500\n"),
		}, 500},
		"version 2, a namespace": {fstest.MapFS{
			"proc/self/cgroup":         file("0::/../..\n"),
			"sys/fs/cgroup/memory.max": file("700\n"),
		}, 700},
		"version 1": {fstest.MapFS{
			"proc/self/cgroup": file("12:cpu,cpuacct:/x\n5:memory:/a\n0::/\n"),
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("300\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   file("9223372036854771712\n"),
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("1\n"),
		}, 300},
		"version 1, a container": {fstest.MapFS{
			"proc/self/cgroup":                           file("5:memory:/docker/0123\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("400\n"),
		}, 400},
		"nonsense": {fstest.MapFS{
			"proc/self/cgroup":         file("0::/\nhello\n"),
			"sys/fs/cgroup/memory.max": file("-1\n"),
		}, math.MaxUint64},
	} {
		if got := groupLimit(c.files); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if b := DefaultBudget(); b < 1<<20 {
		t.Errorf("here it is %d", b)
	}
}
