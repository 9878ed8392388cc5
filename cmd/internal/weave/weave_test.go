package weave

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func options(out io.Writer, self ...string) Options {
	return Options{Self: self, Stdin: strings.NewReader(""), Stdout: out, Stderr: os.Stderr, Env: os.Environ()}
}

func goTool(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOTOOLDIR").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), name)
}

// TestVersions has every option make another compiler and another linker, and
// leaves tools alone whose results are the same.
func TestVersions(t *testing.T) {
	ask := func(tool string, self ...string) string {
		var out bytes.Buffer
		status, err := Run([]string{goTool(t, tool), "-V=full"}, options(&out, self...))
		if status != 0 || err != nil {
			t.Fatalf("%s: status %d, %v", tool, status, err)
		}
		return out.String()
	}
	stock := func(tool string) string {
		out, err := exec.Command(goTool(t, tool), "-V=full").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	one, same, other := ask("compile", "msm", "weave"), ask("compile", "/elsewhere/msm", "weave"), ask("compile", "msm", "weave", "x")
	if one != same || one == other || one == stock("compile") {
		t.Errorf("%q, %q, %q", one, same, other)
	}
	if !strings.HasPrefix(one, strings.TrimSpace(stock("compile"))+" +pippin-weave-") ||
		!strings.Contains(one, " buildID=_/_/_/") || strings.Count(one, "\n") != 1 {
		t.Errorf("%q is not what the go command wants", one)
	}
	if ask("asm", "msm", "weave") != stock("asm") {
		t.Error("the assembler is another")
	}
}

// TestSources has every file that decides what is woven be part of the digest.
func TestSources(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		_, err := sources.ReadFile(f)
		aside := strings.HasSuffix(f, "_test.go") || strings.HasPrefix(f, "process_") || strings.HasPrefix(f, "lock_") || f == "doc.go"
		if (err == nil) == aside {
			t.Errorf("%s: embedded: %v", f, err == nil)
		}
	}
}

func TestRunPassesThrough(t *testing.T) {
	var out bytes.Buffer
	if status, err := Run([]string{goTool(t, "asm"), "-V"}, options(&out, "msm", "weave")); status != 0 ||
		err != nil || !strings.HasPrefix(out.String(), "asm version") {
		t.Errorf("status %d, %v, %q", status, err, out.String())
	}
	o := options(&out, "msm", "weave")
	o.Stderr = io.Discard
	if status, err := Run([]string{goTool(t, "compile"), "-no-such-flag"}, o); status == 0 || err != nil {
		t.Errorf("status %d, %v", status, err)
	}
	if _, err := Run([]string{filepath.Join(t.TempDir(), "compile")}, o); err == nil {
		t.Error("a tool that is not there ran")
	}
	if _, err := Run(nil, o); err == nil {
		t.Error("no tool ran")
	}
}

func TestParseCommand(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"build -o x -race -tags a,b ./...", "-race -tags=a,b; ./..."},
		{"build --tags=a -ldflags -race -trimpath main.go -race", "-tags=a -trimpath; main.go -race"},
		{"-C dir build -mod mod .", "-mod=mod; ."},
		{"-C=dir test -run -race -count=1 . -race -args -msan", "-race; ."},
		{"test ./... -gcflags=all=-N -v -timeout 1m -pgo off", "-gcflags=all=-N -pgo=off; ./..."},
		{"test -test.run x -short ./a -own value -race ./b", "-race; ./a"},
		{"vet -race ./...", "-race; ./..."},
		{"run -race=true . -msan", "-race=true; ."},
		{"run a.go b.go c -race", "; a.go b.go"},
		{"install -buildmode pie -toolexec msm -modfile=x -- a -race", "-buildmode=pie -modfile=x; a -race"},
		{"build", "; "},
		{"", "; "},
	} {
		o, err := parseCommand(strings.Fields(c.args))
		if got := strings.Join(o.flags, " ") + "; " + strings.Join(o.packages, " "); got != c.want || err != nil {
			t.Errorf("%q: %q, %v, want %q", c.args, got, err, c.want)
		}
	}
	for _, args := range []string{"build -fast ./...", "run -fast .", "install -fast=yes .", "list -v -fast"} {
		if _, err := parseCommand(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), "-fast") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestKnownFlags has every flag of this go command be known, and those with a
// value be known for that.
func TestKnownFlags(t *testing.T) {
	for _, topic := range []string{"build", "install", "run", "test", "testflag"} {
		out, err := exec.Command("go", "help", topic).Output()
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for line := range strings.Lines(string(out)) {
			text, ok := strings.CutPrefix(line, "\t-")
			words := strings.Fields(text)
			if !ok || len(words) == 0 || words[0] == "args" {
				continue
			}
			found++
			value, compiles := buildFlags[words[0]]
			other, known := otherFlags[words[0]]
			if !compiles && !known {
				t.Errorf("go help %s: -%s is not known", topic, words[0])
			}
			optional := words[0] == "json" || words[0] == "buildvcs" // its value needs a "="
			if has := len(words) > 1; has != (value || other) && !optional {
				t.Errorf("go help %s: %s: is the value known?", topic, strings.TrimSpace(line))
			}
		}
		if found == 0 && topic != "install" && topic != "run" {
			t.Errorf("go help %s: no flags found", topic)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"/bin/msm|weave", "/bin/msm weave"},
		{"/my bin/msm|weave", "'/my bin/msm' weave"},
		{"/it's/msm|weave", `"/it's/msm" weave`},
	} {
		if got := quote(strings.Split(c.words, "|")); got != c.want {
			t.Errorf("%s: %s", c.words, got)
		}
	}
}

