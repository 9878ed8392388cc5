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

// Image returns a unit's compiled code for a device of compute capability major.minor,
// for the driver to load. It takes the highest architecture that the device runs. If
// there is none, the error wraps ErrNoCode, names the architectures that there are and
// says what to do.
func Image(unit string, major, minor int) ([]byte, error) {
	return image(embedded(), unit, major, minor)
}

func image(files fs.FS, unit string, major, minor int) ([]byte, error) {
	archs, stale, err := architectures(files)
	if err != nil {
		return nil, err
	}
	best := highest(archs, major, minor)
	if best == 0 {
		return nil, missing(archs, highest(stale, major, minor), major, minor)
	}
	b, err := fs.ReadFile(files, fmt.Sprintf("sm_%d/%s.fatbin", best, unit))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no %s for sm_%d", ErrNoCode, unit, best)
	}
	return b, err
}

// highest returns the highest architecture that a device runs, or 0 if there is none.
func highest(archs []int, major, minor int) (best int) {
	for _, a := range archs {
		if a/10 == major && a%10 <= minor {
			best = max(best, a)
		}
	}
	return best
}

// missing returns the error for a device without code, or with stale code only. It says
// what to do.
func missing(archs []int, stale, major, minor int) error {
	if stale != 0 {
		return fmt.Errorf("%w that belong to this program for compute capability %d.%d: those of sm_%d "+
			"were compiled from other sources: `make kernels ARCH=%d && make plugin-cuda` builds them again",
			ErrNoCode, major, minor, stale, stale)
	}
	if len(archs) == 0 {
		return fmt.Errorf("%w in this program: it was built without the tag cuda, make plugin-cuda builds a plugin with it", ErrNoCode)
	}
	var have []string
	for _, a := range archs {
		have = append(have, fmt.Sprintf("sm_%d", a))
	}
	return fmt.Errorf("%w for compute capability %d.%d, only for %s: in a checkout, `make kernels "+
		"ARCH=%d%d && make plugin-cuda` builds a plugin with them",
		ErrNoCode, major, minor, strings.Join(have, ", "), major, minor)
}

// architectures returns the architectures whose code is there, in order: archs were
// compiled from this program's sources, stale from others, whose parameters may differ.
func architectures(files fs.FS) (archs, stale []int, err error) {
	names, err := fs.Glob(files, "sm_*/manifest.json")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		var arch int
		if _, err := fmt.Sscanf(path.Dir(name), "sm_%d", &arch); err != nil {
			return nil, nil, fmt.Errorf("kernels: folder %s: %w", path.Dir(name), err)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, nil, err
		}
		var m struct{ Digest string }
		if err := json.Unmarshal(text, &m); err != nil {
			return nil, nil, fmt.Errorf("kernels: %s: %w", name, err)
		}
		if m.Digest == digest {
			archs = append(archs, arch)
		} else {
			stale = append(stale, arch)
		}
	}
	slices.Sort(archs)
	return archs, stale, nil
}
