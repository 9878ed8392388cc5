package process

import (
	"errors"
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
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Kill(-pid, unix.SIGKILL)
}