// TestMark marks a real archive, which the toolchain still accepts.
func TestMark(t *testing.T) {
	out, err := exec.Command("go", "list", "-export", "-f", "{{.Export}} {{.BuildID}}", "errors").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(out))
	b, err := os.ReadFile(f[0])
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "errors.a")
	if err := os.WriteFile(at, b, 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := buildID(at)
	if err != nil || id != f[1] {
		t.Errorf("build ID %q, %v, want %q", id, err, f[1])
	}
	if m, err := marked(at); m || err != nil {
		t.Fatal(m, err)
	}
	if err := mark(at); err != nil {
		t.Fatal(err)
	}
	if m, err := marked(at); !m || err != nil {
		t.Fatal(m, err)
	}
	if listed, err := exec.Command("go", "tool", "pack", "t", at).CombinedOutput(); err != nil ||
		!slices.Contains(strings.Fields(string(listed)), markName) {
		t.Errorf("%v: %s", err, listed)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no archive at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := marked(text); err == nil {
		t.Error("text is an archive")
	}
	if err := mark(text); err == nil {
		t.Error("text was marked")
	}
}

// TestUnpin changes a real object: the package that it imports is no longer the one
// build of it, and nothing else is.
func TestUnpin(t *testing.T) {
	out, err := exec.Command("go", "list", "-export", "-f", "{{.Export}}", "errors").Output()
	if err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "errors.a")
	if err := os.WriteFile(at, was, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unpin(at, "internal/reflectlite"); err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile(at)
	if err != nil || len(is) != len(was) {
		t.Fatal(err, len(is), len(was))
	}
	first, last := -1, -1
	for i := range is {
		if is[i] != was[i] {
			first, last = max(first, 0), i
			if first == 0 {
				first = i
			}
			if is[i] != 0 {
				t.Errorf("byte %d is %d", i, is[i])
			}
		}
	}
	if first <= 0 || last-first >= 8 {
		t.Errorf("bytes %d to %d were changed", first, last)
	}
	for name, c := range map[string]struct {
		object   []byte
		imported string
	}{
		"not imported": {was, "net/http"},
		"no object":    {[]byte(archiveMagic), "internal/reflectlite"},
		"two objects":  {slices.Concat(was, was), "internal/reflectlite"},
		"cut off":      {was[:bytes.Index(was, []byte(objectMagic))+24], "internal/reflectlite"},
	} {
		if err := os.WriteFile(at, c.object, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpin(at, c.imported); !errors.Is(err, errArchive) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckVersion: what was tried is woven, and what is put in its place.
func TestCheckVersion(t *testing.T) {
	for version, want := range map[string]bool{
		"v0.12.0": false, oldestVersion: true, "v0.12.2-0.20231208203441-d4eab6ddd2af": true,
		"v0.18.1": true, newestVersion: true, "v0.22.7": true,
		"v0.22.1-0.20261001000000-0123456789ab": true, "v0.23.0": false, "v1.0.0": false, "": true,
	} {
		s := source{}
		s.Module.Path, s.Module.Version = gnarkCryptoModule, version
		err := s.checkVersion()
		if (err == nil) != want || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", version, err)
		}
		// The remedy raises or lowers as little as it can.
		remedy := "go get " + gnarkCryptoModule + "@" + newestVersion
		if version == "v0.12.0" {
			remedy = "go get " + gnarkCryptoModule + "@" + oldestVersion
		}
		if err != nil && !strings.HasSuffix(err.Error(), remedy) {
			t.Errorf("%s: %v, want %s", version, err, remedy)
		}
		s.Module.Replace = &struct{ Version string }{"v0.20.0"}
		if err := s.checkVersion(); err != nil {
			t.Errorf("%s replaced: %v", version, err)
		}
	}
}

// TestPrograms in parts are refused when they are linked, as they would be
// without hooks.
func TestProgramsInParts(t *testing.T) {
	main := filepath.Join(t.TempDir(), "main.a")
	if err := os.WriteFile(main, []byte(archiveMagic), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mark(main); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"-buildmode=plugin", "-buildmode=shared", "-linkshared"} {
		_, err := Run([]string{goTool(t, "link"), "-importcfg", "none", flag, main}, options(io.Discard, "msm", "weave"))
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestImportcfg(t *testing.T) {
	at := filepath.Join(t.TempDir(), "importcfg")
	if err := os.WriteFile(at, []byte("# import config\npackagefile errors=/a b/x=y.a\nmodinfo \"z\""), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readImportcfg(at)
	if err != nil {
		t.Fatal(err)
	}
	if c.files["errors"] != "/a b/x=y.a" || !c.has("errors") || c.has("errors", "io") {
		t.Errorf("%+v", c)
	}
	c.add("io", "/io.a")
	c.add("errors", "/other.a")
	if want := "modinfo \"z\"\npackagefile io=/io.a\n"; !strings.HasSuffix(c.text, want) || strings.Contains(c.text, "other") {
		t.Errorf("%q", c.text)
	}
}
