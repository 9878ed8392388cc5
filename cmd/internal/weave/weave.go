package weave

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// Module is the path of the module that weave/auto is in.
	Module = "github.com/pippin-zk/pippin"

	autoPackage = Module + "/weave/auto"
	cpuPackage  = Module + "/internal/curves"
)

// ErrRefused is wrapped by the errors of a build that cannot be woven.
var ErrRefused = errors.New("cannot weave")

// Options of Run. All are required.
type Options struct {
	// Self is the command line that the go command runs tools with, such as
	// "/usr/bin/msm", "weave": the build of weave/auto uses it too.
	Self           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Env is this process's environment.
	Env []string
}

// Run runs one tool of the Go toolchain: args are the tool's path and its
// arguments, as the go command gives them to a -toolexec program. It returns the
// tool's exit status, or an error when the tool could not be run or the build is
// refused.
func Run(args []string, o Options) (status int, err error) {
	if len(args) == 0 {
		return 0, fmt.Errorf("%w: no tool given; this is to be used as go build -toolexec=%q", ErrRefused, strings.Join(o.Self, " "))
	}
	t := &tool{Options: o, path: args[0], args: args[1:]}
	t.name = strings.TrimSuffix(filepath.Base(t.path), ".exe")
	switch {
	case t.name != "compile" && t.name != "link":
	case slices.Equal(t.args, []string{"-V=full"}):
		err = t.version()
	case t.name == "compile":
		err = t.compile()
	default:
		err = t.link()
	}
	if err == nil && !t.ran {
		err = t.run()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// tool is one run of a tool.
type tool struct {
	Options
	path, name string
	args       []string
	ran        bool
}

// run runs the tool with its arguments as they are now.
func (t *tool) run() error {
	t.ran = true
	cmd := t.command(t.path, t.args...)
	cmd.Stdin, cmd.Stdout = t.Stdin, t.Stdout
	return cmd.Run()
}

// command returns a command with this process's environment, its errors shown to
// the user.
func (t *tool) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stderr = t.Env, t.Stderr
	return cmd
}

// getenv returns the last value of an environment variable, as programs see it.
func (t *tool) getenv(name string) string {
	for _, e := range slices.Backward(t.Env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// value returns the index of a flag's value among the arguments: of "-o x", or of
// "-o=x" with the value's start within the argument. Flags end where files
// begin.
func (t *tool) value(flag string) (index, start int, ok bool) {
	for i, a := range t.args {
		if a == flag && i+1 < len(t.args) {
			return i + 1, 0, true
		}
		if strings.HasPrefix(a, flag+"=") {
			return i, len(flag) + 1, true
		}
	}
	return 0, 0, false
}

func (t *tool) flag(flag string) string {
	i, start, ok := t.value(flag)
	if !ok {
		return ""
	}
	return t.args[i][start:]
}

func (t *tool) setFlag(flag, value string) {
	if i, start, ok := t.value(flag); ok {
		t.args[i] = t.args[i][:start] + value
	}
}

// write makes a file of the build beside the one that the go command made, in
// the build's temporary folder.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o666)
}
