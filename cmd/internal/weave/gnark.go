package weave

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const (
	gnarkModule = "github.com/consensys/gnark"

	hookPackage = Module + "/weave/internal/hook"
	// proversPackage has the provers' hooks. weave/auto imports it with proversTag alone.
	proversPackage = Module + "/weave/internal/provers"
	proversTag     = "pippinprovers"

	readFrom = "ReadFrom"
)

// The versions of gnark whose provers pippin's stand for, the first and the last: those of
// docs/howto/versions.md. A program with another gets MSMs alone.
const (
	oldestGnark = "v0.11.0"
	newestGnark = "v0.16.3"
)

// proveType ends the type of each Prove.
const proveType = "pk ProvingKey, fullWitness witness.Witness, opts ...backend.ProverOption) (Proof, error)"

// system is a proof system of gnark: the package that programs call, and below it one for
// each curve.
type system struct {
	name string
	// functions are those that ask a hook first, with their types.
	functions map[string]string
	imports   []string // what the hooks need, which the package imports anyhow
}

// systems are gnark's, by the name of their package below gnarkModule/backend.
var systems = map[string]system{
	"groth16": {
		name: "groth16",
		functions: map[string]string{
			"Prove": "func(r1cs constraint.ConstraintSystem, " + proveType,
			"Setup": "func(r1cs constraint.ConstraintSystem) (ProvingKey, VerifyingKey, error)",
		},
		imports: []string{gnarkModule + "/backend", gnarkModule + "/backend/witness", gnarkModule + "/constraint"},
	},
	"plonk": {
		name: "plonk",
		functions: map[string]string{
			"Prove": "func(ccs constraint.ConstraintSystem, " + proveType,
			"Setup": "func(ccs constraint.ConstraintSystem, srs, srsLagrange kzg.SRS) (ProvingKey, VerifyingKey, error)",
		},
		imports: []string{
			gnarkModule + "/backend", gnarkModule + "/backend/witness", gnarkModule + "/constraint", gnarkCryptoModule + "/kzg",
		},
	},
}

// systemOf returns the proof system whose package a package is, and its curve, "" for the one
// that programs call.
func systemOf(pkg string) (s system, curve string, ok bool) {
	rest, ok := strings.CutPrefix(pkg, gnarkModule+"/backend/")
	if !ok {
		return s, "", false
	}
	name, curve, below := strings.Cut(rest, "/")
	s, ok = systems[name]
	return s, curve, ok && (!below || curves[curve] != "")
}

// proves reports whether a program whose packages are those of an importcfg can call a prover of
// gnark's.
func (c *importcfg) proves() bool {
	for name := range systems {
		if c.has(gnarkModule + "/backend/" + name) {
			return true
		}
	}
	return false
}

// weaveSystem returns the weaver of a package of a proof system.
func weaveSystem(s system, curve string) weaver {
	if curve == "" {
		return s.weaveCalls
	}
	return s.weaveKey
}

// weaveCalls puts the hooks into the package that programs call.
func (s system) weaveCalls(names []string, has func(...string) bool) (changed map[int][]byte, added string, err error) {
	found := 0
	changed, err = rewrite(names, func(f *file) error {
		for function, signature := range s.functions {
			aside, err := f.setAside(function, signature)
			if err != nil {
				return err
			}
			if aside {
				found++
			}
		}
		return nil
	}, "Prove", "Setup")
	if err != nil {
		return nil, "", err
	}
	if found != len(s.functions) || !has(s.imports...) {
		return nil, "", fmt.Errorf("this version of gnark's package %s has not both Prove and Setup", s.name)
	}
	return changed, systemTexts[s.name], nil
}

// weaveKey puts the hook into a curve's package, where proving keys are read.
func (s system) weaveKey(names []string, has func(...string) bool) (changed map[int][]byte, added string, err error) {
	changed, err = rewrite(names, func(f *file) error {
		fn := f.method("*ProvingKey", readFrom)
		if fn == nil {
			return nil
		}
		if len(fn.Type.Params.List) != 1 || len(fn.Type.Params.List[0].Names) != 1 {
			return fmt.Errorf("%s: %s of a proving key has not one argument", f.at(fn), readFrom)
		}
		f.rename(fn.Name, stock+readFrom)
		return nil
	}, readFrom)
	if err != nil {
		return nil, "", err
	}
	if len(changed) == 0 || !has("io") {
		return nil, "", fmt.Errorf("this version of gnark's package %s has no proving keys that are read", s.name)
	}
	return changed, keyText(s.name), nil
}

