package driver

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"unsafe"
)

// checkShared refuses memory that is not mapped shared from end to end. Go's
// heap and stacks, and C's, are private, so none of them passes.
func checkShared(b []byte) error {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return invalid("memory to register must be mapped shared, which cannot be checked: %v", err)
	}
	from := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	if !coversShared(text, from, from+uint64(len(b))) {
		return invalid("memory to register must be mapped shared: copy other memory with Stream.Write")
	}
	return nil
}

// coversShared reports whether the shared mappings in a process's list of
// mappings, which is in the order of addresses, hold all of [from, to).
func coversShared(maps []byte, from, to uint64) bool {
	lines := bufio.NewScanner(bytes.NewReader(maps))
	lines.Buffer(nil, 1<<16)
	for lines.Scan() && from < to {
		fields := bytes.Fields(lines.Bytes()) // 7f00-7f10 rw-s ...
		if len(fields) < 2 || len(fields[1]) < 4 || fields[1][3] != 's' {
			continue
		}
		low, high, ok := bytes.Cut(fields[0], []byte("-"))
		start, err1 := strconv.ParseUint(string(low), 16, 64)
		end, err2 := strconv.ParseUint(string(high), 16, 64)
		if !ok || err1 != nil || err2 != nil {
			continue
		}
		if start <= from && from < end {
			from = end
		}
	}
	return from >= to
}
