package doctor

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/internal/build"
)

var update = flag.Bool("update", false, "write the golden files anew")

// host is a world in which all is well, without a card.
func host() World {
	return World{
		Program: "msm v0.1.0, commit aaaa",
		Build:   build.Info{Module: "github.com/pippin-zk/pippin", Version: "v0.1.0", Commit: "aaaa"},
		Kernels: "0123456789ab",
		System:  System{OS: "linux", Cores: 16, Usable: 16, Available: 120 << 30, Files: 1 << 20, Locked: Unlimited},
		Temp:    Folder{Path: "/tmp", Free: 50 << 30},
		Cache:   Folder{Path: "/home/u/.cache/pippin", Free: 50 << 30},
		Trials: []Trial{right("cpu", backend.Info{
			Version: "gnark-crypto v0.21.0", InProcess: true, Devices: []backend.Device{{Name: "16 processors"}},
		})},
	}
}

// right is a trial with right answers.
func right(name string, info backend.Info) Trial {
	t := Trial{Backend: name, Info: info}
	for _, g := range backend.Groups() {
		t.Answers = append(t.Answers, Answer{Group: backend.CurveGroup{Curve: backend.BN254, Group: g}, Points: 200, Time: 2 * time.Millisecond})
	}
	return t
}

// card is a host with a card and the CUDA plugin, which was asked for.
func card() World {
	w := host()
	w.Asked = []string{"cuda"}
	w.NVIDIA = NVIDIA{Cards: 1, Driver: "580.65.06", Nodes: []Node{{Path: "/dev/nvidia0"},
		{Path: "/dev/nvidiactl"}, {Path: "/dev/nvidia-uvm"}}, Libraries: []string{"/usr/lib/x86_64-linux-gnu/libcuda.so.1"}}
	w.Plugins = []Plugin{{Name: "cuda", Path: "/usr/lib/pippin/msm-backend-cuda", Checksum: strings.Repeat("c", 64), Verified: true}}
	w.Trials = []Trial{right("cuda", backend.Info{
		Version: "kernels 0123456789ab", Build: backend.Build(w.Build),
		Devices: []backend.Device{{Name: "NVIDIA H200", Memory: 138 << 30, Detail: "NVIDIA H200, 139 GiB, compute capability 9.0"}},
	})}
	return w
}

// broken is a card whose backend does not open.
func broken(why string) World {
	w := card()
	w.Trials = []Trial{{Backend: "cuda", Problem: fmt.Errorf("%w: plugin cuda: %s", backend.ErrUnavailable, why)}}
	return w
}

