package local

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/pippin-zk/pippin/backend"
)

// device describes the processor as far as the system tells.
func device() backend.Device {
	name := field("/proc/cpuinfo", "model name")
	if name == "" {
		name = runtime.GOARCH
	}
	return backend.Device{
		Name: name, Memory: memory(), Detail: fmt.Sprintf("%d processors, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH), Host: true,
	}
}

// memory returns the machine's memory in bytes, or 0 if it is unknown.
func memory() uint64 {
	kib, err := strconv.ParseUint(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// field returns the value of the first "key : value" line of a file, or "".
func field(path, key string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(b) {
		if k, v, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
