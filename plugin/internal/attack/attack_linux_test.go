package attack

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/plugin"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

var (
	duration = flag.Duration("attack", time.Second, "how long each attack takes")
	requests = flag.Int("requests", 0, "how many requests each of the attacks with nonsense makes, in "+
		"half an hour at most; 0 for as many as fit")
	p99    = flag.Duration("p99", 0, "the most that 99 of 100 calls of the well-behaved session may take; 0 only reports it")
	record = flag.String("record", "", "a file for what was measured, as JSON")
)

// The environment that makes the test binary an attack.
const (
	attackEnv   = "PIPPIN_TEST_ATTACK"
	socketEnv   = "PIPPIN_TEST_SOCKET"
	durationEnv = "PIPPIN_TEST_DURATION"
	requestsEnv = "PIPPIN_TEST_REQUESTS"
	digestEnv   = "PIPPIN_TEST_DIGEST"
)

func TestMain(m *testing.M) {
	if os.Getenv(attackEnv) != "" {
		attackMain()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	memoryLimit = 600 << 20
	points      = 1 << 10
	// anotherLimit is how long a session may take that begins meanwhile, with its first
	// answer, and crowdedLimit how long beside a crowd; they are checked with -p99.
	anotherLimit = 2 * time.Second
	crowdedLimit = 200 * time.Millisecond
	nobody       = 65534
	members      = 54321
)

// generators are bases of BN254 G1 that are all the generator.
func generators() backend.Bases {
	p, _ := new(big.Int).SetString("21888242871839275222246405745257275088696311157297823662689037894645226208583", 10)
	one := make([]byte, 64)
	for i, v := range []int64{1, 2} {
		m := new(big.Int).Lsh(big.NewInt(v), 256)
		m.Mod(m, p).FillBytes(one[32*i:][:32])
		slices.Reverse(one[32*i:][:32])
	}
	return backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: points, Bytes: bytes.Repeat(one, points)}
}

// group is a memory control group of the daemon's, or "" where none can be made.
type group struct{ dir, limit, peak string }

func newGroup(t *testing.T) *group {
	t.Helper()
	for _, g := range []group{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"},
		{"/sys/fs/cgroup", "memory.max", "memory.peak"},
	} {
		g.dir = filepath.Join(g.dir, fmt.Sprint("pippin-attack-", os.Getpid(), "-", rand.Uint32()))
		if os.Mkdir(g.dir, 0o755) != nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(g.dir, g.limit), []byte(strconv.Itoa(memoryLimit)), 0o644); err != nil {
			_ = os.Remove(g.dir)
			continue
		}
		t.Cleanup(func() { _ = os.Remove(g.dir) })
		return &g
	}
	return nil
}

// daemon is the CPU plugin that serves under attack.
type daemon struct {
	cmd   *exec.Cmd
	path  string
	log   bytes.Buffer
	group *group
	ended chan struct{}
}

// start starts the daemon in a folder.
func start(t *testing.T, exe, dir string) *daemon {
	t.Helper()
	d := &daemon{path: filepath.Join(dir, "d.sock"), group: newGroup(t), ended: make(chan struct{})}
	settings, err := json.Marshal(wire.Daemon{Socket: d.path, Group: fmt.Sprint(members)})
	if err != nil {
		t.Fatal(err)
	}
	enter := ""
	if d.group != nil {
		enter = "echo $$ > " + d.group.dir + "/cgroup.procs && "
	}
	d.cmd = exec.Command("/bin/sh", "-c", enter+`ulimit -n 1024 && exec "$0" serve "$1"`, exe, string(settings))
	d.cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	if d.group == nil {
		d.cmd.Env = append(d.cmd.Env, "GOMEMLIMIT=500MiB")
	}
	d.cmd.Stderr = &d.log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = d.cmd.Wait(); close(d.ended) }()
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); <-d.ended })
	return d
}

