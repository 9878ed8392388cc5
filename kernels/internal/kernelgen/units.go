package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A unit is one translation unit: a source for one instance.
type unit struct {
	family *family
	source *source
	instance
}

// pkg returns the family's Go package.
func (f *family) pkg() string { return path.Base(f.path) }

// base returns the unit's name in its family.
func (u unit) base() string { return strings.TrimPrefix(u.name+"_"+u.source.name, "_") }

// id returns the unit's name among all units, which is also its path below an
// architecture's folder.
func (u unit) id() string { return u.family.pkg() + "/" + u.base() }

func (u unit) file() string { return u.family.path + "/" + u.source.name + ".cu" }

// symbol returns a kernel's name in the unit.
func (u unit) symbol(k kernel) string {
	return "pippin_" + strings.TrimPrefix(u.name+"_"+k.name, "_")
}

// flags returns the compiler's flags that define the instance.
func (u unit) flags() []string {
	var fs []string
	for _, d := range u.defines {
		fs = append(fs, "-D"+d)
	}
	return fs
}

// of returns the unit that has the code of an instance: its own or its twin's.
func (s *source) of(f *family, i instance) unit {
	if twin, ok := s.twins[i.name]; ok {
		i = s.per.instances[slices.IndexFunc(s.per.instances, func(j instance) bool { return j.name == twin })]
	}
	return unit{f, s, i}
}

// allUnits returns the units in a fixed order.
func allUnits() []unit {
	var us []unit
	for i := range families {
		f := &families[i]
		for j := range f.sources {
			s := &f.sources[j]
			for _, n := range s.per.instances {
				if u := s.of(f, n); u.name == n.name {
					us = append(us, u)
				}
			}
		}
	}
	return us
}

// A kernel is an entry point, as its source has it.
type kernel struct {
	name    string
	threads string // of a block
	dynamic bool   // it takes dynamic shared memory
	params  []param
}

type param struct{ name, kind string }

// kinds are the types that a parameter may have, each of 64 bits, and their Go
// types.
var kinds = map[string]string{
	"const uint32_t*": "kernels.Pointer", "uint32_t*": "kernels.Pointer", "int32_t*": "kernels.Pointer",
	"uint64_t": "int", "flag": "bool",
}

var (
	kernelHead = regexp.MustCompile(`PIPPIN_KERNEL(_SHARED)?\(\((\d+)[^)]*\), (\w+)\)\s*\(([^)]*)\)`)
	parameter  = regexp.MustCompile(`^(.*[ *])(\w+)$`)
	// A line names a header, or the value of a definition whose header PIPPIN_HEADER names.
	// Those in <> are the compiler's.
	include = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<[^>]+>|PIPPIN_HEADER\((\w+)\)|(.*))`)
)

// curveHeader is what PIPPIN_HEADER makes of a name, from the folder of a family.
const curveHeader = "../../curves/%s.cuh"

// includes returns the headers that a file of a unit includes, by their paths from the
// root. Lines that the compiler leaves out by a condition count too, but for the header of a name
// that is not defined.
func (u unit) includes(file string, text []byte) (paths []string, err error) {
	for _, m := range include.FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		switch {
		case m[2] != "":
			i := slices.IndexFunc(u.defines, func(d string) bool { return strings.HasPrefix(d, m[2]+"=") })
			if i < 0 {
				continue // a condition leaves it out; if not, the compiler misses it
			}
			name = fmt.Sprintf(curveHeader, strings.TrimPrefix(u.defines[i], m[2]+"="))
		case m[3] != "":
			return nil, fmt.Errorf("%s: %s is not understood: want a name in quotes, or PIPPIN_HEADER", file, m[0])
		case name == "":
			continue
		}
		paths = append(paths, path.Join(path.Dir(file), name))
	}
	return paths, nil
}

// kernels reads the entry points of a source.
func (f *family) kernels(root string, s *source) ([]kernel, error) {
	name := f.path + "/" + s.name + ".cu"
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return nil, err
	}
	return entryPoints(name, string(code(text)))
}

func entryPoints(name, text string) ([]kernel, error) {
	var ks []kernel
	for _, m := range kernelHead.FindAllStringSubmatch(text, -1) {
		k := kernel{name: m[3], threads: m[2], dynamic: m[1] != ""}
		for _, p := range strings.Split(m[4], ",") {
			q := parameter.FindStringSubmatch(strings.Join(strings.Fields(p), " "))
			if q == nil || kinds[strings.TrimSpace(q[1])] == "" {
				return nil, fmt.Errorf("%s: kernel %s: parameter %q: want one of %v with a name", name, k.name, p, slices.Sorted(maps.Keys(kinds)))
			}
			k.params = append(k.params, param{q[2], strings.TrimSpace(q[1])})
		}
		ks = append(ks, k)
	}
	if all := strings.Count(text, "PIPPIN_KERNEL"); len(ks) == 0 || len(ks) != all {
		return nil, fmt.Errorf("%s: %d entry points understood of %d", name, len(ks), all)
	}
	return ks, nil
}

// A constant is a line of a family's layout header.
type constant struct{ name, value, comment string }

var constantLine = regexp.MustCompile(`(?m)^constexpr uint32_t (\w+) = ([^;]+);[ \t]*(?://[ \t]*(.*))?$`)

// constants reads the first block of constants of a family's layout header.
func (f *family) constants(root string) ([]constant, error) {
	if f.layout == "" {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(root, f.path, f.layout))
	if err != nil {
		return nil, err
	}
	var cs []constant
	for block := range strings.SplitSeq(string(text), "\n\n") {
		for _, m := range constantLine.FindAllStringSubmatch(block, -1) {
			cs = append(cs, constant{m[1], m[2], m[3]})
		}
		if cs != nil {
			return cs, nil
		}
	}
	return nil, fmt.Errorf("%s/%s: no constants", f.path, f.layout)
}

// code removes the comments of a source, which do not change what is compiled.
func code(text []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		line, _, _ = bytes.Cut(line, []byte("//"))
		if line = bytes.TrimSpace(line); len(line) > 0 {
			b.Write(line)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// sources returns the digest of every file that units are made from, by its path from the
// root. These are the sources and what they include, without comments and without the
// host's part. Units include different headers by one line, as that of their curve.
func sources(root string, us []unit) (map[string]string, error) {
	digests := make(map[string]string)
	texts := make(map[string][]byte)
	for _, u := range us {
		seen := make(map[string]bool)
		var visit func(file string) error
		visit = func(file string) error {
			if seen[file] || strings.HasPrefix(file, hostFolder+"/") {
				return nil
			}
			seen[file] = true
			if digests[file] == "" {
				text, err := os.ReadFile(filepath.Join(root, file))
				if err != nil {
					return err
				}
				texts[file] = code(text)
				digests[file] = sum(texts[file])
			}
			headers, err := u.includes(file, texts[file])
			if err != nil {
				return err
			}
			for _, h := range headers {
				if err := visit(h); err != nil {
					return err
				}
			}
			return nil
		}
		if err := visit(u.file()); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

// digest returns one line for all sources.
func digest(files map[string]string) string {
	h := sha256.New()
	for _, n := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %s\n", n, files[n])
	}
	return hex.EncodeToString(h.Sum(nil))
}
