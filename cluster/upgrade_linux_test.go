package cluster_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// oldTests is the environment variable with the tests of another version of this package, compiled.
const oldTests = "PIPPIN_TEST_OLD_CLUSTER"

// TestRollingUpgrade replaces the programs of another version in the middle of its storm: servers
// and workers that end begin again as this version, one after the other. If this version cannot go
// on with what is there, it says what to do, and the other version's programs are put back. Either
// way the storm loses nothing. scripts/test-upgrade compiles the other version.
func TestRollingUpgrade(t *testing.T) {
	old := os.Getenv(oldTests)
	if old == "" {
		t.Skip("scripts/test-upgrade runs this, with " + oldTests)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "cluster.test")
	replaceBy := func(with string) {
		t.Helper()
		next := program + ".next"
		copyFile(t, with, next)
		if err := os.Chmod(next, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, program); err != nil {
			t.Fatal(err)
		}
	}
	replaceBy(old)
	var said bytes.Buffer
	cmd := exec.Command(program, "-test.run", "^TestStorm$", "-test.v", "-test.timeout", "30m", "-storm", "3m",
		"-test.artifacts", "-test.outputdir", dir)
	cmd.Env = append(os.Environ(), oldTests+"=")
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	over := func(within time.Duration) bool {
		select {
		case err := <-ended:
			ended <- err
			return true
		case <-time.After(within):
			return false
		}
	}
	logs := func(names string) string { return contents(t, filepath.Join(dir, "_artifacts", "*", names+".log")) }
	eventually(t, "the storm has begun", func() bool { return over(0) || strings.Contains(logs("clients"), "msg=heard") })
	time.Sleep(20 * time.Second)
	restarts := func() (n int) { // of servers
		for _, what := range []string{`what="server killed"`, `what="server leaves"`, `what="server moves"`} {
			n += strings.Count(logs("clients"), what)
		}
		return n
	}
	before := restarts()
	replaceBy(os.Args[0])
	t.Log("servers and workers begin as this version")
	began := time.Now()
	refused := func() bool {
		return strings.Contains(logs("server-*"), "then remove its streams") || strings.Contains(logs("worker-*"), "update the older one")
	}
	back := false
	for !over(200*time.Millisecond) && !back && time.Since(began) < 90*time.Second {
		if back = refused(); back {
			t.Logf("refused after %v; the other version is put back", time.Since(began).Round(time.Second))
			replaceBy(old)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("the storm: %v\n%s", err, said.String())
	}
	if n := restarts() - before; !back && n < 2 {
		t.Errorf("%d servers began as this version", n)
	}
	for _, names := range []string{"server-*", "worker-*"} {
		for line := range strings.Lines(logs(names)) {
			if !strings.HasPrefix(line, "time=") {
				t.Logf("%s: %s", names, line)
			}
		}
	}
}

// contents returns what is in all files of a pattern.
func contents(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(&all, f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