// worlds are made up; each has a golden file.
var worlds = map[string]func() World{
	"host":            host,
	"card":            card,
	"nothing-for-gpu": func() World { w := host(); w.Asked = []string{"cpu"}; return w },
	"cuda-not-installed": func() World {
		w := card()
		w.Plugins, w.Trials = nil, []Trial{{Backend: "cuda", Missing: true, Problem: backend.ErrUnavailable}}
		return w
	},
	"no-driver": func() World {
		w := broken("the NVIDIA driver's library cannot be loaded\nlibcuda.so.1: not there")
		w.NVIDIA = NVIDIA{Cards: 2}
		return w
	},
	"old-driver": func() World {
		w := broken("cuModuleLoadData: no kernel image")
		w.NVIDIA.Driver = "550.54.14"
		return w
	},
	"denied": func() World {
		w := broken("what it says")
		w.Trials[0].Problem = fmt.Errorf("%w: 65536 bytes of the card's 150754820096 are free", backend.ErrOutOfMemory)
		w.System.Start, w.System.NoProc = errors.New("the system denies waitid (operation not permitted)"), true
		return w
	},
	"no-code-for-the-card": func() World {
		return broken("no compiled kernels for compute capability 12.0, only for sm_80, sm_90: in a " +
			"checkout, `make kernels ARCH=120 && make plugin-cuda` builds a plugin with them")
	},
	"nodes-closed": func() World {
		w := broken("cuInit: no device")
		for i := range w.NVIDIA.Nodes {
			w.NVIDIA.Nodes[i].Problem = &fs.PathError{Op: "open", Path: w.NVIDIA.Nodes[i].Path, Err: fs.ErrPermission}
		}
		return w
	},
	"no-nodes": func() World {
		w := broken("cuInit: no device")
		w.NVIDIA.Nodes = nil
		return w
	},
	"hidden-cards": func() World {
		w := broken("cuInit: no device")
		w.NVIDIA.Hidden = []string{"CUDA_VISIBLE_DEVICES=-1"}
		return w
	},
	"docker-without-gpus": func() World {
		w := broken("the NVIDIA driver's library cannot be loaded")
		w.System.Container, w.NVIDIA = "docker", NVIDIA{}
		return w
	},
	"kubernetes-without-gpus": func() World {
		w := broken("the NVIDIA driver's library cannot be loaded")
		w.System.Container, w.NVIDIA = "kubernetes", NVIDIA{Cards: 8, Driver: "580.65.06"}
		return w
	},
	"container-without-libcuda": func() World {
		w := broken("the NVIDIA driver's library cannot be loaded")
		w.System.Container, w.NVIDIA.Libraries = "podman", nil
		return w
	},
	"wsl": func() World {
		w := card()
		w.NVIDIA = NVIDIA{Nodes: []Node{{Path: "/dev/dxg"}}, Libraries: []string{"/usr/lib/wsl/lib/libcuda.so.1"}}
		return w
	},
	"another-driver": func() World { // such as the fake one: what is missing does not matter
		w := card()
		w.NVIDIA = NVIDIA{Libraries: []string{"/opt/fake/libcuda.so.1"}}
		return w
	},
	"card-in-use": func() World {
		w := card()
		w.Trials[0].Info.Devices[0].Memory = 1 << 30
		return w
	},
	"other-commit": func() World {
		w := card()
		w.Trials[0].Info.Build.Commit = "bbbb"
		return w
	},
	"other-kernels": func() World {
		w := card()
		w.Trials[0].Info.Build, w.Trials[0].Info.Version = backend.Build{}, "kernels ffffffffffff"
		return w
	},
	"wrong-answer": func() World {
		w := card()
		w.Trials[0].Answers[1].Problem = ErrWrong
		return w
	},
	"wrong-card": func() World {
		w := card()
		w.Trials[0].Info.Devices = append(w.Trials[0].Info.Devices, w.Trials[0].Info.Devices[0])
		w.Trials[0].Retired = []string{"", "GPU 1 (GPU-b): it computes wrongly: MSM: wrong answer"}
		return w
	},
	"no-answer": func() World {
		w := card()
		w.Trials[0].Answers[0].Problem = context.DeadlineExceeded
		return w
	},
	"no-such-group": func() World {
		w := card()
		w.Trials[0].Answers = nil
		return w
	},
	"plugins": func() World {
		w := host()
		w.Plugins = []Plugin{
			{Name: "cpu", Path: "/opt/a/msm-backend-cpu", Checksum: strings.Repeat("a", 64)},
			{Name: "cpu", Path: "/opt/b/msm-backend-cpu", Checksum: strings.Repeat("b", 64), HiddenBy: "/opt/a/msm-backend-cpu"},
			{Name: "cuda", Path: "/tmp/msm-backend-cuda", Problem: errors.New("others can write to /tmp: chmod go-w /tmp")},
		}
		return w
	},
	"another-plugin-is-bad": func() World {
		w := host()
		w.Asked = []string{"cpu"}
		w.Plugins = []Plugin{{Name: "cuda", Path: "/tmp/msm-backend-cuda", Problem: errors.New("others can write to /tmp: chmod go-w /tmp")}}
		return w
	},
	"poor": func() World {
		w := card()
		w.System = System{OS: "linux", Container: "podman", Cores: 64, Usable: 2, Available: 300 << 20,
			Files: 256, Locked: 64 << 10, Shared: errors.New("memfd_create: operation not permitted")}
		w.Temp.Problem = errors.New("open /tmp: read-only file system")
		w.Cache.Problem = fs.ErrPermission
		return w
	},
	"daemon": func() World { // which needs no folder of this process
		w := host()
		w.Asked = []string{"daemon:/run/pippin/daemon.sock"}
		w.Temp.Problem = errors.New("open /tmp: read-only file system")
		w.Trials = []Trial{{Backend: w.Asked[0], Problem: errors.New("no daemon listens there")}}
		return w
	},
	"mac": func() World {
		w := host()
		w.System = System{OS: "darwin", Cores: 8, Usable: 8, Unknown: true, Shared: backend.ErrUnsupported}
		return w
	},
}

