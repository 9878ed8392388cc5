//go:build !linux && !darwin

package weave

import (
	"errors"
	"fmt"
)

func goProcess() (args []string, dir string, err error) {
	return nil, "", fmt.Errorf("%w on this system", errors.ErrUnsupported)
}
