//go:build !unix

package trust

import (
	"io/fs"
	"os"
	"path/filepath"
)

// ExeSuffix ends the name of an executable.
const ExeSuffix = ".exe"

// Executable says yes: nothing is executed on such a system.
func Executable(fs.FileInfo) bool { return true }

// File accepts everything: nothing is executed on such a system, since opening a
// plugin fails there first.
func File(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Read returns what is in a file. Nobody is refused, because other systems say otherwise who may
// write.
func Read(path string) ([]byte, error) { return os.ReadFile(path) }
