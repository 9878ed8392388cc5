//go:build !unix

package cli

import (
	"errors"
	"os"
	"os/exec"
)

// become runs another program in this one's place, and returns its exit status as an error.
func become(path string, args, env []string) error {
	c := exec.Command(path, args...)
	c.Env = env
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exited(exit.ExitCode())
	}
	return err
}
