//go:build !cuda || !cgo || !linux || !(amd64 || arm64)

package fakecuda

import "errors"

// Present tells whether the driver in use is the fake.
func Present() bool { return false }

// Fail fails: there is no fake driver in this build.
func Fail(string) error { return errors.New("fakecuda: built without the cuda tag") }

// Reset does nothing in this build.
func Reset() {}

// Counter returns -1 in this build.
func Counter(string) int64 { return -1 }

// Calls returns -1 in this build.
func Calls(string) int64 { return -1 }
