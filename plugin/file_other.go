//go:build !linux

package plugin

import "os"

func readOnly(f *os.File) (*os.File, error) { return f, nil }
