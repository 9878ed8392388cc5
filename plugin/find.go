package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/trust"
)

// Prefix begins the name of every plugin's executable.
const Prefix = "msm-backend-"

// checksumSuffix names the file with a plugin's checksum, beside it.
const checksumSuffix = ".sha256"

// Search says where plugins may be and which are trusted. The places are searched in the order of
// the fields. The zero value searches only beside the running executable.
type Search struct {
	// File is the path of the executable; no other place is searched then.
	File string
	// Dirs are folders to search first.
	Dirs []string
	// Path is a list of folders, as in the variable PATH, to search last.
	Path string
	// NotBeside leaves out the folder of the running executable.
	NotBeside bool

	// Checksum is the SHA-256 that the executable must have, in hexadecimal.
	Checksum string
	// RequireChecksum refuses an executable for which neither Checksum nor a file NAME.sha256
	// beside it gives a checksum.
	RequireChecksum bool
}

// Found is an executable that may be a plugin.
type Found struct {
	Name string // without Prefix
	Path string // with symbolic links resolved
	// Checksum is the file's SHA-256 in hexadecimal. Only List sets it: Open computes it only if
	// there is one to compare it with.
	Checksum string
	// Verified says that a checksum was given for the file. List has compared it; Open does so just
	// before it executes the file.
	Verified bool
	// Problem says why Open would refuse the file, or is nil. Only List sets it.
	Problem error
	// HiddenBy is the path of the executable of the same name at which Find ends, if that is
	// another. Only List sets it.
	HiddenBy string

	want string
}

// NotFoundError says that there is no plugin to start. It wraps backend.ErrUnavailable.
type NotFoundError struct {
	File string // name of the executable
	// Unusable says of each executable found why it is unusable.
	Unusable []string
	// Looked lists the paths at which nothing was found.
	Looked []string
}

func (e *NotFoundError) Error() string {
	if len(e.Looked) == 1 && len(e.Unusable) == 0 {
		return fmt.Sprintf("%v: no plugin %s: there is no %s", backend.ErrUnavailable, e.File, e.Looked[0])
	}
	text := fmt.Sprintf("%v: no plugin %s in %d places", backend.ErrUnavailable, e.File, len(e.Looked)+len(e.Unusable))
	if len(e.Unusable) > 0 {
		text += " can be used: " + strings.Join(e.Unusable, "; ")
	}
	return text
}

// Unwrap returns backend.ErrUnavailable.
func (e *NotFoundError) Unwrap() error { return backend.ErrUnavailable }

// Details returns a line for each path at which nothing was found.
func (e *NotFoundError) Details() []string {
	var lines []string
	if len(e.Looked)+len(e.Unusable) == 1 {
		return nil // the text of Error is enough
	}
	for _, path := range e.Looked {
		lines = append(lines, path+": not there")
	}
	return lines
}

// errChecksum means that the checksum given for a file is unreadable.
var errChecksum = errors.New("checksum")

// untrusted means that somebody other than root and this user can replace a file.
type untrusted struct{ error }

// ends reports whether Find stops at an executable that it refuses. It does if others can replace
// the file or its checksum is malformed: going on would start an executable that the user did not
// mean to install under that name.
func ends(problem error) bool {
	return errors.Is(problem, errChecksum) || errors.As(problem, &untrusted{})
}

