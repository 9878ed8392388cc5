package trust

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const nobody = 65534

// grant has an access control list give rights to user nobody, beside mode 0755.
func grant(t *testing.T, path, attribute string, rights uint16) {
	t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, may uint16
		number   uint32
	}{{1, 7, 1<<32 - 1}, {2, rights, nobody}, {4, 5, 1<<32 - 1}, {16, 7, 1<<32 - 1}, {32, 5, 1<<32 - 1}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.may)
		b = binary.LittleEndian.AppendUint32(b, e.number)
	}
	if err := unix.Setxattr(path, attribute, b, 0); errors.Is(err, unix.ENOTSUP) {
		t.Skip("no access control lists on this file system: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// TestAccessLists: a file or a folder that a list opens to another user is refused, also where
// the mode shows no more than a private group's right.
func TestAccessLists(t *testing.T) {
	dir := t.TempDir()
	wasUsers, wasGroups := UsersFile, GroupsFile
	t.Cleanup(func() { UsersFile, GroupsFile = wasUsers, wasGroups })
	UsersFile, GroupsFile = filepath.Join(dir, "passwd"), filepath.Join(dir, "group")
	me, mine := os.Geteuid(), os.Getegid()
	err := errors.Join(os.WriteFile(UsersFile, fmt.Appendf(nil, "i:x:%d:%d:::\n", me, mine), 0o600),
		os.WriteFile(GroupsFile, fmt.Appendf(nil, "i:x:%d:\n", mine), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		what   string
		rights uint16
		good   bool
	}{{"write", 7, false}, {"write only", 2, false}, {"read", 5, true}} {
		folder := filepath.Join(dir, row.what)
		file := filepath.Join(folder, "file")
		if err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(file, nil, 0o755), os.Chmod(folder, 0o755)); err != nil {
			t.Fatal(err)
		}
		if _, err := File(file); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file, folder} {
			grant(t, path, "system.posix_acl_access", row.rights)
			st, err := os.Lstat(path)
			if err != nil || st.Mode().Perm() != 0o775 {
				t.Fatalf("%v, %v", st.Mode(), err)
			}
			_, err = File(file)
			if (err == nil) != row.good || err != nil && !strings.Contains(err.Error(), "setfacl -b "+path) {
				t.Errorf("another user may %s %s: %v", row.what, filepath.Base(path), err)
			}
			if OthersWrite(path, st) == row.good {
				t.Errorf("another user may %s %s: OthersWrite says otherwise", row.what, filepath.Base(path))
			}
			if err := DropList(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Folder(folder); err != nil {
			t.Errorf("without the list: %v", err)
		}
		if err := DropList(file); err != nil {
			t.Errorf("a file without a list: %v", err)
		}
	}
	if err := DropList(filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestRead: what is in a file is read if the file belongs to root or this user and nobody else can
// write to it, wherever it lies. A pipe of this user's shell is such a file.
func TestRead(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open") // a folder of everybody
	if err := errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(open, "up.yaml")
	if err := os.WriteFile(path, []byte("a: b"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(what, path, want string) {
		t.Helper()
		text, err := Read(path)
		switch {
		case want == "" && (err != nil || string(text) != "a: b"):
			t.Errorf("%s: %q, %v", what, text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %q, %v; want %q", what, text, err, want)
		}
	}
	for mode, want := range map[fs.FileMode]string{0o600: "", 0o644: "", 0o666: "chmod go-w " + path, 0o646: "chmod go-w " + path} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		read(fmt.Sprint(mode), path, want)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(open, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	read("a link to it", link, "")
	read("nothing", filepath.Join(open, "nothing"), "no such file")
	read("a folder", open, "others can write to "+open)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = w.WriteString("a: b")
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	read("a pipe", fmt.Sprintf("/proc/self/fd/%d", r.Fd()), "")

	grant(t, path, "system.posix_acl_access", 6)
	read("a list with another user who may write", path, "setfacl -b "+path)
	grant(t, path, "system.posix_acl_access", 4)
	read("a list with another user who may read", path, "")
	if os.Geteuid() == 0 {
		if err := os.Chown(path, nobody, -1); err != nil {
			t.Fatal(err)
		}
		read("another user's", path, "belongs to user 65534")
	}
}
