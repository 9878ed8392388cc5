// Command repeat-suite runs tests ten times beside 16 busy processes on the same two
// processors, and fails if any of them fails: what passes only on an idle machine is a test
// that lies.
//
//	go run ./scripts/repeat-suite [TIMES [RECORD [ARGUMENTS]]]
//	go run ./scripts/repeat-suite 10 bench/results/MACHINE/suite-beside-load.jsonl ./engine ./plugin/...
//
// RECORD gets a line of JSON for each package and time; "" is none. ARGUMENTS are packages
// (work, which is all, without any) and flags of go test. It goes on after the last time that
// the record has, so that ten need not be run in one piece; what failed in a time before is a
// failure of all.
//
// It wants no control group: in one with the weight of six, Linux 6.18 let all that was
// outside wait for up to 12 s, the kernel's threads too, and connections ran out of time.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pippin-zk/pippin/internal/files"
)

const (
	busy       = 16 // processes
	processors = 2  // that they and the tests have
	room       = 12 << 30
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "busy" {
		stayBusy()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := repeat(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "repeat-suite: %v\n", err)
		os.Exit(1)
	}
}

func repeat(ctx context.Context, args []string) error {
	times, record, args, err := read(args)
	if err != nil {
		return err
	}
	first, failed, err := recorded(record)
	if err != nil {
		return err
	}
	forget, err := inMemory()
	if err != nil {
		return err
	}
	defer forget()
	// Compiled before the load begins: it is the tests that are to be slowed down.
	build := exec.CommandContext(ctx, "go", append([]string{"test", "-run", "^$"}, args...)...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go test -run '^$': %w", err)
	}
	idle, err := load()
	if err != nil {
		return err
	}
	defer idle()
	commit, err := commit()
	if err != nil {
		return err
	}
	for n := first; n <= times; n++ {
		ok, err := once(ctx, n, commit, record, args)
		if err != nil {
			return err
		}
		failed = failed || !ok
	}
	if failed {
		return errors.New("tests failed")
	}
	return nil
}

func read(args []string) (times int, record string, rest []string, err error) {
	times, rest = 10, []string{"work"}
	if len(args) > 0 {
		if times, err = strconv.Atoi(args[0]); err != nil {
			return 0, "", nil, fmt.Errorf("how many times: %w", err)
		}
	}
	if len(args) > 1 {
		record = args[1]
	}
	if len(args) > 2 {
		rest = args[2:]
	}
	return times, record, rest, nil
}

// recorded returns the time after the last one of a record, and whether something failed in it.
func recorded(record string) (next int, failed bool, err error) {
	next = 1
	if record == "" {
		return next, false, nil
	}
	text, err := os.ReadFile(record)
	if errors.Is(err, os.ErrNotExist) {
		return next, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var l line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return next, failed, nil
		} else if err != nil {
			return 0, false, fmt.Errorf("%s: %w", record, err)
		}
		next, failed = l.Time+1, failed || !l.Passed
	}
}

// inMemory has what tests build and store kept in memory where that has room: the load is of
// the processors, and a disk that this much writing fills stops everything for seconds.
func inMemory() (forget func(), err error) {
	if free, ok := files.Free("/dev/shm"); !ok || free < room {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("/dev/shm", "s") // short, as paths of sockets have to be
	if err != nil {
		return nil, err
	}
	return func() { os.RemoveAll(dir) }, os.Setenv("TMPDIR", dir)
}

// pinned returns a command that has two processors, where there is a way to say so.
func pinned(ctx context.Context, name string, args ...string) *exec.Cmd {
	if _, err := exec.LookPath("taskset"); err != nil {
		return exec.CommandContext(ctx, name, args...)
	}
	return exec.CommandContext(ctx, "taskset", append([]string{"-c", fmt.Sprintf("0-%d", processors-1), name}, args...)...)
}

// load starts the busy processes. They end with this one.
func load() (idle func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var started []*exec.Cmd
	idle = func() {
		for _, c := range started {
			c.Process.Kill()
			c.Wait()
		}
	}
	for range busy {
		c := pinned(context.Background(), self, "busy")
		if _, err = c.StdinPipe(); err == nil {
			err = c.Start()
		}
		if err != nil {
			idle()
			return nil, err
		}
		started = append(started, c)
	}
	return idle, nil
}

// stayBusy does nothing as fast as it can until the process that started it is gone.
func stayBusy() {
	var gone atomic.Bool
	go func() {
		io.Copy(io.Discard, os.Stdin)
		gone.Store(true)
	}()
	for !gone.Load() {
	}
}

// commit returns the commit that is checked out, with -changed when files were changed.
func commit() (string, error) {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("git rev-parse: %w", err)
	}
	changes, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	if err != nil {
		return "", fmt.Errorf("git status: %w", err)
	}
	commit := strings.TrimSpace(string(out))
	if len(changes) > 0 {
		commit += "-changed"
	}
	return commit, nil
}

// once runs the tests the n-th time. It prints and records a line for each package, and
// prints what tests that failed have said.
func once(ctx context.Context, n int, commit, record string, args []string) (ok bool, err error) {
	cmd := pinned(ctx, "go", append([]string{"test", "-count=1", "-timeout", "60m", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, failure := cmd.Output()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if exit := new(exec.ExitError); failure != nil && !errors.As(failure, &exit) {
		return false, failure
	}
	packages := packagesOf(out)
	var text bytes.Buffer
	for _, p := range packages {
		l := line{
			Date: time.Now().UTC().Format(time.RFC3339), Commit: commit, Busy: busy, Processors: processors, Time: n,
			Package: p.name, Passed: p.passed, Seconds: p.seconds, Failed: p.failed,
		}
		if err := json.NewEncoder(&text).Encode(l); err != nil {
			return false, err
		}
		os.Stderr.WriteString(p.said)
	}
	os.Stdout.Write(text.Bytes())
	return failure == nil, add(record, text.Bytes())
}

// add appends lines to a record.
func add(record string, lines []byte) error {
	if record == "" || len(lines) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(record), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Close())
}
