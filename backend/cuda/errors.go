package cuda

import (
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

// errorList collects the errors of steps that are all taken.
type errorList struct{ all []error }

func (l *errorList) add(err error) {
	if err != nil {
		l.all = append(l.all, err)
	}
}

func (l *errorList) err() error { return errors.Join(l.all...) }

// caught turns a panic of this goroutine into an error. It is for deferring.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: panic: %v", backend.ErrUnsupported, p)
	}
}

func jobError(job int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("job %d: %w", job, err)
}
