//go:build !unix

package trust

import (
	"io/fs"
	"path/filepath"
)

// ExeSuffix ends the name of an executable.
const ExeSuffix = ".exe"

// Executable says yes: nothing is executed on such a system.
func Executable(fs.FileInfo) bool { return true }

// File accepts everything: nothing is executed on such a system, since opening a
// plugin fails there first.
func File(path string) (string, error) { return filepath.EvalSymlinks(path) }
