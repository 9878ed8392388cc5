package weave

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// sourcesVariable names the folder of pippin's sources where they are not found.
const sourcesVariable = "PIPPIN_WEAVE_SOURCES"

// errNoCurves says that there is nothing to weave.
var errNoCurves = errors.New("the program's modules have no gnark-crypto")

// modulesWithPippin returns a go.mod for the program in which pippin is, and which
// has the program's own modules in the versions that it has them. The program's
// own files stay as they are: the file, with a go.sum beside it, lies in the
// build cache under a digest of all that it is made of.
//
// ok is false where that is not for this program to do: outside of a module, in
// a workspace, or where the module asks for pippin itself.
func (t *tool) modulesWithPippin(o outer) (path string, ok bool, err error) {
	var env struct{ GOMOD, GOWORK, GOFLAGS, GOCACHE string }
	out, err := t.goOutput(o.dir, "env", "-json", "GOMOD", "GOWORK", "GOFLAGS", "GOCACHE")
	if err == nil {
		err = json.Unmarshal(out, &env)
	}
	switch {
	case err != nil:
		return "", false, err
	case env.GOMOD == "" || env.GOMOD == os.DevNull:
		return "", false, errNoCurves // a file that imports only Go's own packages
	case env.GOWORK != "" && env.GOWORK != "off":
		if _, err := t.goList(o, "-m", gnarkCryptoModule); err != nil {
			return "", false, errNoCurves
		}
		return "", false, fmt.Errorf("a workspace (%s) has to have pippin itself: go work use FOLDER, with "+
			"the folder of its sources, or GOWORK=off", env.GOWORK)
	}
	if out, err = t.goList(o, "-m", "-f", "{{.GoMod}}"); err != nil {
		return "", false, err
	}
	at := strings.TrimSpace(string(out)) // another than GOMOD with -modfile
	if !filepath.IsAbs(at) {
		at = filepath.Join(o.dir, at)
	}
	program, sum, err := readModule(at)
	if err != nil {
		return "", false, err
	}
	has := map[string]string{}
	for _, r := range program.Require {
		has[r.Mod.Path] = r.Mod.Version
	}
	switch {
	case has[Module] != "":
		return "", false, nil
	case has[gnarkCryptoModule] == "" && program.Module.Mod.Path != gnarkCryptoModule:
		return "", false, errNoCurves
	case vendors(o, env.GOFLAGS, filepath.Dir(env.GOMOD)):
		return "", false, errors.New("the program is built from its folder vendor, which has no pippin: add -mod=readonly")
	}
	root, err := t.sourceRoot()
	if err != nil {
		return "", false, err
	}
	pippin, pippinSum, err := readModule(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", false, err
	}

	// What the program has stays. The rest is named as pippin names it. The go command
	// must not choose: old modules of the program's may have packages that pippin needs
	// in modules of other names.
	for _, r := range pippin.Require {
		if has[r.Mod.Path] == "" && r.Mod.Path != program.Module.Mod.Path {
			program.AddNewRequire(r.Mod.Path, r.Mod.Version, true)
		}
	}
	program.AddNewRequire(Module, "v0.0.0", false)
	if err := program.AddReplace(Module, "", root, ""); err != nil {
		return "", false, err
	}
	if program.Go == nil || semver.Compare("v"+program.Go.Version, "v"+pippin.Go.Version) < 0 {
		if err := program.AddGoStmt(pippin.Go.Version); err != nil {
			return "", false, err
		}
	}
	program.DropToolchainStmt()
	sums := append(append(sum, '\n'), pippinSum...)
	text, err := program.Format()
	if err != nil {
		return "", false, err
	}
	proves := namesGnark(program)
	key := hex.EncodeToString(sha256sum(runtime.Version(), string(text), string(sums), fmt.Sprint(proves)))[:32]
	dir := filepath.Join(env.GOCACHE, "pippin-weave", key)
	path = filepath.Join(dir, "go.mod")
	if isModule(dir) {
		return path, true, nil
	}
	return path, true, t.writeModules(o, dir, program, has, sums, proves)
}

// writeModules writes a go.mod whose requirements are the program's and
// pippin's, and its go.sum, into a folder. The files appear when they are complete.
// Every requirement of a module for another version of one that the program has
// is excluded: then the go command overlooks it.
// Where the program proves, the files have what its provers need too, or, where that is not to be had, not.
func (t *tool) writeModules(o outer, dir string, f *modfile.File, versions map[string]string, sums []byte, proves bool) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	at := filepath.Join(work, "go.mod")
	put := func() error {
		f.Cleanup()
		text, err := f.Format()
		if err == nil {
			err = os.WriteFile(at, text, 0o666)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(work, "go.sum"), sums, 0o666)
		}
		return err
	}
	if err := put(); err != nil {
		return err
	}
	graph, err := t.goOutput(o.dir, "mod", "graph", "-modfile="+at)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(graph)) {
		_, needs, _ := strings.Cut(strings.TrimSpace(line), " ")
		path, version, _ := strings.Cut(needs, "@")
		if want := versions[path]; want == "" || semver.Compare(version, want) <= 0 || module.Check(path, version) != nil {
			continue
		}
		if err := f.AddExclude(path, version); err != nil {
			return err
		}
	}
	if err := put(); err != nil {
		return err
	}
	// Sums that neither has are added, and versions stay, or this fails.
	o.flags = append(o.without("mod", "modfile"), "-mod=mod", "-modfile="+at)
	if err := t.complete(o, at, versions); err != nil {
		return err
	}
	if proves {
		if err := t.completeForProvers(o, at, versions); err != nil {
			return err
		}
	}
	return placeModule(work, dir)
}

