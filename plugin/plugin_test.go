//go:build linux

package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
)

var (
	buildOnce sync.Once
	buildDir  string
	buildErr  error
)

func TestMain(m *testing.M) {
	switch os.Getenv(hostEnv) {
	case "":
	case "prover":
		proverMain(os.Args[1])
		return
	default:
		hostMain()
		return
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

// testDir has the test plugin as msm-backend-test. It is shared: tests that
// change something copy it.
func testDir(t testing.TB) string {
	t.Helper()
	buildOnce.Do(func() {
		if buildDir, buildErr = os.MkdirTemp("", "testplugin"); buildErr != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(buildDir, Prefix+"test"), "./internal/testplugin")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			buildErr = errors.New(err.Error() + "\n" + string(out))
		}
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return buildDir
}

// spec is the test plugin misbehaving as mode says.
func spec(t testing.TB, mode string) Spec {
	return Spec{
		Name:         "test",
		Search:       Search{Dirs: []string{testDir(t)}},
		Env:          []string{"TESTPLUGIN=" + mode},
		StartTimeout: 20 * time.Second,
	}
}

func mustOpen(t testing.TB, s Spec) *Client {
	t.Helper()
	c, err := Open(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// processOf is the process that a client has started.
func processOf(c *Client) *process { return c.peer.(started).process }

func random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	_, _ = r.Read(b)
	return b
}

// bn is bases of BN254 G1 and n scalars.
type bn struct {
	loaded  backendutil.Loaded
	points  []byte
	scalars []byte
}

func newBN(n int) bn {
	return bn{backendutil.Loaded{Curve: backend.BN254, Group: backend.G1, Count: n}, random(64 * n), random(32 * n)}
}

func (b bn) bases() backend.Bases {
	return backend.Bases{Curve: b.loaded.Curve, Group: b.loaded.Group, Count: b.loaded.Count, Bytes: b.points}
}

// file has the points in a file.
func (b bn) file(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "bases"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(b.points); err != nil {
		t.Fatal(err)
	}
	return f
}

func (b bn) want() []byte { return b.wantOf(0, b.loaded.Count, b.scalars) }

func (b bn) wantOf(offset, count int, scalars []byte) []byte {
	sum := sha256.Sum256(scalars)
	return fake.Point(b.loaded, b.points, offset, count, sum[:])
}

func mustLoad(t testing.TB, c backend.Backend, b backend.Bases) backend.BasesID {
	t.Helper()
	id, err := c.LoadBases(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// check runs one whole MSM and compares.
func check(t testing.TB, c backend.Backend, n int) {
	t.Helper()
	b := newBN(n)
	id := mustLoad(t, c, b.bases())
	got, err := c.MSM(context.Background(), []backend.Job{{Bases: id, Count: n, Scalars: b.scalars}})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[0], b.want()) {
		t.Fatalf("n=%d: wrong answer", n)
	}
	if err := c.FreeBases(context.Background(), id); err != nil {
		t.Fatal(err)
	}
}

// capture is a log to look at.
type capture struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.Write(p)
}

func (c *capture) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(c, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// raw is a logger whose handler escapes nothing.
func (c *capture) raw() *slog.Logger { return slog.New(rawHandler{c}) }

type rawHandler struct{ c *capture }

func (rawHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h rawHandler) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h rawHandler) WithGroup(string) slog.Handler          { return h }

func (h rawHandler) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.Key + "=" + a.Value.String()
		return true
	})
	_, err := h.c.Write([]byte(line + "\n"))
	return err
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String()
}

// eventually waits for a condition.
func eventually(t testing.TB, within time.Duration, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	if got := c.Info(); got.Name != "fake" || len(got.Can.MSM) != 8 || got.InProcess || got.PID == 0 || got.Devices[0].Memory != 1<<40 {
		t.Fatalf("info %+v", got)
	}
	for _, n := range []int{0, 1, 2, 1000, 1 << 12, 1<<15 + 1, 1 << 18} {
		check(t, c, n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.MSM(context.Background(), nil); !errors.Is(err, backend.ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
}