// checkGnark returns why a version of gnark gets no provers. A fork, and a module's own packages, may be of any.
func (m listedModule) checkGnark() error {
	if m.Replace != nil || m.Version == "" || semver.Compare(m.Version, oldestGnark) >= 0 &&
		semver.Compare(semver.MajorMinor(m.Version), semver.MajorMinor(newestGnark)) <= 0 {
		return nil
	}
	return fmt.Errorf("pippin's provers are for gnark %s to %s, and the program has %s",
		oldestGnark, semver.MajorMinor(newestGnark), m.Version)
}

// gnarkFits returns why the program's gnark, which has the packages in list, gets no provers. nil says
// that it may get them; the compiler says the rest.
func gnarkFits(list []source) error {
	for _, s := range list {
		sys, curve, ok := systemOf(s.ImportPath)
		if !ok {
			continue
		}
		if _, _, err := weaveSystem(sys, curve)(s.files(), func(...string) bool { return true }); err != nil {
			return fmt.Errorf("package %s: %w", s.ImportPath, err)
		}
	}
	return nil
}

// files returns the Go files of a package.
func (s *source) files() (files []string) {
	for _, name := range s.GoFiles {
		files = append(files, filepath.Join(s.Dir, name))
	}
	return files
}

// withProvers returns the closure of weave/auto with the provers: the same build of the same modules
// with one build tag more. The error says why there is none.
func (t *tool) withProvers(c *closure) (*closure, error) {
	if has, err := t.hasGnark(c.program); err != nil {
		return nil, err
	} else if !has {
		return nil, errors.New("its modules have no gnark")
	}
	// The version comes before the packages, which another one may lack.
	if err := t.checkVersionOfGnark(c.outer); err != nil {
		return nil, err
	}
	o, err := t.tagged(c.outer)
	if err != nil {
		return nil, err
	}
	whole := &closure{outer: o, program: c.program}
	if whole.packages, err = t.sources(o); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(whole.packages, func(s source) bool { return s.ImportPath == proversPackage }) {
		return nil, errors.New("this pippin has no hooks of provers")
	}
	if err := gnarkFits(whole.packages); err != nil {
		return nil, err
	}
	whole.lacks, err = lacking(whole.packages)
	return whole, err
}

// checkVersionOfGnark returns why the version of gnark that a build has gets no provers.
func (t *tool) checkVersionOfGnark(o outer) error {
	out, err := t.goList(o, "-m", "-json=Version,Replace", gnarkModule)
	if err != nil {
		return err
	}
	var m listedModule
	if err := json.Unmarshal(out, &m); err != nil {
		return err
	}
	return m.checkGnark()
}

// hasGnark reports whether one of the program's modules is gnark or names it, as every module does whose
// packages import it. Others get no provers, and gnark is not downloaded for them.
func (t *tool) hasGnark(o outer) (bool, error) {
	out, err := t.goList(o, "-m", "-f", "{{.GoMod}}")
	if err != nil {
		return false, err
	}
	for at := range strings.Lines(string(out)) {
		if at = strings.TrimSpace(at); !filepath.IsAbs(at) {
			at = filepath.Join(o.dir, at)
		}
		m, _, err := readModule(at)
		if err != nil {
			return false, err
		}
		if namesGnark(m) {
			return true, nil
		}
	}
	return false, nil
}

func namesGnark(m *modfile.File) bool {
	return m.Module.Mod.Path == gnarkModule ||
		slices.ContainsFunc(m.Require, func(r *modfile.Require) bool { return r.Mod.Path == gnarkModule })
}

// tagged returns the go command with the tag of the provers beside the build's own. A flag -tags stands in
// the place of one in GOFLAGS.
func (t *tool) tagged(o outer) (outer, error) {
	tags, err := t.tags(o)
	if err != nil {
		return o, err
	}
	o.flags = append(o.without("tags"), "-tags="+strings.Join(append(tags, proversTag), ","))
	return o, nil
}

// tags returns the build's own tags.
func (t *tool) tags(o outer) ([]string, error) {
	value := o.value("tags")
	if value == "" {
		flags, err := t.goFlags(o)
		if err != nil {
			return nil, err
		}
		value = flags.value("tags")
	}
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }), nil
}
