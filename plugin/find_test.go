//go:build linux

package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/trust"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
)

// place puts the test plugin into a new folder, under the name of a plugin.
func place(t *testing.T, name string) (dir, path string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, Prefix+name)
	if err := os.Link(filepath.Join(plugintest.Dir(t), Prefix+"test"), path); err != nil {
		b, err := os.ReadFile(filepath.Join(plugintest.Dir(t), Prefix+"test"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir, path
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestFindOrder(t *testing.T) {
	a, inA := place(t, "x")
	b, inB := place(t, "x")
	empty := t.TempDir()
	s := Search{Dirs: []string{empty, a}, Path: "relative:" + b + ":", NotBeside: true}
	if f, err := Find("x", s); err != nil || f.Path != inA || f.Name != "x" || f.Verified {
		t.Errorf("%+v, %v", f, err)
	}
	s.Dirs = nil
	if f, err := Find("x", s); err != nil || f.Path != inB {
		t.Errorf("PATH: %+v, %v", f, err)
	}
	s.File = inA
	if f, err := Find("y", s); err != nil || f.Path != inA || f.Name != "y" {
		t.Errorf("explicit: %+v, %v", f, err)
	}
	s.File = filepath.Join(a, "nothing")
	if _, err := Find("x", s); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("explicit and not there: %v", err)
	}
	s = Search{Dirs: []string{empty}, Path: b}
	_, err := Find("nosuch", s)
	var none *NotFoundError
	exe, _ := os.Executable()
	looked := []string{filepath.Join(empty, Prefix+"nosuch"), filepath.Join(filepath.Dir(exe), Prefix+"nosuch"),
		filepath.Join(b, Prefix+"nosuch")}
	if !errors.Is(err, backend.ErrUnavailable) || !errors.As(err, &none) || !slices.Equal(none.Looked, looked) || len(none.Unusable) > 0 {
		t.Errorf("%+v, want %q", none, looked)
	}
	if want := "backend unavailable: no plugin msm-backend-nosuch in 3 places"; err.Error() != want || len(none.Details()) != 3 {
		t.Errorf("%q, want %q; %q", err, want, none.Details())
	}
	for _, name := range []string{"", "../x", "a/b"} {
		if _, err := Find(name, s); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	// Beside the running program.
	beside := filepath.Join(filepath.Dir(exe), Prefix+"beside")
	write(t, beside, "#!/bin/sh\n", 0o755)
	defer os.Remove(beside)
	if err := os.Chmod(filepath.Dir(exe), 0o755); err != nil {
		t.Fatal(err)
	}
	if f, err := Find("beside", Search{}); err != nil || filepath.Base(f.Path) != Prefix+"beside" {
		t.Errorf("beside: %+v, %v", f, err)
	}
	if _, err := Find("beside", Search{NotBeside: true}); err == nil {
		t.Error("NotBeside found it")
	}
}

// users replaces the files of users and groups.
func users(t *testing.T, passwd, group string) {
	wasUsers, wasGroups := trust.UsersFile, trust.GroupsFile
	t.Cleanup(func() { trust.UsersFile, trust.GroupsFile = wasUsers, wasGroups })
	dir := t.TempDir()
	trust.UsersFile, trust.GroupsFile = filepath.Join(dir, "passwd"), filepath.Join(dir, "group")
	write(t, trust.UsersFile, passwd, 0o644)
	write(t, trust.GroupsFile, group, 0o644)
}

// TestPrivateGroup: what was made with umask 002 could not be used ("others can write"), although
// the user's group has no other member.
func TestPrivateGroup(t *testing.T) {
	me, mine := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
	i := "i:x:" + me + ":" + mine + "::/:/bin/sh\n"
	for name, c := range map[string]struct {
		passwd, group string
		good          bool
	}{
		"alone":                   {i, "i:x:" + mine + ":\n", true},
		"named as a member":       {"other:x:7:7:::\n" + i, "other:x:7:i\ni:x:" + mine + ":i\n", true},
		"another member":          {i, "i:x:" + mine + ":i,other\n", false},
		"another's first group":   {i + "other:x:7777:" + mine + ":::\n", "i:x:" + mine + ":\n", false},
		"a group of another name": {"i:x:" + me + ":7777:::\n", "users:x:" + mine + ":\n", false},
		"no such group":           {i, "", false},
		"no such user":            {"", "i:x:" + mine + ":\n", false},
		"a second entry":          {i, "i:x:" + mine + ":\nj:x:" + mine + ":other\n", false},
		"nonsense":                {"i:x\n\n::::::", "i", false},
	} {
		t.Run(name, func(t *testing.T) {
			users(t, c.passwd, c.group)
			dir, path := place(t, "x")
			if err := os.Remove(path); err != nil { // it may be a link to a file that others use
				t.Fatal(err)
			}
			write(t, path, "#!/bin/sh\n", 0o775)
			if err := os.Chmod(dir, 0o775); err != nil {
				t.Fatal(err)
			}
			_, err := Find("x", Search{Dirs: []string{dir}, NotBeside: true})
			if (err == nil) != c.good {
				t.Errorf("%v", err)
			}
			if !c.good && !strings.Contains(err.Error(), "chmod go-w "+dir) {
				t.Errorf("the error does not say what helps: %v", err)
			}
			if err := os.Chmod(path, 0o757); err != nil {
				t.Fatal(err)
			}
			if _, err := Find("x", Search{Dirs: []string{dir}, NotBeside: true}); err == nil {
				t.Error("a file that everybody can write is found")
			}
		})
	}
}

// TestMalformedChecksum: a plugin beside a malformed checksum was passed over, and another that
// nobody vouches for was taken instead.
func TestMalformedChecksum(t *testing.T) {
	a, inA := place(t, "x")
	b, _ := place(t, "x")
	s := Search{Dirs: []string{a, b}, NotBeside: true}
	for _, text := range []string{"hello", "", strings.Repeat("0", 63), strings.Repeat("g", 64)} {
		write(t, inA+checksumSuffix, text, 0o644)
		f, err := Find("x", s)
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), inA+checksumSuffix) ||
			!strings.Contains(err.Error(), "not a SHA-256") {
			t.Errorf("%q: %+v, %v", text, f, err)
		}
	}
}

func TestFindTrustsNobody(t *testing.T) {
	users(t, "", "")
	refused := func(name string, s Search, says string) {
		t.Helper()
		_, err := Find("x", s)
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Open(context.Background(), Spec{Name: "x", Search: s}); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("%s: opened: %v", name, err)
		}
	}
	fresh := func() (string, string, Search) {
		dir := filepath.Join(t.TempDir(), "bin")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, Prefix+"x")
		write(t, path, "#!/bin/sh\necho started > "+dir+"/started\n", 0o755)
		return dir, path, Search{Dirs: []string{dir}, NotBeside: true}
	}
	_, _, s := fresh()
	if _, err := Find("x", s); err != nil {
		t.Fatalf("to begin with: %v", err)
	}
	for name, mode := range map[string]os.FileMode{"world-writable": 0o757, "group-writable": 0o775, "sticky": 0o777 | os.ModeSticky} {
		_, path, s := fresh()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		refused(name+" file", s, "others can write to "+path)
		dir, _, s := fresh()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		refused(name+" folder", s, "others can write to "+dir)
		if name == "sticky" {
			continue
		}
		dir, _, s = fresh()
		if err := os.Chmod(filepath.Dir(dir), mode); err != nil {
			t.Fatal(err)
		}
		refused("folder above "+name, s, "others can write to "+filepath.Dir(dir))
	}
	// Through a link: the link and its target both count.
	dir, path, _ := fresh()
	links := t.TempDir()
	if err := os.Symlink(path, filepath.Join(links, Prefix+"x")); err != nil {
		t.Fatal(err)
	}
	linked := Search{Dirs: []string{links}, NotBeside: true}
	if f, err := Find("x", linked); err != nil || f.Path != path {
		t.Errorf("link: %+v, %v", f, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	refused("target's folder", linked, "others can write to "+dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(links, 0o777); err != nil {
		t.Fatal(err)
	}
	refused("link's folder", linked, "others can write to "+links)

	// In a chain of links, whoever can change one in the middle chooses what is run.
	if err := os.Chmod(links, 0o755); err != nil {
		t.Fatal(err)
	}
	middle := t.TempDir()
	for link, target := range map[string]string{
		filepath.Join(links, Prefix+"y"):   filepath.Join(middle, "z"),
		filepath.Join(links, "bin"):        filepath.Join(middle, "bin"),
		filepath.Join(middle, "z"):         path,
		filepath.Join(middle, "bin"):       dir,
		filepath.Join(links, "again"):      "again",
		filepath.Join(links, "roundabout"): "../" + filepath.Base(links) + "/./bin/../bin",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	chains := map[string]Search{
		"a link to a link in a foreign folder":  {File: filepath.Join(links, Prefix+"y")},
		"a folder linked through a foreign one": {Dirs: []string{filepath.Join(links, "bin")}, NotBeside: true},
		"and with dots":                         {Dirs: []string{filepath.Join(links, "roundabout")}, NotBeside: true},
	}
	for name, s := range chains {
		if f, err := Find("x", s); err != nil || f.Path != path {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	if err := os.Chmod(middle, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, s := range chains {
		refused(name, s, "others can write to "+middle)
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Chmod(middle, 0o755), os.Chown(middle, 12345, 12345)); err != nil {
			t.Fatal(err)
		}
		for name, s := range chains {
			refused(name+", another's", s, middle+" belongs to user 12345")
		}
	}
	refused("a link to itself", Search{File: filepath.Join(links, "again")}, "links")

	if os.Geteuid() == 0 {
		_, path, s := fresh()
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		refused("another's file", s, "belongs to user 12345")
	}
	_, path, s = fresh()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	refused("not executable", s, "not executable")
	dir, path, s = fresh()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	refused("a folder", s, "not a file")
	// A refused executable does not hide a good one in a later place.
	good, inGood := place(t, "x")
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if f, err := Find("x", Search{Dirs: []string{dir, good}, NotBeside: true}); err != nil || f.Path != inGood {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestChecksum(t *testing.T) {
	dir, path := place(t, "test")
	sum, err := fileSum(path)
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Repeat("ab", 32)
	side := path + checksumSuffix
	for _, c := range []struct {
		name, side, explicit string
		require              bool
		says                 string // "" means success
	}{
		{"none", "", "", false, ""},
		{"required", "", "", true, "a checksum is required"},
		{"file", sum + "\n", "", true, ""},
		{"sha256sum's file", sum + "  " + Prefix + "test\n", "", true, ""},
		{"upper case", strings.ToUpper(sum), "", true, ""},
		{"wrong file", wrong, "", false, "not the file with SHA-256 " + wrong},
		{"nonsense in the file", "hello", "", false, "not a SHA-256"},
		{"empty file", "\n", "", false, "not a SHA-256"},
		{"explicit", "", sum, true, ""},
		{"explicit wrong", "", wrong, false, "not the file with SHA-256 " + wrong},
		{"explicit beats the file", sum, wrong, false, "not the file with SHA-256 " + wrong},
	} {
		_ = os.Remove(side)
		if c.side != "" {
			write(t, side, c.side, 0o644)
		}
		s := spec(t, "")
		s.Search = Search{Dirs: []string{dir}, NotBeside: true, Checksum: c.explicit, RequireChecksum: c.require}
		client, err := Open(ctx, s)
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			client.Close()
			continue
		}
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// The file with the checksum must be trusted too.
	write(t, side, sum, 0o666)
	s := Search{Dirs: []string{dir}, NotBeside: true}
	if _, err := Find("test", s); err == nil || !strings.Contains(err.Error(), "others can write to "+side) {
		t.Errorf("%v", err)
	}
}

func TestList(t *testing.T) {
	a, inA := place(t, "one")
	b, inB := place(t, "two")
	sum, err := fileSum(inA)
	if err != nil {
		t.Fatal(err)
	}
	write(t, inA+checksumSuffix, sum, 0o644)
	write(t, filepath.Join(a, Prefix+"bad"), "x", 0o755)
	write(t, filepath.Join(a, Prefix+"bad"+checksumSuffix), strings.Repeat("00", 32), 0o644)
	write(t, filepath.Join(a, "other"), "x", 0o755)
	write(t, filepath.Join(b, Prefix+"open"), "x", 0o777)
	got := List(Search{Dirs: []string{a, b, a}, NotBeside: true})
	var names []string
	for _, f := range got {
		names = append(names, f.Name)
		switch f.Name {
		case "one":
			if f.Path != inA || !f.Verified || f.Checksum != sum || f.Problem != nil {
				t.Errorf("%+v", f)
			}
		case "two":
			if f.Path != inB || f.Verified || f.Checksum != sum || f.Problem != nil {
				t.Errorf("%+v", f)
			}
		case "bad":
			if f.Verified || f.Problem == nil {
				t.Errorf("%+v", f)
			}
		case "open":
			if f.Problem == nil || !strings.Contains(f.Problem.Error(), "others can write") || f.Checksum == "" {
				t.Errorf("%+v", f)
			}
		}
	}
	if !slices.Equal(names, []string{"bad", "one", "open", "two"}) {
		t.Errorf("%v", names)
	}
}

// TestRefusedHidesOthers: an executable that others can replace is not silently passed over for
// another of its name. A list shows which ones it hides.
func TestRefusedHidesOthers(t *testing.T) {
	open, inOpen := place(t, "x")
	good, inGood := place(t, "x")
	if err := os.Remove(inOpen); err != nil { // it may be a link to a file that others use
		t.Fatal(err)
	}
	write(t, inOpen, "#!/bin/sh\n", 0o777)
	s := Search{Dirs: []string{open, good}, NotBeside: true}
	var none *NotFoundError
	if f, err := Find("x", s); !errors.Is(err, backend.ErrUnavailable) || errors.As(err, &none) ||
		!strings.Contains(err.Error(), "others can write to "+inOpen) {
		t.Errorf("%+v, %v", f, err)
	}
	all := List(s)
	if len(all) != 2 || all[0].Problem == nil || all[0].HiddenBy != "" || all[1].Problem != nil ||
		all[1].Path != inGood || all[1].HiddenBy != all[0].Path {
		t.Errorf("%+v", all)
	}
	// A file that nobody may execute does not count, as in PATH.
	if err := os.Chmod(inOpen, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := Find("x", s); err != nil || f.Path != inGood {
		t.Errorf("%+v, %v", f, err)
	}
	if all := List(s); len(all) != 2 || all[0].Problem == nil || all[1].HiddenBy != "" {
		t.Errorf("%+v", all)
	}
}
