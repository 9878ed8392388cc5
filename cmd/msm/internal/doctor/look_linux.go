package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Look gathers what the system shows, its memory and shared memory aside.
func Look(getenv func(string) string) (System, NVIDIA) {
	s := System{OS: runtime.GOOS, Container: container("/", getenv), Cores: runtime.NumCPU(), Usable: runtime.GOMAXPROCS(0)}
	s.NoProc = !exists("/proc/self")
	if cores := strings.Count("\n"+read("/proc/cpuinfo"), "\nprocessor"); cores > 0 {
		s.Cores = cores
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		s.Files = limit.Cur
	}
	s.Locked = Unlimited
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) == nil {
		s.Locked = limit.Cur // RLIM_INFINITY is Unlimited
	}
	return s, nvidia("/", getenv)
}

// container names what this process runs in, as far as it left a sign.
func container(root string, getenv func(string) string) string {
	switch {
	case getenv("KUBERNETES_SERVICE_HOST") != "":
		return "kubernetes"
	case exists(filepath.Join(root, "run/.containerenv")):
		return "podman"
	case exists(filepath.Join(root, ".dockerenv")):
		return "docker"
	}
	return ""
}

var version = regexp.MustCompile(`\b\d{3}(\.\d+)+\b`)

// nvidia looks below root.
func nvidia(root string, getenv func(string) string) NVIDIA {
	var n NVIDIA
	for _, dev := range glob(root, "sys/bus/pci/devices/*") {
		// Class 3 is displays, 0x0302 cards without one.
		if read(filepath.Join(dev, "vendor")) == "0x10de" && strings.HasPrefix(read(filepath.Join(dev, "class")), "0x03") {
			n.Cards++
		}
	}
	text, _, _ := strings.Cut(read(filepath.Join(root, "proc/driver/nvidia/version")), "\n") // the second line is the compiler's
	n.Driver = version.FindString(text)
	for _, node := range slices.Concat(glob(root, "dev/nvidia[0-9]*"), glob(root, "dev/nvidiactl"),
		glob(root, "dev/nvidia-uvm"), glob(root, "dev/dxg")) {
		f, err := os.OpenFile(node, os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		n.Nodes = append(n.Nodes, Node{node, err})
	}
	for _, dir := range libraryDirs(root, getenv("LD_LIBRARY_PATH")) {
		lib := filepath.Join(dir, "libcuda.so.1")
		if exists(lib) && !slices.Contains(n.Libraries, lib) {
			n.Libraries = append(n.Libraries, lib)
		}
	}
	for name, none := range map[string][]string{"CUDA_VISIBLE_DEVICES": {"-1", "NoDevFiles"}, "NVIDIA_VISIBLE_DEVICES": {"void", "none"}} {
		if v := getenv(name); slices.Contains(none, v) {
			n.Hidden = append(n.Hidden, name+"="+v)
		}
	}
	slices.Sort(n.Hidden)
	return n
}

// libraryDirs returns the folders that the dynamic linker looks in, in its order:
// those of the variable, of its configuration and its own.
func libraryDirs(root, path string) []string {
	dirs := filepath.SplitList(path)
	configs := slices.Concat([]string{filepath.Join(root, "etc/ld.so.conf")}, glob(root, "etc/ld.so.conf.d/*.conf"))
	for _, conf := range configs {
		for line := range strings.Lines(read(conf)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") {
				dirs = append(dirs, filepath.Join(root, line))
			}
		}
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	for _, dir := range []string{"lib/" + machine + "-linux-gnu", "usr/lib/" + machine + "-linux-gnu",
		"lib64", "usr/lib64", "lib", "usr/lib", "usr/lib/wsl/lib"} {
		dir = filepath.Join(root, dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(dirs, real) {
			dirs = append(dirs, real)
		}
	}
	return dirs
}

func glob(root, pattern string) []string {
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil {
		return nil
	}
	return paths
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// read returns a small file's text without the space around it, or "".
func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
