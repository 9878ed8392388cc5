//go:build !linux && !darwin

package weave

// goProcess knows nothing of the go command here. Its flags in GOFLAGS are
// inherited; that others are missing shows when the program is linked.
func goProcess() (args []string, dir string, err error) { return nil, "", nil }
