package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func env(vars ...string) func(string) string {
	return func(name string) string {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestNVIDIA(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64 " +
			" 580.65.06  Release Build\nGCC version: gcc version 12.2.0 (Debian)\n",
		"sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
		"sys/bus/pci/devices/0000:01:00.0/class":  "0x030200\n",
		"sys/bus/pci/devices/0000:01:00.1/vendor": "0x10de\n", // its sound
		"sys/bus/pci/devices/0000:01:00.1/class":  "0x040300\n",
		"sys/bus/pci/devices/0000:02:00.0/vendor": "0x1af4\n",
		"sys/bus/pci/devices/0000:02:00.0/class":  "0x030000\n",
		"dev/nvidia0":                             "",
		"dev/nvidiactl":                           "",
		"dev/nvidia-caps/x":                       "",
		"etc/ld.so.conf.d/nvidia.conf":            "# a comment\n/opt/nvidia/lib\n",
		"opt/nvidia/lib/libcuda.so.1":             "",
	})
	n := nvidia(root, env("CUDA_VISIBLE_DEVICES=-1", "NVIDIA_VISIBLE_DEVICES=all"))
	if n.Cards != 1 || n.Driver != "580.65.06" || len(n.Nodes) != 2 || n.Nodes[0].Problem != nil {
		t.Errorf("%+v", n)
	}
	if want := []string{filepath.Join(root, "opt/nvidia/lib/libcuda.so.1")}; !slices.Equal(n.Libraries, want) {
		t.Errorf("libraries %v", n.Libraries)
	}
	if !slices.Equal(n.Hidden, []string{"CUDA_VISIBLE_DEVICES=-1"}) {
		t.Errorf("hidden %v", n.Hidden)
	}
	fake := tree(t, map[string]string{"libcuda.so.1": ""})
	if n := nvidia(t.TempDir(), env("LD_LIBRARY_PATH=/none:"+fake)); len(n.Libraries) != 1 ||
		n.Cards+len(n.Nodes)+len(n.Hidden) != 0 || n.Driver != "" {
		t.Errorf("%+v", n)
	}
	// A folder cannot be opened for writing, not even by root.
	if n := nvidia(tree(t, map[string]string{"dev/nvidia0/x": ""}), env()); len(n.Nodes) != 1 || n.Nodes[0].Problem == nil {
		t.Errorf("%+v", n)
	}
}

func TestContainer(t *testing.T) {
	for _, c := range []struct {
		root string
		env  []string
		want string
	}{
		{t.TempDir(), nil, ""},
		{tree(t, map[string]string{".dockerenv": ""}), nil, "docker"},
		{tree(t, map[string]string{"run/.containerenv": ""}), nil, "podman"},
		{tree(t, map[string]string{".dockerenv": ""}), []string{"KUBERNETES_SERVICE_HOST=10.0.0.1"}, "kubernetes"},
	} {
		if got := container(c.root, env(c.env...)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestLook is of this machine, whatever it is.
func TestLook(t *testing.T) {
	s, _ := Look(os.Getenv)
	if s.OS != "linux" || s.Cores < 1 || s.Usable < 1 || s.Files == 0 || s.Locked == 0 {
		t.Errorf("%+v", s)
	}
}
