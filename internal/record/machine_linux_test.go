package record

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestCgroupLeft(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if left, limited := cgroupLeft(root, "0::/a/b\n"); limited {
		t.Errorf("limited to %d by nothing", left)
	}
	write("a/b/memory.max", "max\n")
	write("a/b/memory.current", "10\n")
	write("a/memory.max", "1000\n")
	write("a/memory.current", "700\n")
	write("a/memory.stat", "anon 400\ninactive_file 200\n")
	if left, limited := cgroupLeft(root, "0::/a/b\n"); !limited || left != 500 {
		t.Errorf("version 2: %d, %v; want 500", left, limited)
	}
	write("a/memory.current", "5000\n")
	if left, limited := cgroupLeft(root, "0::/a/b\n"); !limited || left != 0 {
		t.Errorf("over the limit: %d, %v; want 0", left, limited)
	}
	write("memory/x/memory.limit_in_bytes", "900\n")
	write("memory/x/memory.usage_in_bytes", "100\n")
	if left, limited := cgroupLeft(root, "3:cpu:/y\n2:memory:/x\n"); !limited || left != 800 {
		t.Errorf("version 1: %d, %v; want 800", left, limited)
	}
}

func TestFields(t *testing.T) {
	const text = "MemTotal:       24000 kB\nMemAvailable: 5 kB\nx 7\n"
	for key, want := range map[string]uint64{"MemTotal:": 24000 << 10, "MemAvailable:": 5 << 10, "x": 7, "y": 0} {
		if got := field(text, key); got != want {
			t.Errorf("%s %d, want %d", key, got, want)
		}
	}
	if m := cpuModel("processor\t: 0\nmodel name\t: A CPU: fast\n", "?"); m != "A CPU: fast" {
		t.Errorf("model %q", m)
	}
	if m := cpuModel("", "?"); m != "?" {
		t.Errorf("model %q", m)
	}
}

// TestStartedAs: what a process was started as is told by an absolute path alone.
func TestStartedAs(t *testing.T) {
	for _, name := range []string{"/bin/sleep", "sleep"} {
		cmd := exec.Command("/bin/sleep", "60")
		cmd.Args[0] = name
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		want := ""
		if name[0] == '/' {
			want = name
		}
		// A process that has just begun may have no command line yet.
		got := startedAs(cmd.Process.Pid)
		for end := time.Now().Add(10 * time.Second); got != want && time.Now().Before(end); time.Sleep(time.Millisecond) {
			got = startedAs(cmd.Process.Pid)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
