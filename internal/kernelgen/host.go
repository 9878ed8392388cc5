package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// hostFolder has what runs kernels on the host.
const hostFolder = "kernels/host"

// hostBuild compiles all kernels for the host, as a shared object for the fake
// driver, into a folder, and gives its path. What is there and made from the
// same sources is left. One process at a time may do it: kernels/host/build waits.
func hostBuild(root, out string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if out, err = filepath.Abs(out); err != nil {
		return "", err
	}
	library := filepath.Join(out, "kernels.so")
	objects, err := hostObjects(root)
	if err != nil {
		return "", err
	}
	stamp, err := hostStamp(root, objects)
	if err != nil {
		return "", err
	}
	if old, err := os.ReadFile(filepath.Join(out, "stamp")); err == nil && string(old) == stamp {
		return library, nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	compiler := os.Getenv("CXX")
	if compiler == "" {
		compiler = "g++"
	}
	linked := library + ".new" // never over what another process has mapped
	link := []string{"-shared", "-o", linked}
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for name, o := range objects {
		object := filepath.Join(out, name+".o")
		link = append(link, object)
		source := filepath.Join(root, hostFolder, name+".cc")
		if o.text != nil {
			source = filepath.Join(out, name+".cc")
			if err := os.WriteFile(source, o.text, 0o644); err != nil {
				return "", err
			}
		}
		g.Go(func() error {
			args := []string{"-std=c++20", "-O2", "-fPIC", "-Wall", "-Wno-unknown-pragmas", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
				"-I" + filepath.Join(root, "backend/cuda/driver/fakecuda")}
			return command(compiler, append(append(args, o.flags...), "-c", source, "-o", object)...)
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	if err := command(compiler, link...); err != nil {
		return "", err
	}
	if err := os.Rename(linked, library); err != nil {
		return "", err
	}
	return library, os.WriteFile(filepath.Join(out, "stamp"), []byte(stamp), 0o644)
}

type hostObject struct {
	flags []string
	text  []byte // nil: a file of hostFolder
}

// hostObjects are the objects by name: the fibers, and for each family and
// instance its sources and the exports of their kernels.
func hostObjects(root string) (map[string]hostObject, error) {
	objects := map[string]hostObject{"launch": {}}
	for _, u := range unitsFor(0) {
		ks, err := u.family.kernels(root, u.source)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(u.family.pkg()+"_"+u.name, "_")
		b := bytes.NewBuffer(objects[name].text)
		fmt.Fprintf(b, "#include \"%s\"\nnamespace pippin::grid {\n", filepath.Join(root, u.file()))
		for _, k := range ks {
			fmt.Fprintf(b, "PIPPIN_EXPORT(%s, %v)\n", u.symbol(k), u.source.waits)
		}
		b.WriteString("}\n")
		// A namespace of its own: one name of a function of different fields is
		// different functions here.
		objects[name] = hostObject{append(u.flags(), "-Dgrid=grid_"+name), b.Bytes()}
	}
	return objects, nil
}

// hostStamp is a digest of what the library is made from.
func hostStamp(root string, objects map[string]hostObject) (string, error) {
	files, err := sources(root, unitsFor(0))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, digest(files))
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		fmt.Fprintf(h, "%s %v %s\n", name, objects[name].flags, objects[name].text)
	}
	err = filepath.WalkDir(filepath.Join(root, hostFolder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %s\n", path, text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// command runs a program; its output is in the error.
func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
