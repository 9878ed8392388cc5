package bench

import (
	"runtime"
	"testing"
)

func TestThisMachine(t *testing.T) {
	m := ThisMachine("abc")
	if m.CPU == "" || m.Cores < 1 || m.OS != runtime.GOOS || m.Arch != runtime.GOARCH || m.Go != runtime.Version() || m.Time == "" {
		t.Errorf("%+v", m)
	}
	if m.Commit == "" {
		t.Error("the commit given is lost")
	}
	if runtime.GOOS == "linux" && (m.Memory < 1<<20 || m.Kernel == "") {
		t.Errorf("%+v", m)
	}
	if n, ok := AvailableMemory(); ok && n == 0 {
		t.Error("no memory available")
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 3 << 19: "1.5 MiB", 64 << 26: "4.0 GiB", 1 << 60: "1048576.0 TiB"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("FormatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}
