//go:build unix

package cluster_test

import (
	"os"
	"os/signal"
	"syscall"
)

// noticed returns a channel that gets SIGUSR1.
func noticed() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	return c
}
