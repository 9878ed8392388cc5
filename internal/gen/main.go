// Command gen writes the constants of the four curves into kernels/curves: one
// header a curve with its moduli, Montgomery constants, curve coefficients and
// generators. Everything is computed from the moduli, coefficients and
// generators of gnark-crypto; nothing is typed in. Its test fails when the
// committed headers differ from what it would write.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := flag.String("dir", "kernels/curves", "folder of the generated headers")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	files, err := Headers()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