func TestExamine(t *testing.T) {
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			w := world()
			findings := w.Examine()
			var b strings.Builder
			fmt.Fprintf(&b, "ready: %v\n", Ready(findings))
			for _, f := range findings {
				fmt.Fprintf(&b, "%s | %s | %s\n", f.State, f.Check, f.Found)
				if f.Remedy != "" {
					fmt.Fprintf(&b, "    %s\n", f.Remedy)
				}
				if (f.State == OK) != (f.Remedy == "") || strings.Contains(f.Found+f.Remedy, "\n") {
					t.Errorf("remedy of %+v", f)
				}
			}
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(want) != b.String() {
				t.Errorf("%v; got\n%s", err, b.String())
			}
		})
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) != len(worlds) {
		t.Errorf("%v: %d golden files for %d worlds", err, len(files), len(worlds))
	}
}

// tested is a backend of two devices, one of which is retired when they are tested.
type tested struct {
	backend.Backend
	why string
}

func (b *tested) Test(context.Context) error {
	b.why = "wrong"
	return nil
}

func (b *tested) Usage() backend.Usage {
	return backend.Usage{Devices: []backend.DeviceUsage{{}, {Retired: b.why}}}
}

// TestTryTests: devices are tested, and those that are retired are in the trial.
func TestTryTests(t *testing.T) {
	got := Try(t.Context(), func(context.Context, string) (backend.Backend, error) {
		return &tested{Backend: cpu.New(cpu.Options{})}, nil
	}, "x", nil)
	if got.Problem != nil || !slices.Equal(got.Retired, []string{"", "wrong"}) {
		t.Errorf("%+v", got)
	}
}

// sick is a backend that does not compute.
type sick struct {
	backend.Backend
	answer func([][]byte, error) ([][]byte, error)
}

func (s sick) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	return s.answer(s.Backend.MSM(ctx, jobs))
}

func TestTry(t *testing.T) {
	groups := []backend.CurveGroup{{Curve: backend.BN254, Group: backend.G1}}
	lost := fmt.Errorf("%w: card", backend.ErrGone)
	for name, c := range map[string]struct {
		answer func([][]byte, error) ([][]byte, error)
		want   error
	}{
		"right": {func(p [][]byte, err error) ([][]byte, error) { return p, err }, nil},
		"wrong": {func(p [][]byte, err error) ([][]byte, error) { p[0][0] ^= 1; return p, err }, ErrWrong},
		"none":  {func([][]byte, error) ([][]byte, error) { return nil, nil }, ErrWrong},
		"lost":  {func([][]byte, error) ([][]byte, error) { return nil, lost }, backend.ErrGone},
	} {
		open := func(context.Context, string) (backend.Backend, error) {
			return sick{cpu.New(cpu.Options{}), c.answer}, nil
		}
		r := Try(t.Context(), open, "cpu", groups)
		if r.Problem != nil || len(r.Answers) != 1 || !errors.Is(r.Answers[0].Problem, c.want) || r.right() != (c.want == nil) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	// Every group of the real one, and none of a backend that has none.
	all := Try(t.Context(), func(context.Context, string) (backend.Backend, error) { return cpu.New(cpu.Options{}), nil },
		"cpu", backend.CurveGroups())
	if !all.right() || len(all.Answers) != 8 {
		t.Errorf("%+v", all)
	}
	none := Try(t.Context(), func(context.Context, string) (backend.Backend, error) { return nil, backend.ErrUnavailable }, "x", groups)
	if !errors.Is(none.Problem, backend.ErrUnavailable) || none.right() {
		t.Errorf("%+v", none)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late := Try(ctx, func(context.Context, string) (backend.Backend, error) { return cpu.New(cpu.Options{}), nil }, "cpu", groups)
	if late.right() {
		t.Errorf("answers after the end: %+v", late)
	}
}

func TestLookAt(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "not", "yet")
	if f := LookAt(deep); f.Problem != nil || f.Path != deep {
		t.Errorf("%+v", f)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := LookAt(filepath.Join(file, "below")); f.Problem == nil {
		t.Error("a folder below a file")
	}
}