// Find returns the executable that Open would start: the first of that name. If there is none, the
// error is a *NotFoundError. Find refuses a file that somebody other than root and this user can
// replace, or whose checksum is malformed or unreadable; the error wraps backend.ErrUnavailable.
func Find(name string, s Search) (Found, error) {
	if name == "" || strings.ContainsAny(name, `/\`+string(filepath.ListSeparator)) {
		return Found{}, fmt.Errorf("%w: plugin name %q", backend.ErrInvalidInput, name)
	}
	none := &NotFoundError{File: Prefix + name}
	if _, err := beside(); err != nil && s.File == "" && !s.NotBeside {
		none.Unusable = append(none.Unusable, err.Error())
	}
	for _, path := range s.candidates(Prefix + name) {
		f, err := s.examine(name, path)
		switch {
		case err == nil:
			return f, nil
		case ends(err):
			return Found{}, fmt.Errorf("%w: plugin %s: %w", backend.ErrUnavailable, path, err)
		case errors.Is(err, fs.ErrNotExist):
			none.Looked = append(none.Looked, path)
		default:
			none.Unusable = append(none.Unusable, fmt.Sprintf("%s: %v", path, err))
		}
	}
	return Found{}, none
}

// List returns every executable with a plugin's name in the places of s, in the order of Find. It
// includes those that Find would refuse or not reach. It reads each file to compute its checksum.
func List(s Search) []Found {
	var paths []string
	if s.File != "" {
		paths = []string{s.File}
	} else {
		for _, dir := range s.dirs() {
			got, err := filepath.Glob(filepath.Join(globQuote(dir), Prefix+"*"))
			if err != nil {
				continue
			}
			paths = append(paths, got...)
		}
	}
	var all []Found
	first := map[string]string{}
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), Prefix), ".exe")
		st, err := os.Stat(path)
		if strings.HasSuffix(name, checksumSuffix) || (err == nil && !st.Mode().IsRegular()) {
			continue
		}
		f, err := s.examine(name, path)
		if err != nil {
			f = Found{Name: name, Path: path, Problem: err}
		}
		if slices.ContainsFunc(all, func(o Found) bool { return o.Path == f.Path && o.Name == f.Name }) {
			continue
		}
		if sum, err := fileSum(f.Path); err == nil {
			f.Checksum = sum
		}
		if f.want != "" && f.Checksum != f.want {
			f.Verified = false
			f.Problem = fmt.Errorf("%w: SHA-256 is not %s", backend.ErrUnavailable, f.want)
		}
		f.HiddenBy = first[name]
		if f.HiddenBy == "" && (err == nil || ends(err)) {
			first[name] = f.Path
		}
		all = append(all, f)
	}
	return all
}

// candidates returns the paths at which the executable may be.
func (s *Search) candidates(file string) []string {
	if s.File != "" {
		return []string{s.File}
	}
	var paths []string
	for _, dir := range s.dirs() {
		paths = append(paths, filepath.Join(dir, file+trust.ExeSuffix))
	}
	return paths
}

// dirs returns the folders to search, each once. It leaves out relative entries of Path: with them
// the working directory would decide what is executed.
func (s *Search) dirs() []string {
	dirs := slices.Clone(s.Dirs)
	if !s.NotBeside {
		if dir, err := beside(); err == nil {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range filepath.SplitList(s.Path) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	var once []string
	for _, dir := range dirs {
		if dir = filepath.Clean(dir); !slices.Contains(once, dir) {
			once = append(once, dir)
		}
	}
	return once
}

// executable is os.Executable; a test replaces it.
var executable = os.Executable

// beside returns the folder of this program.
func beside() (string, error) {
	exe, err := executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err != nil {
		return "", fmt.Errorf("the folder of this program: %w (is /proc mounted?)", err)
	}
	return filepath.Dir(exe), nil
}

// examine decides whether the file at path may be executed.
func (s *Search) examine(name, path string) (Found, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Found{}, err
	}
	st, err := os.Stat(abs)
	if err != nil {
		return Found{}, err
	}
	if !st.Mode().IsRegular() {
		return Found{}, errors.New("not a file")
	}
	if !trust.Executable(st) {
		return Found{}, errors.New("not executable")
	}
	if trust.NoExec(abs) {
		return Found{}, errors.New("on a file system that is mounted noexec: put it on another, or mount that one with exec " +
			"(docker run --tmpfs DIR:exec)")
	}
	real, err := trust.File(abs)
	if err != nil {
		return Found{}, untrusted{err}
	}
	want, err := s.wanted(abs, real)
	if err != nil {
		return Found{}, err
	}
	return Found{Name: name, Path: real, Verified: want != "", want: want}, nil
}

// wanted returns the checksum that the file must have, or "" if none is given.
func (s *Search) wanted(abs, real string) (string, error) {
	if s.Checksum != "" {
		sum, err := parseSum(s.Checksum)
		if err != nil {
			return "", fmt.Errorf("%w: %w", errChecksum, err)
		}
		return sum, nil
	}
	for _, p := range []string{abs, real} {
		text, err := readTrusted(p + checksumSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("%w in %s: %w", errChecksum, p+checksumSuffix, err)
		}
		first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		sum, err := parseSum(first)
		if err != nil {
			return "", fmt.Errorf("%w in %s: %w", errChecksum, p+checksumSuffix, err)
		}
		return sum, nil
	}
	if s.RequireChecksum {
		return "", fmt.Errorf("a checksum is required and there is no %s", filepath.Base(abs)+checksumSuffix)
	}
	return "", nil
}

func parseSum(s string) (string, error) {
	sum, err := hex.DecodeString(strings.TrimSpace(s))
	if err != nil || len(sum) != sha256.Size {
		return "", fmt.Errorf("%.80q is not a SHA-256 in hexadecimal, as sha256sum writes it", s)
	}
	return hex.EncodeToString(sum), nil
}

// readTrusted reads at most 4 KiB of a file that only root and this user can change.
func readTrusted(path string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	path, err := trust.File(path)
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4<<10))
	return string(b), err
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// globQuote quotes a folder's name so that it is not read as a pattern.
func globQuote(dir string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(dir)
}
