package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms are the folders of kernels by scope. A header includes from its own and
// those before it; a folder of grid from itself and from grid.
var rooms = []string{"curves", "thread", "warp", "block", "grid"}

// includeProblem returns what is wrong with an #include in a file, or "". Both arguments
// are paths from kernels/.
func includeProblem(file, included string) string {
	of := func(p string) int { return slices.Index(rooms, strings.SplitN(p, "/", 2)[0]) }
	from, to := of(file), of(included)
	switch {
	case strings.HasPrefix(included, "host/"):
		return "" // stands in for CUDA itself
	case to < 0:
		return "is in no room"
	case file[:strings.IndexByte(file, '/')] == "curves" && included == "thread/ptx.cuh":
		return "" // constants, which are below all but the macros they are written with
	case to > from:
		return "goes up"
	case from == slices.Index(rooms, "grid") && path.Dir(included) != path.Dir(file) && path.Dir(included) != "grid" && to == from &&
		path.Dir(file) != "grid/measured": // what is measured beside kernels in use shares their layout
		return "goes to another purpose"
	}
	return ""
}

// TestIncludesGoDown reads the #include lines of all device code.
func TestIncludesGoDown(t *testing.T) {
	seen := map[string]bool{}
	kernels := filepath.Join(root, "kernels")
	err := filepath.WalkDir(kernels, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".cu") && !strings.HasSuffix(name, ".cuh") {
			return err
		}
		rel, err := filepath.Rel(kernels, name)
		if err != nil {
			return err
		}
		file := filepath.ToSlash(rel)
		room := strings.SplitN(file, "/", 2)[0]
		if !slices.Contains(rooms, room) {
			return nil // internal/probe: a program of its own
		}
		seen[room] = true
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, m := range include.FindAllStringSubmatch(string(text), -1) {
			included := path.Join(path.Dir(file), m[1])
			if m[1] != "" && includeProblem(file, included) != "" {
				t.Errorf("%s includes %s, which %s", file, included, includeProblem(file, included))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rooms {
		if !seen[r] {
			t.Errorf("kernels/%s has no device code", r)
		}
	}
}

// TestIncludesUpAreRefused shows that the check can fail.
func TestIncludesUpAreRefused(t *testing.T) {
	for _, c := range [][2]string{
		{"thread/field.cuh", "warp/lanes.cuh"},
		{"warp/lanes.cuh", "block/scan.cuh"},
		{"block/scan.cuh", "grid/kernel.cuh"},
		{"thread/field.cuh", "curves/../internal/probe/probe.cuh"},
		{"grid/ntt/ntt.cu", "grid/msm/layout.cuh"},
		{"curves/bn254.cuh", "thread/field.cuh"},
	} {
		if includeProblem(c[0], path.Clean(c[1])) == "" {
			t.Errorf("%s may include %s", c[0], c[1])
		}
	}
	for _, c := range [][2]string{
		{"grid/msm/sort.cu", "block/scan.cuh"},
		{"grid/msm/sort.cu", "grid/kernel.cuh"},
		{"grid/msm/group.cuh", "grid/msm/layout.cuh"},
		{"warp/lanes.cuh", "host/launch.h"},
		{"curves/bn254.cuh", "thread/ptx.cuh"},
	} {
		if p := includeProblem(c[0], c[1]); p != "" {
			t.Errorf("%s may not include %s: it %s", c[0], c[1], p)
		}
	}
}
