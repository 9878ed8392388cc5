//go:build unix

package clusters

import (
	"os"
	"os/signal"
	"syscall"
)

// onNotice returns a channel that is closed at the first SIGUSR1, by which whatever
// watches a rented machine says that it is about to be taken away.
func onNotice() (notice <-chan struct{}, stop func()) {
	got, closed, done := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(got, syscall.SIGUSR1)
	go func() {
		select {
		case <-got:
			close(closed)
		case <-done:
		}
	}()
	return closed, func() { signal.Stop(got); close(done) }
}
