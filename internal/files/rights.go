package files

import (
	"io/fs"
	"os"
)

// Rights is what others may do with a file: everybody but its owner, root and this process's
// user. Each is bits of a mode as of one class: 4 to read, 2 to write, 1 to execute.
type Rights struct {
	Group fs.FileMode // the file's group
	Rest  fs.FileMode // all others, and any user or group that an access control list names
	List  bool        // an access control list says so
}

// Bits of Rights.
const (
	MayWrite = 0o2
	MayAll   = 0o7
)

// Others returns whether any of these rights is somebody else's.
func (r Rights) Others(any fs.FileMode) bool { return (r.Group|r.Rest)&any != 0 }

// RightsOf returns the rights of others by the mode of a file and by its POSIX
// access control list where it has one: the mode shows then what the list gives at most, in
// the place of the group's rights. Lists of other kinds, as macOS has them, are not seen.
func RightsOf(path string, st fs.FileInfo) (Rights, error) {
	list, err := accessList(path)
	return rightsBy(list, err, path, st)
}

// RightsOfOpen does what RightsOf does, for a file that is open. Nobody can put another one in its
// place meanwhile.
func RightsOfOpen(f *os.File, st fs.FileInfo) (Rights, error) {
	list, err := accessListOfOpen(f)
	return rightsBy(list, err, f.Name(), st)
}

// rightsBy returns the rights of others by a file's mode and the list that was read, if any.
func rightsBy(list []byte, err error, path string, st fs.FileInfo) (Rights, error) {
	if err != nil {
		return Rights{}, &fs.PathError{Op: "reading the access control list of", Path: path, Err: err}
	}
	if list == nil {
		return Rights{Group: st.Mode() >> 3 & MayAll, Rest: st.Mode() & MayAll}, nil
	}
	r, err := readList(list, os.Geteuid())
	if err != nil {
		return Rights{}, &fs.PathError{Op: "reading the access control list of", Path: path, Err: err}
	}
	return r, nil
}
