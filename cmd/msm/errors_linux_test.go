package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestErrorsGolden: what is said of every mistake with a known cause, word for word.
// A first line says what to do, and only -v has more.
func TestErrorsGolden(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	script := []byte("#!/bin/sh\nexit 7\n")
	for _, folder := range []string{"open", "sums", "plain"} {
		if err := errors.Join(os.Mkdir(name(folder), 0o700), os.WriteFile(name(folder+"/msm-backend-x"), script, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Chmod(dir, 0o700), // whatever the umask is
		os.Chmod(name("open/msm-backend-x"), 0o777),
		os.WriteFile(name("sums/msm-backend-x.sha256"), []byte("not a checksum\n"), 0o600),
		os.WriteFile(name("plain/msm-backend-x.sha256"), []byte(strings.Repeat("0", 64)+"\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/nowhere/a:/nowhere/b")

	var got bytes.Buffer
	for _, c := range []string{
		"bench --backend cuda", "bench --backend cuda -v",
		"bench --backend plugin:x", "bench --backend gpu", "bench --backend plugin:" + name("missing"),
		"bench --backend plugin:x --plugin-dir " + name("open"),
		"bench --backend plugin:x --plugin-dir " + name("sums"),
		"bench --backend plugin:x --plugin-dir " + name("plain"),
		"backends --plugin-dir " + name("sums"),
		"devices --plugin-dir " + name("open"),
		"bnech", "bench --sizes 2^20", "bench twice", "verify --format gobench",
		"bench --size 2^2O", "bench --size 2^30", "bench --curve bn255", "bench --curve secp256k1",
		"bench --group g3", "bench --distribution unifrm",
		"bench --path arna", "bench --format jsn", "bench --count 0", "bench --backend cpu,,cuda",
		"bench prove --circuit ecsda", "bench prove --system plonkk", "bench prove --system plonk --merge never",
		"bench prove --circuit recursion --curve bn254 --cache " + name("cache"),
		"bench --out " + name("no/r.json"), "bench --out " + dir, "bench --plot " + name("p.gif"),
		"bench --out " + name("r") + " --plot " + name("r"),
		"bench --size 2^24", "bench --size 2^20", "cache clear --older yesterday",
	} {
		a := &cli.App{
			Getenv: func(key string) string {
				return map[string]string{"PATH": os.Getenv("PATH"), "PIPPIN_CACHE": name("cache")}[key]
			},
			Available: func() (uint64, bool) { return 1 << 30, true },
			Free:      func(string) (uint64, bool) { return 50 << 20, true },
		}
		status, out, errs := msm(t, a, strings.Fields(c)...)
		_, notes, _ := strings.Cut(out, "\n\n") // of what does not open, below a table
		fmt.Fprintf(&got, "$ msm %s\n%s%s(%d)\n\n", c, notes, errs, status)
	}
	text := strings.NewReplacer(dir, "DIR", filepath.Dir(self), "PROGRAM").Replace(got.String())
	const path = "testdata/errors.txt"
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text == string(want) {
		return
	}
	was := strings.Split(string(want), "\n\n")
	for i, now := range strings.Split(text, "\n\n") {
		if i >= len(was) || now != was[i] {
			t.Errorf("not as in %s (go test -update rewrites it):\n%s", path, now)
		}
	}
}
