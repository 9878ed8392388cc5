package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// KillPlugin sends SIGKILL to the process of this program's plugin and waits
// until it no longer runs. plugin is plugin:NAME or plugin:PATH.
func KillPlugin(plugin string) (pid int, err error) {
	program := filepath.Base(strings.TrimPrefix(plugin, "plugin:"))
	if !strings.HasPrefix(program, "msm-backend-") {
		program = "msm-backend-" + program
	}
	pid, err = findChild(program)
	if err != nil {
		return 0, err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return 0, fmt.Errorf("killing process %d: %w", pid, err)
	}
	for range 1000 {
		if _, _, running := stat(pid); !running {
			return pid, nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, fmt.Errorf("process %d survived SIGKILL", pid)
}

// findChild returns the one running child of this process with the given program.
func findChild(program string) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	found := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		name, parent, running := stat(pid)
		// The kernel keeps 15 bytes of a name.
		if !running || parent != os.Getpid() || name != program[:min(len(program), 15)] {
			continue
		}
		if found != 0 {
			return 0, fmt.Errorf("several children run %s: %d and %d", program, found, pid)
		}
		found = pid
	}
	if found == 0 {
		return 0, fmt.Errorf("no child of this process runs %s", program)
	}
	return found, nil
}

// stat reads a process's name and parent; a zombie does not run any more.
func stat(pid int) (name string, parent int, running bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, false
	}
	// "pid (name) state parent ...", where name may hold anything.
	text := string(b)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return "", 0, false
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 2 {
		return "", 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return text[open+1 : end], parent, err == nil && fields[0] != "Z" && fields[0] != "X"
}
