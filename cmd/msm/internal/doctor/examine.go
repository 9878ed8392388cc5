package doctor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/internal/units"
)

// What is too little.
const (
	leastDriver = 580     // of NVIDIA: it runs CUDA 13.0, which kernels are compiled with
	leastMemory = 1 << 30 // of the host
	leastFiles  = 1024
	leastLocked = 64 << 20
	leastOnCard = 2 << 30
)

// Examine judges the facts.
func (w *World) Examine() []Finding {
	e := examination{World: w}
	e.add("program", OK, "", "%s", w.Program)
	e.system()
	e.folders()
	e.cards()
	e.plugins()
	for i := range w.Trials {
		e.trial(&w.Trials[i])
	}
	return e.findings
}

// examination is a call of Examine.
type examination struct {
	*World
	findings []Finding
}

func (e *examination) add(check string, s State, remedy, found string, args ...any) {
	e.findings = append(e.findings, Finding{check, s, fmt.Sprintf(found, args...), remedy})
}

// judge adds a finding that is good or, with a remedy, of a state.
func (e *examination) judge(check string, good bool, otherwise State, remedy, found string, args ...any) {
	if good {
		e.add(check, OK, "", found, args...)
		return
	}
	e.add(check, otherwise, remedy, found, args...)
}

func (e *examination) system() {
	s := &e.System
	if s.OS != "linux" {
		e.add("system", e.worst(e.needsPlugins()), "use the backend cpu, or Linux", "%s: plugins need Linux's sealed memory", s.OS)
	}
	where := ""
	if s.Container != "" {
		where = ", in a container (" + s.Container + ")"
	}
	e.add("processors", OK, "", "%d of %d in use%s", s.Usable, s.Cores, where)
	if s.Unknown {
		e.add("memory", Note, "look at it before large MSMs: msm plan says what they need", "not known on this system")
	} else {
		e.judge("memory", s.Available >= leastMemory, Warning,
			"end other programs, or raise the limit of the control group (docker run --memory, resources.limits.memory)",
			"%s available", units.FormatBytes(s.Available))
	}
	if s.OS != "linux" {
		return
	}
	if s.Files > 0 {
		e.judge("open files", s.Files >= leastFiles, Warning, "ulimit -n 4096, LimitNOFILE= of a systemd "+
			"unit, docker run --ulimit nofile=4096", "%s", limitText(s.Files, strconv.FormatUint(s.Files, 10)))
	}
	e.judge("locked memory", s.Locked >= leastLocked || !e.wants("cuda"), Note,
		"if scalars turn out to cross slowly: ulimit -l unlimited, LimitMEMLOCK=infinity, docker run --ulimit memlock=-1",
		"%s; drivers may count what they pin", limitText(s.Locked, units.FormatBytes(s.Locked)))
	if s.Shared != nil {
		e.add("shared memory", e.worst(e.needsPlugins()),
			"allow memfd_create, ftruncate and mmap in the container's seccomp profile, and raise its memory limit", "%v", line(s.Shared))
	} else {
		e.add("shared memory", OK, "", "sealed memory files work")
	}
	if s.NoProc {
		e.add("proc", Warning, "mount it: mount -t proc proc /proc",
			"/proc is not mounted: no plugin is found beside a program, and limits are not known")
	}
	if s.Start != nil {
		e.add("processes", e.worst(e.startsPlugins()), "allow it in the container's seccomp profile", "%v", line(s.Start))
	}
}

func (e *examination) folders() {
	if t := e.Temp; t.Problem != nil {
		e.add("temporary files", e.worst(e.startsPlugins()), "set TMPDIR to a folder that can be written, "+
			"with a short path; in a container with a read-only root, mount an emptyDir or tmpfs at /tmp", "%s: %s", t.Path, line(t.Problem))
	} else {
		e.add("temporary files", OK, "", "%s", t.Path)
	}
	c := e.Cache
	if c.Problem != nil {
		e.add("cache", Note, "set PIPPIN_CACHE or --cache to a folder that can be written; only bench keeps inputs there",
			"%s: %s", c.Path, line(c.Problem))
		return
	}
	room := ""
	if c.Free > 0 {
		room = ", " + units.FormatBytes(c.Free) + " free"
	}
	e.add("cache", OK, "", "%s%s", c.Path, room)
}

