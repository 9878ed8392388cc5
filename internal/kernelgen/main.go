// Command kernelgen compiles the GPU kernels and writes what Go needs of them:
// kernels/fatbin/*.fatbin, its manifest.json, and kernels/entries.go, the typed
// table of entry points. scripts/build-kernels calls it.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

func main() {
	cuda := flag.String("cuda", os.Getenv("CUDA_HOME"), "folder of the CUDA toolkit")
	arch := flag.String("arch", "", "only this architecture, such as 90; all when empty")
	only := flag.String("unit", "", "only the units that match this pattern, and no manifest: to develop with")
	table := flag.Bool("table", false, "write the table of entry points alone; needs no CUDA toolkit")
	verify := flag.Bool("verify", false, "build into a temporary folder and compare with what is committed")
	flag.Parse()
	if err := run(*cuda, *arch, *only, *table, *verify); err != nil {
		fmt.Fprintln(os.Stderr, "kernelgen:", err)
		os.Exit(1)
	}
}

const (
	fatbins   = "kernels/fatbin"
	tableFile = "kernels/entries.go"
)

func run(cuda, arch, only string, table, verify bool) error {
	if !verify {
		text, err := entries(".")
		if err != nil {
			return err
		}
		if err := os.WriteFile(tableFile, text, 0o644); err != nil || table {
			return err
		}
	}
	b := builder{root: ".", cuda: cuda, out: fatbins, archs: architectures}
	if arch != "" {
		n, err := strconv.Atoi(arch)
		if err != nil {
			return fmt.Errorf("architecture %q: want a number such as 90", arch)
		}
		b.archs = []int{n}
	}
	if only != "" {
		return b.some(only)
	}
	if !verify {
		return b.run()
	}
	dir, err := os.MkdirTemp("", "kernels")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.out = dir
	if err := b.run(); err != nil {
		return err
	}
	return same(dir, fatbins)
}

// same compares all files of two folders.
func same(a, b string) error {
	files, err := filepath.Glob(filepath.Join(a, "*"))
	if err != nil {
		return err
	}
	var all error
	for _, f := range files {
		x, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		y, err := os.ReadFile(filepath.Join(b, filepath.Base(f)))
		if err != nil {
			all = errors.Join(all, err)
		} else if !bytes.Equal(x, y) {
			all = errors.Join(all, fmt.Errorf("%s differs from a fresh build", filepath.Join(b, filepath.Base(f))))
		}
	}
	return all
}