// complete adds to a go.mod and the go.sum beside it what weave/auto needs.
func (t *tool) complete(o outer, at string, versions map[string]string) error {
	if _, err := t.sources(o); err != nil {
		return err
	}
	made, _, err := readModule(at)
	if err != nil {
		return err
	}
	for _, r := range made.Require {
		if want := versions[r.Mod.Path]; want != "" && want != r.Mod.Version {
			return fmt.Errorf("pippin needs %s %s, and the program has %s", r.Mod.Path, r.Mod.Version, want)
		}
	}
	return nil
}

// completeForProvers does what complete does for weave/auto with the provers. Where they do not fit the
// program, it leaves the files as they were.
func (t *tool) completeForProvers(o outer, at string, versions map[string]string) error {
	was := map[string][]byte{}
	for _, name := range moduleFiles {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(at), name))
		if err != nil {
			return err
		}
		was[name] = b
	}
	tagged, err := t.tagged(o)
	if err != nil {
		return err
	}
	if t.complete(tagged, at, versions) == nil {
		return nil
	}
	for name, b := range was {
		if err := os.WriteFile(filepath.Join(filepath.Dir(at), name), b, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// moduleFiles are the files of a module in the build cache, the one that is placed
// last at the end.
var moduleFiles = []string{"go.sum", "go.mod"}

// isModule reports whether a folder has all files of a module. Something that
// removes old files may have left some of them, and a crash empty ones.
func isModule(dir string) bool {
	for _, name := range moduleFiles {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
			return false
		}
	}
	return true
}

// placeModule moves a module's files into a folder, one by one: what is left of
// them there is replaced, and a build that reads the folder never finds it gone.
// Several builds may place the same files at a time. The folder is made again if
// it is removed meanwhile.
func placeModule(from, to string) (err error) {
	for range 3 {
		if err = os.MkdirAll(to, 0o777); err != nil {
			return err
		}
		for _, name := range moduleFiles {
			err = os.Rename(filepath.Join(from, name), filepath.Join(to, name))
			if err != nil && isFile(filepath.Join(from, name)) {
				break // to is what is missing
			}
			err = nil // it was moved, now or before
		}
		if err == nil || isModule(to) { // another build was first
			return nil
		}
	}
	return err
}

// readModule reads a go.mod and the go.sum beside it, if there is one.
func readModule(path string) (*modfile.File, []byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := modfile.Parse(path, text, nil)
	if err != nil {
		return nil, nil, err
	}
	sum, err := os.ReadFile(strings.TrimSuffix(path, ".mod") + ".sum")
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return f, sum, err
}

// vendors reports whether the go command takes packages from the module's folder
// vendor.
func vendors(o outer, goflags, root string) bool {
	inherited := outer{flags: strings.Fields(goflags)}
	mode := cmp.Or(o.value("mod"), inherited.value("mod"))
	return mode == "vendor" || mode == "" && isFile(filepath.Join(root, "vendor", "modules.txt"))
}

// packagedSources is the folder beside msm in which a package has the sources that
// programs are linked with: scripts/weave-sources makes it.
const packagedSources = "weave-sources"

// sourceRoot returns the folder of the sources that this program was built from.
func (t *tool) sourceRoot() (string, error) {
	if root := t.getenv(sourcesVariable); root != "" {
		return root, fits(root)
	}
	if self, err := filepath.EvalSymlinks(t.Self[0]); err == nil {
		if root := filepath.Join(filepath.Dir(self), packagedSources); isFile(filepath.Join(root, "go.mod")) {
			return root, fits(root)
		}
	}
	_, file, _, _ := runtime.Caller(0)
	if root := filepath.Join(filepath.Dir(file), "..", "..", ".."); filepath.IsAbs(root) && fits(root) == nil {
		return root, nil
	}
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if (m.Path == Module || m.Path == Module+"/cmd") && m.Replace == nil { // they have the same tags
				version = m.Version
			}
		}
	}
	if semver.IsValid(version) && semver.Build(version) == "" {
		var found struct{ Dir, Error string }
		out, err := t.goOutput(os.TempDir(), "mod", "download", "-json", Module+"@"+version)
		if err == nil && json.Unmarshal(out, &found) == nil && isFile(filepath.Join(found.Dir, "go.mod")) {
			return found.Dir, nil // the go command compared it with its sum
		}
	}
	return "", fmt.Errorf("the sources of pippin that msm was built from are not there any more: build "+
		"it again, or set %s to their folder", sourcesVariable)
}

// fits reports whether a folder has the sources of pippin that this program was
// built from.
func fits(root string) error {
	entries, err := sources.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		ours, err := sources.ReadFile(e.Name())
		if err != nil {
			return err
		}
		theirs, err := os.ReadFile(filepath.Join(root, "cmd", "internal", "weave", e.Name()))
		if err != nil || !bytes.Equal(ours, theirs) {
			return fmt.Errorf("msm was not built from the pippin in %s: build it from there (go install ./cmd/msm)", root)
		}
	}
	return nil
}
