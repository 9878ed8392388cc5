package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
)

// tinyProof is a bench of proofs small enough for a test.
func tinyProof(t *testing.T, more ...string) []string {
	return append([]string{"bench", "prove", "--hashes", "2", "--count", "2", "--cache", t.TempDir()}, more...)
}

// cacheState is what msm cache writes as JSON.
type cacheState struct {
	Folder  string
	Bytes   uint64
	Entries []struct {
		Name, What string
		Bytes      uint64
		Used       time.Time
	}
}

// TestCache: what bench keeps is listed, and cleared by age; nothing else in the
// folder is looked at.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	if status, _, errs := msm(t, &cli.App{}, "bench", "--size", "40", "--count", "1", "--cache", dir, "--group", "all"); status != cli.ExitOK {
		t.Fatalf("status %d, %s", status, errs)
	}
	if status, _, errs := msm(t, &cli.App{}, tinyProof(t, "--cache", dir, "--count", "1")...); status != cli.ExitOK ||
		!strings.Contains(errs, " KiB for the next run in "+dir) {
		t.Fatalf("status %d, %s", status, errs)
	}
	const unfinished = "bn254-g1-random-seed7-v1.points.123.tmp"
	for _, mine := range []string{"thesis.txt", "groth16/notes", unfinished} {
		if err := os.WriteFile(name(mine), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := func() (s cacheState) {
		t.Helper()
		status, out, errs := msm(t, &cli.App{}, "cache", "--cache", dir, "--format", "json")
		if err := json.Unmarshal([]byte(out), &s); err != nil || status != cli.ExitOK || errs != "" || s.Folder != dir {
			t.Fatalf("status %d, %v, %s%s", status, err, out, errs)
		}
		return s
	}
	s := list()
	var keys, points int
	var sum uint64
	for _, e := range s.Entries {
		sum += e.Bytes
		switch e.What {
		case "points":
			points++
			st, err := os.Stat(name(e.Name))
			if err != nil || uint64(st.Size()) != e.Bytes {
				t.Errorf("%+v, %v", e, err)
			}
		case "groth16 keys":
			keys++
		case "unfinished":
		default:
			t.Errorf("%+v", e)
		}
		if e.Bytes == 0 || time.Since(e.Used) > time.Hour {
			t.Errorf("%+v", e)
		}
	}
	if points != 2 || keys != 1 || len(s.Entries) != 4 || sum != s.Bytes {
		t.Fatalf("%+v", s)
	}

	old := time.Now().Add(-31 * 24 * time.Hour)
	if err := os.Chtimes(name("bn254-g2-random-seed1-v1.points"), old, old); err != nil {
		t.Fatal(err)
	}
	status, out, errs := msm(t, &cli.App{}, "cache", "--cache", dir)
	if status != cli.ExitOK || errs != "" || !strings.Contains(out, "31 days ago") ||
		!strings.Contains(out, "just now") || !strings.Contains(out, " in "+dir) {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	// Its use is what counts.
	if status, _, errs := msm(t, &cli.App{}, "bench", "--size", "30", "--count", "1", "--cache", dir); status != cli.ExitOK || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	for _, c := range []struct {
		older, says string
		left        int
	}{{"30d", "1 of 4 removed from " + dir + ", ", 3}, {"1h", "0 of 3 removed from " + dir + ", 0 bytes", 3}, {"0s", "2 of 3 removed", 1}} {
		status, out, errs := msm(t, &cli.App{}, "cache", "clear", "--cache", dir, "--older", c.older)
		if status != cli.ExitOK || errs != "" || !strings.HasPrefix(out, c.says) || len(list().Entries) != c.left {
			t.Errorf("%s: status %d, %s%s", c.older, status, errs, out)
		}
	}
	// What another process may be writing stays for a while.
	if s := list(); s.Entries[0].Name != unfinished {
		t.Errorf("%+v", s)
	}
	if err := os.Chtimes(name(unfinished), old, old); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := msm(t, &cli.App{}, "cache", "clear", "--cache", dir); status != cli.ExitOK ||
		errs != "" || len(list().Entries) != 0 {
		t.Errorf("status %d, %s", status, errs)
	}
	for _, mine := range []string{"thesis.txt", "groth16/notes"} {
		if _, err := os.Stat(name(mine)); err != nil {
			t.Error(err)
		}
	}
	for _, args := range [][]string{{"clear", "--older", "old"}, {"clear", "--older", "-1h"}, {"clear", "x"}, {"--format", "x"}, {"x"}} {
		if status, out, errs := msm(t, &cli.App{}, append([]string{"cache", "--cache", dir}, args...)...); status != cli.ExitUsage ||
			out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: status %d, %s%s", args, status, out, errs)
		}
	}
	if status, out, errs := msm(t, &cli.App{}, "cache", "--cache", name("missing")); status != cli.ExitOK ||
		errs != "" || !strings.HasPrefix(out, "0 bytes in ") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

// TestCacheIsAnnounced: 12.9 GB went there without a word.
func TestCacheIsAnnounced(t *testing.T) {
	dir := t.TempDir()
	of := func(free uint64, size string) (int, string) {
		a := &cli.App{
			Available: func() (uint64, bool) { return 1 << 40, true }, Open: clitest.WrongOpener,
			Free: func(at string) (uint64, bool) {
				if at != dir {
					t.Errorf("%s is asked for room", at)
				}
				return free, true
			},
		}
		status, out, errs := msm(t, a, "bench", "--cache", dir, "--size", size, "--backend", "nothing")
		if out != "" {
			t.Error(out)
		}
		return status, errs
	}
	status, errs := of(3<<30, "2^26")
	if want := "msm: not enough disk: 4.0 GiB of points to be written to " + dir + ", 3.0 GiB free; "; status != cli.ExitUsage ||
		!strings.HasPrefix(errs, want) || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, %s", status, errs)
	}
	status, errs = of(5<<30, "2^26")
	if want := "msm: 4.0 GiB of points go to " + dir + ", where 5.0 GiB are free; msm cache lists and " +
		"clears them\n"; status != cli.ExitFailed || !strings.HasPrefix(errs, want) {
		t.Errorf("status %d, %s", status, errs)
	}
	if status, errs = of(5<<30, "2^10"); status != cli.ExitFailed || strings.Contains(errs, "points") {
		t.Errorf("a little: status %d, %s", status, errs)
	}
}

// TestCacheThatCannotBeWritten: a note, and the work goes on.
func TestCacheThatCannotBeWritten(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no folder here that not even root can write")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	status, out, errs := msm(t, &cli.App{}, "bench", "--cache", "/proc/cache", "--size", "20", "--count", "1", "--check")
	if want := "msm: points are not kept for the next run, they are in " + tmp + " for this one: "; status != cli.ExitOK ||
		!strings.Contains(out, "  yes\n") || !strings.HasPrefix(errs, want) || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	status, out, errs = msm(t, &cli.App{}, tinyProof(t, "--cache", "/proc/cache", "--count", "1")...)
	if status != cli.ExitOK || !strings.Contains(out, "  yes\n") || !strings.Contains(errs, "the key is not kept for the next run: ") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	t.Setenv("TMPDIR", filepath.Join(tmp, "missing"))
	if status, _, errs = msm(t, &cli.App{}, "bench", "--cache", "/proc/cache", "--size", "20"); status != cli.ExitFailed ||
		!strings.Contains(errs, "(TMPDIR) can be written") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestCacheInUse: reading a folder that only its owner could write needs no right
// to write there.
func TestCacheInUse(t *testing.T) {
	dir := t.TempDir()
	args := []string{"bench", "--cache", dir, "--size", "20", "--count", "1"}
	if status, _, errs := msm(t, &cli.App{}, args...); status != cli.ExitOK || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if status, _, errs := msm(t, &cli.App{}, args...); status != cli.ExitOK || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
}
