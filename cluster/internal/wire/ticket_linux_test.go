package wire

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSecretOfOthers: a ticket or another secret that another user may read is refused. The file's mode may allow
// that, or its access control list, whose mask the mode shows as the group's rights.
func TestSecretOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "client.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, want bool) {
		t.Helper()
		_, ticket := ReadTicket(path)
		_, secret := ReadSecret(path)
		for _, err := range []error{ticket, secret} {
			if (err != nil && strings.Contains(err.Error(), "other users may read")) != want {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	refused("its owner's", false)
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	refused("everybody's", true)
	const nobody, none = 65534, 1<<32 - 1
	for what, user := range map[string]uint32{"a list with another user": nobody, "a list with root": 0} {
		b := binary.LittleEndian.AppendUint32(nil, 2)
		for _, e := range [][3]uint32{{1, 6, none}, {2, 4, user}, {4, 0, none}, {16, 4, none}, {32, 0, none}} {
			b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
			b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
			b = binary.LittleEndian.AppendUint32(b, e[2])
		}
		if err := syscall.Setxattr(path, "system.posix_acl_access", b, 0); errors.Is(err, syscall.ENOTSUP) {
			t.Skip("no access control lists on this file system: ", err)
		} else if err != nil {
			t.Fatal(err)
		}
		refused(what, user == nobody)
	}
}
