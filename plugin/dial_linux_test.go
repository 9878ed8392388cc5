package plugin

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSocketsThatOthersCouldPutThere: a prover shows its scalars only to root, to its own user, and
// to a user to whom one of these has given a folder.
func TestSocketsThatOthersCouldPutThere(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := socketOwner(filepath.Join(open, "s")); err == nil {
		t.Error("a prover would trust a socket in a folder that anybody can write to")
	}
	// As in /tmp: this user's private folder in a shared one.
	if err := os.Chmod(open, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(open, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "s"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := socketOwner(filepath.Join(own, "s")); err != nil {
		t.Errorf("a prover does not trust a folder of its own user's: %v", err)
	}
	if os.Geteuid() != 0 {
		return // only root can act as another user
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("/tmp", "daemon") // t.TempDir is below a folder of root
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// In a folder that root has made for another user, that user may put a socket. In one that he
	// has made in a shared folder, he may not.
	anyones := filepath.Join(dir, "tmp")
	if err := os.Mkdir(anyones, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(anyones, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{filepath.Join(dir, "his"): true, filepath.Join(anyones, "his"): false} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		owner, err := socketOwner(filepath.Join(path, "s"))
		if want != (err == nil) || want && owner != nobody {
			t.Errorf("%s: owner %d, %v", path, owner, err)
		}
	}
}
