package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// killPlugin sends SIGKILL to the one plugin that this process started.
func killPlugin() error {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return err
	}
	var pids []int
	for _, l := range lists {
		b, err := os.ReadFile(l)
		if err != nil {
			continue // the thread has ended
		}
		for _, f := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				return err
			}
			name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if err == nil && bytes.HasPrefix(name, []byte("msm-backend-")) {
				pids = append(pids, pid)
			}
		}
	}
	if len(pids) != 1 {
		return errors.New("this process has " + strconv.Itoa(len(pids)) + " plugins, not one")
	}
	return syscall.Kill(pids[0], syscall.SIGKILL)
}
