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
	"github.com/pippin-zk/pippin/plugin/internal/trust"
)

// Prefix begins the name of every plugin's executable.
const Prefix = "msm-backend-"

// checksumSuffix names the file with a plugin's checksum, beside it.
const checksumSuffix = ".sha256"

// Search says where plugins may be and how they are trusted. The places are
// looked at in the order of the fields. The zero value looks only beside the
// running executable.
type Search struct {
	// File is the path of the executable; nothing else is looked at then.
	File string
	// Dirs are folders to look in first.
	Dirs []string
	// Path is a list of folders as in the PATH variable, looked at last.
	Path string
	// NotBeside leaves the folder of the running executable out.
	NotBeside bool

	// Checksum is the SHA-256 that the executable must have, in hexadecimal.
	Checksum string
	// RequireChecksum refuses an executable that neither Checksum nor a file
	// NAME.sha256 beside it vouches for.
	RequireChecksum bool
}

// Found is an executable that may be a plugin.
type Found struct {
	Name string // without Prefix
	Path string // with symbolic links resolved
	// Checksum is the file's SHA-256 in hexadecimal. Only List fills it in:
	// Open computes it when it has something to compare with.
	Checksum string
	// Verified tells that a checksum was given for the file; List has
	// compared it, Open does so just before it executes the file.
	Verified bool
	// Problem is why Open would refuse it, or nil. Only List sets it.
	Problem error
	// HiddenBy is the path of the one of this name at which Find ends, if that is
	// another. Only List sets it.
	HiddenBy string

	want string
}

// NotFoundError is that there is no plugin to start. It wraps
// backend.ErrUnavailable.
type NotFoundError struct {
	File string // name of the executable
	// Unusable says of each that was found why it cannot be used.
	Unusable []string
	// Looked is the paths where there was none.
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

// Details returns a line for each place where there was none.
func (e *NotFoundError) Details() []string {
	var lines []string
	if len(e.Looked)+len(e.Unusable) == 1 {
		return nil // Error has it
	}
	for _, path := range e.Looked {
		lines = append(lines, path+": not there")
	}
	return lines
}

// errChecksum is that a checksum that was given for a file cannot be read.
var errChecksum = errors.New("checksum")

// untrusted is that others than root and this user can replace a file.
type untrusted struct{ error }

// ends reports whether Find looks no further after an executable that it refuses: one that
// others can replace or whose checksum is malformed. Another one in its place would not be
// what the user has installed.
func ends(problem error) bool {
	return errors.Is(problem, errChecksum) || errors.As(problem, &untrusted{})
}

// Find returns the executable that Open would start: the first of that name. None is a
// *NotFoundError. One that others than root and this user can replace, or whose checksum
// is malformed or cannot be read, is refused with backend.ErrUnavailable.
func Find(name string, s Search) (Found, error) {
	if name == "" || strings.ContainsAny(name, `/\`+string(filepath.ListSeparator)) {
		return Found{}, fmt.Errorf("%w: plugin name %q", backend.ErrInvalidInput, name)
	}
	none := &NotFoundError{File: Prefix + name}
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

// List returns every executable with a plugin's name in the places of s, in the order of
// Find, the ones that Find would refuse or not reach included.
// It reads the files to compute their checksums.
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

// candidates returns the paths where an executable may be.
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

// dirs returns the folders to look in, each once. A relative entry of PATH would
// make what is executed depend on where one stands, so it is left out.
func (s *Search) dirs() []string {
	dirs := slices.Clone(s.Dirs)
	if !s.NotBeside {
		if exe, err := os.Executable(); err == nil {
			if exe, err = filepath.EvalSymlinks(exe); err == nil {
				dirs = append(dirs, filepath.Dir(exe))
			}
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

// examine decides whether path may be executed.
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

// wanted returns the checksum that the file must have, or "" when none is given.
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

// readTrusted reads at most 4 KiB of a file that nobody else can change.
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

// globQuote keeps a folder's name from being read as a pattern.
func globQuote(dir string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(dir)
}
