package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

func TestReal(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	if err := errors.Join(os.WriteFile(name("file"), nil, 0o600), os.Mkdir(name("folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"to file": "file", "to folder": "folder", "to link": "to file",
		"to nothing": "nothing", "to itself": "to itself"} {
		if err := os.Symlink(to, name(link)); err != nil {
			t.Skip(err) // Windows asks for a privilege
		}
	}
	for _, c := range []struct{ path, file, folder string }{ // "" is refused
		{"file", "file", ""}, {"folder", "", "folder"}, {"absent", "absent", "absent"},
		{"to file", "file", ""}, {"to link", "file", ""}, {"to folder", "", "folder"},
		{"to nothing", "", ""}, {"to itself", "", ""}, {"file/below", "", ""},
	} {
		for i, find := range []func(string) (string, error){RealFile, RealFolder} {
			want := []string{c.file, c.folder}[i]
			got, err := find(name(c.path))
			if want != "" && (err != nil || filepath.Base(got) != want) || want == "" && !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("%s: %q, %v; want %q", c.path, got, err, want)
			}
		}
	}
}
