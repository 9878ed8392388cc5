package weave

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ancestors is how many parents are looked at: a program may stand between the
// go command and this one.
const ancestors = 8

// goProcess returns the arguments of the go command above this process, without its
// name, and the folder it runs in.
func goProcess() (args []string, dir string, err error) {
	pid := os.Getppid()
	for range ancestors {
		at := "/proc/" + strconv.Itoa(pid)
		line, err := os.ReadFile(at + "/cmdline")
		if err != nil {
			return nil, "", err
		}
		args := strings.Split(string(bytes.TrimSuffix(line, []byte{0})), "\x00")
		if isGo(args[0]) {
			dir, err := os.Readlink(at + "/cwd")
			return args[1:], dir, err
		}
		if pid, err = parent(at); err != nil {
			return nil, "", err
		}
	}
	return nil, "", errors.New("no go command above this process")
}

// parent reads the parent's number of a process in /proc.
func parent(at string) (int, error) {
	stat, err := os.ReadFile(at + "/stat")
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may hold anything.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 2 {
		return 0, fmt.Errorf("%s/stat: malformed", at)
	}
	return strconv.Atoi(string(f[1]))
}
