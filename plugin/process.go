package plugin

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
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
)

// pipeGrace is how long after a plugin's exit its pipes are still read: its
// last words are there already, and a process that it left behind may hold
// them open for ever.
const pipeGrace = 200 * time.Millisecond

// reapGrace is how long the news of an exit may take, and stuckGrace how long
// the exit after SIGKILL: only a driver that does not return can hold it up.
const (
	reapGrace  = 50 * time.Millisecond
	stuckGrace = 5 * time.Second
)

// process is a plugin's process, as go-plugin's runner. Unlike go-plugin's
// own it sees the exit even while somebody holds the pipes open, gives the
// plugin no stdin, and keeps the last words.
type process struct {
	cmd   *exec.Cmd
	check func() error // refuses the executable
	log   *pluginLog

	stdout *os.File // read by go-plugin
	stderr *os.File // read by log
	silent *io.PipeReader
	hush   *io.PipeWriter

	// Its exit is when it was waited for, and it is stuck when SIGKILL has not
	// ended it in time.
	lifetime
	drained chan struct{} // closed when its stderr was read to the end
	state   string        // how it ended; valid after exited

	mu      sync.Mutex
	started bool
	killed  bool // by Kill

	signal func() error // sends SIGKILL; tests put another here
}

var _ runner.Runner = (*process)(nil)

// started is a plugin's process as a client's peer.
type started struct {
	*process
	gp *goplugin.Client
}

// leave asks the process to end. go-plugin asks one that does not answer for
// ever, unless it dies.
func (s started) leave() { s.gp.Kill() }

// newProcess prepares the command of a plugin, which gets the variables of the
// handshake beside the others. inherit is closed by Start.
func newProcess(spec *Spec, found Found, handshake []string, inherit *os.File, log *pluginLog) *process {
	p := &process{
		cmd:      exec.Command(found.Path, spec.Args...),
		check:    func() error { return verify(found) },
		log:      log,
		lifetime: newLifetime(),
		drained:  make(chan struct{}),
	}
	p.signal = func() error { return p.cmd.Process.Kill() }
	p.silent, p.hush = io.Pipe()
	p.cmd.Env = environment(os.Environ(), spec.Env, handshake)
	p.cmd.ExtraFiles = []*os.File{inherit}
	ownGroup(p.cmd)
	return p
}

// Start verifies the executable as late as it can, and executes it.
func (p *process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.launch(); err != nil {
		p.state = "not started"
		p.hush.Close()
		close(p.drained)
		close(p.exited)
		return err
	}
	p.started = true
	go func() {
		defer close(p.drained)
		p.log.read(p.stderr)
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

func (p *process) launch() (err error) {
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
func (p *process) Kill(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		return nil
	}
	// Whose signal ended it decides what follows: one that is dead already
	// and not yet waited for was not ended by this one.
	if p.exitedWithin(reapGrace) {
		return nil
	}
	if !p.killed {
		p.killed = true
		time.AfterFunc(stuckGrace, func() {
			if !p.hasExited() {
				close(p.stuck)
			}
		})
	}
	if err := p.signal(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// killedByOthers tells that a signal has ended the process, and not Kill's.
func (p *process) killedByOthers() bool {
	if !p.hasExited() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started || p.killed {
		return false
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// Wait is told of the exit by go-plugin's own reading of the pipes, too.
func (p *process) Wait(context.Context) error {
	<-p.exited
	return nil
}

// end waits a while for the process to exit and kills it if it does not. It
// has exited then, unless it is stuck.
func (p *process) end(patience time.Duration) {
	if !p.exitedWithin(patience) {
		_ = p.Kill(context.Background())
		select {
		case <-p.exited:
		case <-p.stuck:
		}
	}
}

// obituary says which process it is, how it ended or that it has not, and its
// last words.
func (p *process) obituary() string {
	how := "still running"
	if p.hasExited() {
		<-p.drained
		how = p.state
	}
	if words := p.log.words(); words != "" {
		how += "; its last words: " + words
	}
	return fmt.Sprintf("process %s (%s): %s", p.ID(), p.cmd.Path, how)
}

// Stdout is for go-plugin's handshake.
func (p *process) Stdout() io.ReadCloser { return untilEnd{p.stdout} }

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

// Stderr is silent: log reads the real one.
func (p *process) Stderr() io.ReadCloser { return p.silent }

func (p *process) Name() string                    { return p.cmd.Path }
func (p *process) Diagnose(context.Context) string { return "" }

// ID is the process number, or 0 before the start; never empty, so that
// go-plugin cleans up in any case.
func (p *process) ID() string { return strconv.Itoa(p.pid()) }

// pid is the process number, or 0 before the start.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		return 0
	}
	return p.cmd.Process.Pid
}

func (p *process) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

func (p *process) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