// peak is the most memory that the daemon had, in bytes: resident, and with what the
// kernel holds for it where there is a control group.
func (d *daemon) peak() (resident, charged int64) {
	if d.group != nil {
		b, _ := os.ReadFile(filepath.Join(d.group.dir, d.group.peak))
		charged, _ = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if _, rest, ok := strings.Cut(string(b), "VmHWM:"); ok {
		kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		resident = kib << 10
	}
	return resident, charged
}

// measured is what the well-behaved session saw during one attack.
type measured struct {
	Attack   string  `json:"attack"`
	Seconds  float64 `json:"seconds"`
	Requests int64   `json:"requests,omitempty"`
	Calls    int     `json:"calls"`
	Median   float64 `json:"median_ms"`
	P99      float64 `json:"p99_ms"`
	Most     float64 `json:"most_ms"`
	Another  float64 `json:"another_session_seconds"`
	Resident int64   `json:"peak_resident_bytes"`
	Charged  int64   `json:"peak_charged_bytes,omitempty"`
}

// TestAttacks: whatever another user does, the daemon lives within its memory and a
// well-behaved session is answered, rightly. How soon is for scripts/long attack to look at.
func TestAttacks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	dir, err := os.MkdirTemp("/tmp", "attack") // t.TempDir is below a folder of root's alone
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "msm-backend-cpu")
	build := exec.Command("go", "build", "-o", exe, "github.com/pippin-zk/pippin/cmd/msm-backend-cpu")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "attack"), self, 0o755)
	}
	bases := generators()
	digest, derr := bases.Digest(ctx)
	if err = errors.Join(err, derr, os.WriteFile(filepath.Join(dir, "digest"), digest[:], 0o644)); err != nil {
		t.Fatal(err)
	}

	// What is right, by the same arithmetic in this process.
	scalars := make([]byte, 32*points)
	for i := range scalars {
		if i%32 < 31 {
			scalars[i] = byte(i * i)
		}
	}
	here := cpu.New(cpu.Options{})
	defer here.Close()
	want := sum(t, here, load(t, here, bases), scalars)

	var before float64 // the machine's load: how many processes want to run, in the mean of a minute
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(text), &before)
	}
	names := []string{""}
	for name := range attacks {
		names = append(names, name)
	}
	slices.Sort(names) // the one of no name is none
	var all []measured
	for _, name := range names {
		t.Run("attack="+name, func(t *testing.T) {
			at := filepath.Join(dir, "at"+name)
			if err := os.Mkdir(at, 0o755); err != nil {
				t.Fatal(err)
			}
			d := start(t, exe, at)
			m := d.under(t, dir, name, bases, scalars, want)
			all = append(all, m)
			if idle := all[0]; *p99 > 0 && idle.Attack == "" && crowded(name) && (m.Median > 2*idle.Median || m.P99 > 2*idle.P99) {
				t.Errorf("%.1f ms in the median and %.1f of 99 in 100, without a crowd %.1f and %.1f", m.Median, m.P99, idle.Median, idle.P99)
			}
		})
	}
	if *record != "" {
		text, err := json.MarshalIndent(map[string]any{
			"date": time.Now().UTC().Format(time.RFC3339), "go": runtime.Version(), "processors": runtime.NumCPU(),
			"memory_limit_bytes": memoryLimit, "points": points, "load_before": before, "attacks": all,
		}, "", "  ")
		if err == nil {
			err = os.WriteFile(*record, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// crowded reports whether an attack keeps to all limits, so that others are to notice little.
func crowded(name string) bool { return strings.HasPrefix(name, "crowd") }

func load(t *testing.T, b backend.Backend, bases backend.Bases) backend.BasesID {
	t.Helper()
	id, err := b.LoadBases(ctx, bases)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func sum(t *testing.T, b backend.Backend, id backend.BasesID, scalars []byte) []byte {
	t.Helper()
	got, err := b.MSM(ctx, []backend.Job{{Bases: id, Count: points, Input: backend.Input{Bytes: scalars}}})
	if err != nil {
		t.Fatal(err)
	}
	return got[0]
}

// under has the daemon attacked, and computes meanwhile.
func (d *daemon) under(t *testing.T, dir, name string, bases backend.Bases, scalars, want []byte) measured {
	t.Helper()
	var c *plugin.Client
	for end := time.Now().Add(30 * time.Second); c == nil; time.Sleep(10 * time.Millisecond) {
		opened, err := plugin.Open(ctx, plugin.Spec{Name: "daemon", Socket: d.path})
		if err == nil {
			c = opened
		} else if time.Now().After(end) {
			t.Fatal(err, d.log.String())
		}
	}
	defer c.Close()
	id := load(t, c, bases)
	limit := *duration
	if *requests > 0 && (name == "nonsense" || name == "lanenoise") {
		limit = 30 * time.Minute
	}
	over := make(chan string, 1)
	began := time.Now()
	if name == "" {
		time.AfterFunc(limit, func() { over <- "" })
	} else {
		cmd := exec.Command(filepath.Join(dir, "attack"))
		cmd.Env = append(os.Environ(), attackEnv+"="+name, socketEnv+"="+d.path, durationEnv+"="+limit.String(),
			requestsEnv+"="+strconv.Itoa(*requests), digestEnv+"="+filepath.Join(dir, "digest"), "TMPDIR=/tmp")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{members}}}
		stdin, err := cmd.StdinPipe() // its end is this process's
		if err != nil {
			t.Fatal(err)
		}
		defer stdin.Close()
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			err := cmd.Wait()
			if err != nil {
				fmt.Fprintln(&out, "error", err)
			}
			over <- out.String()
		}()
		defer func() { _ = cmd.Process.Kill() }()
	}
	m := measured{Attack: name}
	var took []float64
	var said string
	middle := time.After(limit / 2)
	for done := false; !done; {
		select {
		case said = <-over:
			done = true
		case <-d.ended:
			t.Fatalf("the daemon has ended: %v\n%s", d.cmd.ProcessState, d.log.String())
		case <-middle: // others can begin meanwhile
			at := time.Now()
			another, err := plugin.Open(ctx, plugin.Spec{Name: "daemon", Socket: d.path})
			if err != nil {
				t.Fatalf("another session: %v; the daemon said\n%s", err, d.log.String())
			}
			if got := sum(t, another, load(t, another, bases), scalars); !bytes.Equal(got, want) {
				t.Fatal("wrong answer in another session")
			}
			another.Close()
			most := anotherLimit
			if crowded(name) {
				most = crowdedLimit
			}
			if m.Another = time.Since(at).Seconds(); *p99 > 0 && m.Another > most.Seconds() {
				t.Errorf("another session and its first answer took %.2f s, want %v", m.Another, most)
			}
		case <-time.After(2 * time.Millisecond):
			at := time.Now()
			got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: points, Input: backend.Input{Bytes: scalars}}})
			if err != nil {
				t.Fatalf("%v; the daemon said\n%s", err, d.log.String())
			}
			if !bytes.Equal(got[0], want) {
				t.Fatal("wrong answer")
			}
			took = append(took, float64(time.Since(at).Microseconds())/1000)
		}
	}
	m.Seconds = time.Since(began).Seconds()
	if strings.Contains(said, "error") || strings.Contains(said, "panic") {
		t.Errorf("the attack: %s", said)
	}
	_, _ = fmt.Sscanf(said, "requests %d", &m.Requests)
	m.Resident, m.Charged = d.peak()
	if m.Resident > memoryLimit {
		t.Errorf("the daemon had %d bytes of memory", m.Resident)
	}
	slices.Sort(took)
	m.Calls = len(took)
	if m.Calls == 0 {
		t.Fatal("no call was answered")
	}
	m.Median, m.P99, m.Most = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	t.Logf("%+v", m)
	if *p99 > 0 && m.P99 > float64(p99.Microseconds())/1000 {
		t.Errorf("99 of 100 calls took up to %.1f ms, want %v", m.P99, *p99)
	}
	if err := c.Ping(ctx); err != nil {
		t.Errorf("a ping afterwards: %v", err)
	}
	return m
}