// cards judges what the system shows of NVIDIA's. Where the backend answers all
// the same, as on other drivers, what is missing does not matter.
func (e *examination) cards() {
	n := &e.NVIDIA
	trouble := Note
	if e.wants("cuda") && !e.answered("cuda") {
		trouble = Warning
		if e.asked("cuda") {
			trouble = Failed
		}
	}
	give := "install NVIDIA's driver, 580 or newer"
	switch e.System.Container {
	case "kubernetes":
		give = "give the container a card: resources: {limits: {nvidia.com/gpu: 1}}, on a node with NVIDIA's device plugin and container toolkit"
	case "docker":
		give = "give the container a card: docker run --gpus all, with NVIDIA's container toolkit on the host"
	case "podman":
		give = "give the container a card: podman run --device nvidia.com/gpu=all, with NVIDIA's container toolkit on the host"
	}
	for _, h := range n.Hidden {
		e.add("cards", trouble, "unset it, or name the cards", "%s hides every card", h)
	}
	if n.Cards == 0 && n.Driver == "" && len(n.Nodes) == 0 && len(n.Libraries) == 0 {
		if trouble == Note {
			give = "nothing but the backend cuda needs one; for that, " + give
		}
		if e.System.OS == "linux" {
			e.add("cards", trouble, give, "no NVIDIA card, driver or library")
		}
		return
	}
	if n.Cards > 0 {
		e.add("cards", OK, "", "%d of NVIDIA on the PCI bus", n.Cards)
	}
	wsl := slices.ContainsFunc(n.Nodes, func(d Node) bool { return filepath.Base(d.Path) == "dxg" })
	if !wsl { // there the driver is Windows'
		major, _, _ := strings.Cut(n.Driver, ".")
		number, err := strconv.Atoi(major)
		switch {
		case n.Driver == "":
			e.add("driver", trouble, "install NVIDIA's driver, 580 or newer; where it is installed: modprobe "+
				"nvidia, and the kernel's log", "its kernel module is not loaded")
		case err != nil || number < leastDriver:
			e.add("driver", trouble, "install NVIDIA's driver, 580 or newer (on the host, for a container)",
				"%s, kernels need %d or newer", n.Driver, leastDriver)
		default:
			e.add("driver", OK, "", "%s", n.Driver)
		}
	}
	if len(n.Nodes) == 0 {
		remedy := give
		if e.System.Container == "" {
			remedy = "make them: nvidia-modprobe -u -c=0"
		}
		e.add("device files", trouble, remedy, "no /dev/nvidia*")
	}
	var open []string
	for _, d := range n.Nodes {
		if d.Problem != nil {
			e.add("device files", trouble, "let this user read and write it: its group and mode, or the device rules of the container",
				"%s", line(d.Problem))
		} else {
			open = append(open, d.Path)
		}
	}
	if len(open) > 0 {
		e.add("device files", OK, "", "%s", strings.Join(open, " "))
	}
	if len(n.Libraries) > 0 {
		e.add("libcuda", OK, "", "%s", n.Libraries[0])
		return
	}
	remedy := "install the driver's library (libcuda1 on Debian), or name its folder in LD_LIBRARY_PATH"
	if e.System.Container != "" {
		remedy = "NVIDIA_DRIVER_CAPABILITIES=compute,utility has the container toolkit mount it"
	}
	e.add("libcuda", trouble, remedy, "no libcuda.so.1 in the linker's folders")
}

func (e *examination) plugins() {
	for _, p := range e.Plugins {
		check := "plugin " + p.Name
		switch {
		case p.Problem != nil:
			s := e.worst(e.wants(p.Name) && !e.answered(p.Name))
			e.add(check, s, "install it again with its checksum, below folders that only root or this user can write, "+
				"on a file system that is not mounted noexec",
				"%s: %s", p.Path, line(p.Problem))
		case p.HiddenBy != "":
			e.add(check, Note, "remove one of the two, or name the file: --backend plugin:"+p.Path, "%s is hidden by %s", p.Path, p.HiddenBy)
		case !p.Verified:
			e.add(check, Note, fmt.Sprintf("keep its checksum beside it: cd %s && sha256sum %s > %[2]s.sha256",
				filepath.Dir(p.Path), filepath.Base(p.Path)),
				"%s, SHA-256 %.12s, which nothing vouches for", p.Path, p.Checksum)
		default:
			e.add(check, OK, "", "%s, SHA-256 %.12s, verified", p.Path, p.Checksum)
		}
	}
}

