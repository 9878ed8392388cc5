// Command kernelgen compiles the GPU kernels and writes what Go needs of them:
// kernels/fatbin/sm_<architecture>/ with a manifest, kernels/digest.go, and for
// every family of kernels its kernels.go, launch structs and tables of entry
// points. families.go says what there is. scripts/build-kernels calls it.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	cuda := flag.String("cuda", os.Getenv("CUDA_HOME"), "folder of the CUDA toolkit")
	arch := flag.String("arch", "", "architectures, such as 90 or 100,120; those in the repository when empty, or all")
	only := flag.String("unit", "", "only the units that match this pattern, and no manifest: to develop with")
	table := flag.Bool("table", false, "write the Go files alone; needs no CUDA toolkit")
	verify := flag.Bool("verify", false, "build into a temporary folder and compare with what is there")
	host := flag.String("host", "", "compile the kernels for the host into this folder, and print the library's path")
	flag.Parse()
	if err := run(*cuda, *arch, *only, *table, *verify, *host); err != nil {
		fmt.Fprintln(os.Stderr, "kernelgen:", err)
		os.Exit(1)
	}
}

// fatbins has a folder for each architecture.
const fatbins = "kernels/fatbin"

func run(cuda, arch, only string, table, verify bool, host string) error {
	if host != "" {
		library, err := hostBuild(".", host)
		if err == nil {
			fmt.Println(library)
		}
		return err
	}
	if table {
		return writeTables()
	}
	archs, err := parseArchitectures(arch)
	if err != nil {
		return err
	}
	b := builder{root: ".", cuda: cuda, out: fatbins}
	if only != "" {
		return b.some(archs, only)
	}
	if verify {
		dir, err := os.MkdirTemp("", "kernels")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		b.out = dir
	}
	for _, a := range archs {
		if err := b.run(a); err != nil {
			return err
		}
		if verify {
			if err := same(folder(b.out, a), folder(fatbins, a)); err != nil {
				return err
			}
		}
	}
	if verify {
		return nil
	}
	return writeTables()
}

func writeTables() error {
	files, err := tables(".")
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// folder returns the folder of an architecture's code.
func folder(fatbins string, arch int) string {
	return filepath.Join(fatbins, fmt.Sprintf("sm_%d", arch))
}

func parseArchitectures(s string) (archs []int, err error) {
	switch s {
	case "":
		return committed(), nil
	case "all":
		for _, a := range architectures {
			archs = append(archs, a.number)
		}
		return archs, nil
	}
	for _, part := range strings.Split(s, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 80 {
			return nil, fmt.Errorf("architecture %q: want numbers from 80 on, such as 90 or 100,120", part)
		}
		archs = append(archs, n)
	}
	return archs, nil
}

// same compares all files of two folders.
func same(a, b string) error {
	var all error
	err := filepath.WalkDir(a, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(a, path)
		if err != nil {
			return err
		}
		x, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if y, err := os.ReadFile(filepath.Join(b, name)); err != nil {
			all = errors.Join(all, err)
		} else if !bytes.Equal(x, y) {
			all = errors.Join(all, fmt.Errorf("%s differs from a fresh build", filepath.Join(b, name)))
		}
		return nil
	})
	return errors.Join(err, all)
}
