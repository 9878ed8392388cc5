package weave

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// goProcess returns the arguments of the go command that is this process's parent,
// without its name. The folder it runs in is not known.
func goProcess() (args []string, dir string, err error) {
	// The number of arguments, the program's path, zeros, then each argument
	// and a zero.
	b, err := unix.SysctlRaw("kern.procargs2", os.Getppid())
	if err != nil {
		return nil, "", err
	}
	if len(b) < 4 {
		return nil, "", errors.New("kern.procargs2: malformed")
	}
	n := int(binary.NativeEndian.Uint32(b))
	_, rest, _ := bytes.Cut(b[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for len(args) < n && len(rest) > 0 {
		var a []byte
		a, rest, _ = bytes.Cut(rest, []byte{0})
		args = append(args, string(a))
	}
	if len(args) == 0 || !isGo(args[0]) {
		return nil, "", errors.New("no go command above this process")
	}
	return args[1:], "", nil
}