func (e *examination) trial(t *Trial) {
	check := "backend " + t.Backend
	if t.Missing {
		remedy := "unpack a release's plugin beside this program"
		if names(t.Backend, "cuda") {
			remedy += "; make plugin-cuda in the sources of pippin builds it"
		}
		e.add(check, Failed, remedy, "not installed")
		return
	}
	if t.Problem != nil {
		remedy := "see what is above; -v logs what the plugin says"
		if errors.Is(t.Problem, backend.ErrOutOfMemory) {
			remedy = "nvidia-smi shows who has the card's memory; a container needs locked memory too (docker run --ulimit memlock=-1)"
		}
		if names(t.Backend, "daemon") {
			remedy = "msm serve, or systemctl status pippin-daemon; its log says whom it refused, and why"
		}
		e.add(check, Failed, remedy, "%s", line(t.Problem))
		return
	}
	what := []string{t.Info.Version}
	if t.Info.Build.Commit != "" {
		what = append(what, "commit "+t.Info.Build.Commit)
	}
	e.add(check, OK, "", "opens: %s", strings.Join(what, ", "))
	if other := build.Mismatch(build.Info(t.Info.Build), e.Build); other != "" {
		e.add(check, Warning, "build or install both from one release", "%s", other)
	} else if k, ok := strings.CutPrefix(t.Info.Version, "kernels "); ok && e.Kernels != "" && k != e.Kernels {
		e.add(check, Warning, "build or install both from one release", "its kernels are %s, this program belongs to %s", k, e.Kernels)
	}
	for _, d := range t.Info.Devices {
		text := d.Name
		if d.Detail != "" {
			text = d.Detail
		}
		e.judge(check, t.Info.InProcess || d.Memory == 0 || d.Memory >= leastOnCard, Warning,
			"nvidia-smi shows who else uses the card's memory; PIPPIN_GPU_MEMORY may be set too low", "device: %s", text)
	}
	for i, why := range t.Retired {
		if why != "" {
			e.add(check, Warning, "check its hardware with NVIDIA's dcgmi diag, or replace it; PIPPIN_GPU_DEVICES can leave it out",
				"device %d is not used, the others are: %s", i, why)
		}
	}
	var right []string
	var took time.Duration
	for _, a := range t.Answers {
		switch {
		case errors.Is(a.Problem, ErrWrong):
			e.add(check, Failed, "do not use it: report it with the output of msm doctor --format json and msm verify --backend "+
				t.Backend, "%v: WRONG answer", a.Group)
		case a.Problem != nil:
			e.add(check, Failed, "msm verify --backend "+t.Backend+" -v says more", "%v: %s", a.Group, line(a.Problem))
		default:
			right = append(right, a.Group.String())
			took += a.Time
		}
	}
	switch {
	case len(t.Answers) == 0:
		e.add(check, Failed, "choose another --curve", "computes nothing of what was to be tried")
	case len(right) > 0:
		e.add(check, OK, "", "%d points right, %s in all: %s", t.Answers[0].Points, took.Round(time.Millisecond), strings.Join(right, ", "))
	}
}

// worst returns Failed where it matters.
func (e *examination) worst(matters bool) State {
	if matters {
		return Failed
	}
	return Note
}

// asked tells that a backend was named.
func (e *examination) asked(name string) bool {
	return slices.ContainsFunc(e.Asked, func(a string) bool { return names(a, name) })
}

// wants tells that a backend was named, or is there and nothing was named.
func (e *examination) wants(name string) bool {
	if len(e.Asked) > 0 {
		return e.asked(name)
	}
	return slices.ContainsFunc(e.Plugins, func(p Plugin) bool { return p.Name == name })
}

// needsPlugins tells that a plugin has to work.
func (e *examination) needsPlugins() bool {
	if len(e.Asked) == 0 {
		return len(e.Plugins) > 0
	}
	return slices.ContainsFunc(e.Asked, func(a string) bool { return a != "cpu" && a != "reference" })
}

// startsPlugins tells that a plugin has to be started: a daemon's is.
func (e *examination) startsPlugins() bool {
	return e.needsPlugins() && (len(e.Asked) == 0 || slices.ContainsFunc(e.Asked, func(a string) bool {
		return a != "cpu" && a != "reference" && !names(a, "daemon")
	}))
}

// answered tells that a backend computed rightly.
func (e *examination) answered(name string) bool {
	return slices.ContainsFunc(e.Trials, func(t Trial) bool { return names(t.Backend, name) && t.right() })
}

// names tells that a backend's name, such as cuda, cuda:0, plugin:cuda or
// plugin:/opt/msm-backend-cuda, is that of a plugin.
func names(as, plugin string) bool {
	as = strings.TrimPrefix(as, "plugin:")
	first, _, _ := strings.Cut(as, ":")
	return first == plugin || strings.TrimPrefix(filepath.Base(as), "msm-backend-") == plugin
}

// line returns an error without line breaks.
func line(err error) string { return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ") }

func limitText(n uint64, text string) string {
	if n == Unlimited {
		return "no limit"
	}
	return "at most " + text
}
