package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/cmd/msm/internal/progress"
	"github.com/pippin-zk/pippin/plugin"
)

// terminal opens a terminal of so many columns. text closes it and returns what was
// written to it; also gets the same while it is written.
func terminal(t *testing.T, columns int, also ...io.Writer) (tty *os.File, text func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(io.MultiWriter(append(also, &b)...), master) }) // ends with EIO
	return tty, func() string {
		tty.Close()
		read.Wait()
		return b.String()
	}
}

// cut is strings.Cut for lines.
func cut(lines []string, at string) (before, after []string) {
	i := slices.Index(lines, at)
	if i < 0 {
		return lines, nil
	}
	return lines[:i], lines[i+1:]
}

// TestNarrowTerminal: tables were 150 characters wide wherever they went, and
// lines of progress wrapped, so that each was a new one.
func TestNarrowTerminal(t *testing.T) {
	narrow, drawn := terminal(t, 40)
	bar := progress.New(narrow)
	bar.Set("bls12-377 g2 2^26 plonk-l, back to back", 3, 10)
	began := time.Now()
	for _, columns := range []int{60, 80, 200} {
		for name, args := range map[string]string{
			"bench":    "bench --size 10,20 --count 1 --backend cpu,reference --cache " + t.TempDir(),
			"verify":   "verify --curve bn254 --size 8 --cases 1",
			"backends": "backends",
		} {
			tty, text := terminal(t, columns)
			a := &App{Stdout: tty, Stderr: io.Discard, Getenv: func(string) string { return "" },
				Discover: func(plugin.Search) []plugin.Found { return nil }}
			if status := Run(t.Context(), a, strings.Fields(args)); status != ExitOK {
				t.Errorf("%s: status %d", name, status)
			}
			out := text()
			lines := strings.Split(out, "\r\n")
			if name == "bench" {
				_, lines = cut(lines, "") // the machine
			}
			lines, _ = cut(lines, "") // what is said of the table
			for _, l := range lines {
				if n := len([]rune(strings.TrimRight(l, " "))); n > columns && !strings.HasPrefix(l, "No room for") {
					t.Errorf("%s: %d characters in %d: %s", name, n, columns, l)
				}
			}
			if !strings.Contains(strings.Join(lines, "\n"), "backend") || name == "bench" &&
				strings.Contains(out, "No room for") != (columns < 100) {
				t.Errorf("%s, %d columns:\n%s", name, columns, out)
			}
		}
	}
	time.Sleep(time.Until(began.Add(2500 * time.Millisecond))) // a bar is not drawn before
	_, line, ok := strings.Cut(drawn(), "\x1b[K")
	line, _, _ = strings.Cut(line, "\r")
	if !ok || len(line) != 39 {
		t.Errorf("%q", line)
	}
	bar.Close()
}
