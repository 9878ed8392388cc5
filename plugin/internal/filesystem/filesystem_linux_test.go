package filesystem

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAnswers: what a file is on is known by its mount, then by its device, then by its disk; what
// is not known does not answer.
func TestAnswers(t *testing.T) {
	answers := func(f *os.File) bool {
		t.Helper()
		regular, yes := Look(f)
		if !regular {
			t.Error("it is no regular file")
		}
		return yes
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0); err == nil {
		t.Skip("the folder for temporary files is in memory")
	}
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil || st.Mask&unix.STATX_MNT_ID == 0 {
		t.Skip("the kernel does not tell the mount of a file: ", err)
	}
	wasMounts, wasSystem := Mounts, System
	defer func() { Mounts, System = wasMounts, wasSystem }()
	Mounts, System = filepath.Join(dir, "mounts"), filepath.Join(dir, "sys")
	line := func(id uint64, device, kind string) string {
		return fmt.Sprintf("%d 1 %s / /at\\040x rw,relatime shared:1 - %s none rw\n", id, device, kind)
	}
	own, other := fmt.Sprintf("%d:%d", st.Dev_major, st.Dev_minor), "4095:1"
	id := st.Mnt_id
	for name, row := range map[string]struct {
		mounts string
		want   bool
	}{
		"its mount":                {line(id, other, "xfs"), true},
		"its mount asks a process": {line(id, own, "fuse.sshfs"), false},
		"an overlay of its device": {line(id+1, own, "ext4") + line(id, own, "overlay"), false},
		"its device":               {line(id+1, own, "ext4") + line(id+2, other, "fuse"), true},
		"its device on a network":  {line(id+1, own, "nfs4"), false},
		"others":                   {line(id+1, other, "ext4"), false},
		"nothing":                  {"", false},
		"nonsense":                 {"1 - \n\n - ext4\n", false},
	} {
		if err := os.WriteFile(Mounts, []byte(row.mounts), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := answers(f); got != row.want {
			t.Errorf("%s: it answers: %v", name, got)
		}
	}
	Mounts = filepath.Join(dir, "none")
	if answers(f) {
		t.Error("it answers, and nothing is known of it")
	}
	if st.Dev_major == 0 {
		t.Skip("the file is on no disk")
	}
	for _, d := range []string{"dev/block", "fs/ext4/disk7"} {
		if answers(f) {
			t.Errorf("it answers without %s", d)
		}
		if err := os.MkdirAll(filepath.Join(System, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../devices/disk7", filepath.Join(System, "dev/block", own)); err != nil {
		t.Fatal(err)
	}
	if !answers(f) {
		t.Error("it does not answer, and its disk is mounted as ext4")
	}
}

// TestClosedFile: nothing is known of a file that is closed.
func TestClosedFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if regular, answers := Look(f); regular || answers {
		t.Error("it answers")
	}
}

// TestFilesInMemory: they answer, whatever mount they have, and devices are no files.
func TestFilesInMemory(t *testing.T) {
	wasMounts := Mounts
	defer func() { Mounts = wasMounts }()
	Mounts = filepath.Join(t.TempDir(), "none")
	fd, err := unix.MemfdCreate("memory", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	memory := os.NewFile(uintptr(fd), "memory")
	defer memory.Close()
	if regular, answers := Look(memory); !regular || !answers {
		t.Errorf("a file in memory: regular %v, answers %v", regular, answers)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if regular, answers := Look(null); regular || answers {
		t.Errorf("a device: regular %v, answers %v", regular, answers)
	}
}
