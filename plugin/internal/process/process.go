package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/pippin-zk/pippin/plugin/internal/logs"
)

// pipeGrace is how long after a plugin's exit its pipes are still read: its
// last words are there already, and a process that it left behind may hold
// them open for ever.
const pipeGrace = 200 * time.Millisecond

// reapGrace is how long the news of an exit may take, and StuckGrace how long
// the exit after SIGKILL: only a driver that does not return can hold it up.
const (
	reapGrace  = 50 * time.Millisecond
	StuckGrace = 5 * time.Second
)

// Process is a plugin's process, as go-plugin's runner. Unlike go-plugin's
// own it sees the exit even while somebody holds the pipes open, gives the
// plugin no stdin, and keeps the last words.
type Process struct {
	cmd   *exec.Cmd
	check func() error // refuses the executable
	log   *logs.Plugin

	stdout *os.File // read by go-plugin
	stderr *os.File // read by log
	silent *io.PipeReader
	hush   *io.PipeWriter

	// Its exit is when it was waited for, and it is stuck when SIGKILL has not
	// ended it in time.
	Lifetime
	drained chan struct{} // closed when its stderr was read to the end
	state   string        // how it ended; valid after exited

	mu      sync.Mutex
	started bool
	killed  bool // by Kill

	signal func() error // sends SIGKILL
}

var _ runner.Runner = (*Process)(nil)

// newProcess prepares the command of a plugin, which gets the variables of the
// handshake beside the others. inherit is closed by Start.
func newProcess(c *Command, handshake []string, inherit *os.File, log *logs.Plugin) *Process {
	p := &Process{
		cmd:      exec.Command(c.Path, c.Args...),
		check:    c.Check,
		log:      log,
		Lifetime: newLifetime(),
		drained:  make(chan struct{}),
	}
	p.signal = func() error { return p.cmd.Process.Kill() }
	p.silent, p.hush = io.Pipe()
	p.cmd.Env = Environment(os.Environ(), c.Env, handshake)
	p.cmd.ExtraFiles = []*os.File{inherit}
	ownGroup(p.cmd)
	return p
}

// Start verifies the executable as late as it can, and executes it.
func (p *Process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.launchLocked(); err != nil {
		p.state = "not started"
		p.hush.Close()
		close(p.drained)
		close(p.exited)
		return err
	}
	p.started = true
	go func() {
		defer close(p.drained)
		p.log.Read(p.stderr)
		p.stderr.Close()
	}()
	go func() {
		killChildren(p.cmd.Process.Pid)
		_ = p.cmd.Wait()
		p.state = p.cmd.ProcessState.String()
		close(p.exited)
		deadline := time.Now().Add(pipeGrace)
		_ = p.stdout.SetReadDeadline(deadline)
		_ = p.stderr.SetReadDeadline(deadline)
		<-p.drained
		p.hush.Close()
	}()
	return nil
}

// launchLocked makes the pipes and executes.
func (p *Process) launchLocked() (err error) {
	theirs := slices.Clone(p.cmd.ExtraFiles)
	defer func() {
		if err != nil {
			theirs = append(theirs, p.stdout, p.stderr)
		}
		for _, f := range theirs {
			if f != nil {
				f.Close()
			}
		}
	}()
	if err := p.check(); err != nil {
		return err
	}
	var outW, errW *os.File
	if p.stdout, outW, err = os.Pipe(); err != nil {
		return err
	}
	theirs = append(theirs, outW)
	if p.stderr, errW, err = os.Pipe(); err != nil {
		return err
	}
	theirs = append(theirs, errW)
	p.cmd.Stdout, p.cmd.Stderr = outW, errW
	return p.cmd.Start()
}

// Kill sends SIGKILL; a process that has ended is no error.
func (p *Process) Kill(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		return nil
	}
	// One that is dead already and not yet waited for was not ended by this signal.
	if p.ExitedWithin(reapGrace) {
		return nil
	}
	if !p.killed {
		p.killed = true
		time.AfterFunc(StuckGrace, func() {
			if !p.HasExited() {
				close(p.stuck)
			}
		})
	}
	if err := p.signal(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// SetSignal has Kill call f instead of sending SIGKILL, and returns what it called
// before. It is for tests.
func (p *Process) SetSignal(f func() error) (before func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.signal = p.signal, f
	return before
}

// Wait waits for the exit, of which go-plugin's own reading of the pipes tells, too.
func (p *Process) Wait(context.Context) error {
	<-p.exited
	return nil
}

// End waits a while for the process to exit and kills it if it does not. It
// has exited then, unless it is stuck.
func (p *Process) End(patience time.Duration) {
	if !p.ExitedWithin(patience) {
		_ = p.Kill(context.Background())
		select {
		case <-p.exited:
		case <-p.stuck:
		}
	}
}

// Obituary says which process it is, how it ended or that it has not, and its
// last words. That this process killed it is no news.
func (p *Process) Obituary() string {
	text := fmt.Sprintf("process %s (%s)", p.ID(), p.cmd.Path)
	if !p.HasExited() {
		text += ": still running"
	} else if <-p.drained; !p.wasKilled() {
		text += ": " + p.state
	}
	if words := p.log.Words(); words != "" {
		text += "; its last words: " + words
	}
	return text
}

// wasKilled reports whether Kill has sent its signal.
func (p *Process) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// Stdout returns the pipe of go-plugin's handshake.
func (p *Process) Stdout() io.ReadCloser { return untilEnd{p.stdout} }

// untilEnd closes a pipe that has been read to its end: go-plugin does not.
type untilEnd struct{ f *os.File }

func (u untilEnd) Read(b []byte) (int, error) {
	n, err := u.f.Read(b)
	if err != nil {
		u.f.Close()
	}
	return n, err
}

func (u untilEnd) Close() error { return u.f.Close() }

// Stderr returns a pipe in which nothing comes: log reads the real one.
func (p *Process) Stderr() io.ReadCloser { return p.silent }

func (p *Process) Name() string                    { return p.cmd.Path }
func (p *Process) Diagnose(context.Context) string { return "" }

// ID returns the process number, or 0 before the start; never empty, so that
// go-plugin cleans up in any case.
func (p *Process) ID() string { return strconv.Itoa(p.PID()) }

// PID returns the process number, or 0 before the start.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		return 0
	}
	return p.cmd.Process.Pid
}

func (p *Process) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

func (p *Process) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
