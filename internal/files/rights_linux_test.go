package files

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// entry is one of an access control list.
type entry struct {
	tag, may uint16
	number   uint32
}

const nobody, none = 65534, 0xffffffff

// list is an access control list as the kernel has it.
func list(entries ...entry) []byte {
	b := binary.LittleEndian.AppendUint32(nil, listVersion)
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.may)
		b = binary.LittleEndian.AppendUint32(b, e.number)
	}
	return b
}

// TestRights: what others may do with a file, as the kernel decides it.
func TestRights(t *testing.T) {
	me := uint32(os.Geteuid())
	for name, row := range map[string]struct {
		mode fs.FileMode
		list []byte
		want Rights
	}{
		"mode":  {0o754, nil, Rights{Group: 5, Rest: 4}},
		"alone": {0o700, nil, Rights{}},
		"a user who is named": {0o755, list(entry{ofOwner, 7, none}, entry{ofUser, 7, nobody}, entry{ofGroup, 5, none},
			entry{ofMask, 7, none}, entry{ofRest, 0, none}), Rights{Group: 5, Rest: 7, List: true}},
		"a group that is named": {0o755, list(entry{ofOwner, 7, none}, entry{ofGroup, 0, none}, entry{ofNamed, 6, nobody},
			entry{ofMask, 7, none}, entry{ofRest, 0, none}), Rights{Rest: 6, List: true}},
		"no more than the mask": {0o755, list(entry{ofOwner, 7, none}, entry{ofUser, 7, nobody}, entry{ofGroup, 7, none},
			entry{ofMask, 1, none}, entry{ofRest, 5, none}), Rights{Group: 1, Rest: 5, List: true}},
		"root and this user": {0o755, list(entry{ofOwner, 7, none}, entry{ofUser, 7, 0}, entry{ofGroup, 5, none},
			entry{ofMask, 7, none}, entry{ofRest, 0, none}), Rights{Group: 5, List: true}},
		"this user": {0o755, list(entry{ofOwner, 7, none}, entry{ofUser, 7, me}, entry{ofGroup, 5, none},
			entry{ofMask, 7, none}, entry{ofRest, 0, none}), Rights{Group: 5, List: true}},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, row.mode)); err != nil {
			t.Fatal(err)
		}
		if row.list != nil {
			if err := unix.Setxattr(path, accessAttribute, row.list, 0); errors.Is(err, unix.ENOTSUP) {
				t.Skip("no access control lists on this file system: ", err)
			} else if err != nil {
				t.Fatal(err)
			}
		}
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := RightsOf(path, st); err != nil || got != row.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, row.want)
		}
	}
}

// TestLists: root and this user may what they like; a list that is not understood is an error, and no rights.
func TestLists(t *testing.T) {
	good := list(entry{ofOwner, 7, none}, entry{ofGroup, 5, none}, entry{ofRest, 0, none})
	if _, err := readList(good, nobody); err != nil {
		t.Fatal(err)
	}
	root := list(entry{ofOwner, 7, none}, entry{ofUser, 7, 0}, entry{ofGroup, 0, none}, entry{ofMask, 7, none}, entry{ofRest, 0, none})
	if r, err := readList(root, nobody); err != nil || r.Others(MayAll) {
		t.Errorf("root is trusted: %+v, %v", r, err)
	}
	own := list(entry{ofOwner, 7, none}, entry{ofUser, 7, nobody}, entry{ofGroup, 0, none}, entry{ofMask, 7, none}, entry{ofRest, 0, none})
	if r, err := readList(own, nobody); err != nil || r.Others(MayAll) {
		t.Errorf("one trusts oneself: %+v, %v", r, err)
	}
	other := list()
	other[0] = 3
	for name, b := range map[string][]byte{"empty": {}, "version": other, "cut": good[:len(good)-1], "tag": list(entry{0x40, 7, none})} {
		if _, err := readList(b, nobody); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if !(Rights{Group: 2}).Others(MayWrite) || !(Rights{Rest: 2}).Others(MayWrite) || (Rights{Group: 5, Rest: 5}).Others(MayWrite) {
		t.Error("who may write")
	}
}
