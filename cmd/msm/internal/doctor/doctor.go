// Package doctor says whether backends can compute here, and what to do where
// they cannot. Facts are gathered first (Look, Try, and what the caller knows) and
// then judged (World.Examine), which is a pure function.
package doctor

import (
	"slices"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/build"
)

// State is what a finding means.
type State string

// The states, from best to worst.
const (
	OK      State = "ok"
	Note    State = "note"    // nothing that was asked for needs it
	Warning State = "warning" // works, but not as well as it could, or not for long
	Failed  State = "failed"  // what was asked for does not work
)

// Finding is what one check found.
type Finding struct {
	Check  string `json:"check"`
	State  State  `json:"state"`
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"` // what to do; "" only where there is nothing to do
}

// Ready tells that nothing failed.
func Ready(findings []Finding) bool {
	return !slices.ContainsFunc(findings, func(f Finding) bool { return f.State == Failed })
}

// World is the facts. Sizes are in bytes.
type World struct {
	// Asked is the backends that have to work; without any all that are there do.
	Asked []string

	Program string // in a line
	Build   build.Info
	Kernels string // digest of the kernels' sources that this program belongs to

	System  System
	NVIDIA  NVIDIA
	Temp    Folder
	Cache   Folder
	Plugins []Plugin
	Trials  []Trial
}

// System is the machine as this process may use it.
type System struct {
	OS        string
	Container string // "docker", "podman", "kubernetes", "" is none that is known
	Cores     int    // of the machine
	Usable    int    // that Go uses
	Available uint64 // memory
	Unknown   bool   // that memory is
	Files     uint64 // most open files; 0 is not known
	Locked    uint64 // most locked memory; Unlimited is no limit
	Shared    error  // why there is no sealed shared memory
	Start     error  // why no plugin can be started and watched
	NoProc    bool   // /proc is not mounted
}

// Unlimited is no limit.
const Unlimited = ^uint64(0)

// NVIDIA is what the system shows of NVIDIA's cards, without its library.
type NVIDIA struct {
	Cards     int      // on the PCI bus
	Driver    string   // version of the kernel's module, "" when it is not loaded
	Nodes     []Node   // device files
	Libraries []string // paths of libcuda.so.1
	Hidden    []string // variables that hide all cards, as NAME=VALUE
}

// Node is a device file and why it cannot be opened.
type Node struct {
	Path    string
	Problem error
}

// Folder is a folder and why it cannot be used.
type Folder struct {
	Path    string
	Free    uint64 // on its disk; 0 is not known
	Problem error
}

// Plugin is an executable that may be a plugin.
type Plugin struct {
	Name, Path, Checksum string
	Verified             bool   // against a checksum beside it
	HiddenBy             string // path of the one that is started by that name
	Problem              error  // why it must not be started
}

// Trial is what a backend did when it was tried.
type Trial struct {
	Backend string
	Missing bool  // it is a plugin, and there is none of that name
	Problem error // why it does not open
	Info    backend.Info
	Answers []Answer
	Retired []string // why devices are not used, by their number; "" while one is
}

// Answer is a small MSM with a known result.
type Answer struct {
	Group   backend.CurveGroup
	Points  int
	Time    time.Duration // of the call, the load aside
	Problem error         // why there is none, or that it is wrong
}

// right tells that a backend opened, answered something and nothing wrongly.
func (t *Trial) right() bool {
	return t.Problem == nil && len(t.Answers) > 0 && !slices.ContainsFunc(t.Answers, func(a Answer) bool { return a.Problem != nil })
}
