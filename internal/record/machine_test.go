package record

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
