//go:build unix

package trust

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/pippin-zk/pippin/internal/files"
)

// ExeSuffix ends the name of an executable.
const ExeSuffix = ""

// Executable reports whether somebody may execute a file.
func Executable(st fs.FileInfo) bool { return st.Mode()&0o111 != 0 }

// maxLinks bounds the links on the way to a file, as the kernel does.
const maxLinks = 40

// File refuses a file that anybody but root and this user can change or
// replace, and returns where it really is. It goes the way that the kernel
// goes from the root to path, an absolute one: every folder that a name is
// looked up in, every link on the way and the file at its end belong to one of
// the two, and nobody else can write to them.
//
// In a folder with the sticky bit (/tmp) others can create files but replace none. Such
// a folder may be on the way. The file itself, or a link in its place, may not lie in one.
func File(path string) (real string, err error) { return walk(path, false) }

// Folder does so for a folder, which may lie in one with the sticky bit:
// nobody can give it another name there, and no folder has two.
func Folder(path string) (real string, err error) { return walk(path, true) }

// walk goes to a path; sticky is for the folder that its end lies in.
func walk(path string, sticky bool) (real string, err error) {
	at := string(filepath.Separator)
	rest := names(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if err := private(at, sticky || len(rest) > 0); err != nil {
			return "", err
		}
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		st, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if err := private(next, false); err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", errors.New("too many links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = string(filepath.Separator)
		}
		rest = append(names(target), rest...)
	}
	return at, private(at, false)
}

// names returns the steps of a path. ".." stays: after a link it is not the step
// that was before.
func names(path string) (steps []string) {
	for _, n := range strings.Split(path, string(filepath.Separator)) {
		if n != "" && n != "." {
			steps = append(steps, n)
		}
	}
	return steps
}

// private checks one step of a path; sticky allows what the sticky bit makes
// harmless.
func private(path string, sticky bool) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	sys, err := owned(path, st)
	if err != nil {
		return err
	}
	if st.Mode()&fs.ModeSymlink != 0 {
		return nil // has no permissions; its target is checked as well
	}
	rights, err := files.RightsOf(path, st)
	if err != nil || sticky && st.Mode()&fs.ModeSticky != 0 {
		return err
	}
	return unwritten(path, st, sys, rights)
}

// owned refuses a file that belongs to anybody but root and this user.
func owned(path string, st fs.FileInfo) (*syscall.Stat_t, error) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, fmt.Errorf("%s: no owner to see", path)
	}
	if sys.Uid != 0 && int(sys.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s belongs to user %d, not to root or user %d", path, sys.Uid, os.Geteuid())
	}
	return sys, nil
}

// unwritten refuses a file that others can write to.
func unwritten(path string, st fs.FileInfo, sys *syscall.Stat_t, rights files.Rights) error {
	if !rights.Others(files.MayWrite) {
		return nil
	}
	// What is made with umask 002 belongs to a group too, which on many systems
	// has its user and nobody else.
	if rights.Rest&files.MayWrite == 0 && privateGroup(sys.Uid, sys.Gid) {
		return nil
	}
	if rights.List {
		return fmt.Errorf("others can write to %s by its access control list: setfacl -b %s && chmod go-w %s", path, path, path)
	}
	return fmt.Errorf("others can write to %s (%v): chmod go-w %s", path, st.Mode(), path)
}

// Read returns what is in a file that belongs to root or to this user and that nobody else can
// write to. The folders on the way may be anybody's, as those are in which Kubernetes puts files
// and a shell a pipe: a file that another user puts there belongs to that user.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	sys, err := owned(path, st)
	if err != nil {
		return nil, err
	}
	rights, err := files.RightsOfOpen(f, st)
	if err != nil {
		return nil, err
	}
	if err := unwritten(path, st, sys, rights); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

// OthersWrite reports whether anybody but root, this user and the owner may write to a file.
// What cannot be told is yes.
func OthersWrite(path string, st fs.FileInfo) bool {
	rights, err := files.RightsOf(path, st)
	return err != nil || rights.Others(files.MayWrite)
}

// UsersFile and GroupsFile say who is in which group. Tests name others.
var UsersFile, GroupsFile = "/etc/passwd", "/etc/group"

// privateGroup reports whether a group is a user's own, as these files have it: the
// user's first group, nobody else's, and without other members. Users and groups
// from elsewhere (LDAP) are not seen, and then the answer is false.
func privateGroup(uid, gid uint32) bool {
	name, number := "", strconv.FormatUint(uint64(gid), 10)
	for _, f := range table(UsersFile, 4) { // name:password:uid:gid
		if f[3] != number {
			continue
		}
		if f[2] != strconv.FormatUint(uint64(uid), 10) || name != "" {
			return false
		}
		name = f[0]
	}
	if name == "" {
		return false
	}
	found := false
	for _, f := range table(GroupsFile, 4) { // name:password:gid:members
		if f[2] != number {
			continue
		}
		if found = f[3] == "" || f[3] == name; !found {
			return false
		}
	}
	return found
}

// table returns the lines of a file with at least so many fields.
func table(path string, fields int) (lines [][]string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) >= fields {
			lines = append(lines, f)
		}
	}
	return lines
}
