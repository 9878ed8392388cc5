package process

import (
	"errors"
	"fmt"
	"os/exec"

	"golang.org/x/sys/unix"
)

// ownGroup puts a command's process into a process group of its own: signals
// of a terminal reach its host alone, which ends it in order, and its children
// can be found when it has ended.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true} }

// killChildren waits for the end of a child of ownGroup and kills what is left
// of its group. The child is still to be waited for: until then no other
// group can have its number.
func killChildren(pid int) {
	err := unix.EINTR
	for err == unix.EINTR {
		err = errnoOf(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	}
	if err == 0 { // otherwise it may still run
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// errnoOf returns the number of a system call's error, 0 for none.
func errnoOf(err error) (n unix.Errno) {
	errors.As(err, &n)
	return n
}

// noProcess is a number that no process has: Linux gives out smaller ones.
const noProcess = 1 << 30

// Check returns why this process cannot start another and see it end, or nil: a container may deny the
// calls that it takes. Of a process that is not there they answer that it is not; what is denied answers
// something else.
func Check() error {
	for _, c := range []struct {
		name string
		want unix.Errno
		call func() error
	}{
		{"setpgid", unix.ESRCH, func() error { return unix.Setpgid(noProcess, 0) }},
		{"waitid", unix.ECHILD, func() error { return unix.Waitid(unix.P_PID, noProcess, nil, unix.WEXITED|unix.WNOHANG, nil) }},
	} {
		if err := c.call(); errnoOf(err) != c.want {
			return fmt.Errorf("the system denies %s (%w), without which no plugin can be started and watched", c.name, err)
		}
	}
	return nil
}
