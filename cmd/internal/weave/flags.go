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

// outer is the go command that runs this tool.
type outer struct {
	dir      string   // it runs in; "" where that is not known to be another than this process's
	flags    []string // by which packages are found and compiled, without those in GOFLAGS: they are inherited
	packages []string // it was asked for, as far as that is known
}

// outer reads the command line of the go command.
func (t *tool) outer() (outer, error) {
	if v := t.getenv(flagsVariable); v != "" {
		return outer{flags: strings.Fields(v)}, nil
	}
	args, dir, err := goProcess()
	if err != nil {
		return outer{}, fmt.Errorf("reading the go command's flags (or set %s to them): %w", flagsVariable, err)
	}
	o, err := parseCommand(args)
	o.dir = dir
	return o, err
}

// goFlags returns the flags in GOFLAGS, which the go command takes where its own do not say otherwise.
func (t *tool) goFlags(o outer) (outer, error) {
	out, err := t.goOutput(o.dir, "env", "GOFLAGS")
	return outer{flags: strings.Fields(string(out))}, err
}

// value returns a flag's last value, or "".
func (o *outer) value(flag string) string {
	for _, f := range slices.Backward(o.flags) {
		if v, ok := strings.CutPrefix(f, "-"+flag+"="); ok {
			return v
		}
	}
	return ""
}

// without returns the flags but for some.
func (o *outer) without(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(o.flags), func(f string) bool {
		name, _, _ := strings.Cut(f[1:], "=")
		return slices.Contains(names, name)
	})
}

// buildFlags are the flags of the go command that decide how packages are
// found and compiled; true for those with a value.
var buildFlags = map[string]bool{
	"race": false, "msan": false, "asan": false, "trimpath": false, "linkshared": false, "modcacherw": false,
	"tags": true, "mod": true, "modfile": true, "overlay": true, "gcflags": true, "asmflags": true, "buildmode": true,
	"installsuffix": true, "pgo": true, "compiler": true, "gccgoflags": true, "pkgdir": true, "p": true,
}

// otherFlags are flags that do not.
var otherFlags = map[string]bool{
	"a": false, "n": false, "v": false, "x": false, "work": false, "json": false, "cover": false, "buildvcs": false,
	"o": true, "C": true, "ldflags": true, "toolexec": true, "exec": true, "covermode": true, "coverpkg": true, "coverprofile": true,
	"debug-actiongraph": true, "debug-runtime-trace": true, "debug-trace": true,
	// go list
	"compiled": false, "deps": false, "e": false, "export": false, "find": false, "m": false, "retracted": false,
	"test": false, "u": false, "versions": false, "f": true, "reuse": true,
	// go test
	"c": false, "short": false, "failfast": false, "benchmem": false, "fullpath": false, "artifacts": false,
	"run": true, "skip": true, "bench": true, "benchtime": true, "count": true, "cpu": true, "list": true,
	"parallel": true, "fuzz": true, "fuzztime": true, "fuzzminimizetime": true, "timeout": true, "shuffle": true, "vet": true,
	"outputdir": true, "cpuprofile": true, "memprofile": true, "memprofilerate": true, "blockprofile": true,
	"blockprofilerate": true, "mutexprofile": true, "mutexprofilefraction": true, "trace": true, "vettool": true,
}

// parseCommand reads the go command's arguments: the flags of buildFlags, each
// as one word, and the packages. "go test" takes flags after packages too, and
// flags of the test's own; of all others the rest is arguments, and a flag that
// is not known may be one by which packages are compiled.
func parseCommand(args []string) (o outer, err error) {
	if len(args) > 0 && strings.HasPrefix(args[0], "-C") { // go -C dir build
		if args[0] == "-C" {
			args = args[1:]
		}
		args = args[min(1, len(args)):]
	}
	if len(args) == 0 {
		return o, nil
	}
	command, args := args[0], args[1:]
	builds := slices.Contains([]string{"build", "install", "run", "list"}, command)
	test := command == "test" || command == "vet"
	ours := true // no flag of the test's own yet
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a[0] != '-' || a == "--" {
			if test && a != "--" {
				if ours {
					o.packages = append(o.packages, a)
				}
				continue
			}
			rest := args[i:]
			if a == "--" {
				rest = rest[1:]
			}
			o.packages = packages(command, rest)
			return o, nil
		}
		name, value, has := strings.Cut(strings.TrimPrefix(a[1:], "-"), "=")
		if name == "args" && test {
			return o, nil
		}
		name = strings.TrimPrefix(name, "test.")
		wants, compiles := buildFlags[name]
		other, known := otherFlags[name]
		if !compiles && !known {
			if builds {
				return o, fmt.Errorf("this msm does not know the flag -%s of go %s, and so not whether pippin has to be compiled with it. "+
					"In GOFLAGS it is taken as it is", name, command)
			}
			ours = false
		}
		if !has && (wants || other) && i+1 < len(args) {
			i++
			value, has = args[i], true
		}
		switch {
		case !compiles:
		case has:
			o.flags = append(o.flags, "-"+name+"="+value)
		default:
			o.flags = append(o.flags, "-"+name)
		}
	}
	return o, nil
}

// packages returns the packages among what follows the flags.
func packages(command string, rest []string) []string {
	if command != "run" {
		return rest
	}
	n := 0 // Go files, or one package
	for n < len(rest) && strings.HasSuffix(rest[n], ".go") {
		n++
	}
	return rest[:min(max(n, 1), len(rest))]
}

// isGo reports whether a program is the go command.
func isGo(path string) bool {
	return strings.TrimSuffix(filepath.Base(path), ".exe") == "go"
}
