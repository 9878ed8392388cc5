package files

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/pippin-zk/pippin/backend"
)

// dataFolder returns the folder for what programs keep for a user and cannot make again. On
// systems other than Windows and macOS that is xdg, the value of $XDG_DATA_HOME, or
// ~/.local/share if it is no absolute path.
func dataFolder(xdg string) (string, error) {
	switch runtime.GOOS {
	case "windows":
		return os.UserCacheDir() // %LocalAppData%
	case "darwin":
		return os.UserConfigDir() // ~/Library/Application Support
	}
	if filepath.IsAbs(xdg) {
		return xdg, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "share"), nil
}

// ClusterFolder returns the folder of a cluster's server and of its tickets. If only the folder
// exists that earlier versions had, the error says how to move it.
func ClusterFolder(xdg string) (string, error) {
	dir, err := dataFolder(xdg)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "pippin", "cluster")
	config, err := os.UserConfigDir()
	if err != nil {
		return dir, nil
	}
	old := filepath.Join(config, "pippin", "cluster")
	if exists(old) && !exists(dir) {
		return "", fmt.Errorf("%w: the cluster's data are in %s, where earlier versions kept them: end the "+
			"server, and move them to %s", backend.ErrInvalidInput, old, dir)
	}
	return dir, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
