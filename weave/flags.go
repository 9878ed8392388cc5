package weave

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// flagsVariable names flags of the build of weave/auto where the go command's
// own cannot be read.
const flagsVariable = "PIPPIN_WEAVE_GOFLAGS"

// outer is the flags of the go command that runs this tool, as far as they
// decide how packages are compiled, and the folder it runs in, "" when that is
// not known to be another than this process's. Flags in GOFLAGS need not be
// among them: they are inherited.
func (t *tool) outer() (flags []string, dir string, err error) {
	if v := t.getenv(flagsVariable); v != "" {
		return strings.Fields(v), "", nil
	}
	args, dir, err := goProcess()
	if err != nil {
		return nil, "", fmt.Errorf("reading the go command's flags (or set %s to them): %w", flagsVariable, err)
	}
	return compileFlags(args), dir, nil
}

// buildFlags are the flags of the go command that decide how packages are
// found and compiled; true for those with a value.
var buildFlags = map[string]bool{
	"race": false, "msan": false, "asan": false, "trimpath": false, "linkshared": false, "modcacherw": false,
	"tags": true, "mod": true, "modfile": true, "overlay": true, "gcflags": true, "asmflags": true, "buildmode": true,
	"installsuffix": true, "pgo": true, "compiler": true, "gccgoflags": true, "pkgdir": true, "p": true,
}

// otherFlags are flags with a value that do not.
var otherFlags = map[string]bool{
	"o": true, "C": true, "ldflags": true, "toolexec": true, "exec": true, "covermode": true, "coverpkg": true, "coverprofile": true,
	"buildvcs": false, "run": true, "skip": true, "bench": true, "benchtime": true, "count": true, "cpu": true, "list": true,
	"parallel": true, "fuzz": true, "fuzztime": true, "fuzzminimizetime": true, "timeout": true, "shuffle": true, "vet": true,
	"outputdir": true, "cpuprofile": true, "memprofile": true, "memprofilerate": true, "blockprofile": true,
	"blockprofilerate": true, "mutexprofile": true, "mutexprofilefraction": true, "trace": true, "vettool": true,
	"f": true, "debug-actiongraph": true, "debug-runtime-trace": true, "debug-trace": true,
}

// compileFlags picks the flags of buildFlags out of the go command's arguments,
// each as one word. "go test" takes flags after packages too; of all others the
// rest is arguments.
func compileFlags(args []string) (flags []string) {
	if len(args) > 0 && strings.HasPrefix(args[0], "-C") { // go -C dir build
		if args[0] == "-C" {
			args = args[1:]
		}
		args = args[min(1, len(args)):]
	}
	if len(args) == 0 {
		return nil
	}
	test := args[0] == "test" || args[0] == "vet"
	args = args[1:]
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' || a == "--" {
			if test && a != "--" {
				continue
			}
			return flags
		}
		name, value, has := strings.Cut(strings.TrimPrefix(a[1:], "-"), "=")
		if name == "args" {
			return flags
		}
		wants, ours := buildFlags[name]
		if !has && (wants || otherFlags[name]) && i+1 < len(args) {
			i++
			value, has = args[i], true
		}
		switch {
		case !ours:
		case has:
			flags = append(flags, "-"+name+"="+value)
		default:
			flags = append(flags, "-"+name)
		}
	}
	return flags
}

// foundProfile tells whether the go command uses a profile that it found by
// itself, beside package main: for that, it compiles dependencies in a way that
// cannot be asked for.
func (t *tool) foundProfile(flags []string) bool {
	named := slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-pgo=") && f != "-pgo=auto" })
	return t.flag("-pgoprofile") != "" && !named
}

// isGo tells whether a program is the go command.
func isGo(path string) bool {
	return strings.TrimSuffix(filepath.Base(path), ".exe") == "go"
}
