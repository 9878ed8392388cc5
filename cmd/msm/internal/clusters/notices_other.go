//go:build !unix

package clusters

// onNotice returns a channel that nothing closes: this system has no signal for it.
func onNotice() (notice <-chan struct{}, stop func()) { return nil, func() {} }
