package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
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

// hostFlags are those of every object. Without the last one GCC 12 stores one element
// in the place of another in inverses of GF(2^64), two a thread.
var hostFlags = []string{"-std=c++20", "-O2", "-fPIC", "-Wall", "-Wno-unknown-pragmas",
	"-fvisibility=hidden", "-fvisibility-inlines-hidden",
	"-fno-tree-slp-vectorize"}

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
	if err := hostStamps(root, objects); err != nil {
		return "", err
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
	same := exists(library)
	for name, o := range objects {
		object := filepath.Join(out, name+".o")
		link = append(link, object)
		made := filepath.Join(out, name+".stamp")
		if old, err := os.ReadFile(made); err == nil && string(old) == o.stamp {
			continue
		}
		// A build that does not end leaves no library.
		if err := os.RemoveAll(library); err != nil {
			return "", err
		}
		same = false
		source := filepath.Join(root, hostFolder, name+".cc")
		if o.text != nil {
			source = filepath.Join(out, name+".cc")
			if err := os.WriteFile(source, o.text, 0o644); err != nil {
				return "", err
			}
		}
		g.Go(func() error {
			args := slices.Concat(hostFlags, []string{"-I" + filepath.Join(root, "internal/cuda/driver/fakecuda")},
				o.flags, []string{"-c", source, "-o", object})
			if err := command(compiler, args...); err != nil {
				return err
			}
			return os.WriteFile(made, []byte(o.stamp), 0o644)
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	if same {
		return library, nil
	}
	if err := command(compiler, link...); err != nil {
		return "", err
	}
	return library, os.Rename(linked, library)
}

type hostObject struct {
	flags []string
	text  []byte // nil: a file of hostFolder
	units []unit
	stamp string // a digest of what it is made from
}

// hostObjects returns the objects by name: the fibers, and for each family and
// instance its sources and the exports of their kernels.
func hostObjects(root string) (map[string]hostObject, error) {
	objects := map[string]hostObject{"launch": {}}
	for _, u := range allUnits() {
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
		objects[name] = hostObject{flags: append(u.flags(), "-Dgrid=grid_"+name), text: b.Bytes(), units: append(objects[name].units, u)}
	}
	return objects, nil
}

// hostStamps sets the stamps of objects.
func hostStamps(root string, objects map[string]hostObject) error {
	var launcher strings.Builder
	err := filepath.WalkDir(filepath.Join(root, hostFolder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&launcher, "%s %s\n", path, text)
		return err
	})
	if err != nil {
		return err
	}
	for name, o := range objects {
		files, err := sources(root, o.units)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %v %v %s\n", launcher.String(), digest(files), hostFlags, o.flags, o.text))
		o.stamp = hex.EncodeToString(sum[:])
		objects[name] = o
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// command runs a program; its output is in the error.
func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
