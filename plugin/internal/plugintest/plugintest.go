// Package plugintest is what tests of both sides of the plugin boundary share: the
// test plugin, inputs for the fake backend with their answers, and a log to look at.
package plugintest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
)

var (
	buildOnce sync.Once
	buildDir  string
	buildErr  error
)

// Dir returns the folder of the test plugin, msm-backend-test. It is shared: tests
// that change something copy it. The test binary calls Clean at its end.
func Dir(t testing.TB) string {
	t.Helper()
	buildOnce.Do(func() {
		if buildDir, buildErr = os.MkdirTemp("", "testplugin"); buildErr != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(buildDir, "msm-backend-test"),
			"github.com/pippin-zk/pippin/plugin/internal/testplugin")
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

// Clean removes the folder of the test plugin, if there is one.
func Clean() {
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
}

// Random returns n bytes, for each n the same.
func Random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	_, _ = r.Read(b)
	return b
}

// BN is bases of BN254 G1 and as many scalars.
type BN struct {
	Loaded  backend.Elements
	Points  []byte
	Scalars []byte
}

// NewBN makes n bases and scalars.
func NewBN(n int) BN {
	return BN{backend.Elements{Element: backend.PointOf(backend.BN254, backend.G1), Count: n}, Random(64 * n), Random(32 * n)}
}

// Bases returns the bases, in memory.
func (b BN) Bases() backend.Bases {
	return backend.Bases{Curve: b.Loaded.Curve, Group: b.Loaded.Group, Count: b.Loaded.Count, Bytes: b.Points}
}

// File writes the points to a file.
func (b BN) File(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "bases"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(b.Points); err != nil {
		t.Fatal(err)
	}
	return f
}

// Want returns the fake backend's answer for all bases and scalars.
func (b BN) Want() []byte { return b.WantOf(0, b.Loaded.Count, b.Scalars) }

// WantOf returns the fake backend's answer for count bases from offset on.
func (b BN) WantOf(offset, count int, scalars []byte) []byte {
	sum := sha256.Sum256(scalars)
	return fake.Point(b.Loaded, b.Points, offset, count, sum[:])
}

// Load loads bases.
func Load(t testing.TB, c backend.Backend, b backend.Bases) backend.BasesID {
	t.Helper()
	id, err := c.LoadBases(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Check runs one whole MSM of n scalars and compares.
func Check(t testing.TB, c backend.Backend, n int) {
	t.Helper()
	b := NewBN(n)
	id := Load(t, c, b.Bases())
	got, err := c.MSM(context.Background(), []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: b.Scalars}}})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[0], b.Want()) {
		t.Fatalf("n=%d: wrong answer", n)
	}
	if err := c.FreeBases(context.Background(), id); err != nil {
		t.Fatal(err)
	}
}

// Space makes a space of n scalars of BN254.
func Space(t testing.TB, v backend.Programs, n int) backend.SpaceID {
	t.Helper()
	id, err := v.NewSpace(context.Background(), backend.ScalarOf(backend.BN254), n)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// WriteRead writes elements to a space and reads them back.
func WriteRead(space backend.SpaceID, elements []byte) []backend.Step {
	all := backend.Range{Space: space, Count: len(elements) / 32}
	return []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: elements}}, backend.Read{Src: all}}
}

// Element returns a scalar of BN254.
func Element(v byte) []byte { return append(make([]byte, 30), v, 0) }

// Capture is a log to look at.
type Capture struct {
	mu  sync.Mutex
	buf strings.Builder
}

// Write implements io.Writer.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.Write(p)
}

// Logger returns a logger that writes lines as slog does.
func (c *Capture) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(c, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Raw returns a logger whose handler escapes nothing.
func (c *Capture) Raw() *slog.Logger { return slog.New(rawHandler{c}) }

type rawHandler struct{ c *Capture }

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

func (c *Capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String()
}

// Eventually waits for a condition.
func Eventually(t testing.TB, within time.Duration, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}
