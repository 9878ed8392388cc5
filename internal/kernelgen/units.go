package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// A phase is a file of kernels/grid, compiled once for all, once a curve or
// once a curve and group.
type phase struct {
	name string
	per  scope
}

type scope int

const (
	all scope = iota
	perCurve
	perGroup
)

var (
	phases = []phase{
		{"sort", all}, {"buckets", all},
		{"digits", perCurve},
		{"accumulate", perGroup}, {"reduce", perGroup}, {"points", perGroup},
	}
	curves = []string{"bn254", "bls12_377", "bls12_381", "bw6_761"}
	groups = []string{"g1", "g2"}
)

// twin tells which group's code a unit shares: both groups of BW6-761 are over
// one field, and only the check of points knows the equation's b.
func twin(phase, curve, group string) string {
	if curve == "bw6_761" && phase != "points" {
		return "g1"
	}
	return group
}

// A unit is one translation unit and one fatbin.
type unit struct {
	phase, curve, group string
}

func (u unit) name() string {
	return strings.TrimPrefix(strings.TrimSuffix(u.curve+"_"+u.group, "_")+"_"+u.phase, "_")
}

func (u unit) source() string { return "kernels/grid/" + u.phase + ".cu" }

func (u unit) defines() []string {
	var d []string
	if u.curve != "" {
		d = append(d, "-DPIPPIN_CURVE="+u.curve)
	}
	if u.group != "" {
		d = append(d, "-DPIPPIN_GROUP="+u.group)
	}
	return d
}

// units is all of them, in a fixed order.
func units() []unit {
	var us []unit
	for _, p := range phases {
		switch p.per {
		case all:
			us = append(us, unit{phase: p.name})
		case perCurve:
			for _, c := range curves {
				us = append(us, unit{phase: p.name, curve: c})
			}
		case perGroup:
			for _, c := range curves {
				for _, g := range groups {
					if twin(p.name, c, g) == g {
						us = append(us, unit{p.name, c, g})
					}
				}
			}
		}
	}
	return us
}

// A kernel is an entry point of a phase, as its source has it.
type kernel struct {
	name    string
	threads string
	params  int
}

var (
	kernelHead = regexp.MustCompile(`PIPPIN_(?:CURVE_|GROUP_)?KERNEL\(\((\d+)[^)]*\), (\w+)\)\s*\(([^)]*)\)`)
	include    = regexp.MustCompile(`(?m)^#include "([^"]+)"`)
)

// kernels reads the entry points of a phase from its source.
func (p phase) kernels(root string) ([]kernel, error) {
	text, err := os.ReadFile(filepath.Join(root, unit{phase: p.name}.source()))
	if err != nil {
		return nil, err
	}
	var ks []kernel
	for _, m := range kernelHead.FindAllStringSubmatch(string(text), -1) {
		ks = append(ks, kernel{name: m[2], threads: m[1], params: strings.Count(m[3], ",") + 1})
	}
	if len(ks) == 0 || len(ks) != strings.Count(string(text), "KERNEL((") {
		return nil, fmt.Errorf("%s.cu: %d entry points understood of %d", p.name, len(ks), strings.Count(string(text), "KERNEL(("))
	}
	return ks, nil
}

// symbol is the kernel's name in a unit.
func (u unit) symbol(k kernel) string {
	s := "pippin_"
	for _, part := range []string{u.curve, u.group} {
		if part != "" {
			s += part + "_"
		}
	}
	return s + k.name
}

// code is a source without its comments, which do not change what is compiled.
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

// sources is the digest of every file that the units are made from, without
// comments, by its path from the root: the phases and what they include, the
// host's part left out.
func sources(root string) (map[string]string, error) {
	digests := make(map[string]string)
	var visit func(path string) error
	visit = func(path string) error {
		if _, ok := digests[path]; ok || strings.Contains(path, "/host/") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(code(text))
		digests[path] = hex.EncodeToString(sum[:])
		for _, m := range include.FindAllStringSubmatch(string(text), -1) {
			if err := visit(filepath.ToSlash(filepath.Join(filepath.Dir(path), m[1]))); err != nil {
				return err
			}
		}
		return nil
	}
	for _, p := range phases {
		if err := visit(unit{phase: p.name}.source()); err != nil {
			return nil, err
		}
	}
	// grid/curve.cuh includes the curve's header by a macro.
	for _, c := range curves {
		if err := visit("kernels/curves/" + c + ".cuh"); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

// digest is one line for all sources.
func digest(files map[string]string) string {
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	sort.Strings(names)
	h := sha256.New()
	for _, n := range names {
		fmt.Fprintf(h, "%s %s\n", n, files[n])
	}
	return hex.EncodeToString(h.Sum(nil))
}
