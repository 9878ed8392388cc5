//go:build !unix

package cluster_test

import "os"

// noticed returns a channel that gets nothing.
func noticed() <-chan os.Signal { return nil }
