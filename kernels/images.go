package kernels

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// ErrNoCode is that this program has no compiled code for a device.
var ErrNoCode = errors.New("no compiled kernels")

// Image is a unit's compiled code for a device of compute capability
// major.minor, for the driver to load: that of the highest architecture which
// the device runs. When there is none, the error wraps ErrNoCode, names the
// architectures that there are and says what to do.
func Image(unit string, major, minor int) ([]byte, error) {
	return image(embedded(), unit, major, minor)
}

func image(files fs.FS, unit string, major, minor int) ([]byte, error) {
	archs, err := architectures(files)
	if err != nil {
		return nil, err
	}
	if len(archs) == 0 {
		return nil, fmt.Errorf("%w in this program: it was built without the tag cuda, make plugin-cuda builds a plugin with it", ErrNoCode)
	}
	var have []string
	best := -1
	for _, a := range archs {
		have = append(have, fmt.Sprintf("sm_%d", a))
		if a/10 == major && a%10 <= minor {
			best = max(best, a)
		}
	}
	if best < 0 {
		return nil, fmt.Errorf("%w for compute capability %d.%d, only for %s: in a checkout, `make kernels ARCH=%d%d && make plugin-cuda` builds a plugin with them",
			ErrNoCode, major, minor, strings.Join(have, ", "), major, minor)
	}
	b, err := fs.ReadFile(files, fmt.Sprintf("sm_%d/%s.fatbin", best, unit))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no %s for sm_%d", ErrNoCode, unit, best)
	}
	return b, err
}

// architectures are those whose code is there, in order. Code that was built
// from other sources than this program is an error: parameters may differ.
func architectures(files fs.FS) (archs []int, err error) {
	names, err := fs.Glob(files, "sm_*/manifest.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		var arch int
		if _, err := fmt.Sscanf(path.Dir(name), "sm_%d", &arch); err != nil {
			return nil, fmt.Errorf("kernels: folder %s: %w", path.Dir(name), err)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		var m struct{ Digest string }
		if err := json.Unmarshal(text, &m); err != nil {
			return nil, fmt.Errorf("kernels: %s: %w", name, err)
		}
		if m.Digest != digest {
			return nil, fmt.Errorf("%w that belong to this program: those of sm_%d were compiled from other sources: `make kernels ARCH=%d && make plugin-cuda` builds them again, removing kernels/fatbin/sm_%d leaves them out",
				ErrNoCode, arch, arch, arch)
		}
		archs = append(archs, arch)
	}
	slices.Sort(archs)
	return archs, nil
}
