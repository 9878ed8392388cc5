package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/internal/units"
)

// Machine is where, when and with what a record was taken. It names no host
// and no user.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"` // usable by this process
	Memory uint64 `json:"memory_bytes"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel,omitempty"`

	Go          string `json:"go"`
	GnarkCrypto string `json:"gnark_crypto"`
	Commit      string `json:"commit,omitempty"` // of pippin; "+dirty" at its end says with changes
	Time        string `json:"time"`             // RFC 3339, UTC

	Backends []BackendInfo `json:"backends,omitempty"`
}

// BackendInfo is a backend as it described itself.
type BackendInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Of a plugin: the commit of its program, and the SHA-256 of the file that runs.
	Commit string `json:"commit,omitempty"`
	SHA256 string `json:"sha256,omitempty"`

	Curves  []string     `json:"curves"`
	Devices []DeviceInfo `json:"devices"`
}

// DeviceInfo is one device of a backend.
type DeviceInfo struct {
	Name   string `json:"name"`
	Memory uint64 `json:"memory_bytes,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// ThisMachine describes the machine, at this moment. commit is used when the
// program does not know its own, as under "go run".
func ThisMachine(commit string) Machine {
	m := Machine{
		CPU:    "unknown",
		Cores:  runtime.GOMAXPROCS(0),
		OS:     runtime.GOOS,
		Arch:   runtime.GOARCH,
		Go:     runtime.Version(),
		Commit: commit,
		Time:   time.Now().UTC().Format(time.RFC3339),
	}
	describeSystem(&m)
	if c := build.This().Commit; c != "" {
		m.Commit = c
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return m
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/consensys/gnark-crypto" {
			m.GnarkCrypto = d.Version
		}
	}
	return m
}

// String returns two or more lines for people, without a line break at the end.
func (m Machine) String() string {
	commit := m.Commit
	if commit == "" {
		commit = "unknown"
	}
	s := fmt.Sprintf("%s, %d cores, %s of memory, %s/%s %s\n%s, gnark-crypto %s, pippin commit %s, %s",
		m.CPU, m.Cores, units.FormatBytes(m.Memory), m.OS, m.Arch, m.Kernel, m.Go, m.GnarkCrypto, commit, m.Time)
	for _, b := range m.Backends {
		s += "\n" + b.String()
	}
	return s
}

// String returns one line for people.
func (b BackendInfo) String() string {
	devices := make([]string, len(b.Devices))
	for i, d := range b.Devices {
		devices[i] = d.String()
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s", b.Name, b.Version, strings.Join(devices, "; ")))
}

// String returns the device in one line.
func (d DeviceInfo) String() string {
	s := d.Name
	if d.Memory > 0 {
		s += ", " + units.FormatBytes(d.Memory)
	}
	if d.Detail != "" {
		s += ", " + d.Detail
	}
	return s
}

// Describe turns a backend's Info into what a record keeps. name is what the
// user called it.
func Describe(name string, i backend.Info) BackendInfo {
	b := BackendInfo{Name: name, Version: i.Version, Commit: i.Build.Commit, SHA256: running(i.PID),
		Curves: []string{}, Devices: []DeviceInfo{}}
	for _, c := range i.Can.MSMCurves() {
		b.Curves = append(b.Curves, c.String())
	}
	for _, d := range i.Devices {
		b.Devices = append(b.Devices, DeviceInfo{d.Name, d.Memory, d.Detail})
	}
	return b
}

// running returns the SHA-256 of the file that a process runs, whatever was put in its
// place since. The system shows the file of a plugin, whose memory is hidden, to root alone:
// for others it is the one that has the plugin's name now. It is "" where there is none.
func running(pid int) string {
	if pid == 0 {
		return ""
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if errors.Is(err, fs.ErrPermission) {
		f, err = os.Open(startedAs(pid))
	}
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// startedAs returns the path by which a process was started, "" where it is none or not
// absolute.
func startedAs(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if path, _, _ := strings.Cut(string(b), "\x00"); filepath.IsAbs(path) {
		return path
	}
	return ""
}
